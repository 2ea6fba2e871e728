r"""Tables in LaTeX, at \footnotesize and never scaled: what is too wide is split.

Widths are estimated from the letter widths of Computer Modern, the widest of the usual fonts. One
text works in every class: a table goes into ``table`` when it fits into a column of a two-column
paper, else into ``table*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate

from tsbench.report.layout import number_columns, split
from tsbench.report.summary import SpreadName
from tsbench.report.table import Cell, Row, Table, parts

TEXT_WIDTH = 345.0
"""Points: the text of a one-column article, and less than that of a two-column paper."""
COLUMN_WIDTH = 229.0
"""Points: a column of a two-column article; that of IEEEtran is 252."""
ROWS_PER_PAGE = 40
SEPARATION = 3.0
"""Points on each side of a column."""
BODY, SMALL, SIGN = 8.5, 8.0, 7.0
r"""Points per em at \footnotesize, at \scriptsize for spreads, and in a superscript."""
LONGEST = 24
"""Letters of a cell from which on it is set as a paragraph."""
HEADER_PARAGRAPH, PARAGRAPH = 100.0, 200.0
"""Points: how wide such paragraphs are."""

WIDTHS = {
    **dict.fromkeys("ijl.,:;'!| ", 0.3),
    **dict.fromkeys("ftrsI()[]-", 0.4),
    **dict.fromkeys("mwMW", 0.95),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ%+=±×−<>", 0.78),
}
"""Ems of letters; all others take 0.56."""
SUPERSCRIPTS = {"†": r"\dagger", "‡": r"\ddagger", "§": r"\S", "¶": r"\P", "*": r"\ast"}
KNOWN_BELOW = 0x180
"""Letters from here on stop pdflatex."""
CHARACTERS = {
    **{character: f"\\{character}" for character in "{}$&#%_"},
    "\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "[": "{[}", "*": "{*}",  # at the start of a row they would belong to the line break before
    "±": r"$\pm$", "×": r"$\times$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "–": "--",
    "−": "$-$", "Δ": r"$\Delta$", "γ": r"$\gamma$", "χ": r"$\chi$", "²": r"\textsuperscript{2}",
    **{sign: f"${code}$" for sign, code in SUPERSCRIPTS.items() if sign != "*"},
}  # fmt: skip


def latex(table: Table, spread: SpreadName, digits: int, width: float = TEXT_WIDTH) -> str:
    """One or several tables that fit into a text of that width, in points, and onto a page."""
    made = [
        replace(part, rows=rows)
        for part in split(table, lambda part: fits(part, spread, digits, width))
        for rows in _pages(part.rows)
    ]
    texts = []
    for place, part in enumerate(made, start=1):
        name, caption = f"tab:tsbench-{part.name}", part.caption
        if len(made) > 1:
            name, caption = f"{name}-{place}", f"{caption} Part {place} of {len(made)}."
        texts.append(_one(part, spread, digits, name, caption))
    needs = "booktabs,xcolor" if any(r"\textcolor" in text for text in texts) else "booktabs"
    return f"% needs \\usepackage{{{needs}}}\n" + "\n".join(texts)


def fits(table: Table, spread: SpreadName, digits: int, width: float) -> bool:
    """Whether the table needs no splitting."""
    return _width(table, spread, digits) <= width


def _pages(rows: list[Row]) -> list[list[Row]]:
    """Rows in parts that a page can hold, cut above a line where there is one."""
    parts = []
    while (most := _rows_on_a_page(rows)) < len(rows):
        rules = [i for i, row in enumerate(rows[: most + 1]) if row.rule and i]
        cut = rules[-1] if rules else most
        parts.append(rows[:cut])
        rows = rows[cut:]
    return [*parts, rows]


def _rows_on_a_page(rows: list[Row]) -> int:
    """How many of the first rows a page can hold; a paragraph takes several lines."""
    lines = accumulate(
        bool(row.section)
        + max(
            1.0,
            *(1.2 * _letters(h, BODY) / HEADER_PARAGRAPH for h in row.headers),
            *(1.2 * _letters(cell.text, BODY) / PARAGRAPH for cell in row.cells),
        )
        for row in rows
    )
    return max(1, sum(line <= ROWS_PER_PAGE for line in lines))


def _one(table: Table, spread: SpreadName, digits: int, label: str, caption: str) -> str:
    kind = "table" if fits(table, spread, digits, COLUMN_WIDTH) else "table*"
    left = len(table.headers)
    columns = "l" * left + "".join("r" if n else "l" for n in number_columns(table))
    total = left + len(table.columns)
    head = []
    if table.groups:
        titles = [rf"\multicolumn{{{n}}}{{c}}{{{escape(title)}}}" for title, n in table.groups]
        places = [(left + span.start + 1, left + span.stop) for _, span in table.spans()]
        rules = [rf"\cmidrule(lr){{{first}-{last}}}" for first, last in places]
        head = [" & ".join([""] * left + titles) + r" \\", "".join(rules)]
    head.append(" & ".join(map(_text, [*table.headers, *table.columns])) + r" \\")
    body = []
    for place, row in enumerate(table.rows):
        if row.rule and place:
            body.append(r"\midrule")
        if row.section:
            title = rf"\multicolumn{{{total}}}{{@{{}}l@{{}}}}{{\emph{{{escape(row.section)}}}}}"
            body.append(title + r" \\")
        headers = [_text(header, HEADER_PARAGRAPH) for header in row.headers]
        cells = [*headers, *(_cell(c, spread, digits) for c in row.cells)]
        body.append(" & ".join(cells) + r" \\")
    notes = [f"{escape(sign)} {escape(text)}." for sign, text in table.footnotes()]
    return "\n".join(
        [
            rf"\begin{{{kind}}}[htbp]",
            r"\centering",
            rf"\caption{{{escape(caption)}}}",
            rf"\label{{{label}}}",
            r"\smallskip",
            r"\footnotesize",
            rf"\setlength{{\tabcolsep}}{{{SEPARATION:g}pt}}",
            rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"\toprule",
            *head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *([r"\par\smallskip\raggedright", *notes, r"\par"] if notes else []),
            rf"\end{{{kind}}}",
            "",
        ]
    )


def _cell(cell: Cell, spread: SpreadName, digits: int) -> str:
    mean, wide = parts(cell, spread, digits)
    shown = _text(mean)
    if cell.mark in ("best", "second"):
        shown = {"best": r"\textbf", "second": r"\underline"}[cell.mark] + "{" + shown + "}"
    if wide:
        shown += r"{\scriptsize$\pm$" + escape(wide) + "}"
    signs = "".join(SUPERSCRIPTS.get(n, escape(n)) for n in cell.notes)
    shown += f"$^{{{signs}}}$" if signs else ""
    return rf"\textcolor{{gray}}{{{shown}}}" if cell.mark == "unranked" else shown


def _text(text: str, width: float = PARAGRAPH) -> str:
    """Text of a cell, as a paragraph where it is long."""
    escaped = escape(text)
    if len(text) <= LONGEST:
        return escaped
    breakable = re.sub(r"(?<=[=,/.-])(?=\w)", r"\\allowbreak{}", escaped)
    return rf"\parbox[t]{{{width:g}pt}}{{\raggedright {breakable}\strut}}"


def escape(text: str) -> str:
    r"""Text in which LaTeX sees no command; metrics, DT2W and minus signs as the paper has them.

    >>> print(escape("a_b<c>&$"), escape("A_T: -1"), escape("DT2W"))
    a\_b\textless{}c\textgreater{}\&\$ $\mathcal{A}_T$: $-$1 DT$^2$W
    """
    escaped = "".join(
        CHARACTERS.get(character, character if ord(character) < KNOWN_BELOW else "?")
        for character in text
    )
    escaped = re.sub(r"\b([AF])\\_([Tt])\b", r"$\\mathcal{\1}_\2$", escaped)
    escaped = re.sub(r"\bDT2W\b", "DT$^2$W", escaped)
    return re.sub(r"(?<![\w-])-(?=\d)", "$-$", escaped)


def _width(table: Table, spread: SpreadName, digits: int) -> float:
    """An estimate of the width of a table, in points, rather too wide than too narrow."""
    left = [[h, *(row.headers[i] for row in table.rows)] for i, h in enumerate(table.headers)]
    columns = [max(_text_width(text, HEADER_PARAGRAPH) for text in texts) for texts in left]
    for i, title in enumerate(table.columns):
        cells = (_cell_width(row.cells[i], spread, digits) for row in table.rows)
        columns.append(max([_text_width(title), *cells]))
    for title, span in table.spans():
        inside = sum(columns[len(left) + i] for i in span) + 2 * SEPARATION * (len(span) - 1)
        columns[len(left) + span.start] += max(0.0, _text_width(title) - inside)
    sections = max((_text_width(row.section) for row in table.rows), default=0.0)
    return max(sections, sum(columns) + 2 * SEPARATION * (len(columns) - 1))


def _cell_width(cell: Cell, spread: SpreadName, digits: int) -> float:
    mean, wide = parts(cell, spread, digits)
    width = _text_width(mean) * (1.15 if cell.mark == "best" else 1.0)
    if wide:
        width += _letters(f"±{wide}", SMALL)
    return width + _letters("".join(cell.notes), SIGN)


def _text_width(text: str, paragraph: float = PARAGRAPH) -> float:
    return paragraph if len(text) > LONGEST else _letters(text, BODY)


def _letters(text: Iterable[str], size: float) -> float:
    return size * sum(WIDTHS.get(letter, 0.56) for letter in text)
