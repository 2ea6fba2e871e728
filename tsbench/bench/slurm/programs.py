"""Slurm's own programs: ``sbatch`` to submit, ``squeue`` and ``scontrol`` to ask."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tsbench.errors import UserError

PATIENCE = 120
"""Seconds a busy controller may take to answer."""
ENDED = {
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED",
    "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT",
}  # fmt: skip
"""States of a job that is over; in all others it waits or runs."""
OURS = {
    "array", "chdir", "cluster", "clusters", "error", "input",
    "job-name", "open-mode", "output", "parsable", "wrap",
}  # fmt: skip
"""Options of ``sbatch`` that we set ourselves, or by which we would lose sight of the jobs."""
CPUS = "cpus-per-task"


@dataclass(frozen=True)
class JobState:
    """What Slurm says of a job."""

    state: str
    reason: str = ""
    """Why it waits."""

    @property
    def over(self) -> bool:
        """Whether it neither waits nor runs any more."""
        return self.state in ENDED


class Silent(Exception):
    """The controller does not answer."""


def sbatch_options(given: Mapping[str, str]) -> dict[str, str]:
    """``--slurm`` pairs under the names that ``sbatch`` has for them.

    >>> sbatch_options({"cpus_per_task": "4", "partition": "gpu"})
    {'cpus-per-task': '4', 'partition': 'gpu'}
    """
    options = {}
    for key, value in given.items():
        name = key.replace("_", "-")
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            raise UserError(f"--slurm '{key}': not the name of an option of sbatch")
        if name in OURS:
            raise UserError(f"--slurm {key}: tsbench needs this one for itself; leave it out")
        options[name] = value
    return options


def time_limit(text: str) -> float | None:
    """Seconds of a time limit as Slurm writes it; ``None`` if it is none.

    >>> time_limit("90"), time_limit("1:30:00"), time_limit("1-12"), time_limit("soon")
    (5400.0, 5400.0, 129600.0, None)
    """
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not match:
        return None
    days, *parts = (None if part is None else int(part) for part in match.groups())
    known = [part for part in parts if part is not None]
    if days is None and len(known) < 3:  # minutes[:seconds]
        known = [0, *known]
    hours, minutes, seconds = (*known, 0, 0)[:3]
    return float(((days or 0) * 24 + hours) * 3600 + minutes * 60 + seconds)


def expect_slurm() -> None:
    """Raise where nothing can be submitted."""
    for name in ("sbatch", "squeue", "scontrol"):
        if shutil.which(name) is None:
            raise UserError(
                f"--executor slurm: there is no {name} on this machine; "
                "run it where jobs are submitted (a login node), or use --executor local"
            )


def largest_array() -> int:
    """How many jobs an array may have on this cluster."""
    try:
        config = _ask(["scontrol", "show", "config"])
    except Silent as error:
        raise UserError(f"Slurm does not answer: {error}") from error
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", config, re.MULTILINE)
    return max(1, int(match[1]) if match else 1000)


def submit(
    script: str, name: str, array: str, log: str, options: Mapping[str, str]
) -> tuple[str, str]:
    """Submit an array of jobs; its number, or why there is none."""
    command = ["sbatch"]
    command += [f"--{key}={value}" if value else f"--{key}" for key, value in options.items()]
    command += [
        "--parsable", f"--job-name={name}", f"--array={array}",
        f"--output={log}", "--open-mode=append",
    ]  # fmt: skip
    try:
        answer = _ask(command, script)
    except Silent as error:
        return "", str(error)
    number = answer.strip().partition(";")[0]  # ";cluster" follows where there are several
    return (number, "") if number.isdigit() else ("", f"sbatch answered '{answer.strip()}'")


def states(names: Iterable[str]) -> dict[tuple[str, int], JobState]:
    """Jobs by name and index; those that ended some minutes ago are no longer known."""
    fields = "%j|%K|%T|%r"
    listed = ",".join(names)
    if not listed:
        return {}
    told = _ask(
        [
            "squeue",
            "--noheader",
            "--array",
            "--states=all",
            f"--format={fields}",
            f"--name={listed}",
        ]
    )
    found = {}
    for line in told.splitlines():
        name, index, state, reason = (line.strip().split("|", 3) + [""] * 3)[:4]
        if index.isdigit():
            found[name, int(index)] = JobState(state, "" if reason == "None" else reason)
    return found


def _ask(command: Sequence[str], text: str | None = None) -> str:
    plain = {key: value for key, value in os.environ.items() if not key.startswith("SQUEUE_")}
    try:
        done = subprocess.run(  # noqa: S603
            command,
            input=text,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=plain,  # a user's habits with squeue must not hide jobs from us
        )
    except subprocess.TimeoutExpired as error:
        raise Silent(f"{command[0]} gave no answer within {PATIENCE} s") from error
    except OSError as error:
        raise Silent(f"{command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Try ")]
        said = "; ".join(re.sub(r"^\w+: (error: |fatal: )?", "", line) for line in lines[-2:])
        raise Silent(said or f"{command[0]} ended with exit code {done.returncode}")
    return done.stdout
