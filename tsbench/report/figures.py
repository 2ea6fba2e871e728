"""Figures of many runs: accuracy by task, learning time, accuracy against cost, splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import pandas as pd
from matplotlib.axes import Axes

from tsbench.console import amount
from tsbench.errors import UserError
from tsbench.report.canvas import (
    INK,
    Drawing,
    label_ends,
    label_front,
    legend,
    line,
    log_axis,
    notes_below,
    panels,
    point,
)
from tsbench.report.palette import Style, looks_of
from tsbench.report.protocols import TITLES, BySplit, compare_splits
from tsbench.report.records import BUSY, Results
from tsbench.report.table import PARTIAL
from tsbench.report.titles import dataset_title

Point = tuple[float, float]
"""Cost and accuracy."""
COSTS = {"time": "seconds of learning", "bytes": "kept between tasks"}
COLUMNS = {"time": "seconds", "bytes": "kept"}
"""Of the frame of runs."""
FILLS = {"published": "filled", "subject": "hollow", "recording": "grey"}


def curves(runs: Results) -> Drawing:
    """A_t after each task with a band for its spread; every line is labelled at its end.

    Joint training, which has only the last value, is a star.
    """
    looks = looks_of(runs, _shown(runs))
    drawing, each = panels(len(runs.datasets), max(2.5, 0.7 + 0.105 * len(looks)), columns=2)
    ends: list[dict[str, Point]] = []
    for dataset, panel in zip(runs.datasets, each, strict=True):
        drawn = {m: _curve(panel, runs, dataset, m, look) for m, look in looks.items()}
        last = {m: end for m, end in drawn.items() if end}
        ends.append(last)
        longest = max((x for x, _ in last.values()), default=1)
        panel.set(title=_title(runs, dataset), xlabel="tasks learned", ylim=(0, 105))
        panel.set(xlim=(0.9, longest + 0.45 * max(1.0, longest - 1)))
        panel.set_xticks(range(1, int(longest) + 1))
        _label_accuracy(panel, "A_t")
    several = any(len(entry.finished) > 1 for entry in runs.entries.values())
    bands = "; bands: ± one standard deviation" if several else ""
    notes_below(drawing, [_seeds_note(runs) + bands, *_partial(runs)])
    drawing.draw_without_rendering()  # labels are placed when the layout is final
    for panel, last in zip(each, ends, strict=True):
        longest = max((x for x, _ in last.values()), default=1)
        label_ends(
            panel, list(last.values()), [runs.title(m) for m in last],
            [looks[m].colour for m in last], at=longest + 0.1 * max(1.0, longest - 1),
        )  # fmt: skip
    return drawing


def _curve(panel: Axes, runs: Results, dataset: str, method: str, look: Style) -> Point | None:
    """Draw one curve; returns where it ends."""
    curve = runs.get(dataset, method).curve()
    known = [(t, f) for t, f in enumerate(curve, start=1) if f is not None]
    if not known:
        return None
    tasks, means = [t for t, _ in known], [f.mean for _, f in known]
    panel.plot(tasks, means, label=method, **(line(look) if len(known) > 1 else point(look)))
    low = [f.mean - (f.std or 0.0) for _, f in known]
    high = [f.mean + (f.std or 0.0) for _, f in known]
    panel.fill_between(tasks, low, high, color=look.colour, alpha=0.1, linewidth=0)
    return tasks[-1], means[-1]


def time(runs: Results) -> Drawing:
    """Seconds of learning per run, log scale, one panel per data set and one machine per panel."""
    looks = looks_of(runs, _shown(runs))
    drawing, each = panels(len(runs.datasets), 0.7 + 0.16 * len(looks), columns=5, share_rows=True)
    seconds = _on_main_machines(runs).groupby(["dataset", "method"])["seconds"]
    found = seconds.agg(["min", "mean", "max"]).to_dict("index")
    for dataset, panel in zip(runs.datasets, each, strict=True):
        for place, (method, look) in enumerate(looks.items()):
            values = found.get((dataset, method))
            if values and values["min"] > 0:
                panel.plot([values["min"], values["max"]], [place] * 2, color=look.colour)
                panel.plot(values["mean"], place, label=method, **point(look))
        panel.set(title=_title(runs, dataset), ylim=(len(looks) - 0.5, -0.5))
        log_axis(panel, "{x:g}")
        panel.set_yticks(range(len(looks)), [runs.title(m) for m in looks])
    what = "seconds of learning per run: mean, and from the fastest run to the slowest"
    notes_below(drawing, [what, *_time_notes(runs), *_partial(runs)])
    return drawing


def pareto(runs: Results, against: Sequence[str] = tuple(COSTS)) -> Drawing:
    """A_T against what it costs, and the front of what nothing beats in both."""
    looks = looks_of(runs, _shown(runs))
    pairs = [(dataset, cost) for dataset in runs.datasets for cost in against]
    found = [_points(runs, dataset, cost) for dataset, cost in pairs]
    ranked = [{m: p for m, p in points.items() if not runs.is_bound(m)} for points in found]
    fronts = [pareto_front(points.values()) for points in ranked]
    height = max(2.0, 0.9 + 0.14 * max(map(len, fronts)))
    drawing, each = panels(len(pairs), height, 2 * len(against))
    for (dataset, cost), panel, points, front in zip(pairs, each, found, fronts, strict=True):
        for method, place in points.items():
            panel.plot(*place, label=method, **point(looks[method]))
        panel.set(title=_title(runs, dataset), xlabel=COSTS[cost])
        panel.margins(y=0.1)
        _cost_axis(panel, cost)
        if front:
            _draw_front(panel, front)
        _label_accuracy(panel, "A_T")
    rule = "line: no ranked method is both cheaper and more accurate"
    notes = [f"{_seeds_note(runs)}; {rule}", *_partial(runs)]
    notes += _time_notes(runs) if "time" in against else []
    legend(drawing, {runs.title(m): look for m, look in looks.items()}, notes)
    drawing.draw_without_rendering()
    for (_, cost), panel, points, front in zip(pairs, each, ranked, fronts, strict=True):
        named = {m: p for m, p in points.items() if p in front}
        if named:
            titles, colours = [runs.title(m) for m in named], [looks[m].colour for m in named]
            label_front(panel, list(named.values()), titles, colours)
            # The axis may go beyond 100 % to make room for names; its ticks should not.
            bottom = panel.get_ylim()[0]
            panel.set_yticks([tick for tick in panel.get_yticks() if bottom <= tick <= 100])
            _cost_axis(panel, cost)
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


def protocols(runs: Results) -> Drawing:
    """A_T of every method under each split: one row per method, one mark per split."""
    found = compare_splits(runs)
    methods = list(dict.fromkeys(m for d in found.datasets for m in found.methods(d)))
    height = 0.8 + 0.18 * len(methods)
    drawing, each = panels(len(found.datasets), height, columns=3, share_rows=True)
    for (dataset, coverage), panel in zip(found.datasets.items(), each, strict=True):
        for place, method in enumerate(methods):
            _draw_splits(panel, found, dataset, method, place)
        title = dataset_title(dataset) + (PARTIAL if coverage else "")
        panel.set(title=title, ylim=(len(methods) - 0.5, -0.5))
        panel.set_xlabel("average accuracy $A_T$ in %", parse_math=True)
        panel.set_yticks(range(len(methods)), [found.of(m).title(m) for m in methods])
    signs = ", ".join(f"{FILLS[split]}: {TITLES[split]}" for split in found.results)
    notes_below(drawing, [f"mean over seeds; {signs}", *_partial_note(found.datasets)])
    return drawing


def _draw_splits(panel: Axes, found: BySplit, dataset: str, method: str, place: int) -> None:
    """Marks of one method, joined by a line."""
    look = looks_of(found.of(method), [method])[method]
    fills = {"published": look.colour, "subject": "white", "recording": "#C9CDD3"}
    means = {
        split: fmean(values)
        for split, runs in found.results.items()
        if (values := runs.get(dataset, method).values("A_T"))
    }
    if means:
        panel.plot([min(means.values()), max(means.values())], [place] * 2, color=look.colour)
    edge = INK if look.marker == "*" else look.colour
    for split, mean in means.items():
        shown = point(look) | {"markerfacecolor": fills[split], "markeredgecolor": edge}
        panel.plot(mean, place, **shown)


def _points(runs: Results, dataset: str, cost: str) -> dict[str, Point]:
    """Cost and accuracy of every method that has both; joint training keeps nothing between."""
    frame = _on_main_machines(runs) if cost == "time" else runs.frame
    paid = frame[frame["dataset"] == dataset].groupby("method")[COLUMNS[cost]].mean()
    points = {}
    for method in runs.methods:
        accuracy = runs.get(dataset, method).values("A_T")
        joint = cost == "bytes" and runs.is_joint(method)
        if accuracy and not joint and paid.get(method, 0.0) > 0:
            points[method] = (float(paid[method]), fmean(accuracy))
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


def _on_main_machines(runs: Results) -> pd.DataFrame:
    """The runs with useful times; on each data set those of the machine that has most of them."""
    frame = runs.frame.dropna(subset=["seconds"])
    main = frame.groupby("dataset")["machine"].transform(lambda machines: machines.mode()[0])
    return frame[frame["machine"] == main]


def _time_notes(runs: Results) -> list[str]:
    """What the times were measured on, and what was left out."""
    shown = _on_main_machines(runs)
    notes = [
        f"{', '.join(map(dataset_title, datasets))}: {machine}"
        for machine, datasets in shown.groupby("machine", sort=False)["dataset"].unique().items()
    ]
    timed = runs.frame["seconds"].count()
    counts = {
        "on other machines": timed - len(shown),
        f"with other work on more than {BUSY:.0%} of the cores": len(runs.frame) - timed,
    }
    left_out = [f"{count} run(s) {words}" for words, count in counts.items() if count]
    return notes + ([f"left out: {', '.join(left_out)}"] if left_out else [])


def _shown(runs: Results) -> list[str]:
    """The methods that have something to show."""
    shown = [m for m in runs.methods if any(runs.get(d, m).finished for d in runs.datasets)]
    if not shown:
        raise UserError("no finished runs, so nothing to draw")
    return shown


def _label_accuracy(panel: Axes, symbol: str) -> None:
    """Beside the first panel of a row."""
    if panel.get_subplotspec().is_first_col():  # type: ignore[union-attr]
        panel.set_ylabel(f"average accuracy ${symbol}$ in %", parse_math=True)


def _cost_axis(panel: Axes, cost: str) -> None:
    log_axis(panel, "{x:g}" if cost == "time" else lambda n, _: amount(n).replace(".0 ", " "))


def _title(runs: Results, dataset: str) -> str:
    return dataset_title(dataset) + (PARTIAL if runs.coverage(dataset) else "")


def _seeds_note(runs: Results) -> str:
    counts = sorted({len(e.finished) for e in runs.entries.values() if e.finished})
    few, most = counts[0], counts[-1]
    if most == 1:
        return "one seed"
    return f"mean over {most} seeds" if few == most else f"mean over {few} to {most} seeds"


def _partial(runs: Results) -> list[str]:
    return _partial_note({d: runs.coverage(d) for d in runs.datasets})


def _partial_note(coverages: Mapping[str, str]) -> list[str]:
    partial = [f"{dataset_title(d)} {coverage}" for d, coverage in coverages.items() if coverage]
    return [f"{PARTIAL} partial data: {', '.join(partial)}"] if partial else []
