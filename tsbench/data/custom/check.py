"""Checks that every data set must pass, and what its test data shares with its training data."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from tsbench.data.catalogue import card as known_card
from tsbench.data.custom.prepare import is_custom, read_once
from tsbench.data.leakage import Finding, find_leakage
from tsbench.data.prepared import Dataset, data_digest, describe, load, verify
from tsbench.errors import UserError
from tsbench.protocol.rules import SplitName, seeds
from tsbench.protocol.stream import make_stream


def examine(reference: str, root: Path, split: SplitName = "published") -> Iterator[Finding]:
    """Check a data set: one given by its place as it is there, any other as it is prepared."""
    if is_custom(reference):
        dataset = yield from _examine_place(reference)
        if dataset is None:
            return
    else:
        dataset = load(known_card(reference, root), root)
        verify(dataset)
        yield "pass", "the prepared arrays are as they were prepared"
    yield _rule("every task can be learned and tested", _streams(dataset))
    found = find_leakage(dataset, split)
    copies = f"{found.copies} of them are" if found.copies else ""
    level, line = _rule("no test series is in the training data", copies)
    # Preparing WISDM as published makes windows of zeros: not for the user to fix.
    yield ("warn" if copies and dataset.card.origin is None else level), line
    yield from found.findings()


def _examine_place(reference: str) -> Generator[Finding, None, Dataset | None]:
    """The rules for reading; the generator returns the data set, or None if it cannot be read."""
    rule = "card and series can be read"
    try:
        card, splits = read_once(reference)
        yield _rule(rule, "")
        rule = "reading twice gives the same data"
        again = data_digest(*read_once(reference))
        yield _rule(rule, "" if again == data_digest(card, splits) else "two readings differ")
    except UserError as error:
        yield _rule(rule, str(error))
        return None
    return Dataset(card, splits, describe(card, splits, sources=[]))


def _rule(rule: str, reason: str) -> Finding:
    return ("FAIL", f"{rule}: {reason}") if reason else ("pass", rule)


def _streams(dataset: Dataset) -> str:
    """A seed whose stream has an empty task, and why."""
    for seed in seeds():
        stream = make_stream(dataset, seed)
        for task, test in zip(stream.tasks, stream.tests, strict=True):
            for label in task.labels:
                name = dataset.card.class_names[stream.classes[label]]
                if not (task.train.y == label).any():
                    return f"seed {seed}: nothing to train on for class '{name}'"
                if not (test.y == label).any():
                    return f"seed {seed}: nothing to test on for class '{name}'"
    return ""
