"""The fork server: a process that has everything heavy imported and forks a worker a run."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

PRELOAD = ["tsbench.bench.local", "tsbench.bench.run", "torch._dynamo"]


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


def start(process: BaseProcess) -> None:
    """Start a worker without the main program, which it would import but has no use for."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main


def end_with_parent() -> None:
    """End this worker when the process that started it ends, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
