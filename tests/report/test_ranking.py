"""Who is ranked and who shares a rank, against scipy.stats and by simulation."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from handmade_records import make
from scipy import stats

from tsbench.report.ranking import common_seeds, holm, paired_p, rank, t_tails, tied_ranks
from tsbench.report.records import collect

FIVE = (1234, 1235, 1236, 1237, 1238)


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_p_values_are_those_of_scipy(n: int) -> None:
    random = np.random.default_rng(n)
    for _ in range(20):
        one, other = random.normal(1, 2, n), random.normal(0, 2, n)
        assert paired_p(one, other) == pytest.approx(stats.ttest_rel(one, other).pvalue)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 12, 29, 500])
def test_the_tails_of_t_are_those_of_scipy(freedom: int) -> None:
    for x in (0.0, 0.1, 1.0, 2.5, 7.0, 40.0):
        assert t_tails(x, freedom) == pytest.approx(2 * stats.t.sf(x, freedom), abs=1e-13)


def test_p_values_without_spread() -> None:
    assert paired_p([1.0], [2.0]) == 1.0, "one seed tells nothing"
    assert paired_p([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert paired_p([1.0, 2.0], [0.9, 1.9]) == 0.0, "the same difference every time"


def holm_by_hand(p: list[float], level: float) -> list[bool]:
    """Reject hypothesis i iff every intersection hypothesis that contains it is rejected by
    Bonferroni: the closed testing procedure that Holm's is a shortcut of.
    """
    places = range(len(p))
    subsets = [s for size in places for s in combinations(places, size + 1)]
    return [all(min(p[j] for j in s) <= level / len(s) for s in subsets if i in s) for i in places]


def test_holm_is_closed_testing_with_bonferroni() -> None:
    random = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        p = list(random.uniform(0, 0.06, int(random.integers(1, 6))))
        assert holm(p) == holm_by_hand(p, 0.05)
        seen.add(sum(holm(p)))
    assert len(seen) > 3


def test_ranks_follow_from_the_pairs_that_differ() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        level = random.normal(0, 4, 5)
        values = {name: list(level[i] + random.normal(0, 1, 4)) for i, name in enumerate("abcde")}
        pairs = list(combinations(values, 2))
        apart = holm([stats.ttest_rel(values[a], values[b]).pvalue for a, b in pairs])
        better = {frozenset(p) for p, yes in zip(pairs, apart, strict=True) if yes}
        means = {name: np.mean(v) for name, v in values.items()}
        for lower in (False, True):
            found = tied_ranks(values, lower_is_better=lower)
            for name, place in found.items():
                above = [o for o in values if (means[o] < means[name]) == lower and o != name]
                wins = [o for o in values if o not in above and o != name]
                assert place.first == 1 + sum(frozenset((o, name)) in better for o in above)
                assert place.last == 5 - sum(frozenset((o, name)) in better for o in wins)


def test_equal_methods_seldom_differ() -> None:
    """Four equal methods: a rank of its own for any of them is a false alarm, at most 5 %."""
    random = np.random.default_rng(2)
    alarms = 0
    for _ in range(1000):
        values = {name: list(random.normal(0, 1, 5)) for name in "abcd"}
        alarms += any(str(place) != "1–4" for place in tied_ranks(values).values())
    assert alarms / 1000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert alarms > 0


@pytest.mark.parametrize(
    ("seeds", "complete", "shared"),
    [
        ({"a": FIVE, "b": FIVE, "c": (1234,)}, FIVE, (1234,)),
        ({"a": FIVE, "b": (*FIVE, 1239)}, FIVE, FIVE),
        ({"a": (*FIVE, 1239), "b": (*FIVE, 1239)}, (*FIVE, 1239), (*FIVE, 1239)),
        ({"a": (1, 2), "b": (1, 2), "c": (2,)}, (1, 2), (2,)),
        ({"a": (1, 2), "b": (3, 4), "c": (3, 4)}, (3, 4), ()),
        ({"a": (1, 2), "b": (3, 4)}, (1, 2), ()),
        ({"a": (1, 2, 3, 4), "b": (1, 2), "c": (2, 1)}, (1, 2), (1, 2)),
        ({"a": ()}, (), ()),
        ({}, (), ()),
    ],
)
def test_common_seeds(seeds: dict, complete: tuple, shared: tuple) -> None:
    assert common_seeds(seeds) == complete
    assert common_seeds(seeds, shared=True) == shared


def test_only_methods_with_the_same_seeds_are_ranked(tmp_path: Path) -> None:
    for i, seed in enumerate(FIVE):
        make(tmp_path, "naive", seed, 10.0, 9.0)
        make(tmp_path, "er", seed, 80.0 + i, 9.0)
        make(tmp_path, "ts-acl", seed, 90.0 + i, 3.0 + i / 10)
    make(tmp_path, "ts-acl", 1, 50.0, 40.0)
    make(tmp_path, "der", 1234, 99.0, 0.5)
    runs = collect(tmp_path)
    found = rank(runs, "uwave")
    assert found.seeds == FIVE
    assert {m: str(r) for m, r in found.ranks.items()} == {"er": "2", "ts-acl": "1"}
    forgetting = rank(runs, "uwave", "F_T")
    assert {m: str(r) for m, r in forgetting.ranks.items()} == {"er": "2", "ts-acl": "1"}
    shared = rank(runs, "uwave", shared=True)
    assert shared.seeds == (1234,)
    assert {m: str(r) for m, r in shared.ranks.items()} == {
        "er": "1–3", "der": "1–3", "ts-acl": "1–3",
    }  # fmt: skip
    assert rank(runs, "dsa").ranks == {}
