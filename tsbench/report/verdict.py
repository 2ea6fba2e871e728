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
from typing import Literal

from tsbench.data.catalogue import PAPER
from tsbench.learn.catalogue import INFO
from tsbench.report.published import ABLATION, ABLATION_METRICS, MAIN_METRICS, Published
from tsbench.report.records import Collection, dataset_title, method_title
from tsbench.report.summary import Figure, figure, t_quantile
from tsbench.report.table import Cell, Row, Table

Verdict = Literal["match", "better", "worse", "not run", "partial data", "not comparable"]
ORDER: tuple[Verdict, ...] = (
    "match", "better", "worse", "partial data", "not comparable", "not run",
)  # fmt: skip
TableName = Literal["main", "ablation"]
SHORT = {"variance_ratio": "VR"}


@dataclass(frozen=True)
class Judged:
    """A cell of one of the paper's tables and what became of it here."""

    table: TableName
    dataset: str
    method: str
    metric: str
    ours: Figure | None
    theirs: Figure
    verdict: Verdict


def judge(ours: Figure, theirs: Figure, lower_is_better: bool) -> Verdict:
    """Whether ours is better, worse, or not to be told apart.

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
    spreads = [one.std, other.std]
    known = [s for s in spreads if s is not None]
    (a, n), (b, m) = (
        (known[0] if s is None else s, f.seeds) for s, f in zip(spreads, (one, other), strict=True)
    )
    first, second = a**2 / n, b**2 / m
    if first + second == 0:
        return 0.0
    # Who lent its spread lent its degrees of freedom, too.
    freedoms = [f.seeds - 1 for f in (one, other) if f.std is not None]
    if len(freedoms) == 1:
        freedom = float(freedoms[0])
    else:
        freedom = (first + second) ** 2 / (first**2 / (n - 1) + second**2 / (m - 1))
    return t_quantile(freedom) * math.sqrt(first + second)


def verdicts(runs: Collection | None, published: Published, tuned: bool = False) -> list[Judged]:
    """Every cell of the paper's main and ablation tables; ``tuned``: against our tuned runs."""
    judged = []
    for table, dataset, method, metric, theirs, spread in _cells(published):
        label = f"{method}+tuned" if tuned else method
        group = runs.get(dataset, label) if runs else None
        ours = figure(group.values(metric)) if group else None
        verdict: Verdict
        if ours is None or group is None:
            verdict = "not run"
        elif group.coverage:
            verdict = "partial data"
        elif metric not in MAIN_METRICS or (ours.std is None and spread is None):
            verdict = "not comparable"
        else:
            verdict = judge(ours, replace(theirs, std=spread), metric == "F_T")
        judged.append(Judged(table, dataset, label, metric, ours, theirs, verdict))
    return judged


def _cells(published: Published) -> Iterator[tuple[TableName, str, str, str, Figure, float | None]]:
    """Table, data set, method, metric, value, and the spread to judge it by."""
    for dataset in PAPER:
        for method in (name for name, info in INFO.items() if info.in_paper):
            for metric in MAIN_METRICS:
                theirs = published.main(dataset, method, metric)
                if theirs is not None:
                    yield "main", dataset, method, metric, theirs, theirs.std
    for dataset in PAPER:
        whole = published.main(dataset, "ts-acl", "A_T")
        for method in ABLATION:
            for metric in ABLATION_METRICS:
                theirs = published.ablation(dataset, method, metric)
                if theirs is not None:
                    lent = whole.std if theirs.std is None and whole else theirs.std
                    yield "ablation", dataset, method, metric, theirs, lent


def verdict_table(judged: list[Judged], name: str = "paper") -> Table:
    """A row a cell; ``name`` is whose figures ours are held against."""
    table = Table(
        name="verdict",
        caption=f"Ours against the {name}: a difference counts when it lies outside the 95 % "
        "t-interval of both spreads.",
        headers=("Table", "Data set", "Method", "Metric"),
        columns=["ours", name, "Δ", "verdict"],
        rows=[],
    )
    for j in judged:
        gap = j.ours.mean - j.theirs.mean if j.ours else None
        shown = "–" if gap is None else f"{gap:+.2f}"
        ours = Cell(j.ours, notes=table.seeds(j.ours) if j.ours else ())
        cells = [ours, Cell(j.theirs), Cell(text=shown, value=gap), Cell(text=j.verdict)]
        metric = SHORT.get(j.metric, j.metric)
        headers = (j.table, dataset_title(j.dataset), method_title(j.method), metric)
        table.rows.append(Row(headers, cells))
    if any(j.verdict == "not comparable" for j in judged):
        table.notes["VR:"] = "variance ratio; no formula is published, so it is not judged"
    return table


def verdict_line(judged: list[Judged]) -> str:
    """How many of each."""
    counts = Counter(j.verdict for j in judged)
    shown = [v for v in ORDER if counts[v] or v in ORDER[:3]]
    return f"{len(judged)} cells: " + ", ".join(f"{counts[v]} {v}" for v in shown)
