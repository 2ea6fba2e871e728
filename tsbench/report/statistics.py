"""What the runs can and cannot tell: paired differences, seeds still needed, average ranks.

Demšar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 2006, for the ranks.
scipy.stats is imported where it is used: it takes a second.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tsbench.report.summary import Figure, t_quantile

POINT = 1.0
"""The difference in accuracy that matters, in points."""
POWER = 0.8
MOST_SEEDS = 1000


def interval(found: Figure) -> tuple[float, float] | None:
    """The 95 % t-interval of a mean; None from a single seed.

    >>> low, high = interval(Figure(2.0, 1.0, 4))
    >>> round(low, 3), round(high, 3)
    (0.409, 3.591)
    """
    half = found.spread("ci95")
    return None if half is None else (found.mean - half, found.mean + half)


def more_seeds(difference: Figure) -> str:
    """Seeds still needed to find a difference of one point, in words."""
    if difference.std is None:
        return "–"
    needed = seeds_needed(difference.std)
    return f"> {MOST_SEEDS}" if needed is None else str(max(0, needed - difference.seeds))


def seeds_needed(std: float, difference: float = POINT) -> int | None:
    """The fewest seeds with which a paired t-test finds a true difference four times in five.

    >>> seeds_needed(1.0), seeds_needed(0.0), seeds_needed(1000.0)
    (10, 2, None)
    """
    if power(std, difference, MOST_SEEDS) < POWER:
        return None
    return 2 + bisect_left(range(2, MOST_SEEDS), POWER, key=lambda n: power(std, difference, n))


def power(std: float, difference: float, seeds: int) -> float:
    """How often a paired t-test at 5 % finds a true difference, from the noncentral t."""
    from scipy.stats import nct

    shift = math.inf if std == 0 else difference * math.sqrt(seeds) / std
    bound = t_quantile(seeds - 1)
    if shift > 30 * bound:  # beyond the reach of scipy's series, and certain
        return 1.0
    return float(
        np.nan_to_num([nct.sf(bound, seeds - 1, shift), nct.cdf(-bound, seeds - 1, shift)]).sum()
    )


@dataclass(frozen=True)
class Ranks:
    """Ranks (data sets × methods), 1 for the best, and what they can tell."""

    ranks: np.ndarray
    averages: np.ndarray
    chi2: float
    p: float
    distance: float
    """Nemenyi's critical difference at 5 %: closer average ranks cannot be told apart."""


def rank_methods(accuracy: np.ndarray) -> Ranks:
    """Friedman's test and Nemenyi's distance on accuracies (data sets × methods)."""
    from scipy.stats import friedmanchisquare, rankdata

    blocks, methods = accuracy.shape
    ranks = rankdata(-accuracy, axis=1)
    alike = methods < 3 or bool((ranks == ranks[:, :1]).all())
    chi2, p = (0.0, 1.0) if alike else map(float, friedmanchisquare(*accuracy.T))
    distance = _critical_range(methods) * math.sqrt(methods * (methods + 1) / (12 * blocks))
    return Ranks(ranks, ranks.mean(axis=0), chi2, p, distance)


@functools.cache  # a tenth of a second each
def _critical_range(methods: int) -> float:
    """The 95 % quantile of the range of so many standard normal numbers."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(0.95, methods, np.inf))


def cliques(averages: Sequence[float], distance: float) -> list[tuple[int, int]]:
    """First and last place of every longest run of methods that cannot be told apart.

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
