"""What a job does on its node: execute its runs as on any machine, and report on each.

Started by the script that the executor submits, with the array's folder and the job's index.
"""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

from tsbench.console import say
from tsbench.errors import UserError
from tsbench.executors.local import LocalExecutor, LocalOptions
from tsbench.executors.matrix import terminable
from tsbench.executors.slurm.jobs import FINAL, Job, read_job
from tsbench.runs.machine import check_node
from tsbench.runs.store import Store

INTERVAL = 2.0
"""Seconds between reports of progress: everybody uses this disk."""


def main() -> None:
    """Entry point of a job."""
    folder, index = Path(sys.argv[1]), int(sys.argv[2])
    try:
        job = read_job(folder, index)
        if job is None:
            raise UserError(f"cannot read the runs of job {index} in '{folder}'")
        check_node(job.machine)
        options = LocalOptions(device=job.machine.device)
        options.prepare()
        options.choose_device()  # a node without the GPU reports it once, not for each run
        execute_job(job, Store(folder.parents[1]))
    except UserError as error:
        say(f"error: {socket.gethostname()}: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def execute_job(job: Job, store: Store) -> None:
    """Execute the runs of a job that it has not done before: it may have been started again."""
    state = {key: run for key, run in job.state().items() if run["kind"] in FINAL}
    specs = [spec for key, spec in job.specs.items() if key not in state]
    last = 0.0
    with terminable():
        for event in LocalExecutor(store, job.machine).run(specs):
            if event.kind == "waiting":
                state.pop(event.spec.hash(), None)
            else:
                state[event.spec.hash()] = {"kind": event.kind, **event.details}
            now = time.monotonic()
            if event.kind != "progress" or now - last > INTERVAL:
                last = now
                job.write_state(state)
