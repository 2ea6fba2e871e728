"""The figures of the page as numbers and ready words: the browser only draws them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.ticker import LogLocator, MaxNLocator

from tsbench.console import amount
from tsbench.report.figures import pareto_front
from tsbench.report.leaderboard import Board, Standing, brief_seconds, machines
from tsbench.report.page.context import Context
from tsbench.report.records import Entry
from tsbench.report.summary import Figure
from tsbench.report.titles import dataset_title

JOINT = "*"
"""The marker of a method that learns all tasks at once (Offline); it is drawn large."""
Panel = dict[str, Any]
Series = dict[str, Any]


def figures(board: Board, context: Context) -> dict[str, list[Panel]]:
    """All panels of a protocol, by figure."""
    time, memory, curves = [], [], []
    for dataset, standings in board.items():
        found = [each for each in standings if each.accuracy]
        for i, machine in enumerate(machines(board)):
            costs = [(each, each.seconds.get(machine)) for each in found]
            series = _cost_series(context, costs, lambda s: f"{brief_seconds(s)} s")
            axis = ("seconds of learning (log scale)", brief_seconds)
            time += [{**panel, "machine": i} for panel in _cost_panels(dataset, series, *axis)]
        costs = [(s, s.kept) for s in found if context.looks[s.entry.method].marker != JOINT]
        series = _cost_series(context, costs, amount)
        memory += _cost_panels(dataset, series, "memory kept between tasks (log scale)", amount)
        curves += line_panels(dataset, [_curve(each, context) for each in found])
    return {"time": time, "memory": memory, "curves": curves}


def _cost_series(
    context: Context,
    costs: Sequence[tuple[Standing, Figure | None]],
    words: Callable[[float], str],
) -> list[Series]:
    """A point per method with accuracy and cost; those on the front of ranked ones are marked."""
    made = []
    for each, cost in costs:
        if cost and cost.mean > 0 and each.accuracy:
            place = [_brief(cost.mean), _brief(each.accuracy.mean)]
            lines = [f"accuracy {context.words(each.accuracy)} %", words(cost.mean)]
            points = [[*place, *lines, seeds(each.accuracy)]]
            made.append({**_look(each, context), "ranked": bool(each.rank), "points": points})
    return made


def _cost_panels(
    dataset: str, series: list[Series], title: str, words: Callable[[float], str]
) -> list[Panel]:
    """Accuracy against what it costs, and the Pareto front of the ranked methods."""
    if not series:
        return []
    front = pareto_front((*s["points"][0][:2],) for s in series if s["ranked"])
    for each in series:
        each["front"] = each.pop("ranked") and (*each["points"][0][:2],) in front
    costs, accuracies = zip(*(each["points"][0][:2] for each in series), strict=True)
    low, high = min(costs) / 1.5, max(costs) * 1.5
    ticks = [[t, re.sub(r"\.0(?= |$)", "", words(t))] for t in log_ticks(low, high)]
    x = {"title": title, "log": True, "range": [_brief(low), _brief(high)], "ticks": ticks}
    return [_panel(dataset, x, min(accuracies), max(accuracies), series) | {"front": front}]


def seeds(found: Figure) -> str:
    """How many seeds a figure is from."""
    return f"{found.seeds} seed{'s' if found.seeds > 1 else ''}"


def _look(each: Standing, context: Context) -> Series:
    joint = context.looks[each.entry.method].marker == JOINT
    return {"m": context.number(each.entry.method), "pale": not each.full, "big": joint}


def _curve(each: Standing, context: Context) -> Series:
    """Average accuracy after each task."""
    points = [
        [t, _brief(f.mean), f"{context.words(f)} %", f"after task {t}", seeds(f)]
        for t, f in enumerate(each.entry.curve(), start=1)
        if f is not None
    ]
    return {**_look(each, context), "line": True, "points": points}


def seed_curves(entry: Entry, context: Context) -> list[Panel]:
    """Average accuracy after each task, one line per seed."""
    series = []
    for record in entry.finished:
        points = [
            [t, _brief(value), f"{value:.{context.options.digits}f} %", f"after task {t}"]
            for t, value in enumerate(record["result"]["curve"], start=1)
            if value is not None
        ]
        name, number = f"seed {record['spec']['seed']}", context.number(entry.method)
        series.append({"m": number, "name": name, "line": True, "points": points})
    return line_panels(None, series)


def line_panels(dataset: str | None, series: Sequence[Series]) -> list[Panel]:
    """Lines over the tasks: a panel, or none if there is nothing to draw."""
    shown = [each for each in series if each["points"]]
    if not shown:
        return []
    points = [point for each in shown for point in each["points"]]
    tasks = max(2, *(point[0] for point in points))
    ticks = [[t, str(t)] for t in range(1, tasks + 1, -(-tasks // 10))]
    x = {"title": "tasks learned", "range": [1, tasks], "ticks": ticks}
    return [_panel(dataset, x, min(point[1] for point in points), 100.0, shown)]


def _panel(
    dataset: str | None, x: dict[str, Any], low: float, high: float, series: Sequence[Series]
) -> Panel:
    """A panel with accuracies from ``low`` to ``high`` on its y axis."""
    room = max(1.0, 0.06 * (high - low))
    low, high = max(0.0, low - room), min(100.0, high + room)
    y = {
        "title": "average accuracy, %",
        "range": [_brief(low), _brief(high)],
        "ticks": [[t, f"{t:g}"] for t in linear_ticks(low, high)],
    }
    title = dataset_title(dataset) if dataset else ""
    return {"title": title, "d": dataset, "x": x, "y": y, "series": series}


def linear_ticks(low: float, high: float) -> list[float]:
    """About five round numbers within a range.

    >>> linear_ticks(23.5, 100), linear_ticks(94.2, 97.7)
    ([40, 60, 80, 100], [95, 96, 97])
    """
    return _within(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high), low, high)


def log_ticks(low: float, high: float) -> list[float]:
    """At most six round numbers within a range, evenly spaced on a logarithmic axis.

    >>> log_ticks(3, 50), log_ticks(100, 2e7)
    ([5, 10, 20, 50], [100, 1000, 10000, 100000, 1000000, 10000000])
    """
    for subs in ((1, 2, 5), (1, 3), (1,)):
        ticks = _within(LogLocator(subs=subs, numticks=99).tick_values(low, high), low, high)
        if len(ticks) <= 6:
            break
    return ticks[:: -(-len(ticks) // 6) or 1]


def _within(ticks: Sequence[float], low: float, high: float) -> list[float]:
    return [_brief(tick) for tick in ticks if low <= tick <= high]


def _brief(value: float) -> float:
    """Six digits are enough to draw, and short to store."""
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded
