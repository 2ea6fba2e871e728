"""What a job does: its runs, in processes of their own as on any machine, and a word of each.

Started on a node by the script that the executor submits, with the array's folder and the job's
index.
"""

from __future__ import annotations

import importlib.util
import socket
import sys
import time
from pathlib import Path
from typing import Any

from tsbench.bench.drive import terminable
from tsbench.bench.forks import start_early
from tsbench.bench.local import LocalExecutor
from tsbench.bench.machine import Machine, expect_same_code
from tsbench.bench.slurm.jobs import MARK, Array, Job, read_array, read_job
from tsbench.bench.store import Store
from tsbench.console import say
from tsbench.errors import UserError

INTERVAL = 2.0
"""Seconds between words on the progress of a run: the disk is everybody's."""
REFUSED = 2


def main() -> None:
    """Entry point of a job."""
    folder, index = Path(sys.argv[1]), int(sys.argv[2])
    array, job = read_array(folder), read_job(folder, index)
    if array is None or job is None:
        say(f"error: {socket.gethostname()} cannot read the runs of job {index} in '{folder}'")
        sys.exit(REFUSED)
    try:
        sys.exit(work(array, job))
    except UserError as error:
        say(f"error: {error}")
        job.write_state({**job.state(), "refused": str(error)})
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        sys.exit(130)


def work(array: Array, job: Job) -> int:
    """Do the runs of a job that it has not done before (it may have been started again)."""
    expect_same_code(array.version, array.digest)
    expect_torch()
    start_early()
    expect_device(array.device)
    store = Store(Path(array.results))
    machine = Machine(
        data=Path(array.data),
        shared=store.shared_folder,
        device=array.device,
        threads=array.threads,
        workers=array.workers,
        commit=array.commit,
        since=array.since,
    )
    runs: dict[str, dict[str, Any]] = {
        key: run
        for key, run in job.state().get("runs", {}).items()
        if run["kind"] in ("done", "elsewhere", "failed")
    }
    specs = [spec for spec in job.specs if spec.hash() not in runs]
    executor = LocalExecutor(store, machine, array.timeout, array.again)
    last = 0.0
    with terminable():
        for event in executor.run(specs):
            if event.kind == "started":
                say(MARK + event.spec.title)
            elif event.kind == "failed":
                say((store.failed(event.spec) or {}).get("details") or event.details["error"])
            if event.kind == "waiting":
                runs.pop(event.spec.hash(), None)
            else:
                runs[event.spec.hash()] = {"kind": event.kind, **event.details}
            now = time.monotonic()
            if event.kind != "progress" or now - last > INTERVAL:
                last = now
                job.write_state({"runs": runs})
    return int(any(run["kind"] == "failed" for run in runs.values()))


def expect_torch() -> None:
    """Say in a line what a traceback would."""
    if importlib.util.find_spec("torch") is None:
        raise UserError(f"node {socket.gethostname()} has no torch; install it on all nodes")


def expect_device(name: str) -> None:
    """A node that was given no GPU says so once, not once a run."""
    if name == "cpu":
        return
    from tsbench.bench.run import choose_device

    try:
        choose_device(name)
    except UserError as error:
        raise UserError(f"node {socket.gethostname()}: {error}") from error
