"""How much A_T varies over class orders: a table and a figure for docs/protocols.md.

tsbench run --method ts-acl-r --dataset uwave,uci-har --seeds 30 --results results/reference/orders
python tools/update_docs.py
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tsbench.report import canvas
from tsbench.report.records import Results, collect
from tsbench.report.titles import dataset_title
from tsbench.runs.store import Store

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "results" / "reference" / "orders"
FIGURE = ROOT / "docs" / "figures" / "class-orders.svg"
FEW = 5
"""Class orders of the published benchmark."""
DRAWS = 10_000
ALL_COLOUR, FEW_COLOUR = "#0B4FB3", "#C2410C"


def spread_of_few(scores: Sequence[float], few: int = FEW) -> tuple[float, float, float]:
    """Standard deviations from random sets of ``few`` class orders, compared with that from all.

    Returns the 2.5th and the 97.5th percentile, and the share of sets that give less than all do.
    """
    random = np.random.default_rng(0)
    values = np.asarray(scores)
    sets = np.stack([random.permutation(values)[:few] for _ in range(DRAWS)])
    deviations = sets.std(axis=1, ddof=1)
    low, high = np.percentile(deviations, [2.5, 97.5])
    return float(low), float(high), float((deviations < values.std(ddof=1)).mean())


def runs() -> Results | None:
    """The runs over many class orders; None if there are none."""
    return collect(RECORDS) if next(iter(Store(RECORDS).files()), None) else None


def table() -> str:
    """One row per data set and method: the deviation from all orders, and from sets of five."""
    found = runs()
    if found is None:
        return "*Runs over 30 class orders are not committed yet.*"
    lines = [
        f"| data set | method | class orders | A\\_T | std, first {FEW} | std, all "
        f"| 95 % of sets of {FEW} | sets of {FEW} below |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (dataset, method), entry in found.entries.items():
        scores = list(entry.by_seed("A_T").values())
        if len(scores) <= FEW:
            continue
        low, high, below = spread_of_few(scores)
        cells = [
            dataset_title(dataset),
            found.title(method),
            str(len(scores)),
            f"{statistics.fmean(scores):.2f}",
            f"{statistics.stdev(scores[:FEW]):.2f}",
            f"{statistics.stdev(scores):.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{100 * below:.0f} %",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw() -> None:
    """A_T of every class order, with mean and spread of the first five and of all."""
    found = runs()
    if found is None:
        return
    with canvas.style():
        drawing, each = canvas.panels(len(found.entries), 2.0, columns=2)
        for ((dataset, method), entry), panel in zip(found.entries.items(), each, strict=True):
            scores = np.array(list(entry.by_seed("A_T").values()))
            numbers = np.arange(1, len(scores) + 1)
            for chosen, colour in ((scores, ALL_COLOUR), (scores[:FEW], FEW_COLOUR)):
                mean, deviation = chosen.mean(), chosen.std(ddof=1)
                span = (0.5, len(chosen) + 0.5)
                panel.fill_between(
                    span, mean - deviation, mean + deviation, color=colour, alpha=0.15
                )
                panel.plot(span, (mean, mean), color=colour)
            panel.plot(numbers[FEW:], scores[FEW:], "o", color=ALL_COLOUR, markersize=3)
            panel.plot(numbers[:FEW], scores[:FEW], "s", color=FEW_COLOUR, markersize=3)
            panel.set(title=f"{found.title(method)} on {dataset_title(dataset)}")
            panel.set(xlabel="class order (seed − 1233)")
            panel.set_ylabel("average accuracy $A_T$ in %", parse_math=True)
        note = f"orange: the first {FEW} class orders, blue: all; bands: ± one standard deviation"
        canvas.notes_below(drawing, [note])
        canvas.write(drawing, FIGURE)
