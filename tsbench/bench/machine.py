"""The machine a run is on: what it is to use, what it is, what it used; torch only when needed."""

from __future__ import annotations

import functools
import hashlib
import platform
import socket
import subprocess
import sys
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


def expect_same_code(version: str, digest: str) -> None:
    """Refuse to mix the records of two versions: that of a command, and that of this node."""
    if (version, digest) != (__version__, code_digest()):
        other = "" if version != __version__ else " with other code"
        raise UserError(
            f"node {socket.gethostname()} has tsbench {__version__}{other}, not {version} as "
            "where the command was given; install the same on all nodes"
        )


def environment(device: str, threads: int, workers: int, code: str) -> dict[str, Any]:
    """Where and with what a run was done."""
    import numpy
    import torch

    here = device.startswith("cuda") and torch.cuda.is_available()  # not where a failure is noted
    gpu = torch.cuda.get_device_name() if here else None
    return {
        "device": device,
        "gpu": gpu,
        "threads": threads,
        "workers": workers,
        "cpu": cpu_model(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "tsbench": __version__,
        "commit": code,
    }


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
