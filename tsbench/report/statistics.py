"""What the runs can and cannot tell: paired differences, seeds still needed, average ranks.

Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 2006, for the ranks.
scipy.stats is not used: its import alone takes longer than a report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from tsbench.report.summary import t_quantile

POINT = 1.0
"""The difference in accuracy that is worth telling, in points."""
POWER = 0.8
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Pair:
    """Differences of two methods over the seeds that both have."""

    mean: float
    std: float | None
    seeds: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % t-interval of the mean difference; None from a single seed.

        >>> low, high = Pair(2.0, 1.0, 4).interval
        >>> round(low, 3), round(high, 3)
        (0.409, 3.591)
        """
        if self.std is None:
            return None
        half = t_quantile(self.seeds - 1) * self.std / math.sqrt(self.seeds)
        return self.mean - half, self.mean + half

    @property
    def told_apart(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]

    @property
    def more_seeds(self) -> str:
        """Seeds still needed to tell a difference of one point, in words."""
        if self.std is None:
            return "–"
        needed = seeds_needed(self.std)
        return f"> {MOST_SEEDS}" if needed is None else str(max(0, needed - self.seeds))


def paired(differences: Sequence[float]) -> Pair | None:
    """The pair of two methods from their differences, seed by seed."""
    if not differences:
        return None
    std = stdev(differences) if len(differences) > 1 else None
    return Pair(fmean(differences), std, len(differences))


def seeds_needed(std: float, difference: float = POINT) -> int | None:
    """The fewest seeds with which a paired t-test finds a true difference four times in five.

    >>> seeds_needed(1.0), seeds_needed(0.0), seeds_needed(1000.0)
    (10, 2, None)
    """
    low, high = 2, MOST_SEEDS
    if power(std, difference, high) < POWER:
        return None
    while low < high:
        middle = (low + high) // 2
        if power(std, difference, middle) < POWER:
            low = middle + 1
        else:
            high = middle
    return high


def power(std: float, difference: float, seeds: int) -> float:
    """How often a paired t-test at 5 % finds a true difference, from the noncentral t."""
    from scipy.special import gammaincinv, nctdtr, ndtr

    if std == 0:
        return 1.0
    freedom, shift = seeds - 1, difference * math.sqrt(seeds) / std
    bound = t_quantile(freedom)
    found = float(1 - nctdtr(freedom, shift, bound) + nctdtr(freedom, shift, -bound))
    if math.isnan(found):  # a shift out of its reach: average over the estimated spread instead
        chi2 = 2 * gammaincinv(freedom / 2, (np.arange(1000) + 0.5) / 1000)
        scaled = bound * np.sqrt(chi2 / freedom)
        found = float((ndtr(shift - scaled) + ndtr(-shift - scaled)).mean())
    return found


@dataclass(frozen=True)
class Ranks:
    """Ranks (data sets × methods), 1 for the best, and what they can tell."""

    ranks: np.ndarray
    averages: np.ndarray
    chi2: float
    p: float
    distance: float
    """Nemenyi's critical difference at 5 %: average ranks that are closer are not told apart."""


def rank_methods(accuracy: np.ndarray) -> Ranks:
    """Friedman's test and Nemenyi's distance on accuracies (data sets × methods)."""
    from scipy.special import gammaincc

    blocks, methods = accuracy.shape
    ranks = np.array([_mid_ranks(-row) for row in accuracy])
    averages = ranks.mean(axis=0)
    spread = ((ranks - (methods + 1) / 2) ** 2).sum() / (blocks * (methods - 1))
    chi2 = blocks * float(((averages - (methods + 1) / 2) ** 2).sum()) / spread if spread else 0.0
    p = float(gammaincc((methods - 1) / 2, chi2 / 2))
    distance = (
        range_quantile(methods) / math.sqrt(2) * math.sqrt(methods * (methods + 1) / (6 * blocks))
    )
    return Ranks(ranks, averages, chi2, p, distance)


def cliques(averages: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """First and last place of every longest run of methods that are not told apart.

    >>> cliques([1.0, 2.0, 3.5, 7.0], 1.6)
    [(0, 1), (1, 2)]
    """
    order = sorted(averages)
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(order):
        last = max(i for i, other in enumerate(order) if other - rank <= distance)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def range_quantile(methods: int, confidence: float = 0.95) -> float:
    """A quantile of the range of so many standard normal numbers, by bisection.

    P(range ≤ q) = k ∫ φ(z) (Φ(z) − Φ(z − q))^(k−1) dz.
    """
    from scipy.special import ndtr

    z = np.linspace(-9, 9, 2001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    low, high = 0.0, 20.0
    for _ in range(60):
        q = (low + high) / 2
        below = methods * float((density * (ndtr(z) - ndtr(z - q)) ** (methods - 1)).sum())
        low, high = (q, high) if below < confidence else (low, q)
    return (low + high) / 2


def _mid_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, equal values sharing the mean of theirs."""
    below = (values[:, None] > values).sum(axis=1)
    same = (values[:, None] == values).sum(axis=1)
    return below + (same + 1) / 2
