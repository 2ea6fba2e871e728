"""Task streams: the classes of a data set, task by task.

The training side (``stream.tasks``) and the test side (``stream.tests``) hold separate copies:
nothing reachable from a task leads to test data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tsbench.errors import UserError
from tsbench.protocol.divisions import Division, Source, divide
from tsbench.protocol.rules import (
    DEFAULT,
    TRAIN_SHARE,
    Protocol,
    StreamName,
    class_order,
    streams_of,
    task_labels,
    whole_tasks,
)
from tsbench.protocol.samples import Pool, Split, together
from tsbench.randomness import generator


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
    notes: dict[str, Any] = field(default_factory=dict)
    """What is special about it, for the record; nothing in the published protocol."""

    def __repr__(self) -> str:
        train, val = (sum(len(getattr(t, side)) for t in self.tasks) for side in ("train", "val"))
        return (
            f"Stream({self.name}, seed {self.seed}: {len(self.tasks)} tasks, {len(self.classes)} "
            f"classes; {train} samples to train on, {val} to stop by, "
            f"{sum(map(len, self.tests))} to test on)"
        )

    def joint(self) -> Task:
        """All tasks as one, for offline training."""
        return Task(
            index=0,
            labels=tuple(range(len(self.classes))),
            train=together([task.train for task in self.tasks]),
            val=together([task.val for task in self.tasks]),
        )


@dataclass(frozen=True)
class Outline:
    """A stream before any series is read: its classes, its tasks and where samples come from."""

    classes: list[int]
    labels: list[tuple[int, ...]]
    """Of each task."""
    pool: Pool
    division: Division
    notes: dict[str, Any]


def outline(source: Source, seed: int, protocol: Protocol = DEFAULT) -> Outline:
    """The classes and tasks of a stream; classes that cannot be learned or tested are left out.

    The experiment stream decides on the class order of both, so that they share no class.
    """
    pool, per_task = Pool(source.splits), protocol.classes_per_task
    division = divide(source, pool, seed, protocol.split, "exp")
    missing = dict(division.missing)
    order = [c for c in class_order(seed, source.classes) if c in division.usable]
    classes = streams_of(order, per_task)[protocol.stream]
    if protocol.stream == "val":
        division = divide(source, pool, seed, protocol.split, "val")
        missing |= {c: side for c, side in division.missing.items() if c in classes}
        classes = whole_tasks([c for c in classes if c in division.usable], per_task)
    if not classes:
        raise UserError(
            f"{source.name}, seed {seed}: with --split {protocol.split} no class has samples to "
            "train on and to test on"
        )
    labels = task_labels(len(classes), per_task)
    notes: dict[str, Any] = {}
    if division.units:
        notes[f"{protocol.split}s"] = division.units
    if missing:
        notes["classes_left_out"] = {str(c): f"no {missing[c]} samples" for c in sorted(missing)}
    if len(labels[-1]) < per_task:
        notes["classes_of_last_task"] = len(labels[-1])
    return Outline(classes, labels, pool, division, notes)


def make_stream(source: Source, seed: int, protocol: Protocol = DEFAULT) -> Stream:
    """The stream of a data set under a seed and a protocol."""
    plan = outline(source, seed, protocol)
    tasks, tests = [], []
    for index, labels in enumerate(plan.labels):
        parts = [_train_and_val(source, seed, plan, k) for k in labels]
        train, val = (together([part[side] for part in parts]) for side in (0, 1))
        tasks.append(Task(index, labels, train, val))
        tests.append(_test(plan, labels))
    name, classes = protocol.stream, tuple(plan.classes)
    return Stream(name, seed, classes, tuple(tasks), tuple(tests), plan.notes)


def _train_and_val(source: Source, seed: int, plan: Outline, label: int) -> tuple[Split, Split]:
    """The samples of a class to train on and to stop by.

    Where the split does not say which to stop by, a tenth is drawn, one sample at least being left
    to train on. The draw is named after the class: a class is divided alike in both streams.
    """
    original, division = plan.classes[label], plan.division
    of_class = plan.pool.y == original
    random = generator(seed, source.name, "train/val split", original)
    members = random.permutation(np.flatnonzero(of_class & division.train))
    if division.stop is None:
        cut = max(1, int(TRAIN_SHARE * len(members)))
        sides = members[:cut], members[cut:]
    else:
        sides = members, np.flatnonzero(of_class & division.stop)
    train, val = (plan.pool.take(side) for side in sides)
    train, val = (s.labelled(np.full(len(s), label, np.int64)) for s in (train, val))
    return train, val


def _test(plan: Outline, labels: tuple[int, ...]) -> Split:
    """The test samples of a task, in the order of the data set."""
    label_of = {plan.classes[k]: k for k in labels}
    chosen = np.isin(plan.pool.y, list(label_of)) & plan.division.test
    split = plan.pool.take(np.flatnonzero(chosen))
    return split.labelled(np.array([label_of[int(c)] for c in split.y], np.int64))
