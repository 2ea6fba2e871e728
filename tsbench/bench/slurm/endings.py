"""Why a job is over although it has not done all its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tsbench.bench.slurm.jobs import Job
from tsbench.bench.slurm.programs import JobState


@dataclass(frozen=True)
class Ending:
    """Why a job is over although it has not done all its runs."""

    reason: str
    limit: bool = False
    """Whether what ran then needs more than it was given."""


ENDINGS = {
    "TIMEOUT": Ending("Slurm's time limit; give more with --slurm time=…", limit=True),
    "DEADLINE": Ending("Slurm's deadline", limit=True),
    "OUT_OF_MEMORY": Ending("out of memory; give more with --slurm mem=…", limit=True),
    "CANCELLED": Ending("the job was cancelled"),
    "NODE_FAIL": Ending("the node failed"),
    "BOOT_FAIL": Ending("the node did not boot"),
    "PREEMPTED": Ending("the job was preempted"),
}
SIGNS = {
    "DUE TO TIME LIMIT": "TIMEOUT",
    "DUE TO NODE FAILURE": "NODE_FAIL",
    "DUE TO PREEMPTION": "PREEMPTED",
    "oom-kill": "OUT_OF_MEMORY",
    "CANCELLED AT": "CANCELLED",
}
"""What Slurm writes into the log of a job that it ends."""


def ending_of(job: Job, state: dict[str, Any], told: JobState | None) -> Ending:
    """Why a job is over: by its own word, by Slurm's while it remembers, or by the log."""
    if "refused" in state:
        return Ending(state["refused"])
    tail = "\n".join(job.tail())
    by_log = next((ENDINGS[name] for sign, name in SIGNS.items() if sign in tail), None)
    by_slurm = ENDINGS.get(told.state) if told else None
    if by_slurm or by_log:
        return by_slurm or by_log  # type: ignore[return-value]
    if not state and not job.log.exists():
        return Ending("the job left no trace; can the nodes write to the results folder?")
    return Ending("the job ended early")
