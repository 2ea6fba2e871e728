"""The machine a run was on, and its memory."""

from __future__ import annotations

import functools
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from tsbench import __version__


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
