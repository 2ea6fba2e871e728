"""Results folders put together: from shards, from machines, from colleagues.

What is new is copied as it is; what is there stays as it is. Two records of one run are alike if
they differ in time and machine only. A finished run beats a failed one; all else that lies in one
place and differs is a conflict, reported and left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tsbench.disk import write_whole
from tsbench.runs.record import FAILED, BadRecord, Record, comparable, place_of, read_record
from tsbench.runs.store import TUNED, Store


@dataclass
class Merged:
    """What came of a merge."""

    new: int = 0
    alike: int = 0
    beaten: int = 0
    """Failed runs that are finished elsewhere."""
    tuned: int = 0
    """Files of tuned settings that are new."""
    conflicts: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Files that are not records, left alone."""


def merge(sources: Iterable[Path], target: Path, tick: Callable[[], None]) -> Merged:
    """Bring all records and tuned settings into ``target``; ``tick`` is called after each file."""
    merged = Merged()
    for source in sources:
        store = Store(source)
        for path in store.files():
            try:
                _merge_record(path, store.read(path), target, merged)
            except BadRecord as error:
                merged.problems.append(str(error))
            tick()
        for path in _tuned_files(source):
            _merge_tuned(path, target / path.relative_to(source), merged)
            tick()
    return merged


def count_files(source: Path) -> int:
    """How many files of a folder a merge looks at."""
    return len([*Store(source).files(), *_tuned_files(source)])


def _tuned_files(source: Path) -> list[Path]:
    return [path for path in sorted((source / TUNED).glob("*/*/*/*.yaml")) if path.is_file()]


def _merge_record(path: Path, record: Record, target: Path, merged: Merged) -> None:
    there = target / place_of(record)
    finished = there.with_name(there.name.replace(FAILED, ".json"))
    if there != finished and finished.exists():
        merged.beaten += 1
        return
    if there.exists():
        difference = _difference(record, there)
        if difference:
            merged.conflicts.append(f"'{path}' and '{there}' {difference}")
        else:
            merged.alike += 1
        return
    write_whole(there, path.read_bytes())
    merged.new += 1
    if there == finished:
        failed = there.with_name(there.name.replace(".json", FAILED))
        merged.beaten += failed.exists()
        failed.unlink(missing_ok=True)


def _difference(record: Record, there: Path) -> str:
    """What is different in the record that is there, in words; empty if it is alike."""
    try:
        other = read_record(there)
    except BadRecord:
        return "are in one place, and the latter is not a record"
    if record["hash"] != other["hash"]:
        return f"are different runs in one place: {_first_difference(record, other)}"
    if record["status"] == other["status"] == "ok" and _outcome(record) != _outcome(other):
        return "are the same run with different results"
    return ""


def _outcome(record: Record) -> dict[str, Any]:
    """What two records of one run have in common; its hash stands for the spec."""
    return {key: value for key, value in comparable(record).items() if key != "spec"}


def _first_difference(record: Record, other: Record) -> str:
    one, two = record["spec"], other["spec"]
    for key in sorted(one.keys() | two.keys()):
        if one.get(key) != two.get(key):
            return f"{key} {one.get(key)} and {two.get(key)}"
    return "other versions of tsbench"


def _merge_tuned(path: Path, there: Path, merged: Merged) -> None:
    if not there.exists():
        write_whole(there, path.read_bytes())
        merged.tuned += 1
    elif there.read_bytes() != path.read_bytes():
        merged.conflicts.append(f"'{path}' and '{there}' are different tuned settings")
