"""The machine a run is on: what it is to use, what it is, what it used; torch only when needed."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import platform
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from tsbench import __version__
from tsbench.errors import UserError


@dataclass(frozen=True)
class Machine:
    """How to run. Another device or number of threads may change the last bits of a result."""

    data: Path
    shared: Path | None = None
    device: str = "cpu"
    threads: int = 1
    workers: int = 1
    commit: str = ""
    since: float = 0.0
    """Shared work from before this time is done again."""
    gpus: str | None = None
    """The GPUs that a run may see, as CUDA_VISIBLE_DEVICES says it; all of them when None."""
    seconds: float | None = None
    """Time limit of a run."""
    force: bool = False
    """Repeat runs that are done already."""
    version: str = __version__
    digest: str = ""
    """Of the code that nodes of a cluster must have."""


@functools.lru_cache(maxsize=1)
def cpu_model() -> str:
    """Name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@functools.lru_cache(maxsize=1)
def commit() -> str:
    """Git commit of the code that runs, with a mark if it was changed; empty when unknown."""
    here = Path(__file__).resolve().parent
    if not (here.parents[1] / ".git").exists():
        return ""
    try:
        git = ["git", "-C", str(here.parents[1])]
        run = functools.partial(subprocess.run, capture_output=True, text=True, check=True)
        head = run([*git, "rev-parse", "--short=12", "HEAD"]).stdout.strip()
        dirty = run([*git, "status", "--porcelain", "--", "*.py", "*.yaml"]).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+changes" if dirty else "")


@functools.lru_cache(maxsize=1)
def code_digest() -> str:
    """Digest of the code of tsbench as it is installed here."""
    files = {}
    for package, pattern in (("", "**/*"), ("baselines", "*"), ("datasets", "*")):
        root = Path(str(resources.files(f"tsbench.{package}".rstrip("."))))
        for path in root.glob(pattern):
            if path.suffix in (".py", ".yaml"):
                files[(Path(package) / path.relative_to(root)).as_posix()] = path
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def check_node(machine: Machine) -> None:
    """Refuse to run on a node without torch, or with other code than that of the command."""
    problem = ""
    if machine.version != __version__:
        problem = f"has tsbench {__version__}, not {machine.version}"
    elif machine.digest != code_digest():
        problem = f"has tsbench {__version__} with other code"
    elif importlib.util.find_spec("torch") is None:
        problem = "has no torch"
    if problem:
        raise UserError(
            f"node {socket.gethostname()} {problem}; install the same versions on all nodes"
        )


def environment(machine: Machine) -> dict[str, Any]:
    """Where and with what a run was done."""
    import numpy
    import torch

    # Where a failure is recorded there may be no GPU.
    on_gpu = machine.device.startswith("cuda") and torch.cuda.is_available()
    return {
        "device": machine.device,
        "gpu": torch.cuda.get_device_name() if on_gpu else None,
        "threads": machine.threads,
        "workers": machine.workers,
        "cpu": cpu_model(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "tsbench": __version__,
        "commit": machine.commit,
    }


class Clock:
    """Times the parts of a run, and how long it had to wait for a core."""

    def __init__(self) -> None:
        self.began = self.last = time.perf_counter()
        self.waited = _waited()

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = time.perf_counter()
        self.last, passed = now, now - self.last
        return passed

    def total(self) -> float:
        """Seconds from the start to the last lap."""
        return self.last - self.began

    def load(self, threads: int) -> float | None:
        """Share of the time for which this process was ready but others had the cores.

        0 on an idle machine with one run per core; None where the system does not say.
        """
        before, now = self.waited, _waited()
        if before is None or now is None:
            return None
        return round(max(0.0, now - before) / (threads * max(self.total(), 1e-9)), 4)


def _waited() -> float | None:
    """Seconds that the threads of this process have waited for a core (Linux)."""
    try:
        files = list(Path("/proc/self/task").glob("*/schedstat"))
        return sum(int(file.read_text().split()[1]) for file in files) / 1e9 if files else None
    except (OSError, ValueError, IndexError):
        return None


def peak_memory() -> int | None:
    """Largest resident size of this process so far, in bytes."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def gpu_peak_memory(device: str) -> int | None:
    """Most memory that torch held on the GPU so far, in bytes."""
    if device != "cuda":
        return None
    import torch

    return torch.cuda.max_memory_allocated()
