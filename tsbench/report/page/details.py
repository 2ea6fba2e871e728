"""What a row of the leaderboard opens to: all seeds together, then each run.

A block that several views share is stored once and known by its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from tsbench.console import amount
from tsbench.report.defaults import stale_settings
from tsbench.report.leaderboard import Standing, brief_seconds
from tsbench.report.page.commands import as_text, run_command
from tsbench.report.page.context import Context
from tsbench.report.page.markup import Html, copyable, joined, tag, written
from tsbench.report.page.plots import Panel, seed_curves
from tsbench.report.records import busy
from tsbench.report.titles import class_titles
from tsbench.runs.record import Record

ERROR_LENGTH = 600
AccuracyMatrix = Sequence[Sequence[float | None] | None]


@dataclass
class Store:
    """What rows open to: blocks by number, and plots that the browser draws into them."""

    blocks: dict[Html, int] = field(default_factory=dict)
    plots: list[Panel] = field(default_factory=list)


def row_details(each: Standing, context: Context, store: Store) -> list[Any]:
    """The views of a row: a title and the numbers of its blocks, for each."""
    finished = each.entry.finished
    views: dict[str, list[Html | None]] = {}
    if len(finished) != 1:
        views["All seeds"] = _all_seeds(each, context, store) if finished else []
    for record in finished:
        views[f"Seed {record['spec']['seed']}"] = _one_seed(record)
    errors = [_error(record) for record in each.entry.failed]
    numbers = store.blocks
    return [
        [title, [numbers.setdefault(b, len(numbers)) for b in (*blocks, *errors) if b is not None]]
        for title, blocks in views.items()
    ]


def _all_seeds(each: Standing, context: Context, store: Store) -> list[Html | None]:
    records = each.entry.finished
    plot = None
    if panels := seed_curves(each.entry, context):
        place = tag("div", data_plot=len(store.plots))
        plot = _block("Average accuracy by task, one line per seed", place)
        store.plots += panels
    return [
        plot,
        _seeds(records, context),
        _accuracy(f"Accuracy by task, mean of {len(records)} seeds, %", mean_matrix(records)),
        _confusion("Confusion after the last task, all seeds, % of the true class", records),
        _settings(records),
        _commands("Repeat these runs", records),
    ]


def _one_seed(record: Record) -> list[Html | None]:
    about = {name: record.get(name) for name in ("hash", "submitted")}
    return [
        _accuracy("Accuracy by task, %", record["result"].get("accuracy") or []),
        _confusion("Confusion after the last task, % of the true class", [record]),
        _settings([record]),
        *(_facts(name.capitalize(), record[name]) for name in ("memory", "time", "environment")),
        _facts("Data", {k: v for k, v in record["data"].items() if k != "card"}),
        _facts("Record", {"protocol": record["spec"]["protocol"], **about}),
        _commands("Repeat this run", [record]),
    ]


def _block(title: str, *inside: Any) -> Html:
    return tag("section", tag("h4", title), *inside)


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], class_: str) -> Html:
    """A small table; cells are not closed, which HTML allows, since there are many of them."""
    heads = joined(*(tag("th", written(text), scope="col") for text in head))
    body = [
        tag("tr", tag("th", first, scope="row"), Html("".join(f"<td>{escape(c)}" for c in cells)))
        for first, *cells in rows
    ]
    table = tag("table", tag("thead", tag("tr", heads)), tag("tbody", *body), class_=class_)
    return tag("div", table, class_="scroll")


def _seeds(records: list[Record], context: Context) -> Html:
    def number(value: float | None) -> str:
        return "–" if value is None else f"{value:.{context.options.digits}f}"

    rows = []
    for record in records:
        result, peak = record["result"], record["memory"]["peak_bytes"]
        seconds = brief_seconds(sum(record["time"]["learn"])) + (" *" if busy(record) else "")
        seed = str(record["spec"]["seed"])
        accuracy, forgetting = number(result["A_T"]), number(result["F_T"])
        rows.append([seed, accuracy, forgetting, seconds, amount(peak) if peak else "–"])
    note = None
    if any(map(busy, records)):
        note = tag("p", "* other work ran on the machine: not used", class_="notes")
    head = ["seed", "A_T", "F_T", "seconds", "peak memory"]
    return _block("Seeds", _grid(head, rows, "small"), note)


def mean_matrix(records: list[Record]) -> AccuracyMatrix:
    """The accuracy matrices of several runs, averaged entry by entry where all have it."""
    mean: list[list[float | None] | None] = []
    for rows in zip(*(r["result"].get("accuracy") or [] for r in records), strict=False):
        if any(row is None for row in rows):
            mean.append(None)
            continue
        columns = zip(*rows, strict=False)
        mean.append([None if None in column else float(np.mean(column)) for column in columns])
    return mean


def _accuracy(title: str, matrix: AccuracyMatrix) -> Html | None:
    rows = [
        [f"after task {t}", *("–" if v is None else f"{v:.1f}" for v in row)]
        for t, row in enumerate(matrix, start=1)
        if row is not None
    ]
    head = ["on task", *map(str, range(1, len(matrix) + 1))]
    return _block(title, _grid(head, rows, "matrix")) if rows else None


def _confusion(title: str, records: list[Record]) -> Html | None:
    """What was taken for what: one run by the order of learning, several by class."""
    seen = sorted({c for record in records for c in record.get("class_order") or []})
    counts = np.zeros((max(seen, default=0) + 1,) * 2, np.int64)
    for record in records:
        order, matrix = record.get("class_order") or [], record["result"].get("confusion") or []
        if not matrix or len(order) != len(matrix):
            return None
        counts[np.ix_(order, order)] += np.array(matrix)
    classes = records[0]["class_order"] if len(records) == 1 else seen
    counts = counts[np.ix_(classes, classes)]
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    titles = class_titles(records[0], classes)
    rows = [
        [f"{name} ({i})", *(f"{share:.0f}" if share >= 0.5 else "" for share in row)]
        for i, (name, row) in enumerate(zip(titles, shares.tolist(), strict=True), start=1)
    ]
    head = ["predicted", *map(str, range(1, len(classes) + 1))]
    return _block(title, _grid(head, rows, "matrix"))


def _settings(records: list[Record]) -> Html:
    """Settings of the runs; what was set by hand, and what the run itself chose, is marked."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for record in records:
        spec, chosen = record["spec"], record.get("chosen") or {}
        marks = dict.fromkeys(spec["settings"], "tuned" if spec.get("tuned") else "")
        for name, (_, now) in stale_settings(record).items():
            marks[name] = f"default now: {as_text(now)}"
        marks |= dict.fromkeys(spec.get("changed") or {}, "set by hand")
        marks |= dict.fromkeys(chosen.keys() & spec["settings"].keys(), "chosen by the run")
        for name, value in spec["settings"].items():
            found.setdefault((name, marks[name]), {})[as_text(chosen.get(name, value))] = None
    rows = [(name, ", ".join(values), mark) for (name, mark), values in found.items()]
    return _block("Settings", _list(rows) if rows else tag("p", "none", class_="empty"))


def _facts(title: str, values: Mapping[str, Any]) -> Html:
    """A section of a record, as docs/results.md describes it."""
    return _block(title, _list([(name, text, "") for name, text in _flat(values)]))


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        full = prefix + name
        if isinstance(value, Mapping):
            yield from _flat(value, f"{full}: ")
        elif "bytes" in full and isinstance(value, int | float):
            yield full, amount(value)
        elif isinstance(value, list):
            yield full, ", ".join(map(as_text, value))
        elif value is not None and value != "":
            yield full, f"{value:,.6g}" if isinstance(value, float) else as_text(value)


def _list(rows: Sequence[tuple[str, str, str]]) -> Html:
    """Names and values; with a mark where there is something to say."""
    lines = []
    for name, value, mark in rows:
        words = tag("em", f" {mark}") if mark else None
        lines.append(tag("div", tag("dt", name.replace("_", " ")), tag("dd", value, words)))
    return tag("dl", *lines)


def _commands(title: str, records: list[Record]) -> Html:
    """One command for the seeds that have everything else in common."""
    groups: dict[str, tuple[Record, list[int]]] = {}
    for record in records:
        seed = record["spec"]["seed"]
        groups.setdefault(run_command(record, []), (record, []))[1].append(seed)
    text = "\n".join(run_command(record, seeds) for record, seeds in groups.values())
    return _block(title, copyable(text, title.lower()))


def _error(record: Record) -> Html:
    title = f"Seed {record['spec']['seed']} failed"
    return _block(title, tag("pre", str(record["error"])[:ERROR_LENGTH]))
