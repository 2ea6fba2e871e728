"""The tables of a report, from records alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tsbench.data.catalogue import DATASETS, card
from tsbench.data.manifest import read_manifest, stored_names
from tsbench.data.prepared import coverage_of
from tsbench.errors import UserError
from tsbench.protocol.rules import task_counts
from tsbench.report.comparisons import pairs_table, ranks_table
from tsbench.report.costs import memory_table, time_table
from tsbench.report.defaults import seed_ranges, stale_sign, stale_words
from tsbench.report.leaderboard import leaderboard_table
from tsbench.report.protocols import protocols_table
from tsbench.report.published import ABLATION, ABLATION_METRICS, MAIN_METRICS, Key
from tsbench.report.ranking import HOLM, SAME_SEEDS, Ranking, rank
from tsbench.report.records import Entry, Results
from tsbench.report.summary import Figure, figure
from tsbench.report.table import Cell, Options, Row, Table, mark_best

FAILED = "‡"
COLUMNS = {"A_T": "A_T ↑", "F_T": "F_T ↓", "variance_ratio": "VR ↑"}


def main_table(runs: Results, options: Options) -> Table:
    """Methods in rows, in the paper's order; A_T and F_T of every data set in columns."""
    table = Table(
        name="main",
        caption=(
            f"Average accuracy A_T and forgetting F_T in %, {options.mean}. "
            "Best in bold, second best underlined; bounds are not ranked."
        ),
        headers=("Method",),
        rows=_method_rows(runs),
    )
    theirs = options.compare.main if options.compare else {}
    _add_figures(table, runs, runs.methods, MAIN_METRICS, theirs, options)
    if options.ranks:
        table.note("rank:", f"by A_T; {HOLM}")
    return table


def ablation_table(runs: Results, options: Options) -> Table:
    """Deep, Deep+RHL and all of TS-ACL: A_T and the variance ratio of the classifier's input."""
    table = Table(
        name="ablation",
        caption="Embedding strategies: average accuracy A_T in % and variance ratio VR of the "
        f"classifier's input on test data, {options.mean}. Best in bold.",
        headers=("Components",),
        rows=[Row((title,), []) for title in ABLATION.values()],
    )
    theirs = options.compare.ablation if options.compare else {}
    plain = replace(options, ranks=False)
    _add_figures(table, runs, list(ABLATION), ABLATION_METRICS, theirs, plain)
    for cell in (cell for row in table.rows for cell in row.cells if cell.mark == "second"):
        cell.mark = ""
    return table


def _add_figures(
    table: Table,
    runs: Results,
    methods: list[str],
    metrics: Iterable[str],
    published: Mapping[Key, Figure],
    options: Options,
) -> None:
    """Columns of every metric on every data set; the methods are the rows."""
    for dataset in runs.datasets:
        before = len(table.columns)
        for metric in metrics:
            ranking = rank(runs, dataset, metric, options.shared_seeds, methods)
            cells = [
                _ranked_cell(table, runs.get(dataset, m), metric, ranking, runs.is_bound(m))
                for m in methods
            ]
            ranked = (c for m, c in zip(methods, cells, strict=True) if m in ranking.ranks)
            mark_best(ranked, metric == "F_T", options.digits)
            if options.ranks and metric == "A_T":
                ranks = [ranking.ranks.get(m) for m in methods]
                shown = [Cell(text=str(r), value=r.first) if r else Cell() for r in ranks]
                table.add_column("rank", shown)
            table.add_column(COLUMNS[metric], cells)
            if options.compare is not None:
                theirs = [published.get((dataset, m, metric)) for m in methods]
                _add_comparison(table, options.compare.name, theirs, cells, options.digits)
        table.groups.append((table.dataset_of(runs, dataset), len(table.columns) - before))


def curves_table(runs: Results, options: Options) -> Table:
    """A_t after each task."""
    tasks = max(len(entry.curve()) for entry in runs.entries.values())
    if not tasks:
        raise UserError("no finished runs, so no curves")
    table = Table(
        name="curves",
        caption=f"Average accuracy A_t in % after each task, {options.mean}.",
        headers=("Data set", "Method"),
        columns=[f"task {t + 1}" for t in range(tasks)],
    )
    for headers, entry in table.entries_of(runs):
        if curve := entry.curve():
            cells = [Cell(each, text="") for each in curve + [None] * (tasks - len(curve))]
            table.rows.append(Row(headers, cells))
    return table.first_header_once()


def datasets_table(runs: Results | None, options: Options) -> Table:
    """Shapes, sizes, classes and tasks, from the cards and what is prepared."""
    table = Table(
        name="datasets",
        caption="Data sets: channels × length, samples, classes, and tasks of the validation and "
        "the experiment stream.",
        headers=("Data set",),
        columns=["shape", "train", "held out", "test", "classes", "val tasks", "exp tasks"],
    )
    for name in [*DATASETS.builtin, *stored_names(options.data)]:
        each = card(name, options.data)
        manifest = read_manifest(each, options.data)
        counts = dict(each.published_counts)
        coverage = ""
        if manifest is not None:
            counts = {split: about["samples"] for split, about in manifest["splits"].items()}
            if not manifest["complete"]:
                coverage = str(coverage_of(manifest))
        tasks = task_counts(each.classes)
        words = [
            f"{each.channels} × {each.length}",
            *(str(counts.get(split, "–")) for split in ("train", "val", "test")),
            *map(str, (each.classes, tasks["val"], tasks["exp"])),
        ]
        cells = [Cell(text=w, value=float(w) if w.isdigit() else None) for w in words]
        table.rows.append(Row((table.data_set(each.title, coverage),), cells))
    return table


def settings_table(runs: Results, options: Options) -> Table:
    """The settings that the runs were made with, and where they are no longer the defaults."""
    table = Table(
        name="settings",
        caption="Settings of the runs, and where they are no longer the defaults.",
        headers=("Data set", "Method"),
        columns=["seeds", "settings", "defaults"],
    )
    for headers, entry in table.entries_of(runs):
        for settings, records in entry.settings().items():
            seeds = seed_ranges(r["spec"]["seed"] for r in records)
            words = (seeds, settings or "none", stale_words(records) or "same")
            table.rows.append(Row(headers, [Cell(text=w) for w in words]))
    return table.first_header_once()


TABLES: dict[str, Callable[[Results, Options], Table]] = {
    "leaderboard": leaderboard_table,
    "main": main_table,
    "time": time_table,
    "memory": memory_table,
    "ablation": ablation_table,
    "datasets": datasets_table,
    "curves": curves_table,
    "pairs": pairs_table,
    "ranks": ranks_table,
    "settings": settings_table,
    "protocols": protocols_table,
}


def _method_rows(runs: Results) -> list[Row]:
    """An empty row per method, with the titles of their sections."""
    rows, above = [], ""
    for method in runs.methods:
        section = runs.section(method)
        new = section != above
        rows.append(Row((runs.title(method),), [], rule=new, section=section if new else ""))
        above = section
    return rows


def _add_comparison(
    table: Table, name: str, theirs: list[Figure | None], ours: list[Cell], digits: int
) -> None:
    """The published values, and ours minus them."""
    gaps = [
        our.figure.mean - their.mean if our.figure and their else None
        for our, their in zip(ours, theirs, strict=True)
    ]
    table.add_column(name, [Cell(f) for f in theirs])
    table.add_column("Δ", [Cell.signed(gap, digits) for gap in gaps])


def _cell(table: Table, entry: Entry, metric: str, seeds: tuple[int, ...] | None = None) -> Cell:
    found = figure(entry.values(metric, seeds))
    notes: tuple[str, ...] = ()
    if entry.failed:
        notes = (FAILED,)
        table.note(FAILED, "some runs failed and are left out")
    if found is None:
        word = "N.A." if entry.finished else ("failed" if entry.failed else "–")
        return Cell(text=word, notes=() if entry.finished else notes)
    return Cell(found, notes=(*notes, *stale_sign(table, entry), *table.seeds(found)))


def _ranked_cell(table: Table, entry: Entry, metric: str, ranking: Ranking, is_bound: bool) -> Cell:
    """A ranked method's figure over the common seeds; any other method's over those it has."""
    if entry.method in ranking.ranks:
        if len(entry.by_seed(metric)) > len(ranking.seeds):
            table.note(
                "Seeds:", "those that not all ranked methods of a data set have are left out"
            )
        return _cell(table, entry, metric, ranking.seeds)
    cell = _cell(table, entry, metric)
    if cell.figure is not None and not is_bound:
        cell.mark = "unranked"
        table.note("Not ranked:", SAME_SEEDS)
    return cell
