"""Mean and spread of figures over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SpreadName = Literal["std", "ci95", "none"]


@dataclass(frozen=True)
class Figure:
    """A figure over seeds: mean, sample standard deviation (None for one seed), how many."""

    mean: float
    std: float | None
    seeds: int

    def spread(self, kind: SpreadName) -> float | None:
        """The standard deviation, or the half-width of the 95 % t-interval of the mean."""
        if self.std is None or kind == "none":
            return None
        if kind == "std":
            return self.std
        return t_quantile(self.seeds - 1) * self.std / math.sqrt(self.seeds)


def t_quantile(freedom: float, confidence: float = 0.95) -> float:
    """Half the width of a two-sided t-interval, in standard errors.

    >>> round(t_quantile(4), 3)
    2.776
    """
    from scipy.special import stdtrit  # scipy.stats would take a second to import

    return float(stdtrit(freedom, (1 + confidence) / 2))


def figure(values: Sequence[float]) -> Figure | None:
    """Mean and spread of values; None of none.

    >>> figure([1.0, 2.0, 3.0]), figure([5.0]), figure([])
    (Figure(mean=2.0, std=1.0, seeds=3), Figure(mean=5.0, std=None, seeds=1), None)
    """
    if not values:
        return None
    std = statistics.stdev(values) if len(values) > 1 else None
    return Figure(statistics.fmean(values), std, len(values))
