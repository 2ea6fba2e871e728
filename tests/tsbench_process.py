"""The ``tsbench`` command: as a process, or called in this one.

A process imports torch twice, in itself and in the server that its workers are forked from. Where
a test is not about processes, ``run_here`` saves that: the server stays for the next call.
"""

from __future__ import annotations

import contextlib
import io
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.testing import CliRunner

PROGRAM = str(Path(sys.executable).with_name("tsbench"))


def start(results: Path, *arguments: str, verb: str = "run") -> subprocess.Popen[str]:
    command = [PROGRAM, verb, *arguments, "--results", str(results)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=300)
    return process.returncode, said


def run(results: Path, *arguments: str) -> tuple[int, str]:
    """In a process of its own: exit code and what it said on stderr."""
    return finish(start(results, *arguments))


def run_here(results: Path, *arguments: str, verb: str = "run") -> tuple[int, str]:
    """In this process; the runs are still in processes of their own."""
    from tsbench.cli.main import app

    result = CliRunner().invoke(app, [verb, *arguments, "--results", str(results)])
    return result.exit_code, result.stderr


def outcomes(results: Path) -> dict[str, dict[str, Any]]:
    """What is stored of each run, apart from time and machine; all of it is valid."""
    from tsbench.runs.record import comparable
    from tsbench.runs.store import Store

    records, problems = Store(results).records()
    assert not problems
    return {f"{r['label']} {r['spec']['seed']}": comparable(r) for r in records}


def call(*arguments: str) -> tuple[int, str, str]:
    """The whole program in this process: exit code, stdout and stderr. Errors are raised."""
    from tsbench.__main__ import main

    out, said = io.StringIO(), io.StringIO()
    interrupt = signal.getsignal(signal.SIGINT)
    with (
        patch.object(sys, "argv", ["tsbench", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
    ):
        try:
            main()
        except SystemExit as ending:
            code = ending.code
        finally:
            signal.signal(signal.SIGINT, interrupt)
    assert isinstance(code, int)
    return code, out.getvalue(), said.getvalue()
