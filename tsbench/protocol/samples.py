"""Labelled series in memory, and the digest that says whether two copies are the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Split:
    """Series with their labels, and subjects and recordings where the source names them."""

    x: np.ndarray  # (N, C, L) float32, raw
    y: np.ndarray  # (N,) int64, 0-based
    subject: np.ndarray | None = None  # (N,) int32
    recording: np.ndarray | None = None  # (N,) int32, see below
    """Which of a subject's recordings of a class, or which part of the only one, in order of
    time. Not covered by the digest: data that was prepared without it is the same data."""

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        shapes = (f"{name} {array.shape}" for name, array in self.arrays().items())
        return f"Split({', '.join(shapes)})"

    def take(self, index: np.ndarray) -> Split:
        """The samples at ``index``, copied, in that order."""
        return Split(**{name: np.asarray(array[index]) for name, array in self.arrays().items()})

    def labelled(self, y: np.ndarray) -> Split:
        """The same samples with other labels."""
        return replace(self, y=y)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, without the missing ones."""
        named = {"x": self.x, "y": self.y, "subject": self.subject, "recording": self.recording}
        return {name: a for name, a in named.items() if a is not None}

    def digest(self) -> str:
        """SHA-256 over shapes, values, labels and subjects, in order."""
        h = hashlib.sha256()
        for name, array in self.arrays().items():
            if name != "recording":
                update_digest(h, name, array)
        return h.hexdigest()


def update_digest(h: Any, name: str, array: np.ndarray) -> None:
    """Add an array to a digest, the same on every machine."""
    portable = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    h.update(f"{name}{array.shape}".encode())
    h.update(portable.reshape(-1).view(np.uint8).data)


def together(splits: Sequence[Split]) -> Split:
    """Splits as one, with the arrays that all of them have."""
    shared = set.intersection(*(set(split.arrays()) for split in splits))
    return Split(
        **{name: np.concatenate([s.arrays()[name] for s in splits]) for name in sorted(shared)}
    )


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
    """Counts worth reporting: lines skipped, windows padded, windows empty."""

    def items(self) -> list[tuple[str, Split]]:
        """The splits by name, without the missing one."""
        named = [("train", self.train), ("val", self.val), ("test", self.test)]
        return [(name, split) for name, split in named if split is not None]

    def digest(self) -> str:
        """One digest over all splits."""
        text = "\n".join(f"{name} {split.digest()}" for name, split in self.items())
        return hashlib.sha256(text.encode()).hexdigest()


class Pool:
    """All samples of a data set under one numbering: train, then val, then test as prepared.

    Series stay where they are (on disk, memory-mapped) until they are taken.
    """

    def __init__(self, splits: Splits) -> None:
        self.parts = splits.items()
        ends = np.cumsum([len(split) for _, split in self.parts])
        self.starts = [int(end) - len(s) for end, (_, s) in zip(ends, self.parts, strict=True)]
        self.y = np.concatenate([split.y for _, split in self.parts])

    def __len__(self) -> int:
        return len(self.y)

    def part(self, wanted: str) -> np.ndarray:
        """Which samples were prepared as ``train``, ``val`` or ``test``: (N,) bool."""
        return np.concatenate([np.full(len(s), name == wanted) for name, s in self.parts])

    def units(self, kind: Literal["subject", "recording"]) -> np.ndarray | None:
        """The subject or recording of every sample; None where the source does not name them."""
        known = [split.arrays().get(kind) for _, split in self.parts]
        found = [array for array in known if array is not None]
        return np.concatenate(found) if len(found) == len(known) else None

    def take(self, index: np.ndarray) -> Split:
        """The samples at ``index``, copied, in that order."""
        pieces, places = [], []
        for start, (_, split) in zip(self.starts, self.parts, strict=True):
            rows = np.flatnonzero((index >= start) & (index < start + len(split)))
            if len(rows):
                pieces.append(split.take(index[rows] - start))
                places.append(rows)
        if not pieces:
            return self.parts[0][1].take(index)
        if len(pieces) == 1:
            return pieces[0]
        return together(pieces).take(np.argsort(np.concatenate(places)))


def usable_classes(train_counts: np.ndarray, test_counts: np.ndarray) -> list[int]:
    """Classes with at least two samples to train on and one to be tested on."""
    return [int(c) for c in np.flatnonzero((train_counts >= 2) & (test_counts >= 1))]


def class_counts(split: Split, classes: int) -> np.ndarray:
    """Samples per class."""
    return np.bincount(split.y, minlength=classes)
