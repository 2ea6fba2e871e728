"""From records to figures over seeds: one row per run, then mean and spread."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tsbench.runs.record import Record

if TYPE_CHECKING:
    import pandas as pd

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
    from scipy.special import stdtrit  # scipy.stats has it too, but takes a second to import

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


COLUMNS = (
    "dataset", "method", "seed", "A_T", "F_T", "variance_ratio", "machine", "seconds",
    "raw", "generator", "statistics", "parameters", "kept", "trained", "peak",
)  # fmt: skip
"""Of ``run_frame``; raw to parameters are bytes kept between tasks, ``kept`` is their sum."""


def run_frame(records: Iterable[Record]) -> pd.DataFrame:
    """One row per finished run; no seconds where the machine was busy with other work."""
    import pandas as pd

    from tsbench.report.records import busy, machine_of

    rows = [
        {
            "dataset": r["spec"]["dataset"],
            "method": r["label"],
            "seed": r["spec"]["seed"],
            **{name: r["result"].get(name) for name in ("A_T", "F_T", "variance_ratio")},
            "machine": machine_of(r),
            "seconds": None if busy(r) else float(sum(r["time"]["learn"])),
            **r["memory"]["kept_bytes"],
            "kept": sum(r["memory"]["kept_bytes"].values()),
            "trained": r["memory"]["parameters"],
            "peak": r["memory"]["peak_bytes"],
        }
        for r in records
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def figures_of(
    frame: pd.DataFrame, column: str, by: Sequence[str]
) -> dict[tuple[str, ...], Figure]:
    """Mean and spread of a column of ``run_frame``, by groups."""
    grouped = frame.dropna(subset=[column]).groupby(list(by))[column].agg(["mean", "std", "count"])
    return {
        key: Figure(float(mean), None if count == 1 else float(std), int(count))
        for key, mean, std, count in grouped.itertuples()
    }
