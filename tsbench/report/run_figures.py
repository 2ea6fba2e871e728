"""Figures of one run: its accuracy matrix, its last confusion matrix, its features."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from tsbench.console import say
from tsbench.errors import UserError
from tsbench.protocol.rules import Protocol
from tsbench.report.canvas import GRID, INK, LABEL_SIZE, WIDTH, Drawing, blank, panels, shown_label
from tsbench.report.palette import CATEGORIES, MARKERS
from tsbench.report.records import Results
from tsbench.report.titles import class_titles, dataset_title, method_title
from tsbench.runs.record import Record

if TYPE_CHECKING:
    from tsbench.report.features import Features

NUMBERS_UP_TO = 18
"""Rows of a matrix in whose cells a number can still be read."""
BEFORE_TSNE = 50
"""Principal components that t-SNE starts from."""
MOST_IN_A_LEGEND = 60


def choose_run(runs: Results, seed: int | None) -> Record:
    """The one finished run that is meant; of several seeds the first."""
    found = {key: entry.finished for key, entry in runs.entries.items() if entry.finished}
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
        seeds = ", ".join(map(str, sorted(by_seed)))
        raise UserError(f"no finished run of seed {seed}; there are: {seeds}")
    return by_seed[seed]


def accuracy_matrix(record: Record) -> Drawing:
    """Accuracy on every task after every task."""
    values = _matrix(record, "accuracy")
    numbers = [[f"{v:.1f}" for v in row] for row in values]
    drawing, panel = _heat(values, numbers, "accuracy in %", cell=0.36, below=0.3)
    names, size = class_names(record), _classes_per_task(record)
    tasks = range(len(values))
    rows = [f"{t + 1}: {', '.join(names[t * size : (t + 1) * size])}" for t in tasks]
    panel.set_xticks(tasks, [str(t + 1) for t in tasks])
    panel.set_yticks(tasks, [textwrap.fill(row, 30) for row in rows])
    panel.set(title=run_title(record), xlabel="accuracy on task", ylabel="after learning task")
    return drawing


def confusion_matrix(record: Record) -> Drawing:
    """Predictions after the last task: rows in %, classes in the order of learning."""
    counts = _matrix(record, "confusion")
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(100 * counts, totals, out=np.full_like(counts, np.nan), where=totals > 0)
    numbers = [[f"{v:.0f}" if v >= 0.5 else "" for v in row] for row in shares]
    drawing, panel = _heat(shares, numbers, "% of the true class", cell=0.26, below=1.0)
    places, names = range(len(counts)), class_names(record)
    panel.set_xticks(places, [textwrap.shorten(n, 28) for n in names], rotation=90)
    panel.set_yticks(places, [textwrap.shorten(n, 28) for n in names])
    size = _classes_per_task(record)
    for edge in np.arange(size, len(counts), size) - 0.5:
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
        places, axes = _tsne(features.x), ["t-SNE 1", "t-SNE 2"]
    drawing, each = panels(1 if features.subject is None else 2, 3.0, columns=2)
    names, size = class_names(record), _classes_per_task(record)
    for label in np.unique(features.y):
        task, position = divmod(int(label), size)
        _dots(each[0], places[features.y == label], task, position, names[label])
    _legend(each[0], "class; one colour per task")
    if features.subject is not None:
        for place, subject in enumerate(np.unique(features.subject)):
            chosen = places[features.subject == subject]
            _dots(each[1], chosen, place, place // len(CATEGORIES), str(subject))
        _legend(each[1], "subject")
    for panel in each:
        panel.set(xlabel=axes[0], ylabel=axes[-1], xticks=[], yticks=[])
    drawing.suptitle(f"{run_title(record)}: {len(places)} test samples", fontsize=8)
    return drawing


def _dots(panel: Axes, at: np.ndarray, colour: int, marker: int, label: str) -> None:
    panel.plot(
        *at.T, MARKERS[marker % len(MARKERS)], color=CATEGORIES[colour % len(CATEGORIES)],
        label=shown_label(label), markersize=3.5, markeredgewidth=0.3, markeredgecolor="white",
    )  # fmt: skip


def _legend(panel: Axes, title: str) -> None:
    """Under the panel, if it is not too long to be read."""
    labels = [str(line.get_label()) for line in panel.get_lines()]
    if len(labels) > MOST_IN_A_LEGEND:
        panel.set_title(f"by {title}, {len(labels)} of them")
        return
    columns = max(1, min(10, int(3.2 / (0.25 + 0.055 * max(map(len, labels))))))
    panel.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=columns, title=title,
        title_fontsize=LABEL_SIZE, handletextpad=0.1, columnspacing=0.8,
    )  # fmt: skip


def pca(x: np.ndarray, components: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) → their principal components (n, k), and each one's share of the variance.

    The sign of a component is such that its largest entry is positive. Written out, since
    scikit-learn is an extra.
    """
    centred = np.asarray(x, np.float64) - x.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    scores = u[:, :components] * s[:components]
    largest = np.abs(scores).argmax(axis=0)
    signs = np.sign(scores[largest, np.arange(scores.shape[1])])
    total = float((s**2).sum())
    shares = s[:components] ** 2 / total if total > 0 else np.zeros(scores.shape[1])
    return scores * np.where(signs == 0, 1.0, signs), shares


def _tsne(x: np.ndarray) -> np.ndarray:
    """Rows (n, d) → (n, 2), the same every time."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise UserError(
            "t-SNE needs scikit-learn: pip install 'tsbench[figures]', or use --projection pca"
        ) from None
    say(f"t-SNE of {len(x)} samples, usually less than a minute")
    reduced, _ = pca(x, BEFORE_TSNE)
    perplexity = min(30.0, max(1.0, (len(x) - 1) / 3))
    found: np.ndarray = TSNE(
        init="pca" if reduced.shape[1] > 1 else "random", perplexity=perplexity, random_state=0
    ).fit_transform(reduced)
    return found


def run_title(record: Record) -> str:
    """A run in words."""
    spec = record["spec"]
    partial = "" if record["data"]["complete"] else f", {record['data']['coverage']}"
    name = method_title(record["label"], record["method"])
    return f"{name} on {dataset_title(spec['dataset'])}{partial}, seed {spec['seed']}"


def class_names(record: Record) -> list[str]:
    """Names of the classes in the order of learning."""
    order = record.get("class_order") or range(2 * len(record["result"]["curve"]))
    return class_titles(record, order)


def _classes_per_task(record: Record) -> int:
    return Protocol.from_dict(record["spec"]).classes_per_task


def _matrix(record: Record, name: str) -> np.ndarray:
    """A square matrix of the result, NaN where it has no entry."""
    rows = record["result"].get(name)
    if not rows or any(row is not None and len(row) > len(rows) for row in rows):
        raise UserError(f"the record of {run_title(record)} holds no {name} matrix")
    values = np.full((len(rows), len(rows)), np.nan)
    for t, row in enumerate(rows):
        for i, value in enumerate(row or ()):
            values[t, i] = np.nan if value is None else value
    return values


def _heat(
    values: np.ndarray, numbers: list[list[str]], label: str, cell: float, below: float
) -> tuple[Drawing, Axes]:
    """A matrix in colours, with numbers where they can be read; sizes of cells are in inches."""
    side = min(WIDTH - 2, 0.8 + cell * len(values))
    drawing = blank(side + 2, side + below)
    panel = drawing.add_subplot()
    image = panel.imshow(values, cmap="Blues", vmin=0, vmax=100)
    bar = drawing.colorbar(image, ax=panel, fraction=0.05, pad=0.02)
    bar.set_label(label)
    bar.outline.set_visible(False)
    panel.grid(visible=False)
    panel.spines[:].set_visible(True)
    panel.spines[:].set_color(GRID)
    for (row, column), value in np.ndenumerate(values):
        if len(values) <= NUMBERS_UP_TO and not np.isnan(value):
            ink = "white" if value > 60 else INK
            panel.text(
                column, row, numbers[row][column],
                ha="center", va="center", fontsize=6, color=ink,
            )  # fmt: skip
    return drawing, panel
