"""Repeat a stored run and compare: does this machine get the accuracies that the record says?"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from tsbench.data.catalogue import card
from tsbench.data.prepared import load, verify
from tsbench.errors import UserError
from tsbench.learn.method import Progress
from tsbench.runs.machine import Machine
from tsbench.runs.record import BadRecord, Record, title_of
from tsbench.runs.run_one import run_one
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store
from tsbench.schema import shown, whole_number


@dataclass(frozen=True)
class Comparison:
    """A stored record and its repetition."""

    stored: Record
    repeated: Record

    @property
    def difference(self) -> float:
        """The largest difference between the two accuracy matrices, in percentage points."""
        pairs = zip(
            self.stored["result"]["accuracy"], self.repeated["result"]["accuracy"], strict=True
        )
        entries = [
            (a, b) for one, other in pairs if one and other for a, b in zip(one, other, strict=True)
        ]
        return max((abs(a - b) for a, b in entries if a is not None and b is not None), default=0.0)


def find_record(store: Store, reference: str, protocol: str) -> Record:
    """The finished record called ``dataset/method/seed``."""
    dataset, _, rest = reference.partition("/")
    method, _, last = rest.rpartition("/")
    seed = whole_number(last)
    if not (dataset and method and seed is not None):
        raise UserError(
            f"'{shown(reference)}' is not of the form DATASET/METHOD/SEED, like uwave/er/1234, "
            "with a whole number as seed"
        )
    folder = store.root / protocol / dataset / method
    try:
        return store.read(folder / f"seed-{seed}.json")
    except BadRecord as error:
        seeds = sorted(path.stem.removeprefix("seed-") for path in folder.glob("seed-*.json"))
        there = f"; there are the seeds {', '.join(seeds)}" if seeds else ""
        raise UserError(
            f"no finished run {reference} of protocol {protocol} in '{store.root}'{there}"
        ) from error


def rerun(record: Record, machine: Machine, progress: Progress) -> Comparison:
    """Run a record's spec again, in a folder that is removed afterwards."""
    spec = RunSpec.from_dict(record["spec"])
    dataset = load(card(spec.dataset, machine.data), machine.data)
    verify(dataset)
    if dataset.digest != spec.data_digest:
        raise UserError(
            f"{title_of(record)} was made from other data than is prepared in '{machine.data}'"
        )
    threads = record["environment"]["threads"]
    with tempfile.TemporaryDirectory() as scratch:
        outcome = run_one(spec, replace(machine, threads=threads), Store(Path(scratch)), progress)
    if outcome.error is not None or outcome.record is None:
        raise UserError(f"{title_of(record)} failed when repeated: {outcome.details()['error']}")
    return Comparison(record, outcome.record)
