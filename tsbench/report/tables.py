"""The tables of a report, from records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from statistics import fmean

from tsbench.bench.names import stream_tasks
from tsbench.console import amount
from tsbench.data.arrays import Coverage
from tsbench.data.catalogue import DATASETS, PAPER, card
from tsbench.data.prepared import read_manifest, stored_names
from tsbench.errors import UserError
from tsbench.report.comparisons import pairs_table, ranks_table
from tsbench.report.published import ABLATION
from tsbench.report.records import (
    Collection,
    Group,
    dataset_title,
    in_contest,
    machine_of,
    method_family,
    method_title,
)
from tsbench.report.summary import Figure, figure
from tsbench.report.table import Cell, Options, Row, Table, rank

FAILED = "‡"
FAMILY_TITLES = {
    "bounds": "",
    "exemplar-free": "Exemplar-free",
    "exemplar-based": "Exemplar-based",
    "analytic": "Analytic",
    "other": "Other",
}


def main_table(runs: Collection, options: Options) -> Table:
    """Data sets × {A_T, F_T} in rows, methods in columns, in the paper's order and groups."""
    methods = runs.methods
    contest = [in_contest(m) for m in methods]
    table = Table(
        name="main",
        caption=(
            f"Average accuracy A_T and forgetting F_T in %, {options.mean}. "
            "Best in bold, second underlined, Naive and Offline out of contest."
        ),
        headers=("Data set", "Metric"),
        columns=[method_title(m) for m in methods],
        rows=[],
        groups=_family_groups(methods),
    )
    for dataset in runs.datasets:
        groups = [runs.get(dataset, m) for m in methods]
        title = _title(table, runs, dataset)
        for metric, sign in (("A_T", "↑"), ("F_T", "↓")):
            cells = [_metric_cell(table, group, metric) for group in groups]
            rank(cells, contest, metric == "F_T", options.digits)
            headers = (title if metric == "A_T" else "", f"{metric} {sign}")
            table.rows.append(Row(headers, cells, rule=metric == "A_T"))
            if (other := options.compare) is not None:
                theirs = [other.main(dataset, m, metric) for m in methods]
                table.rows += _comparison(other.name, theirs, cells)
    return table


def overview_table(runs: Collection) -> Table:
    """A row a kind of run: A_T, F_T and seconds of learning."""
    table = Table(
        name="overview",
        caption="Mean ± standard deviation over seeds",
        headers=("data set", "method"),
        columns=["A_T ↑", "F_T ↓", "learning, s"],
        rows=[],
    )
    for dataset in runs.datasets:
        for method in runs.methods:
            group = runs.get(dataset, method)
            if not (group.finished or group.failed):
                continue
            title = table.data_set(dataset_title(dataset), group.coverage)
            cells = [_metric_cell(table, group, metric) for metric in ("A_T", "F_T")]
            cells.append(Cell(figure(group.seconds())))
            table.rows.append(Row((title, method_title(method)), cells))
    return table


def time_table(runs: Collection, options: Options) -> Table:
    """Seconds of learning, and relative to TS-ACL; machines are never mixed in a row."""
    methods = runs.methods
    table = Table(
        name="time",
        caption=f"Seconds of learning a run, {options.mean}; shared first-task training is charged "
        "in full.",
        headers=("Data set", "Machine", ""),
        columns=[method_title(m) for m in methods],
        rows=[],
        groups=_family_groups(methods),
    )
    machines = sorted({machine_of(r) for g in runs.groups.values() for r in g.finished})
    for dataset in runs.datasets:
        for number, machine in enumerate(machines, start=1):
            figures = [figure(runs.get(dataset, m).seconds(machine)) for m in methods]
            if not any(figures):
                continue
            sign = f"[{number}]"
            table.notes[sign] = machine
            headers = (_title(table, runs, dataset), sign)
            cells = [Cell(f) for f in figures]
            table.rows.append(Row((*headers, "s"), cells, rule=True))
            base = figure(runs.get(dataset, "ts-acl").seconds(machine))
            if base is not None and base.mean > 0:
                relative = [_times(f.mean / base.mean) if f else Cell() for f in figures]
                table.rows.append(Row(("", "", "/ TS-ACL"), relative))
    return table


def memory_table(runs: Collection, options: Options) -> Table:
    """What is kept between tasks, by kind; parameters; peak."""
    kinds = {
        "raw": "raw samples",
        "generator": "generator",
        "statistics": "statistics",
        "parameters": "parameters",
    }
    table = Table(
        name="memory",
        caption="Kept between tasks at the end of the stream, by kind; trained weights; peak of "
        "the process. Means over seeds.",
        headers=("Data set", "Method"),
        columns=[*kinds.values(), "kept in all", "weights", "peak"],
        rows=[],
    )
    for dataset in runs.datasets:
        first = True
        for method in runs.methods:
            records = runs.get(dataset, method).finished
            if not records:
                continue
            kept = [
                fmean(r["memory"]["kept_bytes"].get(kind, 0) for r in records) for kind in kinds
            ]
            weights = fmean(r["memory"]["parameters"] for r in records)
            peaks = [p for r in records if (p := r["memory"]["peak_bytes"])]
            cells = [_bytes(k) for k in [*kept, sum(kept)]]
            cells.append(Cell(text=f"{weights:,.0f}", value=weights))
            cells.append(_bytes(fmean(peaks)) if peaks else Cell())
            header = _title(table, runs, dataset) if first else ""
            table.rows.append(Row((header, method_title(method)), cells, rule=first))
            first = False
    return table


def ablation_table(runs: Collection, options: Options) -> Table:
    """Deep, Deep + RHL and all of TS-ACL: A_T and the variance ratio of the classifier's input."""
    table = Table(
        name="ablation",
        caption="Embedding strategies: average accuracy A_T in % and variance ratio VR of the "
        f"classifier's input on test data, {options.mean}.",
        headers=("Embedding", "Metric"),
        columns=[],
        rows=[],
    )
    table.columns = [_title(table, runs, d) for d in runs.datasets]
    for method, title in ABLATION.items():
        for metric, shown in (("A_T", "A_T ↑"), ("variance_ratio", "VR ↑")):
            cells = [_metric_cell(table, runs.get(d, method), metric) for d in runs.datasets]
            first = metric == "A_T"
            table.rows.append(Row((title if first else "", shown), cells, rule=first))
            if (other := options.compare) is not None:
                theirs = [other.ablation(d, method, metric) for d in runs.datasets]
                table.rows += _comparison(other.name, theirs, cells)
    return table


def datasets_table(runs: Collection | None, options: Options) -> Table:
    """Shapes, sizes, classes and tasks, from the cards and what is prepared."""
    table = Table(
        name="datasets",
        caption="Data sets: channels × length, samples, classes, tasks of the experiment stream.",
        headers=("Data set",),
        columns=["shape", "train", "held out", "test", "classes", "exp tasks"],
        rows=[],
    )
    others = [d for d in DATASETS.builtin if d not in PAPER]
    for name in [*PAPER, *others, *stored_names(options.data)]:
        each = card(name, options.data)
        manifest = read_manifest(each, options.data)
        counts = dict(each.published_counts)
        coverage = ""
        if manifest is not None:
            counts = {split: about["samples"] for split, about in manifest["splits"].items()}
            if not manifest["complete"]:
                coverage = str(Coverage(**manifest["coverage"]))
        words = [
            f"{each.channels} × {each.length}",
            *(str(counts.get(split, "–")) for split in ("train", "val", "test")),
            str(each.classes),
            str(stream_tasks(each)),
        ]
        cells = [Cell(text=w, value=float(w) if w.isdigit() else None) for w in words]
        table.rows.append(Row((table.data_set(each.title, coverage),), cells))
    return table


def curves_table(runs: Collection, options: Options) -> Table:
    """A_t after each task."""
    tasks = max(len(group.curve()) for group in runs.groups.values())
    if not tasks:
        raise UserError("no finished runs, so no curves")
    table = Table(
        name="curves",
        caption=f"Average accuracy A_t in % after each task, {options.mean}.",
        headers=("Data set", "Method"),
        columns=[f"task {t + 1}" for t in range(tasks)],
        rows=[],
    )
    for dataset in runs.datasets:
        first = True
        for method in runs.methods:
            curve = runs.get(dataset, method).curve()
            if not curve:
                continue
            cells = [Cell(each, text="") for each in curve + [None] * (tasks - len(curve))]
            header = _title(table, runs, dataset) if first else ""
            table.rows.append(Row((header, method_title(method)), cells, rule=first))
            first = False
    return table


TABLES: dict[str, Callable[[Collection, Options], Table]] = {
    "main": main_table,
    "time": time_table,
    "memory": memory_table,
    "ablation": ablation_table,
    "datasets": datasets_table,
    "curves": curves_table,
    "pairs": pairs_table,
    "ranks": ranks_table,
}


def _title(table: Table, runs: Collection, dataset: str) -> str:
    return table.data_set(dataset_title(dataset), runs.coverage(dataset))


def _family_groups(methods: Iterable[str]) -> list[tuple[str, int]]:
    families = groupby(methods, key=method_family)
    return [(FAMILY_TITLES[family], len(list(members))) for family, members in families]


def _metric_cell(table: Table, group: Group, metric: str) -> Cell:
    found = figure(group.values(metric))
    notes = []
    if group.failed:
        notes.append(FAILED)
        table.note(FAILED, "some runs failed and are left out")
    if found is None:
        word = "N.A." if group.finished else ("failed" if group.failed else "–")
        return Cell(text=word, notes=tuple(notes) if not group.finished else ())
    return Cell(found, notes=(*notes, *table.seeds(found)))


def _bytes(n: float) -> Cell:
    return Cell(text=amount(n) if n else "0", value=n)


def _times(ratio: float) -> Cell:
    return Cell(text=f"{ratio:.2f} ×", value=ratio)


def _comparison(name: str, theirs: list[Figure | None], ours: list[Cell]) -> list[Row]:
    """The published value, and ours minus it."""
    differences = [
        Cell(text=f"{our.figure.mean - their.mean:+.2f}" if our.figure and their else "–")
        for our, their in zip(ours, theirs, strict=True)
    ]
    return [Row(("", name), [Cell(f) for f in theirs]), Row(("", "Δ"), differences)]
