"""Plain text tables that fit: columns are wrapped between words, numbers are never cut.

A table that is too wide first gives up its leading headers (they become titles of sections), then
is split into several tables, between data sets where it can be.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace

from tsbench.report.summary import SpreadName
from tsbench.report.table import Cell, Row, Table, parts

GAP = 2
"""Spaces between columns."""
HARD_SPACE = "\ue000"
"""Where a number must not be wrapped; a letter of nobody's until it is printed as a space."""
STYLES = {"best": "1", "second": "4", "unranked": "2"}
"""Bold, underlined, dim, as terminals know them."""


def text_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str] | None],
    width: int,
    numbers: Sequence[bool] = (),
) -> str | None:
    """Rows as text at most ``width`` wide, or None if that needs a word or a number to be cut.

    A row that is None is a line. ``numbers`` says which columns are aligned to the right.

    >>> print(text_table(["name", "what it does"], [["er", "replays old samples"]], 18))
    name  what it does
    ----  ------------
    er    replays old
          samples
    """
    from tabulate import SEPARATING_LINE, tabulate

    cells = [headers, *(row for row in rows if row is not None)]
    widths = _widths(cells, width)
    if widths is None:
        return None
    wrapped = [
        SEPARATING_LINE if row is None else [_wrap(c, w) for c, w in zip(row, widths, strict=True)]
        for row in (headers, None, *rows)
    ]
    align = ["right" if number else "left" for number in numbers] or ["left"] * len(headers)
    text = tabulate(wrapped, tablefmt="simple", disable_numparse=True, colalign=align)
    lines = text.replace(HARD_SPACE, " ").splitlines()[1:-1]  # the header is a row: one is padded
    return "\n".join(line.rstrip() for line in lines)


def text_list(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Rows as blocks, for what is too wide for a table.

    >>> print(text_list(["name", "keeps"], [["er", "samples"]], 20))
    er
      keeps: samples
    """
    blocks = []
    for first, *others in rows:
        lines = [f"{h}: {c}" for h, c in zip(headers[1:], others, strict=True) if c]
        blocks.append("\n".join([first, *(_wrap(line, width, "  ", "    ") for line in lines)]))
    return "\n".join(blocks)


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """The width of each column: wide ones are narrowed first, none below its longest word."""
    columns = list(zip(*rows, strict=True))
    widths = [max(_length(line) for c in column for line in c.split("\n")) for column in columns]
    least = [max(_length(word) for c in column for word in _words(c)) for column in columns]
    room = width - GAP * (len(columns) - 1)
    while sum(widths) > room:
        open_columns = [i for i, w in enumerate(widths) if w > least[i]]
        if not open_columns:
            return None
        widest = max(open_columns, key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


def _words(text: str) -> list[str]:
    return text.replace("\n", " ").split(" ")


def _length(text: str) -> int:
    return len(re.sub(r"\x1b\[\d+m", "", text))


def _wrap(text: str, width: int, first: str = "", later: str = "") -> str:
    lines = (
        textwrap.fill(
            line, width, break_long_words=False, break_on_hyphens=False,
            initial_indent=first, subsequent_indent=later,
        )
        for line in text.split("\n")
    )  # fmt: skip
    return "\n".join(lines)


def terminal(
    table: Table, spread: SpreadName, digits: int, width: int, styled: bool = False
) -> str:
    """A table with its caption above and its footnotes below, as text at most ``width`` wide."""

    def body(part: Table, width: int = width) -> str | None:
        return _body(part, spread, digits, width, styled)

    made = split(table, lambda part: body(part) is not None)
    bodies = [body(part) or body(part, 10_000) or "" for part in made]
    blocks = [textwrap.fill(table.caption, width), *bodies]
    notes = [textwrap.fill(f"{s} {t}", width, subsequent_indent="  ") for s, t in table.footnotes()]
    return "\n\n".join(blocks) + "\n" + "".join(f"{note}\n" for note in notes)


def _body(table: Table, spread: SpreadName, digits: int, width: int, styled: bool) -> str | None:
    titles = list(table.columns)
    for title, span in table.spans():
        for i in span:
            above = title.replace(" ", HARD_SPACE) if i == span.start else HARD_SPACE
            titles[i] = f"{above}\n{titles[i]}"
    rows: list[Sequence[str] | None] = []
    sections = any(row.section for row in table.rows)
    for row in table.rows:
        first, *headers = row.headers
        if row.section:
            blank = [""] * (len(headers) + len(row.cells))
            rows.append([row.section.replace(" ", HARD_SPACE), *blank])
        elif row.rule and rows and not sections:
            rows.append(None)
        first = 2 * HARD_SPACE + first if sections else first
        rows.append([first, *headers, *(_text(c, spread, digits, styled) for c in row.cells)])
    numbers = [False] * len(table.headers) + number_columns(table)
    return text_table([*table.headers, *titles], rows, width, numbers)


def _text(cell: Cell, spread: SpreadName, digits: int, styled: bool) -> str:
    """A cell as text; a figure with its spread and signs is one word."""
    mean, wide = parts(cell, spread, digits)
    if cell.number is None:
        return " ".join([mean, *cell.notes])
    shown = mean + (f" ±{wide}" if wide else "") + "".join(f" {sign}" for sign in cell.notes)
    if styled and cell.mark:
        shown = f"\x1b[{STYLES[cell.mark]}m{shown}\x1b[0m"
    return shown.replace(" ", HARD_SPACE)


def number_columns(table: Table) -> list[bool]:
    """Which columns hold numbers, and are aligned to the right."""
    return [
        any(row.cells[i].number is not None for row in table.rows)
        for i in range(len(table.columns))
    ]


def split(table: Table, fits: Callable[[Table], bool]) -> list[Table]:
    """The table, or tables that fit and together show all of it."""
    if fits(table):
        return [table]
    narrow = table
    for count in range(1, len(table.headers)):
        narrow = headers_as_sections(table, count)
        if fits(narrow):
            return [narrow]
    units = [list(span) for _, span in table.spans()]
    wide = [unit for unit in units if not fits(narrow.part(unit))]
    if wide or not units:
        units = [[i] for i in range(len(table.columns))]
    return [
        _without_empty_rows(narrow.part(columns))
        for columns in _evenly(units, lambda columns: fits(narrow.part(columns)))
    ]


def _evenly(units: list[list[int]], fits: Callable[[list[int]], bool]) -> list[list[int]]:
    """Neighbouring units joined into as few parts as fit, of about the same length."""
    for count in range(1, len(units) + 1):
        size = -(-len(units) // count)
        joined = [
            [column for unit in units[i : i + size] for column in unit]
            for i in range(0, len(units), size)
        ]
        if all(map(fits, joined)):
            return joined
    return units


def _without_empty_rows(table: Table) -> Table:
    """Without the rows of methods that were not run on the data sets shown."""
    kept, section = [], ""
    for row in table.rows:
        section = row.section or section
        if any(cell != Cell(text=cell.text) or cell.text not in ("–", "") for cell in row.cells):
            kept.append(replace(row, section=section, rule=row.rule or bool(section)))
            section = ""
    return replace(table, rows=kept or table.rows)


def headers_as_sections(table: Table, count: int) -> Table:
    """The first headers of every row as a title above the rows that have them in common."""
    rows: list[Row] = []
    above = ("",) * count
    for row, filled in zip(table.rows, table.filled_headers(), strict=True):
        new = filled[:count] != above
        above = filled[:count]
        title = ", ".join(above) if new else row.section
        rows.append(replace(row, headers=row.headers[count:], rule=new or row.rule, section=title))
    return replace(table, headers=table.headers[count:], rows=rows)
