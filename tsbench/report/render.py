"""Tables as Markdown, CSV, JSON and data frames; LaTeX and the terminal have their own modules."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING

from tsbench.report.layout import number_columns
from tsbench.report.summary import SpreadName
from tsbench.report.table import Cell, Row, Table, parts

if TYPE_CHECKING:
    import pandas as pd


def markdown(table: Table, spread: SpreadName, digits: int) -> str:
    """A Markdown table with its caption above and its footnotes below."""
    from tabulate import tabulate

    def text(cell: Cell) -> str:
        mean, width = parts(cell, spread, digits)
        mean = markdown_escape(mean)
        marks = {"best": f"**{mean}**", "second": f"<u>{mean}</u>", "unranked": f"*{mean}*"}
        signs = "".join(f"<sup>{markdown_escape(sign)}</sup>" for sign in cell.notes)
        return marks.get(cell.mark, mean) + (f" ± {width}" if width else "") + signs

    columns = [f"{group} {column}".strip() for group, column in table.grouped_columns()]
    titles = [markdown_escape(t) for t in (*table.headers, *columns)]
    rows = []
    for row in table.rows:
        if row.section:
            title = f"*{markdown_escape(row.section)}*"
            rows.append([title, *[""] * (len(titles) - 1)])
        rows.append([*map(markdown_escape, row.headers), *map(text, row.cells)])
    numbers = [False] * len(table.headers) + number_columns(table)
    align = ["right" if number else "left" for number in numbers]
    body = tabulate(rows, titles, tablefmt="pipe", disable_numparse=True, colalign=align)
    notes = [f"{markdown_escape(s)} {markdown_escape(t)}" for s, t in table.footnotes()]
    below = "\n\n" + "  \n".join(notes) if notes else ""
    return f"**{markdown_escape(table.caption)}**\n\n{body}{below}\n"


def as_frame(table: Table, spread: SpreadName) -> pd.DataFrame:
    """The table as it is, unrounded: means and, beside them, spreads; words where all are words."""
    import pandas as pd

    made: dict[tuple[str, str], Sequence[float | str | None]] = {}
    for i, (group, column) in enumerate(table.grouped_columns()):
        cells, title = [row.cells[i] for row in table.rows], column.rstrip(" ↑↓")
        means = [cell.number for cell in cells]
        words = [cell.text for cell in cells]
        no_numbers = means.count(None) == len(means)
        made[group, title] = words if no_numbers or title == "rank" else means
        if spread != "none" and any(cell.figure for cell in cells):
            made[group, f"{title} ±"] = [
                cell.figure.spread(spread) if cell.figure else None for cell in cells
            ]
    index = pd.MultiIndex.from_tuples(table.filled_headers(), names=table.headers)
    frame = pd.DataFrame(made, index=index)
    if not table.groups:
        frame.columns = frame.columns.get_level_values(1)
    if len(table.headers) == 1:
        frame.index = frame.index.get_level_values(0)
    frame.attrs = {"caption": table.caption, "notes": dict(table.footnotes())}
    return frame


def as_cells(table: Table, spread: SpreadName) -> pd.DataFrame:
    """One row per cell, unrounded: headers, column, mean, spread, seeds, mark, and words."""
    import pandas as pd

    columns = table.grouped_columns()
    cells = []
    for headers, row in zip(table.filled_headers(), table.rows, strict=True):
        for (group, column), cell in zip(columns, row.cells, strict=True):
            about: dict[str, object] = dict(zip(table.headers, headers, strict=True))
            if group:
                about["Data set"] = group
            about |= {"column": column, "mean": cell.number, spread: None, "seeds": None}
            if cell.figure:
                about |= {spread: cell.figure.spread(spread), "seeds": cell.figure.seeds}
            cells.append({**about, "mark": cell.mark, "text": "" if cell.figure else cell.text})
    frame = pd.DataFrame(cells)
    return frame.astype({"seeds": "Int64"}) if cells else frame


def as_csv(table: Table, spread: SpreadName, digits: int) -> str:
    """One line per cell as CSV, in which no spreadsheet sees a formula."""
    frame = as_cells(table, spread)
    for name in frame.select_dtypes(["object", "string"]).columns:
        frame[name] = frame[name].map(_no_formula)
    return frame.to_csv(index=False, lineterminator="\n")


def _no_formula(value: object) -> object:
    """Text that a spreadsheet would run gets an apostrophe in front; numbers stay.

    >>> _no_formula("=1+1"), _no_formula("-1.5"), _no_formula("@x")
    ("'=1+1", '-1.5', "'@x")
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    return value if re.fullmatch(r"[+-]?[\d.]+", value) else f"'{value}"


def as_json(table: Table, spread: SpreadName, digits: int) -> str:
    """The table as it is, unrounded."""
    return json.dumps(asdict(table), indent=1, ensure_ascii=False) + "\n"


def markdown_escape(text: str) -> str:
    """Text in which Markdown and HTML see no markup.

    >>> print(markdown_escape("a_b<c>&$|"))
    a\\_b&lt;c&gt;&amp;\\$\\|
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|~$])", r"\\\1", text)


def transposed(table: Table) -> Table:
    """The main table with data sets as rows and methods as columns, as the paper has it."""
    rows: list[Row] = []
    for title, span in table.spans():
        for i in span:
            cells = [row.cells[i] for row in table.rows]
            first = i == span.start
            rows.append(Row((title if first else "", table.columns[i]), cells, rule=first))
    starts = [i for i, row in enumerate(table.rows) if row.section or i == 0]
    ends = pairwise([*starts, len(table.rows)])
    groups = [(table.rows[start].section, end - start) for start, end in ends]
    return Table(
        table.name, table.caption, ("Data set", "Metric"), [row.headers[0] for row in table.rows],
        rows, groups, table.notes,
    )  # fmt: skip
