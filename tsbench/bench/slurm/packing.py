"""How many runs a job gets: short ones share a job, so that starting costs little."""

from __future__ import annotations

from collections.abc import Iterable

from tsbench.bench.display import Estimate
from tsbench.bench.spec import RunSpec

WORK = 300.0
"""Seconds of work that a job should have: starting one takes about 2 % of it."""


def arrange(specs: Iterable[RunSpec]) -> list[RunSpec]:
    """Runs of one data set and seed together: they share the training of the first task."""
    groups: dict[tuple[str, int], list[RunSpec]] = {}
    for spec in specs:
        groups.setdefault((spec.dataset, spec.seed), []).append(spec)
    return [spec for group in groups.values() for spec in group]


def by_number(specs: list[RunSpec], size: int) -> list[list[RunSpec]]:
    """So many a job."""
    return [specs[i : i + size] for i in range(0, len(specs), size)]


def by_time(
    specs: list[RunSpec], estimate: Estimate, workers: int, limit: float | None
) -> list[list[RunSpec]]:
    """As many a job as fill ``WORK``, or half its time limit; one at a time if nothing is known."""
    work = WORK if limit is None else min(WORK, limit / 2)
    packs: list[list[RunSpec]] = []
    left = 0.0
    for spec in specs:
        known = estimate.of(spec)
        seconds = work if known is None else known
        if seconds > left:
            packs.append([])
            left = workers * work
        packs[-1].append(spec)
        left -= seconds
    return packs
