"""The checks of a method or data set, in a process of its own that has to reach a verdict.

The code under test may loop, fork, print, or end its process: none of that ends the command, and
none of it counts as a pass.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any, cast

from tsbench.errors import UserError, os_error
from tsbench.executors.workers import python_command
from tsbench.protocol.rules import SplitName

POLL = 0.2
GRACE = 5.0
"""Seconds that a process which says nothing more may take to end."""
VERDICT = "the checks come to an end"


def examine(reference: str, data: Path, split: str, seconds: float) -> Iterator[tuple[str, str]]:
    """Check a method or data set: ``pass``, ``FAIL`` or ``warn``, and what was found."""
    reports, theirs = Pipe(duplex=False)
    with reports, theirs:
        handle = theirs.fileno()
        process = subprocess.Popen(  # noqa: S603
            python_command(
                "tsbench.executors.examine:serve", str(handle), reference, str(data), split
            ),
            pass_fds=[handle],
            stdin=subprocess.DEVNULL,
            stdout=2,  # stdout is for the verdicts
            start_new_session=True,
        )
        theirs.close()
        try:
            yield from _verdicts(process, reports, time.monotonic() + seconds)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _verdicts(
    process: subprocess.Popen[bytes], reports: Connection, deadline: float
) -> Iterator[tuple[str, str]]:
    count = 0
    while True:
        if reports.poll(POLL):
            try:
                kind, *rest = json.loads(reports.recv_bytes())
            except (EOFError, OSError, ValueError):
                break
            if kind == "error":
                raise UserError(rest[0])
            if kind == "end":
                return
            count += 1
            yield rest[0], rest[1]
        elif process.poll() is not None and not reports.poll():
            break
        elif time.monotonic() > deadline:
            yield "FAIL", f"{VERDICT}: they did not within the time limit, after {count} rule(s)"
            return
    yield "FAIL", f"{VERDICT}: {_ending(process)} after {count} rule(s)"


def _ending(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(GRACE)
    except subprocess.TimeoutExpired:
        return "the process closed its connection"
    if code < 0:
        return f"the process was killed by {signal.Signals(-code).name}"
    return f"the process was ended with exit code {code}"


def serve() -> None:
    """Body of the process."""
    handle, reference, data, split = sys.argv[1:]
    connection = Connection(int(handle), readable=False)
    own = os.getpid()

    def send(*message: Any) -> None:
        if os.getpid() != own:
            os._exit(0)  # the method has forked, and this is the copy
        connection.send_bytes(json.dumps(message).encode())

    try:
        for level, line in _findings(reference, Path(data), cast(SplitName, split)):
            send("finding", level, line)
        send("end")
    except UserError as error:
        send("error", str(error))
    except OSError as error:
        send("error", os_error(error))
    os._exit(0)  # threads of the method are not waited for


def _findings(reference: str, data: Path, split: SplitName) -> Iterator[tuple[str, str]]:
    from tsbench.data.card import Card
    from tsbench.data.catalogue import DATASETS
    from tsbench.data.custom.prepare import is_custom
    from tsbench.data.manifest import stored_names
    from tsbench.learn.registry import METHODS, load_method
    from tsbench.registry import closest, is_file_reference

    named = reference in (*DATASETS.names(), *stored_names(data))
    in_folder = is_custom(reference) and ".py" not in reference
    known = named or in_folder or reference in METHODS.names()
    if not known and Path(reference).is_dir():
        in_folder, reference = True, f"./{reference}"
    elif not known and not is_file_reference(reference):
        names = [*METHODS.names(), *DATASETS.names()]
        raise UserError(
            f"unknown method or data set '{reference}'{closest(reference, names)}; "
            f"known: {', '.join(names)}"
        )
    if named or in_folder or isinstance(METHODS.load(reference), Card):
        from tsbench.data.custom.check import examine as examine_dataset

        return examine_dataset(reference, data, split)
    import torch

    from tsbench.runs.conformance import examine as examine_method

    torch.set_num_threads(1)
    found = examine_method(load_method(reference))
    return (("FAIL", f"{name}: {why}") if why else ("pass", name) for name, why in found)
