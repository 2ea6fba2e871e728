"""What every data set must do, as checks that anybody can run on theirs."""

from __future__ import annotations

from collections.abc import Iterator

from tsbench.data.own import read_once
from tsbench.data.prepared import Dataset, data_digest, describe
from tsbench.data.stream import FIRST_SEED, make_stream
from tsbench.errors import UserError

SEEDS = range(FIRST_SEED, FIRST_SEED + 5)


def examine(reference: str) -> Iterator[tuple[str, str]]:
    """All rules on one data set, as (rule, reason): an empty reason is a pass."""
    rule = "card and series can be read"
    try:
        card, splits = read_once(reference)
        yield rule, ""
        rule = "the same at every reading"
        again = data_digest(*read_once(reference))
        yield rule, "" if again == data_digest(card, splits) else "two readings differ"
    except UserError as error:
        yield rule, str(error)
        return
    dataset = Dataset(card, splits, describe(card, splits, sources=[]))
    yield "every task can be learned and tested", _streams(dataset)
    yield "no test series is in the training data", _copies(dataset)


def _streams(dataset: Dataset) -> str:
    """A seed whose stream has a task with nothing in it."""
    for seed in SEEDS:
        stream = make_stream(dataset, seed)
        for task, test in zip(stream.tasks, stream.tests, strict=True):
            for label in task.labels:
                name = dataset.card.class_names[stream.classes[label]]
                if not (task.train.y == label).any():
                    return f"seed {seed}: nothing to train on for class '{name}'"
                if not (test.y == label).any():
                    return f"seed {seed}: nothing to test on for class '{name}'"
    return ""


def _copies(dataset: Dataset) -> str:
    """Test series that are in the training data, too."""
    seen = {row.tobytes() for name, s in dataset.splits.items() if name != "test" for row in s.x}
    leaked = sum(row.tobytes() in seen for row in dataset.splits.test.x)
    return f"{leaked} of them are" if leaked else ""
