"""Figures of many runs: accuracy by task, learning time, accuracy against cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from tsbench.console import amount
from tsbench.errors import UserError
from tsbench.report.canvas import INK, legend, line, log_axis, panels, wrapped
from tsbench.report.palette import Style, styles
from tsbench.report.records import (
    PARTIAL,
    Collection,
    dataset_title,
    in_contest,
    machine_of,
    method_title,
)
from tsbench.report.summary import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

Point = tuple[float, float]
"""Cost and accuracy."""


COSTS = {"time": "seconds of learning", "bytes": "kept between tasks"}


def curves(runs: Collection) -> Drawing:
    """A_t after each task, a panel a data set; Offline, which has only the last one, as a star."""
    looks = _looks(runs)
    drawing, each, spare = panels(len(runs.datasets), height=2.1)
    for dataset, panel in zip(runs.datasets, each, strict=True):
        for method, look in looks.items():
            curve = runs.get(dataset, method).curve()
            known = [(t, f.mean) for t, f in enumerate(curve, start=1) if f is not None]
            if known:
                panel.plot(*zip(*known, strict=True), label=method, **line(look, len(known)))
        panel.set(title=_title(runs, dataset), xlabel="tasks learned", ylim=(0, 105))
        panel.locator_params(axis="x", integer=True)
        if panel.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            panel.set_ylabel("average accuracy $A_t$ in %", parse_math=True)
    legend(drawing, spare, looks, [_seeds_note(runs), *_partial_notes(runs)])
    return drawing


def time(runs: Collection) -> Drawing:
    """Seconds of learning a run, log scale, a panel a data set; never two machines in a panel."""
    looks = _looks(runs)
    height = 1.1 + 0.16 * len(looks)
    drawing, each, spare = panels(len(runs.datasets), height, columns=5, share_rows=True)
    machines = main_machines(runs)
    for dataset, panel in zip(runs.datasets, each, strict=True):
        for place, (method, look) in enumerate(looks.items()):
            seconds = runs.get(dataset, method).seconds(machines[dataset])
            if seconds and min(seconds) > 0:
                panel.plot([min(seconds), max(seconds)], [place] * 2, color=look.colour)
                panel.plot(fmean(seconds), place, label=method, **line(look, 1))
        panel.set(title=_title(runs, dataset), ylim=(len(looks) - 0.5, -0.5))
        log_axis(panel, "{x:g}")
        panel.set_yticks(range(len(looks)), [method_title(m) for m in looks])
    if spare is not None:
        spare.axis("off")
    notes = [
        "mean, and from the fastest run to the slowest",
        *_machine_notes(runs),
        *_partial_notes(runs),
    ]
    drawing.supxlabel(
        wrapped(["seconds of learning a run", *notes], drawing.get_figwidth()), fontsize=6
    )
    return drawing


def pareto(runs: Collection, against: Sequence[str] = tuple(COSTS)) -> Drawing:
    """A_T against what it costs, and the front of what nothing beats in both."""
    looks = _looks(runs)
    machines = main_machines(runs)
    drawing, each, spare = panels(len(runs.datasets) * len(against), 2.0, 2 * len(against))
    pairs = [(dataset, cost) for dataset in runs.datasets for cost in against]
    for (dataset, cost), panel in zip(pairs, each, strict=True):
        points = _points(runs, dataset, cost, machines[dataset])
        for method, point in points.items():
            panel.plot(*point, label=method, **line(looks[method], 1))
        panel.set(title=_title(runs, dataset), xlabel=COSTS[cost])
        panel.margins(y=0.1)
        log_axis(panel, "{x:g}" if cost == "time" else _bytes)
        front = pareto_front(p for method, p in points.items() if in_contest(method))
        if front:
            _draw_front(panel, front)
        if panel.get_subplotspec().is_first_col():  # type: ignore[union-attr]
            panel.set_ylabel("average accuracy $A_T$ in %", parse_math=True)
    rule = "line: no method in the contest is both cheaper and more accurate"
    notes = [_seeds_note(runs), rule, *_partial_notes(runs)]
    legend(drawing, spare, looks, notes + (_machine_notes(runs) if "time" in against else []))
    return drawing


def pareto_front(points: Iterable[Point]) -> list[Point]:
    """The points that no other beats in one coordinate without losing in the other, by cost.

    >>> pareto_front([(1, 50), (2, 40), (2, 60), (3, 60), (4, 90)])
    [(1, 50), (2, 60), (4, 90)]
    """
    front: list[Point] = []
    for cost, accuracy in sorted(set(points), key=lambda p: (p[0], -p[1])):
        if not front or accuracy > front[-1][1]:
            front.append((cost, accuracy))
    return front


def main_machines(runs: Collection) -> dict[str, str]:
    """For each data set the machine that most of its runs were made on."""
    chosen = {}
    for dataset in runs.datasets:
        counts = _machines(runs, dataset)
        chosen[dataset] = min(counts, key=lambda m: (-counts[m], m), default="")
    return chosen


def _machines(runs: Collection, dataset: str) -> Counter[str]:
    groups = [runs.get(dataset, method) for method in runs.methods]
    return Counter(machine_of(r) for group in groups for r in group.finished)


def _machine_notes(runs: Collection) -> list[str]:
    """What the times were measured on, and how many runs of other machines were left out."""
    chosen = main_machines(runs)
    names = list(dict.fromkeys(m for m in chosen.values() if m))
    notes = names
    if len(names) > 1:
        notes = [
            f"{', '.join(dataset_title(d) for d, m in chosen.items() if m == name)}: {name}"
            for name in names
        ]
    others = sum(_machines(runs, d).total() - _machines(runs, d)[m] for d, m in chosen.items())
    return notes + ([f"{others} run(s) on other machines left out"] if others else [])


def _looks(runs: Collection) -> dict[str, Style]:
    """A look for every method that has something to show."""
    shown = [m for m in runs.methods if any(runs.get(d, m).finished for d in runs.datasets)]
    if not shown:
        raise UserError("no finished runs, so nothing to draw")
    return styles(shown)


def _points(runs: Collection, dataset: str, cost: str, machine: str) -> dict[str, Point]:
    """Cost and accuracy of every method that has both; joint training has no between."""
    points = {}
    for method in runs.methods:
        group = runs.get(dataset, method)
        paid = group.seconds(machine) if cost == "time" else group.kept()
        accuracy = figure(group.values("A_T"))
        joint = cost == "bytes" and method.partition("+")[0] == "offline"
        if accuracy is not None and not joint and paid and fmean(paid) > 0:
            points[method] = (fmean(paid), accuracy.mean)
    return points


def _draw_front(panel: Axes, front: list[Point]) -> None:
    """A stair from edge to edge: at any cost, the best accuracy that it buys."""
    (left, right), (bottom, top) = panel.get_xlim(), panel.get_ylim()
    costs, accuracies = zip(*front, strict=True)
    panel.step(
        [costs[0], *costs, right], [bottom, *accuracies, accuracies[-1]],
        where="post", color=INK, linewidth=0.7, zorder=2, label="front",
    )  # fmt: skip
    panel.set(xlim=(left, right), ylim=(bottom, top))


def _bytes(value: float, _: float) -> str:
    return amount(value).replace(".0 ", " ")


def _title(runs: Collection, dataset: str) -> str:
    return dataset_title(dataset) + (PARTIAL if runs.coverage(dataset) else "")


def _seeds_note(runs: Collection) -> str:
    counts = sorted({len(g.finished) for g in runs.groups.values() if g.finished})
    few, most = counts[0], counts[-1]
    if most == 1:
        return "one seed"
    return f"mean over {most} seeds" if few == most else f"mean over {few} to {most} seeds"


def _partial_notes(runs: Collection) -> list[str]:
    partial = [f"{dataset_title(d)} {c}" for d in runs.datasets if (c := runs.coverage(d))]
    return [f"{PARTIAL} partial data: {', '.join(partial)}"] if partial else []
