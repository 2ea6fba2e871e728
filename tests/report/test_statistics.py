"""Intervals, power, ranks and critical distances: by hand, by simulation, by published values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tsbench.report.statistics import (
    cliques,
    interval,
    more_seeds,
    power,
    rank_methods,
    seeds_needed,
)
from tsbench.report.summary import figure


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_paired_intervals_are_scipys(n: int) -> None:
    random = np.random.default_rng(n)
    one, other = random.normal(1, 2, n), random.normal(0, 2, n)
    low, high = interval(figure(list(one - other)))
    theirs = stats.ttest_rel(one, other)
    assert (low, high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert (low > 0 or high < 0) == (theirs.pvalue < 0.05)


def test_one_seed_has_no_interval() -> None:
    assert interval(figure([2.0])) is None
    assert more_seeds(figure([2.0])) == "–"


@pytest.mark.parametrize(
    ("std", "n"), [(1.2, 8), (1.0, 5), (2.0, 30), (8.0, 3), (0.05, 2), (0.08, 2), (0.02, 3)]
)
def test_power_by_simulation(std: float, n: int) -> None:
    differences = np.random.default_rng(0).normal(1.0, std, (20_000, n))
    found = stats.ttest_1samp(differences, 0, axis=1).pvalue < 0.05
    assert power(std, 1.0, n) == pytest.approx(found.mean(), abs=0.012)


@pytest.mark.parametrize("std", [0.02, 0.05, 0.3, 1.0, 2.5, 6.0])
def test_no_fewer_seeds_would_do(std: float) -> None:
    n = seeds_needed(std)
    assert power(std, 1.0, n) >= 0.8
    assert n == 2 or power(std, 1.0, n - 1) < 0.8


def test_seeds_still_needed() -> None:
    assert seeds_needed(1e6) is None
    assert more_seeds(figure([0.0, 1e7])) == "> 1000"
    spread = [-1.0, 1.0, -1.0, 1.0, 0.0]  # standard deviation 1: ten seeds in all
    assert more_seeds(figure(spread)) == "5"
    assert more_seeds(figure([0.0] * 5)) == "0"


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_by_hand(ties: bool) -> None:
    """Demšar 2006: χ² = 12n/(k(k+1)) (Σ R² − k(k+1)²/4), over 1 − Σ(t³ − t)/(n(k³ − k))."""
    random = np.random.default_rng(3)
    n, k = 6, 5
    accuracy = random.normal(size=(n, k)) + np.arange(k) / 2
    if ties:
        accuracy = accuracy.round()
    found = rank_methods(accuracy)
    averages = found.averages
    chi2 = 12 * n / (k * (k + 1)) * (sum(averages**2) - k * (k + 1) ** 2 / 4)
    counts = [c for row in accuracy for c in np.unique(row, return_counts=True)[1]]
    chi2 /= 1 - sum(c**3 - c for c in counts) / (n * (k**3 - k))
    assert found.chi2 == pytest.approx(chi2)
    assert any(c > 1 for c in counts) == ties
    for row, ranks in zip(accuracy, found.ranks, strict=True):
        for value, rank in zip(row, ranks, strict=True):
            assert rank == 1 + (row > value).sum() + ((row == value).sum() - 1) / 2


def test_the_p_value_by_permutation() -> None:
    random = np.random.default_rng(5)
    accuracy = random.normal(size=(8, 4)) + np.arange(4) * 0.6
    found = rank_methods(accuracy)
    shuffled = [
        rank_methods(np.array([random.permutation(row) for row in accuracy])).chi2
        for _ in range(400)
    ]
    share = np.mean([c >= found.chi2 for c in shuffled])
    assert found.p == pytest.approx(share, abs=0.04)


def test_all_equal_is_no_difference() -> None:
    found = rank_methods(np.ones((3, 4)))
    assert (found.chi2, found.p) == (0.0, 1.0)
    assert found.averages.tolist() == [2.5] * 4
    assert rank_methods(np.array([[1.0, 2.0], [3.0, 4.0]])).averages.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_values_are_demsars(methods: int, q: float) -> None:
    """Table 5a of the paper: CD = q · √(k(k+1)/6n)."""
    found = rank_methods(np.random.default_rng(0).normal(size=(7, methods)))
    expected = q * math.sqrt(methods * (methods + 1) / (6 * 7))
    assert found.distance == pytest.approx(expected, rel=5e-4)


def test_the_distance_for_twelve_methods_on_five_data_sets() -> None:
    accuracy = np.random.default_rng(0).normal(size=(5, 12))
    assert rank_methods(accuracy).distance == pytest.approx(7.45, abs=0.005)


def test_cliques_against_brute_force() -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        averages = random.uniform(1, 8, 7)
        order = np.sort(averages)
        close = {(i, j) for i in range(7) for j in range(i + 1, 7) if order[j] - order[i] <= 1.5}
        longest = {
            (i, j)
            for i, j in close
            if not any((a, b) != (i, j) and a <= i and j <= b for a, b in close)
        }
        assert set(cliques(list(averages), 1.5)) == longest
