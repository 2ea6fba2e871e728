"""Class orders and task streams, as published.

A stream is a sequence of tasks of two new classes each. The training side (``stream.tasks``) and
the test side (``stream.tests``) hold separate copies: nothing reachable from a task leads to test
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tsbench.data.arrays import HOLD_OUT_BELOW, Split
from tsbench.data.prepared import Dataset
from tsbench.errors import UserError
from tsbench.randomness import generator

CLASSES_PER_TASK = 2
VALIDATION_TASKS = 3
TRAIN_SHARE = 0.9
FIRST_SEED = 1234
"""Seeds of the published five runs: 1234 to 1238."""

StreamName = Literal["exp", "val"]


@dataclass(frozen=True)
class Task:
    """What a method sees when it learns a task; labels are positions in the stream's order."""

    index: int
    labels: tuple[int, ...]
    train: Split
    val: Split


@dataclass(frozen=True)
class Stream:
    """A seeded sequence of tasks, and beside it the test data of each of them."""

    name: StreamName
    seed: int
    classes: tuple[int, ...]
    """Original classes in the order of their labels: label k is class ``classes[k]``."""
    tasks: tuple[Task, ...]
    tests: tuple[Split, ...]

    def joint(self) -> Task:
        """All tasks as one, for offline training."""
        return Task(
            index=0,
            labels=tuple(range(len(self.classes))),
            train=_together([task.train for task in self.tasks]),
            val=_together([task.val for task in self.tasks]),
        )


def class_order(seed: int, classes: int) -> list[int]:
    """The published class order: numpy's legacy shuffle of 0..classes−1.

    >>> class_order(1234, 6)
    [2, 1, 5, 0, 4, 3]
    """
    order = np.arange(classes)
    np.random.RandomState(seed).shuffle(order)
    return [int(c) for c in order]


def stream_classes(dataset: Dataset, seed: int, name: StreamName) -> list[int]:
    """The classes of a stream in order; classes missing from partial data are passed over."""
    usable = set(dataset.usable)
    order = [c for c in class_order(seed, dataset.card.classes) if c in usable]
    order = order[: len(order) // CLASSES_PER_TASK * CLASSES_PER_TASK]
    if len(order) // CLASSES_PER_TASK < HOLD_OUT_BELOW:
        return order
    cut = VALIDATION_TASKS * CLASSES_PER_TASK
    return order[:cut] if name == "val" else order[cut:]


def make_stream(dataset: Dataset, seed: int, name: StreamName = "exp") -> Stream:
    """The stream of a data set under a seed.

    Validation stream: the first three tasks; experiment stream: the rest. With fewer than five
    tasks both have all classes, and the validation stream is tested on the held-out tenth.
    """
    classes = stream_classes(dataset, seed, name)
    few = len(dataset.usable) // CLASSES_PER_TASK < HOLD_OUT_BELOW
    test = dataset.splits.test
    if few and name == "val":
        if dataset.splits.val is None:
            raise UserError(f"{dataset.card.name} has no held-out part for a validation stream")
        test = dataset.splits.val
    tasks, tests = [], []
    for index, first in enumerate(range(0, len(classes), CLASSES_PER_TASK)):
        labels = tuple(range(first, first + CLASSES_PER_TASK))
        parts = [_ninety_ten(dataset, seed, classes[k], k) for k in labels]
        train, val = ([part[side] for part in parts] for side in (0, 1))
        tasks.append(Task(index, labels, _together(train), _together(val)))
        tests.append(_select(test, {classes[k]: k for k in labels}))
    return Stream(name, seed, tuple(classes), tuple(tasks), tuple(tests))


def memory_budget(dataset: Dataset, classes: int) -> int:
    """Samples that a replay method may keep, in total: 5 % of the published constant, a class.

    >>> int(0.05 * 1225) * 6, int(0.05 * 112) * 8  # UCI-HAR, UWave
    (366, 40)
    """
    return int(0.05 * dataset.card.memory_per_class) * classes


def _ninety_ten(dataset: Dataset, seed: int, original: int, label: int) -> tuple[Split, Split]:
    """Nine tenths of a class to train on, the rest to stop by; one sample at least to train on.

    The draw is named after the class, not the stream, so that a class is split alike in both.
    """
    pool = dataset.splits.train
    random = generator(seed, dataset.card.name, "train/val split", original)
    members = random.permutation(np.flatnonzero(pool.y == original))
    cut = max(1, int(TRAIN_SHARE * len(members)))
    sides = (pool.take(members[:cut]), pool.take(members[cut:]))
    train, val = (Split(s.x, np.full(len(s), label, np.int64), s.subject) for s in sides)
    return train, val


def _select(pool: Split, label_of: dict[int, int]) -> Split:
    """The samples of some classes, in array order, relabelled."""
    chosen = pool.take(np.flatnonzero(np.isin(pool.y, list(label_of))))
    labels = np.array([label_of[int(c)] for c in chosen.y], np.int64)
    return Split(chosen.x, labels, chosen.subject)


def _together(splits: list[Split]) -> Split:
    subjects = [s.subject for s in splits]
    return Split(
        np.concatenate([s.x for s in splits]),
        np.concatenate([s.y for s in splits]),
        None if any(s is None for s in subjects) else np.concatenate(subjects),  # type: ignore[arg-type]
    )
