"""Intervals, power, ranks and critical distances against scipy.stats and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tsbench.report.statistics import (
    cliques,
    paired,
    power,
    range_quantile,
    rank_methods,
    seeds_needed,
)


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_paired_intervals_are_scipys(n: int) -> None:
    random = np.random.default_rng(n)
    one, other = random.normal(1, 2, n), random.normal(0, 2, n)
    pair = paired(list(one - other))
    theirs = stats.ttest_rel(one, other)
    assert pair.interval == pytest.approx(tuple(theirs.confidence_interval(0.95)))
    assert pair.told_apart == (theirs.pvalue < 0.05)
    assert pair.seeds == n


def test_one_seed_has_no_interval() -> None:
    pair = paired([2.0])
    assert (pair.mean, pair.interval, pair.told_apart) == (2.0, None, False)
    assert pair.more_seeds == "–"
    assert paired([]) is None


@pytest.mark.parametrize(("std", "n"), [(0.5, 4), (1.0, 5), (2.0, 30), (8.0, 3), (0.05, 2)])
def test_power_is_that_of_the_noncentral_t(std: float, n: int) -> None:
    bound, shift = stats.t.ppf(0.975, n - 1), math.sqrt(n) / std
    lower = np.nan_to_num(stats.nct.cdf(-bound, n - 1, shift))  # scipy's NaN is next to nothing
    exact = stats.nct.sf(bound, n - 1, shift) + lower
    assert power(std, 1.0, n) == pytest.approx(exact, abs=1e-4)


def test_power_by_simulation() -> None:
    differences = np.random.default_rng(0).normal(1.0, 1.2, (20_000, 8))
    found = stats.ttest_1samp(differences, 0, axis=1).pvalue < 0.05
    assert power(1.2, 1.0, 8) == pytest.approx(found.mean(), abs=0.015)


@pytest.mark.parametrize("std", [0.02, 0.05, 0.3, 1.0, 2.5, 6.0])
def test_no_fewer_seeds_would_do(std: float) -> None:
    n = seeds_needed(std)
    assert power(std, 1.0, n) >= 0.8
    assert n == 2 or power(std, 1.0, n - 1) < 0.8


def test_seeds_still_needed() -> None:
    assert seeds_needed(1e6) is None
    assert paired([0.0, 1e7]).more_seeds == "> 1000"
    spread = [-1.0, 1.0, -1.0, 1.0, 0.0]  # standard deviation 1: ten seeds in all
    assert paired(spread).more_seeds == "5"
    assert paired([0.0] * 5).more_seeds == "0"


@pytest.mark.parametrize("ties", [False, True])
def test_friedman_is_scipys(ties: bool) -> None:
    random = np.random.default_rng(3)
    accuracy = random.normal(size=(6, 5)) + np.arange(5) / 2
    if ties:
        accuracy = accuracy.round()
    found = rank_methods(accuracy)
    theirs = stats.friedmanchisquare(*accuracy.T)
    assert found.chi2 == pytest.approx(theirs.statistic)
    assert found.p == pytest.approx(theirs.pvalue)
    ranks = [stats.rankdata(-row) for row in accuracy]
    assert np.array_equal(found.ranks, ranks)


def test_all_equal_is_no_difference() -> None:
    found = rank_methods(np.ones((3, 4)))
    assert (found.chi2, found.p) == (0.0, 1.0)
    assert found.averages.tolist() == [2.5] * 4


@pytest.mark.parametrize("methods", [2, 5, 12, 17])
def test_quantiles_of_the_range_are_scipys(methods: int) -> None:
    expected = stats.studentized_range.ppf(0.95, methods, np.inf)
    assert range_quantile(methods) == pytest.approx(expected, rel=1e-5)


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
