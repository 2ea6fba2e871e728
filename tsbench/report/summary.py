"""Mean and spread over seeds, from records."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A figure over seeds."""

    mean: float
    std: float | None
    seeds: int

    def __str__(self) -> str:
        if self.std is None:
            return f"{self.mean:.2f}"
        return f"{self.mean:.2f} ± {self.std:.2f}"


def cell(values: Sequence[float]) -> Cell | None:
    """Mean and sample standard deviation.

    >>> str(cell([1.0, 2.0, 3.0])), str(cell([5.0])), cell([])
    ('2.00 ± 1.00', '5.00', None)
    """
    if not values:
        return None
    std = statistics.stdev(values) if len(values) > 1 else None
    return Cell(statistics.fmean(values), std, len(values))


def summary_rows(records: list[dict[str, Any]]) -> list[list[str]]:
    """Data set, method, A_T, F_T, seconds of learning, seeds: a row a kind of run."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        spec = record["spec"]
        groups[spec["protocol"], spec["dataset"], record["label"]].append(record)
    rows = []
    for (_, dataset, label), members in groups.items():
        finished = [r for r in members if r["status"] == "ok"]
        failed = len(members) - len(finished)
        partial = any(not r["data"]["complete"] for r in finished)
        columns = [
            cell([r["result"]["A_T"] for r in finished]),
            cell([r["result"]["F_T"] for r in finished if r["result"]["F_T"] is not None]),
            cell([sum(r["time"]["learn"]) for r in finished]),
        ]
        shown = ["–" if c is None else str(c) for c in columns]
        seeds = f"{len(finished)}" + (f" ({failed} failed)" if failed else "")
        rows.append([dataset + (" (partial)" if partial else ""), label, *shown, seeds])
    return rows
