"""Slurm's commands: ``sbatch`` to submit, ``squeue`` to ask."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence

from tsbench.errors import UserError

TIMEOUT = 120
"""Seconds that a busy controller may take to answer."""

Key = tuple[str, int]
"""What Slurm knows a job by: the name of its array, and its index."""


class NoAnswer(UserError):
    """Slurm does not answer, or refuses a request."""


def check_installed() -> None:
    """Raise where nothing can be submitted."""
    for name in ("sbatch", "squeue"):
        if shutil.which(name) is None:
            raise UserError(
                f"--executor slurm: there is no {name} on this machine; "
                "use a machine where jobs are submitted (a login node), or --executor local"
            )


def submit(script: str, name: str, array: str, log: str, options: Mapping[str, str]) -> None:
    """Submit an array of jobs."""
    given = [f"--{key}={value}" if value else f"--{key}" for key, value in options.items()]
    ours = [f"--job-name={name}", f"--array={array}", f"--output={log}", "--open-mode=append"]
    _ask(["sbatch", *given, *ours], script)


def waiting_or_running(names: Iterable[str]) -> set[Key]:
    """Those jobs of these arrays that have not ended."""
    listed = ",".join(sorted(set(names)))
    if not listed:
        return set()
    answer = _ask(["squeue", "--noheader", "--array", "--format=%j|%K", f"--name={listed}"])
    jobs = (line.strip().rpartition("|") for line in answer.splitlines())
    return {(name, int(index)) for name, _, index in jobs if index.isdigit()}


def _ask(command: Sequence[str], text: str | None = None) -> str:
    # What the user has set for squeue must not hide jobs from us.
    plain = {key: value for key, value in os.environ.items() if not key.startswith("SQUEUE_")}
    try:
        done = subprocess.run(  # noqa: S603
            command, input=text, capture_output=True, text=True, timeout=TIMEOUT, env=plain
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoAnswer(f"Slurm does not answer: {error}") from error
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("Try ")]
        reason = "; ".join(re.sub(r"^\w+: (error: |fatal: )?", "", line) for line in lines[-2:])
        raise NoAnswer(f"{command[0]}: {reason or f'exit code {done.returncode}'}")
    return done.stdout
