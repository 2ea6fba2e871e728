"""A Ray cluster: joined or started, and looked at before anything is run on it."""

from __future__ import annotations

import math
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tsbench import __version__
from tsbench.bench.executor import Where
from tsbench.bench.machine import code_digest
from tsbench.console import say
from tsbench.errors import UserError

RETRIES = 3
"""How often Ray repeats a run that was lost with its node."""
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or Ray warns that it will be so one day
    "RAY_task_oom_retries": str(RETRIES),  # without an end otherwise
}
ANSWER = 5.0
"""Seconds for an address to answer."""
PROBE = 120.0
"""Seconds for a node to tell what is installed on it."""
LINE = 300
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
HTTP2_SETTINGS = b"\x04"
"""The type of the frame that a greeting is answered with, at its fourth byte."""


def import_ray() -> Any:
    """Ray, quiet, or a line on how to get it."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise UserError(
            f"--executor ray needs Ray ({error}); install it: pip install 'tsbench[ray]'"
        ) from error
    return ray


@contextmanager
def joined(ray: Any, where: Where, cpus: float) -> Iterator[None]:
    """Be part of the cluster at the address, or else of a new one on this machine."""
    address = where.address or os.environ.get("RAY_ADDRESS") or "local"
    new: dict[str, Any] = {}
    if address == "local":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        asked = math.ceil((where.jobs or 1) * cpus)
        new = {"num_cpus": max(cores or 1, asked), "include_dashboard": False}
        say("Ray: starting a cluster on this machine")
    else:
        _expect_answer(address)
    _allow_many_files()
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **new)
    except Exception as error:
        reason = " ".join(str(error).split())[:LINE]
        doing = "start a Ray cluster" if new else f"join the Ray cluster at {address}"
        raise UserError(f"cannot {doing}: {reason}") from error
    finally:
        signal.signal(signal.SIGTERM, before)  # Ray sets its own
    try:
        yield
    finally:
        ray.shutdown()


def _expect_answer(address: str) -> None:
    """Raise unless somebody speaks HTTP/2 there, as Ray does; Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"--address '{address}' is not host:port")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER) as line:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                line.sendall(HTTP2_GREETING)
                if line.recv(4)[3:] != HTTP2_SETTINGS:
                    raise OSError("something else answers")
    except (OSError, OverflowError) as error:
        raise UserError(
            f"no Ray cluster answers at {address} ({error}); start one there with: ray start --head"
        ) from error


def _allow_many_files() -> None:
    """The driver holds a lock and a connection or two for each run that goes on."""
    try:
        import resource
    except ImportError:
        return  # not on Windows, and not needed there
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Nodes:
    """The nodes that there are now, and how many runs each has room for."""

    def __init__(self, ray: Any, cpus: float, gpus: float) -> None:
        self.ray = ray
        self.cpus = cpus
        self.gpus = gpus
        """CPUs and GPUs that a run takes."""

    def room(self) -> int:
        """How many runs the cluster has room for."""
        return sum(self._room(node) for node in self._alive())

    def look(self) -> int:
        """Refuse a cluster without room, or with a node that would do a run otherwise; its size."""
        able = [node["NodeID"] for node in self._alive() if self._room(node)]
        found = self._probe(able)
        if not found:
            gpus = f" and {self.gpus:g} GPU(s)" if self.gpus else ""
            raise UserError(
                f"no node of the Ray cluster has {self.cpus:g} CPU(s){gpus} for a run; "
                "see --cpus-per-run, --gpus-per-run"
            )
        for node in found:
            _expect_alike(node)
        return len(found)

    def _probe(self, names: list[str]) -> list[dict[str, str]]:
        """What is installed on some nodes; those apart that are lost but not missed yet."""
        pinned = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        probe = self.ray.remote(num_cpus=0, max_retries=0)(_make_probe())
        refs = [
            probe.options(scheduling_strategy=pinned(name, soft=False)).remote() for name in names
        ]
        late = self.ray.wait(refs, num_returns=len(refs), timeout=PROBE)[1] if refs else []
        if late:
            raise UserError(f"{len(late)} node(s) of the Ray cluster do not answer")
        found = []
        for ref in refs:
            try:
                found.append(self.ray.get(ref))
            except self.ray.exceptions.RayTaskError as error:
                reason = " ".join(str(error).split())[-LINE:]
                raise UserError(f"a node of the Ray cluster cannot be asked: {reason}") from error
            except self.ray.exceptions.RayError:
                continue
        return found

    def _alive(self) -> list[dict[str, Any]]:
        return [node for node in self.ray.nodes() if node["Alive"]]

    def _room(self, node: dict[str, Any]) -> int:
        has = node["Resources"]
        rooms = [has.get("CPU", 0) / self.cpus]
        if self.gpus >= 1:
            rooms.append(has.get("GPU", 0) / self.gpus)
        elif self.gpus > 0:  # a run's share is of one GPU
            rooms.append(has.get("GPU", 0) * math.floor(1 / self.gpus + 1e-9))
        return math.floor(min(rooms) + 1e-9)


def _make_probe() -> Callable[[], dict[str, str]]:
    """A function that travels by value: the node it looks at may have another tsbench, or none."""

    def look() -> dict[str, str]:
        import importlib.util
        import socket

        found = {"host": socket.gethostname(), "tsbench": "", "digest": "", "torch": ""}
        if importlib.util.find_spec("torch") is not None:
            found["torch"] = "there"
        try:
            import tsbench

            found["tsbench"] = tsbench.__version__
            from tsbench.bench.machine import code_digest

            found["digest"] = code_digest()
        except (ImportError, AttributeError):
            pass
        return found

    return look


def _expect_alike(node: dict[str, str]) -> None:
    if not node["tsbench"]:
        problem = "has no tsbench"
    elif node["tsbench"] != __version__:
        problem = f"has tsbench {node['tsbench']}, here is {__version__}"
    elif node["digest"] != code_digest():
        problem = f"has tsbench {node['tsbench']} with other code than here"
    elif not node["torch"]:
        problem = "has no torch"
    else:
        return
    raise UserError(f"node {node['host']} {problem}; install the same on all nodes")
