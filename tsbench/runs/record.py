"""The record of a run: its schema, and the one place where a record is checked.

A record is one JSON file. ``Finished`` and ``Failed`` below are the schema; ``validate`` checks
types, ranges and consistency (A_T, F_T and the curve follow from the accuracy matrix). Everything
that reads records goes through ``read_record``, so a damaged one is the same short line everywhere.

Schema 2 added the section ``method`` and ``environment.load``; records of schema 1 are brought up
to date while they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from tsbench.console import printable
from tsbench.errors import UserError
from tsbench.protocol.rules import PAPER_METHODS, SplitName
from tsbench.runs.consistency import inconsistencies
from tsbench.schema import NotRequired, TypedDict, mismatches, read_json, shown

SCHEMA = 2
FAILED = ".failed.json"


class Spec(TypedDict):
    """What was run (``RunSpec.as_dict``)."""

    protocol: str
    version: int
    dataset: str
    data_digest: str
    method: str
    seed: int
    stream: str
    epochs: int
    norm: str
    split: NotRequired[SplitName]
    classes_per_task: NotRequired[int]
    settings: dict[str, Any]
    changed: dict[str, Any]
    tuned: NotRequired[dict[str, Any]]
    code: NotRequired[str]


class About(TypedDict):
    """What reports need to know of the method."""

    title: str
    family: str
    keeps: str
    colour: str
    marker: str


class Data(TypedDict):
    """The data that was used."""

    digest: str
    complete: bool
    coverage: str
    card: NotRequired[dict[str, Any]]
    stream: NotRequired[dict[str, Any]]


class Result(TypedDict):
    """Accuracies in %, over all tasks of the stream."""

    accuracy: list[list[float | None] | None]
    A_T: float | None
    F_T: float | None
    curve: list[float | None]
    learning_accuracy: NotRequired[float | None]
    backward_transfer: NotRequired[float | None]
    pooled: NotRequired[float | None]
    confusion: NotRequired[list[list[int]]]
    variance_ratio: NotRequired[float | None]
    linear_head: NotRequired[float | None]
    notes: NotRequired[dict[str, Any]]


class Memory(TypedDict):
    """Bytes."""

    kept_bytes: dict[str, int]
    budget_samples: NotRequired[int]
    parameters: int
    peak_bytes: int | None
    gpu_peak_bytes: NotRequired[int | None]


class Time(TypedDict):
    """Seconds: setup + tuning + learn + evaluate + analysis − reused = total.

    ``reused`` is what other runs trained and this one is charged for, less the seconds that it
    waited for them. ``charged`` is the part of ``learn`` that training shared with others took.
    """

    learn: list[float]
    evaluate: list[float]
    tuning: NotRequired[float]
    analysis: NotRequired[float]
    setup: NotRequired[float]
    charged: NotRequired[float]
    reused: NotRequired[float]
    total: float


class Environment(TypedDict):
    """Where and with what the run was done."""

    device: str
    gpu: str | None
    cpu: str | None
    threads: int
    workers: int
    torch: str
    load: NotRequired[float | None]
    commit: NotRequired[str]
    system: NotRequired[str]
    python: NotRequired[str]
    numpy: NotRequired[str]
    tsbench: NotRequired[str]


class Submitted(TypedDict):
    """Who sent in a record that we did not make ourselves (docs/submitting.md)."""

    by: str
    url: str


class Finished(TypedDict):
    """The record of a finished run."""

    schema: int
    status: Literal["ok"]
    hash: str
    label: str
    spec: Spec
    method: About
    data: Data
    class_order: NotRequired[list[int]]
    chosen: NotRequired[dict[str, Any]]
    result: Result
    memory: Memory
    time: Time
    environment: Environment
    submitted: NotRequired[Submitted]


class Failed(TypedDict):
    """The record of a run that failed; ``lost``: it was ended from outside, and is repeated."""

    schema: int
    status: Literal["failed"]
    hash: str
    label: str
    spec: Spec
    method: About
    error: str
    details: NotRequired[str]
    lost: NotRequired[bool]
    environment: NotRequired[Environment]


Record = dict[str, Any]
"""A validated ``Finished`` or ``Failed``."""


class BadRecord(UserError):
    """Not a record that can be used; says why in one line."""


def read_record(path: Path) -> Record:
    """The record in a file, checked; raises ``BadRecord``."""
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise BadRecord(printable(f"'{path}' is not a record: {error}")) from error
    try:
        return validate(content)
    except BadRecord as error:
        raise BadRecord(printable(f"'{path}' is not a valid record: {error}")) from None


def validate(content: Any) -> Record:
    """The record, of the current schema; raises ``BadRecord`` with the first thing that is wrong.

    >>> validate({"schema": 1, "status": "ok"})
    Traceback (most recent call last):
    ...
    tsbench.runs.record.BadRecord: hash is missing
    """
    if not isinstance(content, dict) or type(content.get("schema")) is not int:
        raise BadRecord("it was not written by tsbench")
    if content["schema"] > SCHEMA:
        raise BadRecord("it was written by a newer tsbench; update tsbench to read it")
    shape = {"ok": Finished, "failed": Failed}.get(str(content.get("status")))
    if shape is None:
        raise BadRecord(f"status is {shown(content.get('status'))}")
    record = _upgraded(content)
    for problem in mismatches(record, shape):
        raise BadRecord(problem)
    for problem in inconsistencies(record):
        raise BadRecord(problem)
    return record


def title_of(record: Mapping[str, Any]) -> str:
    """A record in words."""
    spec = record["spec"]
    return f"{record['label']} on {spec['dataset']}, seed {spec['seed']}"


def place_of(record: Mapping[str, Any]) -> Path:
    """Where a record belongs in a results folder."""
    spec = record["spec"]
    ending = ".json" if record["status"] == "ok" else FAILED
    return Path(spec["protocol"], spec["dataset"], record["label"], f"seed-{spec['seed']}{ending}")


def comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without what may differ between two runs of one spec: time, machine, sender."""
    kept = {k: v for k, v in record.items() if k not in ("time", "environment", "submitted")}
    memory = {k: v for k, v in record["memory"].items() if "peak" not in k}
    return {**kept, "memory": memory}


def _upgraded(content: dict[str, Any]) -> Record:
    """A record of an earlier schema as one of the current schema."""
    if content["schema"] == SCHEMA or not isinstance(content.get("label"), str):
        return content
    name = content["label"].partition("+")[0]
    title, family = PAPER_METHODS.get(name, (name, "other"))
    about = {"title": title, "family": family, "keeps": "", "colour": "", "marker": ""}
    return {**content, "schema": SCHEMA, "method": content.get("method", about)}
