"""What the page shows, as plain data: methods, data sets, tables, figures, runs."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

from tsbench.errors import UserError
from tsbench.report.page.details import brief, run_details
from tsbench.report.palette import styles
from tsbench.report.published import ABLATION, paper
from tsbench.report.records import (
    PARTIAL,
    Collection,
    Group,
    dataset_title,
    in_contest,
    machine_of,
    method_title,
)
from tsbench.report.render import LATEX_CHARACTERS, LATEX_KNOWS, ROWS_A_PAGE, SUPERSCRIPTS
from tsbench.report.summary import Figure, SpreadName, figure
from tsbench.report.table import Cell, Options, Table, parts
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_table, verdicts

SECTIONS = {
    "main": "Accuracy and forgetting",
    "curves": "Accuracy by task",
    "time": "Learning time",
    "memory": "Memory",
    "ablation": "Ablation",
    "verdict": "Against the paper",
    "pairs": "Paired differences",
    "ranks": "Average ranks",
    "datasets": "Data sets",
}
TURNED = {"main": "Method", "time": "Method", "ablation": "Data set"}
"""Tables whose columns are rows on the page, where a column is what one sorts by."""
AXES = {"Data set": "dataset", "Method": "method", "Metric": "metric"}


def contents(runs: Collection, options: Options, spread: SpreadName) -> dict[str, Any]:
    """All that the scripts need."""
    machines = sorted({machine_of(r) for g in runs.groups.values() for r in g.finished})
    return {
        "protocol": runs.protocol,
        "digits": options.digits,
        "spread": spread,
        "datasets": [
            {"name": d, "title": dataset_title(d), "coverage": runs.coverage(d)}
            for d in runs.datasets
        ],
        "methods": _methods(runs),
        "metrics": ["A_T", "F_T"],
        "machines": machines,
        "problems": runs.problems,
        "groups": [_group(runs, group, machines, spread) for group in runs.groups.values()],
        "tables": _tables(runs, options, spread),
        "latex": {
            "characters": LATEX_CHARACTERS,
            "superscripts": SUPERSCRIPTS,
            "knows": LATEX_KNOWS,
            "rows": ROWS_A_PAGE,
        },
        **run_details(runs),
    }


def _methods(runs: Collection) -> list[dict[str, Any]]:
    looks = styles(runs.methods)
    return [
        {"title": method_title(m), "contest": in_contest(m), **asdict(looks[m])}
        for m in runs.methods
    ]


def _group(
    runs: Collection, group: Group, machines: list[str], spread: SpreadName
) -> dict[str, Any]:
    """The points of a method on a data set in the figures."""

    def point(found: Figure | None) -> list[float | None] | None:
        if found is None or not math.isfinite(found.mean):
            return None
        width = found.spread(spread)
        return [brief(found.mean, 6), None if width is None else brief(width, 6), found.seeds]

    times = {i: point(figure(group.seconds(machine))) for i, machine in enumerate(machines)}
    return {
        "dataset": runs.datasets.index(group.dataset),
        "method": runs.methods.index(group.method),
        "curve": [point(f) for f in group.curve()],
        "A_T": point(figure(group.values("A_T"))),
        "F_T": point(figure(group.values("F_T"))),
        "kept": point(figure(group.kept())),
        "seconds": {i: p for i, p in times.items() if p},
    }


def _tables(runs: Collection, options: Options, spread: SpreadName) -> list[dict[str, Any]]:
    """Every table that has something to show, in the page's order."""
    plain = replace(options, compare=None)
    made = {}
    for name, make in TABLES.items():
        if name == "ablation" and not {*ABLATION} - {"ts-acl"} & {*runs.methods}:
            continue
        try:
            made[name] = make(runs, plain)
        except UserError:
            continue
    against = options.compare or paper()
    judged = verdicts(runs, against) + verdicts(runs, against, tuned=True)
    made["verdict"] = verdict_table([j for j in judged if j.verdict != "not run"], against.name)
    order = [*(name for name in SECTIONS if name in made), *(n for n in made if n not in SECTIONS)]
    methods = {method_title(m) for m in runs.methods}
    datasets = {dataset_title(d) for d in runs.datasets}
    shown = []
    for name in order:
        if made[name].rows:
            about = _table(made[name], spread, options.digits)
            about["columnAxis"] = _column_axis(made[name], methods, datasets)
            shown.append(about)
    return shown


def _column_axis(table: Table, methods: set[str], datasets: set[str]) -> str | None:
    titles = {_key(column) for column in table.columns}
    return "method" if titles <= methods else "dataset" if titles <= datasets else None


def _table(table: Table, spread: SpreadName, digits: int) -> dict[str, Any]:
    """A table with every row complete in itself, so that it can be sorted and filtered."""
    rows: list[dict[str, Any]] = []
    for row in table.rows:
        above = rows[-1]["headers"] if rows else row.headers
        headers = [own or upper for own, upper in zip(row.headers, above, strict=True)]
        keys = {
            AXES[title]: _key(header)
            for title, header in zip(table.headers, headers, strict=True)
            if title in AXES
        }
        rows.append(
            {
                "headers": headers,
                "blank": [not own for own in row.headers],
                "keys": keys,
                "rule": row.rule,
                "cells": [_cell(cell, spread, digits) for cell in row.cells],
            }
        )
    return {
        "name": table.name,
        "title": SECTIONS.get(table.name, table.name.capitalize()),
        "caption": table.caption,
        "headers": table.headers,
        "axes": [AXES.get(title) for title in table.headers],
        "columns": table.columns,
        "columnKeys": [_key(column) for column in table.columns],
        "groups": table.groups,
        "notes": list(table.notes.items()),
        "turned": TURNED.get(table.name),
        "rows": rows,
    }


def _key(header: str) -> str:
    """What a filter knows a row by.

    >>> _key("WISDM†"), _key("A_T ↑")
    ('WISDM', 'A_T')
    """
    return header.removesuffix(PARTIAL).removesuffix("↑").removesuffix("↓").strip()


def _cell(cell: Cell, spread: SpreadName, digits: int) -> dict[str, Any]:
    text, width = parts(cell, spread, digits)
    value = cell.value if cell.figure is None else cell.figure.mean
    shown: dict[str, Any] = {"text": text}
    if width:
        shown["width"] = width
    if cell.mark:
        shown["mark"] = cell.mark
    if cell.notes:
        shown["notes"] = cell.notes
    if value is not None and math.isfinite(value):
        shown["value"] = brief(value, 6)
    if cell.figure is not None:
        shown["seeds"] = cell.figure.seeds
    return shown
