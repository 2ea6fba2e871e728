"""The rules of the benchmark: seeds, class orders, streams, budgets, and the protocol's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tsbench.errors import UserError

VERSION = 1
"""Raised when the rules change so that older records can no longer be compared."""

FIRST_SEED = 1234
LARGEST_SEED = 2**32 - 1
"""What numpy's legacy generator takes."""
SEEDS = 5
"""The published runs have the seeds 1234 to 1238."""
CLASSES_PER_TASK = 2
"""Of the published protocol."""
VALIDATION_TASKS = 3
HOLD_OUT_BELOW = 5
"""With fewer tasks of two classes than this both streams use all classes, and the validation stream
is tested on a tenth held out of the training data (the published rule for UCI-HAR and UWave)."""
HELD_OUT_SHARE = 0.1
TRAIN_SHARE = 0.9
"""Of a class's training samples; the rest is for early stopping."""
MEMORY_SHARE = 0.05

PAPER_DATASETS = ("uci-har", "uwave", "dsa", "grabmyo", "wisdm")
"""The five data sets of the published table, in its order."""


class PaperMethod(NamedTuple):
    """A row of the published table."""

    title: str
    family: str


PAPER_METHODS = {
    "naive": PaperMethod("Naive", "bounds"),
    "offline": PaperMethod("Offline", "bounds"),
    "lwf": PaperMethod("LwF", "exemplar-free"),
    "mas": PaperMethod("MAS", "exemplar-free"),
    "dt2w": PaperMethod("DT2W", "exemplar-free"),
    "gr": PaperMethod("GR", "exemplar-based"),
    "er": PaperMethod("ER", "exemplar-based"),
    "der": PaperMethod("DER", "exemplar-based"),
    "herding": PaperMethod("Herding", "exemplar-based"),
    "aser": PaperMethod("ASER", "exemplar-based"),
    "clops": PaperMethod("CLOPS", "exemplar-based"),
    "fasticarl": PaperMethod("FastICARL", "exemplar-based"),
    "ts-acl": PaperMethod("TS-ACL", "analytic"),
    "ts-acl-e": PaperMethod("TS-ACL-E", "analytic"),
}
"""The fourteen methods of the published table, in its order."""

StreamName = Literal["exp", "val"]
StreamClasses = dict[StreamName, list[int]]
EncoderNorm = Literal["ln", "bn"]
SplitName = Literal["published", "subject", "recording"]
SPLITS: tuple[SplitName, ...] = get_args(SplitName)
"""``published``: random windows, or the official test set; ``subject``: people who are in neither
training nor validation; ``recording``: the same people in other recordings."""


@dataclass(frozen=True)
class Protocol:
    """What runs must have in common to be compared in one table."""

    stream: StreamName = "exp"
    norm: EncoderNorm = "ln"
    epochs: int = 100
    split: SplitName = "published"
    classes_per_task: int = CLASSES_PER_TASK

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UserError(f"unknown split '{self.split}'; there is: {', '.join(SPLITS)}")
        if self.classes_per_task < 1:
            raise UserError(f"classes per task must be at least 1, not {self.classes_per_task}")

    @property
    def name(self) -> str:
        """The folder of its records; rules that were added later appear only where they differ.

        >>> Protocol().name, Protocol(split="subject", classes_per_task=4).name
        ('exp-ln-100', 'exp-ln-100-subject-tasks-of-4')
        """
        return f"{self.stream}-{self.conditions}"

    @property
    def conditions(self) -> str:
        """The name without the stream: what settings are tuned for."""
        parts = [self.norm, str(self.epochs)]
        if self.split != "published":
            parts.append(self.split)
        if self.classes_per_task != CLASSES_PER_TASK:
            parts.append(f"tasks-of-{self.classes_per_task}")
        return "-".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """For the record of a run; rules that were added later appear only where they differ.

        >>> Protocol().as_dict()
        {'stream': 'exp', 'norm': 'ln', 'epochs': 100}
        """
        about = {"stream": self.stream, "norm": self.norm, "epochs": self.epochs}
        return about | self.added()

    def added(self) -> dict[str, Any]:
        """The rules that are not those of the published benchmark.

        >>> Protocol(split="subject").added()
        {'split': 'subject'}
        """
        published = {"split": "published", "classes_per_task": CLASSES_PER_TASK}
        return {k: getattr(self, k) for k, v in published.items() if getattr(self, k) != v}

    def flags(self) -> list[str]:
        """The options of a command that ask for the added rules.

        >>> Protocol(split="subject", classes_per_task=4).flags()
        ['--split', 'subject', '--classes-per-task', '4']
        """
        pairs = [(f"--{k.replace('_', '-')}", str(v)) for k, v in self.added().items()]
        return [word for pair in pairs for word in pair]

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Protocol:
        """Back from ``as_dict``, among other entries or not."""
        return cls(**{f.name: content[f.name] for f in fields(cls) if f.name in content})


DEFAULT = Protocol()
"""The published protocol."""
VALIDATION = Protocol(stream="val")
"""The published protocol on the stream that hyper-parameters are chosen on."""


def seeds(count: int = SEEDS) -> list[int]:
    """The first seeds of the benchmark; the published five, and more if asked for.

    >>> seeds(3)
    [1234, 1235, 1236]
    """
    return [FIRST_SEED + k for k in range(count)]


def class_order(seed: int, classes: int) -> list[int]:
    """The published class order: numpy's legacy shuffle of 0..classes−1.

    >>> class_order(1234, 6)
    [2, 1, 5, 0, 4, 3]
    """
    order = np.arange(classes)
    np.random.RandomState(seed).shuffle(order)
    return [int(c) for c in order]


def streams_of(order: Sequence[int], classes_per_task: int = CLASSES_PER_TASK) -> StreamClasses:
    """The classes of both streams, from the class order.

    The validation stream has the first six classes, which are three published tasks; the experiment
    stream has the others. With fewer than ten classes both have all of them. None of this depends
    on how many classes a task has, so that runs with larger tasks are about the same classes.

    >>> streams_of(range(13))["exp"], streams_of(range(13), 3)["exp"]
    ([6, 7, 8, 9, 10, 11], [6, 7, 8, 9, 10, 11, 12])
    >>> streams_of(range(6))
    {'val': [0, 1, 2, 3, 4, 5], 'exp': [0, 1, 2, 3, 4, 5]}
    """
    used = whole_tasks(order, classes_per_task)
    if holds_out(len(used)):
        return {"val": used, "exp": list(used)}
    cut = VALIDATION_TASKS * CLASSES_PER_TASK
    return {"val": used[:cut], "exp": used[cut:]}


def whole_tasks(classes: Sequence[int], per_task: int) -> list[int]:
    """The classes that tasks are made of.

    With two classes per task a class that is left over is left out, as published; with any other
    number the last task is smaller.

    >>> whole_tasks([4, 1, 3], 2), whole_tasks([4, 1, 3, 0], 3)
    ([4, 1], [4, 1, 3, 0])
    """
    if per_task != CLASSES_PER_TASK:
        return list(classes)
    return list(classes[: len(classes) // per_task * per_task])


def task_labels(classes: int, per_task: int = CLASSES_PER_TASK) -> list[tuple[int, ...]]:
    """The labels of each task of a stream; the last task may be smaller.

    >>> task_labels(5, 2)
    [(0, 1), (2, 3), (4,)]
    """
    return [
        tuple(range(first, min(first + per_task, classes))) for first in range(0, classes, per_task)
    ]


def task_counts(classes: int, per_task: int = CLASSES_PER_TASK) -> dict[StreamName, int]:
    """How many tasks each stream has.

    >>> task_counts(18), task_counts(6), task_counts(18, 4)
    ({'val': 3, 'exp': 6}, {'val': 3, 'exp': 3}, {'val': 2, 'exp': 3})
    """
    streams = streams_of(range(classes), per_task)
    return {name: len(task_labels(len(used), per_task)) for name, used in streams.items()}


def holds_out(classes: int) -> bool:
    """Whether both streams share all classes, with a tenth held out for the validation stream."""
    return classes // CLASSES_PER_TASK < HOLD_OUT_BELOW


def memory_budget(memory_per_class: int, classes: int) -> int:
    """Samples that a replay method may keep, in total: 5 % of the published constant per class.

    >>> memory_budget(1225, 6), memory_budget(112, 8)  # UCI-HAR, UWave
    (366, 40)
    """
    return int(MEMORY_SHARE * memory_per_class) * classes
