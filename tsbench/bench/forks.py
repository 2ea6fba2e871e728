"""The fork server: a process that has everything heavy imported and forks a worker a run."""

from __future__ import annotations

import multiprocessing
import sys
from typing import Any

PRELOAD = ["tsbench.bench.local", "torch._dynamo"]


def process_context() -> Any:
    """How worker processes are made here."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    return context


def start_early() -> None:
    """Let the server import torch while this process still reads and plans."""
    process_context()
    if sys.platform != "win32":
        from multiprocessing import forkserver

        forkserver.ensure_running()
