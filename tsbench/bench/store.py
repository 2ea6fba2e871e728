"""Records on disk: one JSON a run, written whole; a failure never hides a finished run.

``<results>/<protocol>/<dataset>/<method>/seed-<n>.json`` is a finished run;
``seed-<n>.failed.json`` beside it tells of one that failed.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tsbench.bench.spec import RunSpec
from tsbench.disk import write_whole
from tsbench.errors import UserError

SCHEMA = 1
SPEC_KEYS = {"protocol", "dataset", "method", "seed"}
KEYS = {
    "ok": {"hash", "label", "data", "result", "time", "memory", "environment"},
    "failed": {"hash", "label", "error"},
}
NOT_OURS = {"published", "reference", "tuned", ".shared", ".locks", ".slurm"}


class Store:
    """A folder of records."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, spec: RunSpec) -> Path:
        """Where the record of a finished run goes."""
        folder = self.root / spec.protocol / spec.dataset / spec.label
        return folder / f"seed-{spec.seed}.json"

    def failed_path(self, spec: RunSpec) -> Path:
        """Where the record of a failed run goes."""
        return self.path(spec).with_suffix(".failed.json")

    def lock_path(self, spec: RunSpec) -> Path:
        """Held by whoever is at this run."""
        return self.root / ".locks" / f"{spec.hash()}.lock"

    @property
    def shared_folder(self) -> Path:
        """Trained first tasks, shared by runs."""
        return self.root / ".shared"

    def done(self, spec: RunSpec) -> dict[str, Any] | None:
        """The record of this very run, if it is finished."""
        return _of_this_run(self.path(spec), spec)

    def failed(self, spec: RunSpec) -> dict[str, Any] | None:
        """The record of this very run, if it failed."""
        return _of_this_run(self.failed_path(spec), spec)

    def save(self, spec: RunSpec, record: dict[str, Any]) -> None:
        """Store a record; a finished run clears away the failure before it."""
        finished = record["status"] == "ok"
        path = self.path(spec) if finished else self.failed_path(spec)
        text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
        _set_aside_foreign(path)
        write_whole(path, text.encode())
        if finished:
            self.failed_path(spec).unlink(missing_ok=True)

    def records(self) -> tuple[list[dict[str, Any]], list[str]]:
        """All records, finished and failed, and a line for each file that is none."""
        found, problems = [], []
        for path in self.files():
            try:
                found.append(read_record(path))
            except UserError as error:
                problems.append(str(error))
        return found, problems

    def written(self, record: dict[str, Any]) -> float:
        """When a record of this folder was stored, in seconds since 1970."""
        spec = record["spec"]
        ending = ".json" if record["status"] == "ok" else ".failed.json"
        name = f"seed-{spec['seed']}{ending}"
        path = self.root / spec["protocol"] / spec["dataset"] / record["label"] / name
        return path.stat().st_mtime if path.exists() else 0.0

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

    def files(self) -> Iterator[Path]:
        """All files in the places of records."""
        for path in sorted(self.root.glob("*/*/*/*.json")):
            if path.relative_to(self.root).parts[0] not in NOT_OURS:
                yield path


def read_record(path: Path) -> dict[str, Any]:
    """One record, NaN read as no number; says what is wrong with a file that is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda _: None)
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"'{path}' is not a record: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("schema"), int):
        raise UserError(f"'{path}' is not a record of tsbench")
    if record["schema"] > SCHEMA:
        raise UserError(f"'{path}' was written by a newer tsbench; update to read it")
    kind = KEYS.get(str(record.get("status")))
    spec = record.get("spec")
    if (
        kind is None
        or not isinstance(spec, dict)
        or not record.keys() >= kind
        or not spec.keys() >= SPEC_KEYS
    ):
        raise UserError(f"'{path}' is not a record of tsbench")
    return record


def comparable(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what may differ between two runs of one spec: time, machine, peak."""
    kept = {k: v for k, v in record.items() if k not in ("time", "environment")}
    memory = {k: v for k, v in record["memory"].items() if "peak" not in k}
    return {**kept, "memory": memory}


def _set_aside_foreign(path: Path) -> None:
    """A file of somebody else's in the place of a record is kept under another name."""
    if path.exists():
        try:
            read_record(path)
        except UserError:
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                path.rename(path.with_name(f"{path.name}.foreign-{uuid.uuid4().hex[:8]}"))


def _plain(value: Any) -> Any:
    """Numbers of numpy and torch as Python's own."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be stored in a record")


def _of_this_run(path: Path, spec: RunSpec) -> dict[str, Any] | None:
    try:
        record = read_record(path)
    except UserError:
        return None
    return record if record.get("hash") == spec.hash() else None
