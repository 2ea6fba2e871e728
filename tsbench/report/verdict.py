"""Ours against the paper, cell by cell: match, better, worse, not run, partial data.

The difference of two means is called a difference only when it exceeds twice its standard error,
√(s₁²/n₁ + s₂²/n₂); a single run is given the paper's spread.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from tsbench.data.catalogue import PAPER
from tsbench.learn.catalogue import INFO
from tsbench.report.published import Published
from tsbench.report.records import Collection, dataset_title, method_title
from tsbench.report.summary import Figure, figure
from tsbench.report.table import Cell, Row, Table

Verdict = Literal["match", "better", "worse", "not run", "partial data"]
WIDTH = 2.0


@dataclass(frozen=True)
class Judged:
    """A cell of the paper's main table and what became of it here."""

    dataset: str
    method: str
    metric: str
    ours: Figure | None
    theirs: Figure
    verdict: Verdict


def judge(ours: Figure | None, theirs: Figure, lower_is_better: bool) -> Verdict:
    """Whether ours is better, worse, or not to be told apart.

    >>> theirs = Figure(90.0, 2.0, 5)
    >>> [judge(Figure(m, 1.0, 5), theirs, False) for m in (91.0, 93.0, 80.0)]
    ['match', 'better', 'worse']
    >>> judge(Figure(80.0, None, 1), theirs, True), judge(None, theirs, True)
    ('better', 'not run')
    """
    if ours is None:
        return "not run"
    spread = theirs.std or 0.0
    own = spread if ours.std is None else ours.std
    error = math.sqrt(own**2 / ours.seeds + spread**2 / theirs.seeds)
    gain = theirs.mean - ours.mean if lower_is_better else ours.mean - theirs.mean
    if abs(gain) <= WIDTH * error:
        return "match"
    return "better" if gain > 0 else "worse"


def verdicts(runs: Collection | None, published: Published) -> list[Judged]:
    """Every cell of the paper's main table."""
    judged = []
    for dataset in PAPER:
        for method, info in INFO.items():
            for metric in ("A_T", "F_T"):
                theirs = published.main(dataset, method, metric)
                if theirs is None or not info.in_paper:
                    continue
                group = runs.get(dataset, method) if runs else None
                ours = figure(group.values(metric)) if group else None
                verdict = judge(ours, theirs, metric == "F_T")
                if ours is not None and group is not None and group.coverage:
                    verdict = "partial data"
                judged.append(Judged(dataset, method, metric, ours, theirs, verdict))
    return judged


def verdict_table(judged: list[Judged], name: str = "paper") -> Table:
    """A row a cell; ``name`` is whose figures ours are held against."""
    table = Table(
        name="verdict",
        caption=f"Ours against the {name}: a difference counts when it exceeds twice its standard "
        "error.",
        headers=("Data set", "Method", "Metric"),
        columns=["ours", name, "Δ", "verdict"],
        rows=[],
    )
    for j in judged:
        gap = j.ours.mean - j.theirs.mean if j.ours else None
        shown = "–" if gap is None else f"{gap:+.2f}"
        cells = [Cell(j.ours), Cell(j.theirs), Cell(text=shown, value=gap), Cell(text=j.verdict)]
        headers = (dataset_title(j.dataset), method_title(j.method), j.metric)
        table.rows.append(Row(headers, cells))
    return table


def verdict_line(judged: list[Judged]) -> str:
    """How many of each."""
    counts = Counter(j.verdict for j in judged)
    order: tuple[Verdict, ...] = ("match", "better", "worse", "partial data", "not run")
    return f"{len(judged)} cells: " + ", ".join(f"{counts[v]} {v}" for v in order)
