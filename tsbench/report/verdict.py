"""Ours against the paper, cell by cell: match, better, worse, not run, partial data.

A difference of two means counts when it lies outside Welch's 95 % t-interval, which is made of both
spreads. A single run is given the spread of the other side; the paper's ablation, printed without
spreads, that of the paper's TS-ACL on the same data. The variance ratio is shown and not judged,
since the paper gives no formula for it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from tsbench.protocol.rules import PAPER_DATASETS, PAPER_METHODS
from tsbench.report.published import (
    ABLATION,
    ABLATION_METRICS,
    MAIN_METRICS,
    Published,
    expect_published,
)
from tsbench.report.records import Results
from tsbench.report.summary import Figure, figure, t_quantile
from tsbench.report.table import Cell, Row, Table
from tsbench.report.titles import dataset_title

Verdict = Literal["match", "better", "worse", "not run", "partial data", "not comparable"]
ORDER: tuple[Verdict, ...] = (
    "match", "better", "worse", "partial data", "not comparable", "not run",
)  # fmt: skip
TableName = Literal["main", "ablation"]
LINEAR_HEAD = "fasticarl"
"""The published code tests this method's last row with its linear head, not by nearest means."""


@dataclass(frozen=True)
class Judged:
    """A cell of one of the paper's tables, and ours beside it."""

    table: TableName
    dataset: str
    method: str
    metric: str
    ours: Figure | None
    theirs: Figure
    verdict: Verdict
    linear_head: bool = False
    """Ours is the accuracy of the linear head after the last task."""


def judge(ours: Figure, theirs: Figure, lower_is_better: bool) -> Verdict:
    """Whether ours is better, worse, or cannot be told apart.

    >>> theirs = Figure(90.0, 2.0, 5)
    >>> [judge(Figure(m, 1.0, 5), theirs, False) for m in (92.4, 92.5, 80.0)]
    ['match', 'better', 'worse']
    >>> judge(Figure(80.0, None, 1), theirs, True)
    'better'
    """
    gain = theirs.mean - ours.mean if lower_is_better else ours.mean - theirs.mean
    if abs(gain) <= margin(ours, theirs):
        return "match"
    return "better" if gain > 0 else "worse"


def margin(one: Figure, other: Figure) -> float:
    """Half the width of Welch's 95 % interval of a difference of means; one has a spread.

    >>> round(margin(Figure(0.0, 1.0, 5), Figure(0.0, 2.0, 5)), 3)
    2.459
    """
    # A side without a spread takes the other side's, with its degrees of freedom.
    known = [(f.std, f.seeds - 1) for f in (one, other) if f.std is not None]
    (a, n), (b, m) = known[0], known[-1]
    first, second = a**2 / one.seeds, b**2 / other.seeds
    if first + second == 0:
        return 0.0
    freedom = n if len(known) == 1 else (first + second) ** 2 / (first**2 / n + second**2 / m)
    return t_quantile(freedom) * math.sqrt(first + second)


def verdicts(runs: Results, published: Published, tuned: bool = False) -> list[Judged]:
    """Every cell of the paper's main and ablation tables; ``tuned``: against our tuned runs."""
    expect_published(runs)
    judged = []
    for table, dataset, method, metric, theirs, spread in _cells(published):
        label = f"{method}+tuned" if tuned else method
        entry = runs.get(dataset, label)
        head = (table, method, metric) == ("main", LINEAR_HEAD, "A_T")
        head = head and bool(entry.values("linear_head"))
        ours = figure(entry.values("linear_head" if head else metric))
        verdict: Verdict
        if ours is None:
            verdict = "not run"
        elif entry.coverage:
            verdict = "partial data"
        elif metric not in MAIN_METRICS or (ours.std is None and spread is None):
            verdict = "not comparable"
        else:
            verdict = judge(ours, replace(theirs, std=spread), metric == "F_T")
        judged.append(Judged(table, dataset, label, metric, ours, theirs, verdict, head))
    return judged


def _cells(published: Published) -> Iterator[tuple[TableName, str, str, str, Figure, float | None]]:
    """Table, data set, method, metric, value, and the spread to judge it by."""
    for dataset, method, metric in product(PAPER_DATASETS, PAPER_METHODS, MAIN_METRICS):
        if theirs := published.main.get((dataset, method, metric)):
            yield "main", dataset, method, metric, theirs, theirs.std
    for dataset, method, metric in product(PAPER_DATASETS, ABLATION, ABLATION_METRICS):
        if theirs := published.ablation.get((dataset, method, metric)):
            whole = published.main.get((dataset, "ts-acl", "A_T"))
            lent = whole.std if theirs.std is None and whole else theirs.std
            yield "ablation", dataset, method, metric, theirs, lent


def verdict_table(runs: Results, judged: list[Judged], name: str = "paper") -> Table:
    """One row per cell; ``name`` is whose figures ours are compared with."""
    table = Table(
        name="verdict",
        caption=f"Ours against the {name}: a difference counts when it lies outside the 95 % "
        "t-interval of both spreads.",
        headers=("Table", "Data set", "Method", "Metric"),
        columns=["ours", name, "Δ", "verdict"],
    )
    above = None
    for j in judged:
        gap = j.ours.mean - j.theirs.mean if j.ours else None
        notes = table.seeds(j.ours) if j.ours else ()
        if j.linear_head:
            notes = (*notes, "¶")
            table.note("¶", "accuracy of the linear head after the last task, as published")
        cells = [
            Cell(j.ours, notes=notes), Cell(j.theirs), Cell.signed(gap),
            Cell(text=j.verdict),
        ]  # fmt: skip
        metric = "VR" if j.metric == "variance_ratio" else j.metric
        title = ABLATION[j.method] if j.method in ABLATION and j.table == "ablation" else ""
        headers = (j.table, dataset_title(j.dataset), title or runs.title(j.method), metric)
        table.rows.append(Row(headers, cells, rule=headers[:2] != above))
        above = headers[:2]
    if any(j.verdict == "not comparable" for j in judged):
        table.note("VR:", "variance ratio; no formula is published, so it is not judged")
    return table


def verdict_line(judged: list[Judged]) -> str:
    """How many of each verdict."""
    counts = Counter(j.verdict for j in judged)
    shown = [v for v in ORDER if counts[v] or v in ORDER[:3]]
    return f"{len(judged)} cells: " + ", ".join(f"{counts[v]} {v}" for v in shown)
