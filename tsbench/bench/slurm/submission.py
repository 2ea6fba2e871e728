"""One job array: its files, its script, and the word to Slurm."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from tsbench.bench.slurm.jobs import Array, Job, create_array
from tsbench.bench.slurm.programs import Silent, states, submit
from tsbench.bench.spec import RunSpec
from tsbench.disk import write_whole
from tsbench.errors import UserError

START = "import sys; sys.path[:] = filter(None, sys.path)\n" + (
    "from tsbench.bench.slurm.worker import main; main()"
)
"""A job's program. What lies in the folder it starts in is not imported."""


def send(
    array: Array, packs: list[list[RunSpec]], options: Mapping[str, str], at_once: int | None
) -> list[Job]:
    """Write the files of an array, a job a pack, and submit it; raises if Slurm refuses it."""
    jobs = create_array(Path(array.results), array, packs)
    folder = jobs[0].folder
    indices = f"0-{len(jobs) - 1}"
    if at_once:
        indices += f"%{max(1, at_once // array.workers)}"
    command = [sys.executable, "-c", START, str(folder)]
    script = f'#!/bin/sh\nexec {shlex.join(command)} "$SLURM_ARRAY_TASK_ID"\n'
    log = str(folder).replace("%", "%%") + "/%a.log"
    found, problem = submit(script, folder.name, indices, log, options)
    if found:
        write_whole(folder / "number", found.encode())
    elif problem and not _was_submitted(folder.name):
        for job in jobs:
            job.close(keep_log=False)
        raise UserError(f"Slurm refused the jobs: {problem}")
    return jobs


def _was_submitted(name: str) -> bool:
    """Whether Slurm has it although its answer was lost."""
    try:
        return bool(states([name]))
    except Silent:
        return False
