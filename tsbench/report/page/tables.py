"""The other tables of a report as HTML, each with its files and the command that prints it."""

from __future__ import annotations

import math
from dataclasses import replace

from tsbench.errors import UserError
from tsbench.report.latex import latex
from tsbench.report.page.commands import VERDICT, report_command
from tsbench.report.page.context import Context
from tsbench.report.page.markup import (
    Html,
    copyable,
    download,
    joined,
    scrolling,
    sortable_head,
    tag,
    written,
)
from tsbench.report.published import paper
from tsbench.report.records import Results
from tsbench.report.render import as_csv
from tsbench.report.table import Cell, Table
from tsbench.report.tables import TABLES
from tsbench.report.titles import dataset_title
from tsbench.report.verdict import verdict_table, verdicts

TITLES = {
    "main": "Accuracy and forgetting",
    VERDICT: "Against the paper",
    "ablation": "Ablation",
    "time": "Learning time",
    "memory": "Memory",
    "curves": "Accuracy by task",
    "pairs": "Paired differences",
    "ranks": "Average ranks",
    "protocols": "Splits",
    "settings": "Settings",
    "datasets": "Data sets",
}
COLOURED = {"better": "better", "worse": "worse", "partial data": "warn", "failed": "failed"}
"""Words of cells, and the class that colours them."""


def files(table: Table, context: Context) -> Html:
    """Links that save a table as CSV and LaTeX."""
    options = context.options
    return joined(
        download("CSV", f"{table.name}.csv", "text/csv",
                 as_csv(table, options.spread, options.digits)),
        download("LaTeX", f"{table.name}.tex", "application/x-tex",
                 latex(table, options.spread, options.digits)),
    )  # fmt: skip


def other_tables(runs: Results, context: Context) -> list[Html]:
    """Every table but the leaderboard that has something to show, folded."""
    shown = []
    for name, title in TITLES.items():
        table = _made(name, runs, context)
        if table is None or not table.rows:
            continue
        command = report_command(name, runs.protocol, context.results)
        base = None if name == VERDICT else command  # tsbench verify has no filters
        notes = [tag("li", written(f"{sign} {note}")) for sign, note in table.footnotes()]
        shown.append(
            tag(
                "details",
                tag("summary", title),
                tag("p", written(table.caption), class_="caption"),
                _html(table, _Keys(runs), context, title),
                tag("ul", *notes, class_="notes") if notes else None,
                tag(
                    "div",
                    copyable(command, f"the command for {title}", data_report=base),
                    files(table, context),
                    class_="actions",
                ),
                class_="table",
                id=f"{runs.protocol}-{name}",
            )
        )
    return shown


def _made(name: str, runs: Results, context: Context) -> Table | None:
    """A table; None where there is nothing to show."""
    try:
        if name != VERDICT:
            return TABLES[name](runs, replace(context.options, compare=None))
        against = context.options.compare or paper()
        judged = verdicts(runs, against) + verdicts(runs, against, tuned=True)
        return verdict_table(runs, [j for j in judged if j.verdict != "not run"], against.name)
    except UserError:
        return None


class _Keys:
    """Which data set or method a header is about, so that filters reach it."""

    def __init__(self, runs: Results) -> None:
        self._datasets = {dataset_title(d): d for d in runs.datasets}
        self._methods = {runs.title(m): m for m in runs.methods}

    def of(self, *headers: str) -> dict[str, str]:
        found = {}
        for header in headers:
            name = header.rstrip("†↑↓ ")
            if name in self._datasets:
                found["data_d"] = self._datasets[name]
            if name in self._methods:
                found["data_m"] = self._methods[name]
        return found


def _html(table: Table, keys: _Keys, context: Context, title: str) -> Html:
    """Rows in one part per value of the first header, where a table has several headers."""
    columns = [keys.of(column, group) for group, column in table.grouped_columns()]
    nested = len(table.headers) > 1
    left = table.headers[1:] if nested else table.headers
    heads = [sortable_head(text, class_="left") for text in left]
    heads += [sortable_head(t or "of", **k) for t, k in zip(table.columns, columns, strict=True)]
    groups = None
    if table.groups:
        over = [
            tag("th", name, colspan=count, scope="colgroup", **keys.of(name))
            for name, count in table.groups
        ]
        groups = tag("tr", tag("td", colspan=len(left)), *over, class_="groups")
    bodies: dict[str, list[Html]] = {}
    section = ""
    for row, headers in zip(table.rows, table.filled_headers(), strict=True):
        section = row.section or section
        part, titles = (headers[0], headers[1:]) if nested else (section, headers)
        cells = [_cell(c, context, k) for c, k in zip(row.cells, columns, strict=True)]
        heading = [tag("th", written(text), scope="row", data_v=text.lower()) for text in titles]
        bodies.setdefault(part, []).append(tag("tr", *heading, *cells, **keys.of(*headers)))
    parts_ = []
    for name, rows in bodies.items():
        title_row = tag("th", name, colspan=len(heads), scope="rowgroup")
        rows = [tag("tr", title_row, class_="heading"), *rows] if name else rows
        parts_.append(tag("tbody", *rows, **keys.of(name)))
    made = tag("table", tag("caption", title, class_="unseen"),
               tag("thead", groups, tag("tr", *heads)), *parts_, class_="sortable")  # fmt: skip
    return scrolling(made, title)


def _cell(cell: Cell, context: Context, key: dict[str, str]) -> Html:
    mean, width = context.parts(cell)
    value = cell.number
    shown = tag({"best": "strong", "second": "u"}.get(cell.mark, "span"), mean)
    return tag(
        "td",
        shown,
        tag("small", f" ± {width}") if width else None,
        tag("sup", "".join(cell.notes)) if cell.notes else None,
        data_v=None if value is None or not math.isfinite(value) else f"{value:.6g}",
        class_="pale" if cell.mark == "unranked" else COLOURED.get(mean),
        **key,
    )
