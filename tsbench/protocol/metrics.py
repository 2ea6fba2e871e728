"""Metrics on the accuracy matrix ``a``: ``a[t][i]`` is the accuracy (in %) on task i after task t.

Rows may be missing (None): joint training has only the last one. An entry is None where a task has
no test samples, and is left out of every mean. All indices count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

Matrix = Sequence[Sequence[float | None] | None]


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of what is there.

    >>> mean([1.0, None, 3.0]), mean([None])
    (2.0, None)
    """
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def average_accuracy(a: Matrix) -> float | None:
    """A_T: mean over tasks of the last row.

    >>> average_accuracy([[100.0], [60.0, 90.0]])
    75.0
    """
    last = a[-1]
    assert last is not None
    return mean(last)


def forgetting(a: Matrix) -> float | None:
    """F_T: mean over earlier tasks of (best accuracy before the last task − last accuracy).

    >>> forgetting([[100.0], [80.0, 90.0], [70.0, 95.0, 99.0]])
    12.5
    >>> forgetting([None, [80.0, 90.0]]) is None
    True
    """
    rows = [row for row in a if row is not None]
    if len(rows) < 2 or len(rows) < len(a):
        return None
    tasks = len(rows) - 1
    drops = []
    for i in range(tasks):
        before, last = [rows[j][i] for j in range(i, tasks)], rows[-1][i]
        known = [value for value in before if value is not None]
        drops.append(max(known) - last if known and last is not None else None)
    return mean(drops)


def curve(a: Matrix) -> list[float | None]:
    """A_t for every t.

    >>> curve([[100.0], [60.0, 90.0]])
    [100.0, 75.0]
    """
    return [None if row is None else mean(row) for row in a]


def learning_accuracy(a: Matrix) -> float | None:
    """Mean accuracy on each task right after it was learned.

    >>> learning_accuracy([[100.0], [60.0, 90.0]])
    95.0
    """
    diagonal = [row[t] for t, row in enumerate(a) if row is not None]
    return mean(diagonal) if len(diagonal) == len(a) else None


def backward_transfer(a: Matrix) -> float | None:
    """Mean over earlier tasks of (last accuracy − accuracy right after learning it).

    >>> backward_transfer([[100.0], [60.0, 90.0]])
    -40.0
    """
    rows = [row for row in a if row is not None]
    if len(rows) < 2 or len(rows) < len(a):
        return None
    pairs = [(rows[-1][i], rows[i][i]) for i in range(len(rows) - 1)]
    return mean(None if b is None or a_ is None else b - a_ for b, a_ in pairs)


def confusion(truth: np.ndarray, predicted: np.ndarray, classes: int) -> list[list[int]]:
    """Counts: row = true label, column = predicted label."""
    counts = np.zeros((classes, classes), np.int64)
    np.add.at(counts, (truth, predicted), 1)
    return [[int(n) for n in row] for row in counts]


class VarianceRatio:
    """Between-class over within-class variance of features, in one pass over the samples.

    VR = Σ_c n_c‖μ_c − μ‖² / Σ_c Σ_{i∈c}‖x_i − μ_c‖².
    """

    def __init__(self, classes: int) -> None:
        self.counts = np.zeros(classes)
        self.sums: np.ndarray | None = None
        self.squares = 0.0

    def add(self, features: np.ndarray, labels: np.ndarray) -> None:
        """Take in features (n, d) with their labels."""
        if self.sums is None:
            self.sums = np.zeros((len(self.counts), features.shape[1]))
        for label in np.unique(labels):
            chosen = features[labels == label]
            self.counts[label] += len(chosen)
            self.sums[label] += chosen.sum(axis=0, dtype=np.float64)
            self.squares += float(np.einsum("nd,nd->", chosen, chosen, dtype=np.float64))

    def value(self) -> float | None:
        """The ratio, or None when nothing varies within the classes."""
        if self.sums is None:
            return None
        seen = self.counts > 0
        counts, sums = self.counts[seen], self.sums[seen]
        means = sums / counts[:, None]
        class_energy = float((counts * (means**2).sum(axis=1)).sum())
        overall = sums.sum(axis=0) / counts.sum()
        between = class_energy - float(counts.sum() * (overall**2).sum())
        within = self.squares - class_energy
        return between / within if within > 1e-12 * self.squares else None
