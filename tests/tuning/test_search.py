"""Which trials a search asks for, and what it finds."""

from __future__ import annotations

import itertools

import pytest

from tsbench.randomness import generator
from tsbench.tuning.search import Grid, Point, best, search, values

GRID: Grid = {"schedule": ["a", "b", "c"], "strength": [10, 1, 100], "width": [3, 5]}


def sought(grid: Grid, score, full: bool = False) -> tuple[list[list[Point]], Point | None]:
    """The new points of each stage, and the best of all."""
    scores: dict[Point, float | None] = {}
    stages = []
    seeking = search(grid, full)
    try:
        points = next(seeking)
        while True:
            stages.append([p for p in points if p not in scores])
            scores |= {p: score(p) for p in points}
            points = seeking.send(scores)
    except StopIteration:
        return stages, best(scores)


def everything(grid: Grid) -> list[Point]:
    return list(itertools.product(*(range(len(v)) for v in grid.values())))


def test_a_pruned_search_takes_the_schedule_first_and_then_one_at_a_time() -> None:
    stages, found = sought(GRID, lambda p: -abs(p[0] - 2) - abs(p[1] - 1) - abs(p[2] - 1))
    assert stages == [
        [(0, 0, 0), (1, 0, 0), (2, 0, 0)],
        [(2, 1, 0), (2, 2, 0)],
        [(2, 1, 1)],
        [(0, 1, 1), (1, 1, 1)],  # the second round looks again beside the new best
        [(2, 0, 1), (2, 2, 1)],
        [],
    ]
    assert found == (2, 1, 1)
    assert values(GRID, found) == {"schedule": "c", "strength": 1, "width": 5}


def test_the_whole_grid_finds_what_a_pruned_search_cannot_see() -> None:
    def hidden(point: Point) -> float:
        return 9.0 if point == (1, 2, 1) else float(point == (2, 0, 0))

    stages, found = sought(GRID, hidden)
    assert found == (2, 0, 0)
    assert sum(map(len, stages)) == 6
    stages, found = sought(GRID, hidden, full=True)
    assert found == (1, 2, 1)
    assert stages == [everything(GRID)]


@pytest.mark.parametrize("seed", range(20))
def test_a_pruned_search_ends_at_a_point_no_worse_than_its_neighbours(seed: int) -> None:
    random = generator(seed, "search")
    heights = {p: float(random.integers(6)) for p in everything(GRID)}
    stages, found = sought(GRID, heights.__getitem__)
    assert found is not None
    tried = [p for stage in stages for p in stage]
    assert len(tried) == len(set(tried)), "nothing is tried twice"
    assert heights[found] == max(heights[p] for p in tried)
    for axis in range(len(GRID)):
        for i in range(len(list(GRID.values())[axis])):
            other = (*found[:axis], i, *found[axis + 1 :])
            assert heights[other] <= heights[found]
            assert other in tried
    assert set(tried) >= {(i, 0, 0) for i in range(3)}


def test_ties_go_to_the_first_and_failures_never_win() -> None:
    assert sought(GRID, lambda p: 50.0)[1] == (0, 0, 0)
    assert sought(GRID, lambda p: None)[1] is None
    assert sought(GRID, lambda p: None if p[1] == 0 else 1.0)[1] == (0, 1, 0)
    assert best({}) is None


def test_a_grid_of_the_schedule_alone() -> None:
    stages, found = sought({"schedule": ["a", "b"]}, lambda p: p[0])
    assert [stage for stage in stages if stage] == [[(0,), (1,)]]
    assert found == (1,)
