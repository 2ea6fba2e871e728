"""The files that the driver and the jobs share: what was submitted, and how far it is.

In ``<results>/.slurm/<array>/``, job i has ``<i>.json``, its runs and how to execute them, until
its end has been dealt with; ``<i>.state``, how far it is, written by the job; and ``<i>.log``, its
output, kept if something failed. Each file has one writer and is replaced whole, so no locks are
needed, also on NFS.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tsbench.disk import write_whole
from tsbench.executors.slurm.commands import Key
from tsbench.runs.machine import Machine
from tsbench.runs.spec import RunSpec
from tsbench.schema import whole_number

FOLDER = ".slurm"
FINAL = ("done", "elsewhere", "failed")
LOG_LINES = 8
"""The end of a log, which is shown."""
LIMITS = r"DUE TO (TIME LIMIT|DEADLINE)|oom[-_]kill"
"""What Slurm writes into the log of a job that needed more than it was given."""

JobState = dict[str, dict[str, Any]]
"""The last event of each run that has begun: its kind and details, by the run's hash."""


@dataclass
class Job:
    """One job of an array: its runs, and how to execute them."""

    folder: Path
    index: int
    specs: dict[str, RunSpec]
    """By hash."""
    machine: Machine
    awaited: dict[str, RunSpec] = field(default_factory=dict, compare=False)
    """The runs whose end the driver waits for."""

    @property
    def key(self) -> Key:
        """What Slurm knows it by."""
        return self.folder.name, self.index

    def file(self, suffix: str) -> Path:
        """One of its files: json, state or log."""
        return self.folder / f"{self.index}.{suffix}"

    def write(self) -> None:
        """Before it is submitted."""
        specs = [spec.as_dict() for spec in self.specs.values()]
        about = {"specs": specs, "machine": asdict(self.machine)}
        write_whole(self.file("json"), json.dumps(about, default=str).encode())

    def state(self) -> JobState:
        """How far it is."""
        return _read(self.file("state")) or {}

    def write_state(self, state: JobState) -> None:
        """For the job itself."""
        write_whole(self.file("state"), json.dumps(state).encode())

    def open_runs(self, state: JobState) -> list[str]:
        """The runs that have not ended."""
        return [key for key in self.specs if state.get(key, {}).get("kind") not in FINAL]

    def log_lines(self) -> list[str]:
        """The last lines of its log."""
        try:
            text = self.file("log").read_text(errors="replace")
        except OSError:
            return []
        return [line for line in text.splitlines() if line.strip()][-LOG_LINES:]

    def ending(self) -> tuple[str, bool]:
        """Why it ended early, by the last line of its log; and whether it met a limit of Slurm."""
        if not self.file("log").exists():
            return "the job left no log: cancelled before it began, or its disk is not ours", False
        log = self.log_lines()
        reason = ": ".join(["the job ended early", *log[-1:]])
        return reason, bool(re.search(LIMITS, "\n".join(log)))

    def close(self, state: JobState) -> None:
        """Its end has been dealt with: remove its files, except for the log of what failed."""
        failed = self.open_runs(state) or any(run["kind"] == "failed" for run in state.values())
        for suffix in ("json", "state") if failed else ("json", "state", "log"):
            self.file(suffix).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # other jobs or logs are left
            self.folder.rmdir()


def read_job(folder: Path, index: int) -> Job | None:
    """A job whose end has not been dealt with; None if it is not there, or another version's."""
    try:
        about = _read(folder / f"{index}.json")
        specs = {spec.hash(): spec for spec in map(RunSpec.from_dict, about["specs"])}
        paths = {name: Path(about["machine"][name]) for name in ("data", "shared")}
        return Job(folder, index, specs, Machine(**about["machine"] | paths))
    except (AttributeError, KeyError, TypeError):
        return None


def open_jobs(root: Path) -> Iterator[Job]:
    """All jobs whose end has not been dealt with, whether they wait, run or are gone."""
    for path in sorted((root / FOLDER).glob("*/*.json")):
        index = whole_number(path.stem)
        if index is not None and (job := read_job(path.parent, index)) is not None:
            yield job


def pack(
    specs: list[RunSpec], cost: Callable[[RunSpec], float], capacity: float
) -> list[list[RunSpec]]:
    """Runs in jobs of at most this capacity, or of one run; a first task is shared in a job."""
    packs: list[list[RunSpec]] = []
    left = 0.0
    for spec in sorted(specs, key=lambda spec: (spec.dataset, spec.seed)):
        needed = cost(spec)
        if needed > left:
            packs.append([])
            left = capacity
        packs[-1].append(spec)
        left -= needed
    return packs


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
