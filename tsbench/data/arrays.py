"""Labelled series in memory, and the digest that says whether two copies are the same."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np

from tsbench.data.card import Card
from tsbench.data.split import class_split, plain_split
from tsbench.errors import UserError

HOLD_OUT_BELOW = 5
"""With fewer tasks than this both streams use all classes, and the validation stream is tested on
a tenth held out of the training data (the published rule for UCI-HAR and UWave)."""


LEAST_CLASSES = 4
"""Of people's own data: two tasks. Partial data of the published sets may have a single task."""


@dataclass(frozen=True)
class Split:
    """Series with their labels, and subjects where the source tells them."""

    x: np.ndarray  # (N, C, L) float32, raw
    y: np.ndarray  # (N,) int64, 0-based
    subject: np.ndarray | None = None  # (N,) int32

    def __len__(self) -> int:
        return len(self.y)

    def take(self, index: np.ndarray) -> Split:
        """The samples at ``index``, copied, in that order."""
        subject = None if self.subject is None else np.asarray(self.subject[index])
        return Split(np.asarray(self.x[index]), np.asarray(self.y[index]), subject)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, without the missing one."""
        named = {"x": self.x, "y": self.y, "subject": self.subject}
        return {name: a for name, a in named.items() if a is not None}

    def digest(self) -> str:
        """SHA-256 over shapes, values, labels and subjects, in order."""
        h = hashlib.sha256()
        for name, array in self.arrays().items():
            portable = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            h.update(f"{name}{array.shape}".encode())
            h.update(portable.reshape(-1).view(np.uint8).data)
        return h.hexdigest()


@dataclass(frozen=True)
class Coverage:
    """How much of the official data was there: 22 of 51 subjects."""

    found: int
    expected: int
    unit: str

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.found >= self.expected

    def __str__(self) -> str:
        return f"{self.found} of {self.expected} {self.unit}"


@dataclass(frozen=True)
class Splits:
    """What a data set's ``prepare`` returns."""

    train: Split
    test: Split
    coverage: Coverage
    val: Split | None = None
    notes: dict[str, int] = field(default_factory=dict)
    """Counts worth telling: lines skipped, windows padded, windows empty."""

    def items(self) -> list[tuple[str, Split]]:
        """The splits by name, without the missing one."""
        named = [("train", self.train), ("val", self.val), ("test", self.test)]
        return [(name, split) for name, split in named if split is not None]

    def digest(self) -> str:
        """One digest over all splits."""
        text = "\n".join(f"{name} {split.digest()}" for name, split in self.items())
        return hashlib.sha256(text.encode()).hexdigest()


def usable_classes(train_counts: np.ndarray, test_counts: np.ndarray) -> list[int]:
    """Classes with at least two samples to train on and one to be tested on."""
    return [int(c) for c in np.flatnonzero((train_counts >= 2) & (test_counts >= 1))]


def class_counts(split: Split, classes: int) -> np.ndarray:
    """Samples per class."""
    return np.bincount(split.y, minlength=classes)


def finish(card: Card, splits: Splits) -> Splits:
    """Check what ``prepare`` returned and hold out the validation tenth where the rule says so."""
    for name, split in splits.items():
        expected = (len(split), card.channels, card.length)
        if split.x.shape != expected or split.x.dtype != np.float32:
            raise UserError(
                f"{card.name}: {name} has shape {split.x.shape} {split.x.dtype}, "
                f"expected {expected} float32"
            )
        if any(len(a) != len(split) for a in split.arrays().values()) or split.y.dtype.kind != "i":
            raise UserError(f"{card.name}: {name} needs one whole number as label for each series")
        if not np.isfinite(split.x).all():
            raise UserError(f"{card.name}: {name} holds NaN or infinite values")
        if len(split) and not (split.y.min() >= 0 and split.y.max() < card.classes):
            raise UserError(f"{card.name}: {name} has a label outside 0..{card.classes - 1}")
    if splits.coverage.found > splits.coverage.expected:
        raise UserError(f"{card.name}: {splits.coverage}: more than there should be")
    usable = usable_classes(
        class_counts(splits.train, card.classes), class_counts(splits.test, card.classes)
    )
    least = 2 if card.origin is None else LEAST_CLASSES
    if len(usable) < least:
        raise UserError(
            f"{card.name}: only {len(usable)} class(es) with enough samples in this data "
            f"({splits.coverage}), {least} are needed: two a task, with two samples each to train "
            "on and one to test on" + (f"; get more from {card.page}" if card.page else "")
        )
    if splits.val is None and len(usable) // 2 < HOLD_OUT_BELOW:
        kept, held = (
            plain_split(len(splits.train), 0.1)
            if card.origin is None
            else class_split(splits.train.y, 0.1, seed=0)  # keeps classes of two or three samples
        )
        splits = replace(splits, train=splits.train.take(kept), val=splits.train.take(held))
    return splits
