"""Records on disk: one JSON file per run, written whole; a failure never hides a finished run.

``<results>/<protocol>/<dataset>/<method>/seed-<n>.json`` is a finished run;
``seed-<n>.failed.json`` beside it is one that failed.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tsbench.console import printable
from tsbench.disk import remove_leftovers, write_whole
from tsbench.errors import UserError
from tsbench.runs.record import FAILED, BadRecord, Record, place_of, read_record, validate
from tsbench.runs.spec import RunSpec

TUNED = "tuned"
"""Folder of settings chosen by ``tsbench tune``."""
NOT_RECORDS = {"published", "reference", TUNED, ".shared", ".locks", ".slurm"}


class Store:
    """A folder of records."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, spec: RunSpec) -> Path:
        """Where the record of a finished run goes."""
        folder = self.root / spec.protocol.name / spec.dataset / spec.label
        return folder / f"seed-{spec.seed}.json"

    def failed_path(self, spec: RunSpec) -> Path:
        """Where the record of a failed run goes."""
        return self.path(spec).with_suffix(FAILED)

    def lock_path(self, spec: RunSpec) -> Path:
        """Held by the process that is running it."""
        return self.root / ".locks" / f"{spec.hash()}.lock"

    @property
    def shared_folder(self) -> Path:
        """Trained first tasks, shared by runs."""
        return self.root / ".shared"

    def done(self, spec: RunSpec) -> Record | None:
        """The record of this very run, if it is finished."""
        return _of_this_run(self.path(spec), spec, "ok")

    def failed(self, spec: RunSpec) -> Record | None:
        """The record of this very run, if it failed."""
        return _of_this_run(self.failed_path(spec), spec, "failed")

    def save(self, spec: RunSpec, record: Record) -> Record:
        """Check and store a record; a finished run clears away the failure before it."""
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
        stored = validate(json.loads(text))
        finished = stored["status"] == "ok"
        path = self.path(spec) if finished else self.failed_path(spec)
        _set_aside_foreign(path)
        write_whole(path, text.encode(errors="backslashreplace"))
        if finished:
            self.failed_path(spec).unlink(missing_ok=True)
        return stored

    def records(self) -> tuple[list[Record], list[str]]:
        """All valid records, finished and failed, and one line for each file that is not one."""
        found, problems = [], []
        for path in self.files():
            try:
                found.append(self.read(path))
            except BadRecord as error:
                problems.append(str(error))
        return found, problems

    def read(self, path: Path) -> Record:
        """The record in one of ``files``; raises ``BadRecord``, also if it is in a wrong place."""
        record = read_record(path)
        place = place_of(record)
        if path != self.root / place:
            raise BadRecord(printable(f"'{path}' holds the record that belongs to '{place}'"))
        return record

    def check_writable(self) -> None:
        """Raise before starting if records could not be stored."""
        probe = self.root / ".locks" / "probe"
        try:
            write_whole(probe, b"")
            probe.unlink(missing_ok=True)
        except OSError as error:
            raise UserError(
                f"results folder '{self.root}' cannot be written ({error.strerror}); "
                "choose another with --results"
            ) from error

    def remove_leftovers(self) -> None:
        """Remove what a killed process left: files half written, failures of finished runs.

        Files are half written if they are older than a day. A process that was killed right after
        it stored its record could not remove the failure before it.
        """
        for pattern in ("*", "*/*", "*/*/*"):
            remove_leftovers(self.root, pattern)
        for path in self.files():
            if path.name.endswith(FAILED):
                with contextlib.suppress(BadRecord):
                    finished = read_record(path.with_name(path.name.removesuffix(FAILED) + ".json"))
                    if finished["hash"] == read_record(path)["hash"]:
                        path.unlink(missing_ok=True)

    def files(self) -> Iterator[Path]:
        """All files in the places of records."""
        for path in sorted(self.root.glob("*/*/*/*.json")):
            if path.relative_to(self.root).parts[0] not in NOT_RECORDS:
                yield path


def _set_aside_foreign(path: Path) -> None:
    """A file in the place of a record that is not one is kept under another name."""
    if path.exists():
        try:
            read_record(path)
        except BadRecord:
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                path.rename(path.with_name(f"{path.name}.foreign-{uuid.uuid4().hex[:8]}"))


def _plain(value: Any) -> Any:
    """Numbers of numpy and torch as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be stored in a record")


def _of_this_run(path: Path, spec: RunSpec, status: str) -> Record | None:
    try:
        record = read_record(path)
    except BadRecord:
        return None
    return record if (record["hash"], record["status"]) == (spec.hash(), status) else None
