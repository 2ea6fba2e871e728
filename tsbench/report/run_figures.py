"""Figures of one run: its accuracy matrix, its last confusion matrix, its features."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tsbench.console import Meter
from tsbench.data.catalogue import DATASETS, card
from tsbench.data.stream import CLASSES_PER_TASK
from tsbench.errors import UserError
from tsbench.report.canvas import GRID, INK, WIDTH, blank, legend_below, panels
from tsbench.report.palette import COLOURS
from tsbench.report.projection import STEPS, pca, tsne
from tsbench.report.records import Collection, Record, dataset_title, method_title, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from tsbench.report.features import Features

MARKERS = "o^"
"""Of the classes of a task."""
NUMBERS_UP_TO = 18
"""Rows of a matrix in whose cells a number can still be read."""


def choose_run(runs: Collection, seed: int | None) -> Record:
    """The one finished run that is meant; of several seeds the first."""
    found = {key: group.finished for key, group in runs.groups.items() if group.finished}
    if not found:
        raise UserError("no finished run of these data sets and methods")
    for place, option in enumerate(("--dataset", "--method")):
        names = sorted({key[place] for key in found})
        if len(names) > 1:
            raise UserError(f"which run? Choose one with {option}: {', '.join(names)}")
    ((_, records),) = found.items()
    by_seed = {record["spec"]["seed"]: record for record in records}
    if seed is None:
        return by_seed[min(by_seed)]
    if seed not in by_seed:
        raise UserError(f"no finished run of seed {seed}; there are: {_listed(by_seed)}")
    return by_seed[seed]


def _listed(seeds: dict[int, Record]) -> str:
    return ", ".join(str(seed) for seed in sorted(seeds))


def accuracy_matrix(record: Record) -> Drawing:
    """Accuracy on every task after every task."""
    values = _matrix(record, "accuracy")
    side = min(WIDTH - 1, 1.2 + 0.36 * len(values))
    drawing = blank(side + 0.9, side)
    panel = drawing.add_subplot()
    _heat(drawing, panel, values, "accuracy in %", [[f"{v:.1f}" for v in row] for row in values])
    names = [str(t + 1) for t in range(len(values))]
    panel.set_xticks(range(len(values)), names)
    panel.set_yticks(range(len(values)), names)
    panel.set(title=run_title(record), xlabel="accuracy on task", ylabel="after learning task")
    return drawing


def confusion_matrix(record: Record) -> Drawing:
    """What was taken for what after the last task: rows in %, classes in the order of learning."""
    counts = _matrix(record, "confusion")
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(100 * counts, totals, out=np.full_like(counts, np.nan), where=totals > 0)
    side = min(WIDTH - 2, 1.0 + 0.24 * len(counts))
    drawing = blank(side + 2, side)
    panel = drawing.add_subplot()
    numbers = [[f"{v:.0f}" if v >= 0.5 else "" for v in row] for row in shares]
    _heat(drawing, panel, shares, "% of the true class", numbers)
    places = range(len(counts))
    names = class_names(record)
    rows = [f"{names[i] if i < len(names) else 'class'} ({i + 1})" for i in places]
    panel.set_xticks(places, [str(i + 1) for i in places])
    panel.set_yticks(places, [textwrap.fill(row, 24) for row in rows])
    for edge in np.arange(CLASSES_PER_TASK, len(counts), CLASSES_PER_TASK) - 0.5:
        panel.axhline(edge, color=GRID, linewidth=0.8)
        panel.axvline(edge, color=GRID, linewidth=0.8)
    panel.set(title=run_title(record), xlabel="predicted class", ylabel="true class, by task")
    return drawing


def feature_map(record: Record, features: Features, projection: str) -> Drawing:
    """Features of test samples in the plane, by class and, where known, by subject."""
    if projection == "pca":
        places, shares = pca(features.x)
        axes = [f"component {i + 1}, {100 * share:.0f} %" for i, share in enumerate(shares)]
    else:
        with Meter("t-SNE", STEPS) as meter:
            places, axes = tsne(features.x, progress=meter.to), ["t-SNE 1", "t-SNE 2"]
    drawing, each, _ = panels(1 if features.subject is None else 2, 3.0)
    names = class_names(record)
    for label in np.unique(features.y):
        task, position = divmod(int(label), CLASSES_PER_TASK)
        at = places[features.y == label]
        each[0].plot(
            *at.T, MARKERS[position], color=COLOURS[task % len(COLOURS)], label=names[label],
            markersize=3.5, markeredgewidth=0.3, markeredgecolor="white",
        )  # fmt: skip
    each[0].set_title("by class, a colour a task")
    handles = each[0].get_lines()
    if features.subject is not None:
        _by_subject(drawing, each[1], places, features.subject)
    for panel in each:
        panel.set(xlabel=axes[0], ylabel=axes[-1], xticks=[], yticks=[])
    note = f"{run_title(record)}: {len(places)} test samples after the last task"
    legend_below(drawing, handles, [str(line.get_label()) for line in handles], [note])
    return drawing


def _by_subject(drawing: Drawing, panel: Axes, places: np.ndarray, subject: np.ndarray) -> None:
    from matplotlib.ticker import MaxNLocator

    points = panel.scatter(places[:, 0], places[:, 1], 7, subject, cmap="viridis", linewidths=0)
    bar = drawing.colorbar(points, ax=panel, label="subject", ticks=MaxNLocator(integer=True))
    bar.outline.set_visible(False)
    panel.set_title("by subject")


OF_A_RUN: dict[str, Callable[[Record], Drawing]] = {
    "matrix": accuracy_matrix,
    "confusion": confusion_matrix,
}


def run_title(record: Record) -> str:
    """A run in words."""
    spec = record["spec"]
    partial = "" if record["data"]["complete"] else f", {record['data']['coverage']}"
    name = method_title(record["label"])
    return f"{name} on {dataset_title(spec['dataset'])}{partial}, seed {spec['seed']}"


def class_names(record: Record) -> list[str]:
    """Names of the classes by label; numbers where they are not known here."""
    name = record["spec"]["dataset"]
    try:
        own = record["data"].get("card", {}).get("class_names", ())
        known = card(name).class_names if name in DATASETS.builtin else own
        return [printable(str(known[c])) for c in record["class_order"]]
    except (AttributeError, KeyError, IndexError, TypeError):
        return [f"class {i}" for i in range(1, 1 + 2 * len(record["result"]["curve"]))]


def _matrix(record: Record, name: str) -> np.ndarray:
    """A square matrix of the result, NaN where it has no entry."""
    rows = record["result"].get(name)
    try:
        values = np.full((len(rows), len(rows)), np.nan)
        for t, row in enumerate(rows):
            for i, value in enumerate(row or ()):
                values[t, i] = np.nan if value is None else value
    except (TypeError, ValueError, IndexError):
        values = np.empty((0, 0))
    if not values.size:
        raise UserError(f"the record of {run_title(record)} holds no {name} matrix")
    return values


def _heat(
    drawing: Drawing, panel: Axes, values: np.ndarray, label: str, numbers: list[list[str]]
) -> None:
    image = panel.imshow(values, cmap="Blues", vmin=0, vmax=100)
    bar = drawing.colorbar(image, ax=panel)
    bar.set_label(label)
    bar.outline.set_visible(False)
    panel.grid(visible=False)
    panel.spines[:].set_visible(True)
    panel.spines[:].set_color(GRID)
    if len(values) > NUMBERS_UP_TO:
        return
    for (row, column), value in np.ndenumerate(values):
        if not np.isnan(value):
            ink = "white" if value > 60 else INK
            panel.text(
                column, row, numbers[row][column],
                ha="center", va="center", fontsize=6, color=ink,
            )  # fmt: skip
