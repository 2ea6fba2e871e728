"""Which points of a grid to try, in which order, and which of them is the best.

A point is a tuple of positions, one a hyper-parameter: (0, 0, …) are the first values of all, the
defaults. Scores are validation A_T; None for a trial that failed.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Mapping, Sequence
from typing import Any

Grid = Mapping[str, Sequence[Any]]
Point = tuple[int, ...]
Scores = Mapping[Point, float | None]


def values(grid: Grid, point: Point) -> dict[str, Any]:
    """Hyper-parameters at a point.

    >>> values({"schedule": ["step15", "step10"], "strength": [100.0, 10.0]}, (0, 1))
    {'schedule': 'step15', 'strength': 10.0}
    """
    return {name: choices[i] for (name, choices), i in zip(grid.items(), point, strict=True)}


def best(scores: Scores) -> Point | None:
    """The point with the highest score; of several, the first in grid order.

    >>> best({(0, 0): 50.0, (0, 1): 60.0, (1, 0): 60.0, (1, 1): None})
    (0, 1)
    """
    scored = [(-score, point) for point, score in scores.items() if score is not None]
    return min(scored)[1] if scored else None


def search(grid: Grid, full: bool = False) -> Generator[list[Point], Scores, None]:
    """Yields points to try, stage by stage, and is sent the scores of all points so far.

    ``full``: all points at once. Else one hyper-parameter after the other, each with all the rest
    as in the best point so far, in rounds until a round finds nothing better. The best point is
    then as good as all its neighbours along every axis.
    """
    sizes = [len(choices) for choices in grid.values()]
    if full:
        yield list(itertools.product(*map(range, sizes)))
        return
    default = (0,) * len(sizes)
    found: Point | None = default
    before: Point | None = None
    while found != before:
        before = found
        for axis, size in enumerate(sizes):
            scores = yield _line(found or default, axis, size)
            found = best(scores)


def _line(point: Point, axis: int, size: int) -> list[Point]:
    """All points that differ from one along an axis only, itself included."""
    return [(*point[:axis], i, *point[axis + 1 :]) for i in range(size)]
