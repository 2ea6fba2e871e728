"""``tsbench`` as a fork of this process, which has imported everything: started in no time.

Its worker server is a fork too. All else is as in the real program: processes, sockets, signals.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import time
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tsbench_process import PROGRAM

PATIENCE = 60.0
"""Seconds until a process counts as one that does not end; the machine may be busy."""


class ForkedServer:
    """Stands in for ``Popen`` of the worker server: a copy of this process that serves."""

    def __init__(self, command: list[str], pass_fds: list[int], **options: Any) -> None:
        # What a signal raises while Python forks is ignored, with a traceback; Popen is different.
        blocked = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        self.pid = os.fork()
        if self.pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)
        else:
            with _as_program([command[-1]]):
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)
                from tsbench.executors.workers import serve

                os.closerange(3, pass_fds[0])
                os.closerange(pass_fds[0] + 1, 256)
                serve()

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self, seconds: float | None = None) -> None:
        deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("server", 0)
            time.sleep(0.01)


FORKING = types.SimpleNamespace(
    Popen=ForkedServer, DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired
)


@contextlib.contextmanager
def _as_program(words: list[str]) -> Iterator[None]:
    """The rest of a forked process; it does not return."""
    code = 0
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.argv = ["tsbench", *words]
    try:
        yield
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(code)


def start(words: list[str], log: Path, cold: bool) -> int:
    """Start a command in a session of its own; what it prints goes to a file."""
    with log.open("ab") as file:
        if cold:
            return subprocess.Popen(
                [PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                start_new_session=True,
            ).pid  # fmt: skip
        ready, theirs = os.pipe()
        pid = os.fork()
        if pid == 0:
            with _as_program(words):
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                for number in (1, 2):
                    os.dup2(file.fileno(), number)
                sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
                sys.stderr = open(2, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
                atexit._clear()
                from tsbench.__main__ import main

                with patch("tsbench.executors.workers.subprocess", FORKING):
                    try:
                        os.close(ready)
                        os.close(theirs)
                        main()
                    finally:
                        atexit._run_exitfuncs()
    os.close(theirs)
    os.read(ready, 1)
    os.close(ready)
    return pid


def ended(pid: int) -> int | None:
    """The exit code of a child, minus the signal that ended it; None while it runs."""
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def wait_for(pid: int) -> int:
    """The same, when it has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
