"""Does the test data leak into the training data? Shared subjects, copies, near-duplicate windows.

Near-duplicates are found by normalised cross-correlation: the largest Pearson correlation of two
windows over all shifts that leave at least half of them overlapping, all channels together. Windows
that were cut with an overlap, or twice from one signal, reach 1. How similar windows are otherwise
depends on the signal, so the median is given too, for training windows of the same subject and of
others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tsbench.protocol.divisions import Source, divide
from tsbench.protocol.rules import FIRST_SEED, SplitName
from tsbench.protocol.samples import Pool
from tsbench.randomness import generator

Level = Literal["pass", "FAIL", "warn", "note"]
Finding = tuple[Level, str]
"""How a check came out, in words."""
THRESHOLD = 0.99
"""Of the correlation."""
SAMPLED = 200
"""Test windows that are looked at, at most."""
COMPARED = 1000
"""Training windows of its class that each of them is compared with, at most."""
CHUNK = 16
LEAST_ENERGY = 0.05
"""Share of a window's energy that the overlap must hold: a flat stretch fits to any other."""


@dataclass(frozen=True)
class Leakage:
    """What training and test data have in common."""

    tests: int
    subjects: tuple[int, int] | None
    """How many subjects of the test data are also in the training data, and of how many."""
    of_shared: int
    """Test windows of these subjects."""
    copies: int
    """Test windows that are, bit for bit, in the training data."""
    sampled: int
    near: int
    """Sampled test windows with a near-duplicate in the training data."""
    typical: float
    """Median over the sampled test windows of the correlation with the most similar one."""
    same: float | None
    """The same among windows of the same subject; None where there are none."""
    others: float | None
    """And among windows of other subjects."""

    def findings(self) -> list[Finding]:
        """What was found in words, copies apart."""
        found: list[Finding] = []
        if self.subjects is None:
            found.append(("note", "subjects: not known, so the same people may be in both"))
        else:
            shared, everybody = self.subjects
            line = f"subjects: {shared} of {everybody} test subjects are also in the training data"
            more = f" ({self.of_shared} of {self.tests} test windows)" if shared else ""
            found.append(("warn" if shared else "pass", line + more))
        line = (
            f"near-duplicates: {self.near} of {self.sampled} sampled test windows correlate by "
            f"{THRESHOLD} or more with a training window of their class"
        )
        medians = [("", self.typical), ("same subject ", self.same), ("others ", self.others)]
        known = ", ".join(f"{who}{value:.2f}" for who, value in medians if value is not None)
        found.append(("warn" if self.near else "pass", f"{line}; median of the largest: {known}"))
        return found


def find_leakage(source: Source, split: SplitName, seed: int = FIRST_SEED) -> Leakage:
    """Compare the training and validation data of a split with its test data, class by class."""
    pool = Pool(source.splits)
    division = divide(source, pool, seed, split, "exp")
    held_out = pool.part("val") if division.stop is None else division.stop
    train, test = np.flatnonzero(division.train | held_out), np.flatnonzero(division.test)
    subject = pool.units("subject")
    shared = np.empty(0, np.int64)
    if subject is not None:
        shared = np.intersect1d(subject[train], subject[test])
    random = generator(0, source.name, "leakage")
    sampled = np.sort(random.permutation(test)[:SAMPLED])
    best, same, others = [], [], []
    for label in np.unique(pool.y[sampled]):
        asked = sampled[pool.y[sampled] == label]
        known = random.permutation(train[pool.y[train] == label])[:COMPARED]
        if not len(known):
            continue
        found = correlations(pool.take(asked).x, pool.take(known).x)
        best += found.max(axis=1).tolist()
        if subject is not None:
            alike = subject[asked][:, None] == subject[known]
            same += _best(found, alike)
            others += _best(found, ~alike)
    return Leakage(
        tests=len(test),
        subjects=None if subject is None else (len(shared), len(np.unique(subject[test]))),
        of_shared=0 if subject is None else int(np.isin(subject[test], shared).sum()),
        copies=_copies(pool, train, test),
        sampled=len(best),
        near=sum(value >= THRESHOLD for value in best),
        typical=float(np.median(best)) if best else 0.0,
        same=float(np.median(same)) if same else None,
        others=float(np.median(others)) if others else None,
    )


def correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(T, C, L) and (N, C, L) → (T, N): the largest correlation over shifts."""
    scale = b.std(axis=(0, 2), dtype=np.float64)
    scale = np.where(scale > 0, scale, 1.0)[:, None]
    first, second = (np.asarray(x, np.float64) / scale for x in (a, b))
    parts = [_correlations(first[i : i + CHUNK], second) for i in range(0, len(first), CHUNK)]
    return np.concatenate(parts)


def _correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = (x - x.mean(axis=2, keepdims=True) for x in (a, b))
    steps = a.shape[2]
    reach = steps // 2
    shifts = np.arange(-reach, reach + 1)
    size = 2 * steps
    spectra = [np.fft.rfft(x, size).transpose(2, 0, 1) for x in (a, b)]  # (F, ·, C)
    product = np.conj(spectra[0]) @ spectra[1].transpose(0, 2, 1)  # (F, T, N)
    cross = np.fft.irfft(product, size, axis=0)[shifts % size]  # (S, T, N)
    lengths = (steps - np.abs(shifts)).astype(np.float64)
    sums_a, energy_a = _overlap(a, shifts)
    sums_b, energy_b = _overlap(b, -shifts)
    covariance = cross - sums_a @ sums_b.transpose(0, 2, 1) / lengths[:, None, None]
    left = np.maximum(energy_a - (sums_a**2).sum(axis=2) / lengths[:, None], 0.0)  # (S, T)
    right = np.maximum(energy_b - (sums_b**2).sum(axis=2) / lengths[:, None], 0.0)  # (S, N)
    scale = np.sqrt(left[:, :, None] * right[:, None, :])
    enough = (left > LEAST_ENERGY * left[reach])[:, :, None] & (
        right > LEAST_ENERGY * right[reach]
    )[:, None, :]
    found = np.divide(covariance, scale, out=np.zeros_like(scale), where=enough & (scale > 1e-12))
    return np.clip(found.max(axis=0), 0.0, 1.0)


def _overlap(x: np.ndarray, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums per channel (S, ·, C) and energies (S, ·) of the part of x that overlaps at each shift.

    For a shift s ≥ 0 that is all but the last s steps, for s < 0 all but the first −s.
    """
    steps = x.shape[2]
    zero = np.zeros((*x.shape[:2], 1))
    sums = np.concatenate([zero, np.cumsum(x, axis=2)], axis=2)
    squares = np.concatenate([zero, np.cumsum(x**2, axis=2)], axis=2)
    starts, ends = np.maximum(-shifts, 0), steps - np.maximum(shifts, 0)
    total = (sums[:, :, ends] - sums[:, :, starts]).transpose(2, 0, 1)
    energy = (squares[:, :, ends] - squares[:, :, starts]).sum(axis=1).T
    return total, energy


def _best(found: np.ndarray, allowed: np.ndarray) -> list[float]:
    """The largest of the allowed values of each row that has any."""
    rows = allowed.any(axis=1)
    return np.where(allowed, found, -1.0)[rows].max(axis=1).tolist() if rows.any() else []


def _copies(pool: Pool, train: np.ndarray, test: np.ndarray) -> int:
    """Test windows whose bytes are among those of the training windows."""

    def digests(index: np.ndarray) -> Iterator[bytes]:
        for start in range(0, len(index), COMPARED):
            for row in pool.take(index[start : start + COMPARED]).x:
                yield hashlib.sha256(row.tobytes()).digest()

    seen = set(digests(train))
    return sum(digest in seen for digest in digests(test))
