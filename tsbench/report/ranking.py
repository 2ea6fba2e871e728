"""Who is ranked, and which ranks the seeds can tell apart.

Two rules, used by every table, figure and page:

1. On a data set, only methods with the same seeds are ranked: the complete set of seeds by
   default, or the seeds that all methods share. Bounds (Naive, Offline) are never ranked.
2. Two methods share a rank unless the paired differences over those seeds tell them apart: a
   two-sided paired t-test of every pair of methods, at 5 % over all pairs together (Holm).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tsbench.protocol import rules

if TYPE_CHECKING:
    from tsbench.report.records import Results

LEVEL = 0.05
HOLM = (
    "methods share a rank unless a paired t-test over the same seeds tells them apart at 5 %, "
    "corrected for all pairs (Holm)"
)
SAME_SEEDS = "methods that lack a seed of the ranked ones (grey or italic)"


@dataclass(frozen=True)
class Rank:
    """The best and the worst rank that a method may have.

    >>> str(Rank(1, 1)), str(Rank(2, 3))
    ('1', '2–3')
    """

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True)
class Ranking:
    """The ranks of one data set by one metric."""

    seeds: tuple[int, ...]
    """What every ranked method has; its figures are means over exactly these."""
    ranks: dict[str, Rank]
    """By method; a method that is missing is not ranked."""


def common_seeds(seeds: Mapping[str, Collection[int]], shared: bool = False) -> tuple[int, ...]:
    """The seeds that methods are ranked over, from the seeds that each of them has.

    By default the complete set: what all methods have that have the five published seeds; when
    none has them, the most seeds that two methods have in common (of several such sets, the one
    that most methods have). With ``shared`` the seeds that all methods have.

    >>> common_seeds({"a": [1234, 1235, 1236, 1237, 1238], "b": [1234]})
    (1234, 1235, 1236, 1237, 1238)
    >>> common_seeds({"a": [1, 2], "b": [1, 2], "c": [1]})
    (1, 2)
    >>> common_seeds({"a": [1, 2], "b": [1, 2], "c": [1]}, shared=True)
    (1,)
    """
    sets = [frozenset(each) for each in seeds.values() if each]
    if not sets:
        return ()
    whole = [each for each in sets if each.issuperset(rules.seeds())]
    if shared or whole:
        return tuple(sorted(frozenset.intersection(*(sets if shared else whole))))
    common = [one & other for one, other in combinations(sets, 2)]
    return max(
        (tuple(sorted(each)) for each in (common if any(common) else sets)),
        key=lambda s: (len(s), sum(each.issuperset(s) for each in sets), [-seed for seed in s]),
    )


def tied_ranks(
    values: Mapping[str, Sequence[float]], lower_is_better: bool = False
) -> dict[str, Rank]:
    """Ranks of methods from their values over the same seeds, in the same order.

    A method's best possible rank is one more than the number of methods that are better beyond
    doubt; its worst possible rank leaves room for all that are not worse beyond doubt. So methods
    that cannot be told apart share their ranks, and with one seed all of them do.

    >>> found = tied_ranks({"a": [90, 91, 92], "b": [70, 71, 72.1], "c": [70, 71.2, 72]})
    >>> {method: str(rank) for method, rank in found.items()}
    {'a': '1', 'b': '2–3', 'c': '2–3'}
    """
    methods = list(values)
    pairs = list(combinations(methods, 2))
    p_values = [paired_p(values[a], values[b]) for a, b in pairs]
    better: dict[str, int] = dict.fromkeys(methods, 0)  # methods that are better beyond doubt
    worse: dict[str, int] = dict.fromkeys(methods, 0)
    for (a, b), apart in zip(pairs, holm(p_values), strict=True):
        if apart:
            a_wins = (math.fsum(values[a]) < math.fsum(values[b])) == lower_is_better
            winner, loser = (a, b) if a_wins else (b, a)
            better[loser] += 1
            worse[winner] += 1
    return {m: Rank(1 + better[m], len(methods) - worse[m]) for m in methods}


def holm(p_values: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which hypotheses Holm's step-down procedure rejects.

    >>> holm([0.01, 0.04, 0.03])
    [True, False, False]
    >>> holm([0.01, 0.02, 0.03])
    [True, True, True]
    """
    rejected = [False] * len(p_values)
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        if p_values[i] > level / (len(p_values) - place):
            break
        rejected[i] = True
    return rejected


def paired_p(one: Sequence[float], other: Sequence[float]) -> float:
    """The two-sided p-value of a paired t-test; 1 from a single pair.

    Differences that are all the same have no spread: 0, or 1 when there is no difference.

    >>> round(paired_p([1.0, 2.0, 3.0], [0.0, 1.5, 1.0]), 4)
    0.1181
    """
    differences = np.subtract(one, other)
    n = len(differences)
    if n < 2:
        return 1.0
    mean, std = float(differences.mean()), float(differences.std(ddof=1))
    if std <= 1e-12 * max(1.0, float(np.abs(differences).max())):
        return 1.0 if mean == 0 else 0.0
    return t_tails(abs(mean) / (std / math.sqrt(n)), n - 1)


def t_tails(x: float, freedom: int) -> float:
    """P(|T| > x) for Student's t with a whole number of degrees of freedom, x ≥ 0.

    In closed form (Abramowitz and Stegun, 26.7.3 and 26.7.4), because importing scipy.special
    would take a fifth of the time of a whole report.

    >>> round(t_tails(2.776, 4), 4)
    0.05
    """
    angle, odd = math.atan2(x, math.sqrt(freedom)), freedom % 2
    term, total = math.cos(angle) ** odd, 0.0
    for power in range(odd, freedom - 1, 2):
        total += term
        term *= (power + 1) / (power + 2) * math.cos(angle) ** 2
    inside = math.sin(angle) * total
    return max(0.0, 1 - (2 / math.pi * (angle + inside) if odd else inside))


def rank(
    runs: Results, dataset: str, metric: str = "A_T", shared: bool = False,
    methods: Iterable[str] | None = None,
) -> Ranking:  # fmt: skip
    """The methods of a data set that can be compared, and their ranks."""
    values = {
        method: runs.get(dataset, method).by_seed(metric)
        for method in (runs.methods if methods is None else methods)
        if not runs.is_bound(method)
    }
    seeds = common_seeds(values, shared)
    ranked = {
        method: [found[seed] for seed in seeds]
        for method, found in values.items()
        if found and found.keys() >= set(seeds)
    }
    if not seeds:
        return Ranking((), {})
    return Ranking(seeds, tied_ranks(ranked, lower_is_better=metric == "F_T"))
