"""Files that driver and jobs share: what was submitted, and how far it is.

``<results>/.slurm/<array>/array.json`` holds what all jobs of an array have in common;
``<i>.json`` the runs of job i, until its end has been taken note of; ``<i>.state`` how far it is,
written by the job; ``<i>.log`` what Slurm and the job said, kept if something failed.
Each file has one writer and is replaced whole, so no locks are needed, and NFS will do.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tsbench.bench.spec import RunSpec
from tsbench.disk import write_whole

FOLDER = ".slurm"
MARK = "--- "
"""Begins the line of a log after which a run speaks."""
TAIL = 8
"""Lines of a log that are shown."""


@dataclass(frozen=True)
class Array:
    """What the jobs of an array have in common."""

    version: str
    digest: str
    """Of the code."""
    commit: str
    results: str
    data: str
    device: str
    threads: int
    workers: int
    """Runs at a time in a job."""
    since: float
    timeout: float | None
    again: bool


@dataclass(frozen=True)
class Job:
    """One job of an array: some runs, done one after another or a few at a time."""

    folder: Path
    index: int
    specs: tuple[RunSpec, ...]

    @property
    def name(self) -> str:
        """Of its array, in Slurm's queue."""
        return self.folder.name

    @property
    def key(self) -> tuple[str, int]:
        """Name and index: what Slurm knows it by."""
        return self.name, self.index

    @property
    def log(self) -> Path:
        """What it says."""
        return self.folder / f"{self.index}.log"

    def state(self) -> dict[str, Any]:
        """How far it is, by its own word; empty before it has begun."""
        return _read(self.folder / f"{self.index}.state") or {}

    def write_state(self, state: dict[str, Any]) -> None:
        """The job's own word."""
        write_whole(self.folder / f"{self.index}.state", json.dumps(state).encode())

    def close(self, keep_log: bool) -> None:
        """Its end has been taken note of: clear away what is no longer needed."""
        self._pack.unlink(missing_ok=True)
        (self.folder / f"{self.index}.state").unlink(missing_ok=True)
        if not keep_log:
            self.log.unlink(missing_ok=True)
        if not _indices(self.folder):
            for name in ("array.json", "number"):
                (self.folder / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # logs are left
                self.folder.rmdir()

    def tail(self, spec: RunSpec | None = None) -> list[str]:
        """The last lines of its log, or those of one of its runs if it said any."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - 65536))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError:
            return []
        if spec is not None and (mark := MARK + spec.title) in lines:
            lines = lines[len(lines) - lines[::-1].index(mark) :]
            ends = [i for i, line in enumerate(lines) if line.startswith(MARK)]
            lines = lines[: ends[0]] if ends else lines
        return [line for line in lines if line.strip()][-TAIL:]

    @property
    def _pack(self) -> Path:
        return self.folder / f"{self.index}.json"


def create_array(root: Path, array: Array, packs: list[list[RunSpec]]) -> list[Job]:
    """Write all files of a new array; it has no number yet."""
    folder = root / FOLDER / f"tsbench-{uuid.uuid4().hex[:12]}"
    write_whole(folder / "array.json", json.dumps(asdict(array)).encode())
    jobs = [Job(folder, index, tuple(pack)) for index, pack in enumerate(packs)]
    for job in jobs:
        runs = [spec.as_dict() | {"hash": spec.hash()} for spec in job.specs]
        write_whole(job._pack, json.dumps(runs).encode())
    return jobs


def read_array(folder: Path) -> Array | None:
    """What all jobs of an array have in common; ``None`` if the folder holds none."""
    found = _read(folder / "array.json")
    try:
        return None if found is None else Array(**found)
    except TypeError:
        return None


def read_job(folder: Path, index: int) -> Job | None:
    """A job whose end nobody has taken note of."""
    runs = _read(folder / f"{index}.json")
    try:
        specs = tuple(RunSpec.from_dict(run) for run in runs)
        known = [spec.hash() for spec in specs] == [run["hash"] for run in runs]
    except (TypeError, KeyError):
        known = False
    return Job(folder, index, specs) if known else None


def open_jobs(root: Path) -> Iterator[Job]:
    """All jobs whose end nobody has taken note of, whether they wait, run or are gone."""
    for path in sorted((root / FOLDER).glob("*/array.json")):
        for index in _indices(path.parent):
            if (job := read_job(path.parent, index)) is not None:
                yield job


def number(folder: Path) -> str:
    """Slurm's number of an array; its name where it is not known."""
    try:
        return (folder / "number").read_text().strip() or folder.name
    except OSError:
        return folder.name


def _indices(folder: Path) -> list[int]:
    """Listing the folder makes an NFS client see what is new in it."""
    return sorted(int(path.stem) for path in folder.glob("*.json") if path.stem.isdigit())


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
