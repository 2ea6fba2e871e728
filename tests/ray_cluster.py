"""A real Ray cluster on loopback: a head without CPUs, and nodes with one each."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

START = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--block",
         "--disable-usage-stats", "--object-store-memory=80000000"]  # fmt: skip
MARK = "TSBENCH_TEST_RAY_NODE"


class RayCluster:
    """Nodes are separate processes with an address and a cache folder each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: list[str] = []
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_worker_niceness": "0",  # 15 otherwise: other tests would starve them
        }
        """For all who are to talk with the cluster."""
        self.starters: dict[str, Callable[..., subprocess.Popen[bytes]]] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.2", 0))
            self.port = probe.getsockname()[1]
        self.address = f"127.0.0.2:{self.port}"
        self.head = self._start("--head", f"--port={self.port}", "--num-cpus=0",
                                "--include-dashboard=false")  # fmt: skip

    def start_node(self, **environment: str) -> str:
        """Does not wait for it."""
        return self._start(
            f"--address={self.address}", "--num-cpus=1", "--num-gpus=1", **environment
        )

    def add_node(self, **environment: str) -> str:
        node = self.start_node(**environment)
        self.wait_for(node)
        return node

    def _start(self, *arguments: str, **environment: str) -> str:
        number = len(self.nodes) + 2  # Ray takes 127.0.0.1 for the machine's own address
        name = f"{self.folder}/node-{number}"
        Path(name).mkdir(parents=True)
        self.nodes.append(name)
        self.starters[name] = functools.partial(
            subprocess.Popen,
            [*START, f"--node-ip-address=127.0.0.{number}", *arguments],
            start_new_session=True,
            env={
                **os.environ,
                **self.environment,
                MARK: name,
                "TSBENCH_CACHE": f"{name}/cache",
                **environment,
            },
        )
        self._spawn(name)
        return name

    def _spawn(self, node: str) -> None:
        with Path(node, "log").open("w") as log:
            self.running[node] = self.starters[node](stdout=log, stderr=log)

    def wait_for(self, node: str) -> None:
        """Ray gives up on a node that takes half a minute to start: then once more."""
        for _ in range(3):
            while "Ray runtime started" not in (said := Path(node, "log").read_text()):
                if self.running[node].poll() is not None:
                    break
                time.sleep(0.1)
            else:
                return
            self.kill(node)
            self._spawn(node)
        raise AssertionError(said)

    def kill(self, node: str) -> None:
        """As if the plug was pulled."""
        while alive := processes(node):
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def stop(self) -> None:
        for node in reversed(self.nodes):
            self.kill(node)


def processes(node: str) -> list[int]:
    """All processes of a node."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and f"{MARK}={node}\0".encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
    return found


@contextlib.contextmanager
def ray_cluster(folder: Path, nodes: int = 2) -> Iterator[RayCluster]:
    cluster = RayCluster(folder)
    try:
        cluster.wait_for(cluster.head)
        for node in [cluster.start_node() for _ in range(nodes)]:
            cluster.wait_for(node)
        yield cluster
    finally:
        cluster.stop()
