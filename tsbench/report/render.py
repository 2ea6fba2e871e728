"""Tables as Markdown, LaTeX, CSV, JSON, and in the terminal."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import asdict, replace

from tsbench.report.summary import SpreadName
from tsbench.report.table import Cell, Row, Table, parts

SUPERSCRIPTS = {"†": r"\dagger", "‡": r"\ddagger", "§": r"\S", "¶": r"\P"}
ROWS_A_PAGE = 36
LATEX_KNOWS = 0x180
"""Letters from here on stop pdflatex."""
LATEX_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # or, at the start of a row, an argument of the line break before
    "*": "{*}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "−": "$-$",
    "Δ": r"$\Delta$",
    "γ": r"$\gamma$",
    "χ": r"$\chi$",
    "²": r"\textsuperscript{2}",
    **{sign: f"${code}$" for sign, code in SUPERSCRIPTS.items()},
}


def markdown(table: Table, spread: SpreadName, digits: int) -> str:
    """A Markdown table with its caption above and its footnotes below."""

    def text(cell: Cell) -> str:
        mean, width = parts(cell, spread, digits)
        mean = markdown_escape(mean)
        shown = {"": mean, "best": f"**{mean}**", "second": f"<u>{mean}</u>"}[cell.mark]
        signs = "".join(f"<sup>{sign}</sup>" for sign in cell.notes)
        return shown + (f" ± {width}" if width else "") + signs

    lines = [f"**{markdown_escape(table.caption)}**", ""]
    titles = [*table.headers, *table.columns]
    lines.append("| " + " | ".join(markdown_escape(t) for t in titles) + " |")
    lines.append("|" + "---|" * len(table.headers) + "---:|" * len(table.columns))
    for row in table.rows:
        headers = [markdown_escape(h) for h in row.headers]
        lines.append("| " + " | ".join([*headers, *map(text, row.cells)]) + " |")
    if table.notes:
        lines.append("")
        lines.append("  \n".join(f"{s} {markdown_escape(t)}" for s, t in table.notes.items()))
    return "\n".join(lines) + "\n"


def latex(table: Table, spread: SpreadName, digits: int) -> str:
    """Booktabs as wide as a page at most, and in parts where it would be longer than one."""
    rows = _page_fuls(table.rows)
    made = []
    for i, part in enumerate(rows, start=1):
        told = replace(table, rows=part)
        if len(rows) > 1:
            told.name += f"-{i}"
            told.caption += f" Part {i} of {len(rows)}."
        made.append(_latex_part(told, spread, digits))
    return "\n".join(made)


def _page_fuls(rows: list[Row]) -> list[list[Row]]:
    """Rows in parts that a page can hold, cut at a rule where there is one."""
    parts = []
    while len(rows) > ROWS_A_PAGE:
        rules = [i for i, row in enumerate(rows[: ROWS_A_PAGE + 1]) if row.rule and i]
        cut = rules[-1] if rules else ROWS_A_PAGE
        parts.append(rows[:cut])
        rows = rows[cut:]
    return [*parts, rows]


def _latex_part(table: Table, spread: SpreadName, digits: int) -> str:
    """A ``table*``; needs booktabs and graphicx."""

    def text(cell: Cell) -> str:
        mean, width = parts(cell, spread, digits)
        shown = latex_escape(mean)
        if cell.mark:
            shown = {"best": r"\textbf", "second": r"\underline"}[cell.mark] + "{" + shown + "}"
        if width:
            shown += r"{\tiny$\pm$" + latex_escape(width) + "}"
        signs = "".join(SUPERSCRIPTS.get(n, latex_escape(n)) for n in cell.notes)
        return shown + (f"$^{{{signs}}}$" if signs else "")

    left = len(table.headers)
    spans = [count for _, count in table.groups] or [len(table.columns)]
    columns = "l" * left + "|" + "|".join("c" * count for count in spans)
    head = []
    if table.groups:
        titles = [
            rf"\multicolumn{{{count}}}{{c}}{{{latex_escape(title)}}}"
            for title, count in table.groups
        ]
        head.append(" & ".join([""] * left + titles) + r" \\")
    head.append(" & ".join(latex_escape(t) for t in [*table.headers, *table.columns]) + r" \\")
    body = []
    for i, row in enumerate(table.rows):
        if row.rule and i:
            body.append(r"\midrule")
        cells = [latex_escape(h) for h in row.headers] + [text(c) for c in row.cells]
        body.append(" & ".join(cells) + r" \\")
    notes = [rf"{latex_escape(sign)} {latex_escape(note)}" for sign, note in table.notes.items()]
    return "\n".join(
        [
            "% needs \\usepackage{booktabs,graphicx}",
            r"\begin{table*}[htbp]",
            r"\centering",
            rf"\caption{{{latex_escape(table.caption)}}}",
            rf"\label{{tab:tsbench-{table.name}}}",
            r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            *([r"\par\smallskip\footnotesize " + r"\quad ".join(notes)] if notes else []),
            r"\end{table*}",
            "",
        ]
    )


def as_csv(table: Table, spread: SpreadName, digits: int) -> str:
    """One line a cell: headers, column, number and spread unrounded, seeds; words in ``text``."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*(h or "row" for h in table.headers), "column", "mean", spread, "seeds", "text"]
    )
    headers = ("",) * len(table.headers)
    for row in table.rows:
        headers = tuple(own or above for own, above in zip(row.headers, headers, strict=True))
        for column, cell in zip(table.columns, row.cells, strict=True):
            writer.writerow([*headers, column, *_figures(cell, spread)])
    return out.getvalue()


def _figures(cell: Cell, spread: SpreadName) -> list[object]:
    if cell.figure is None:
        return ["" if cell.value is None else cell.value, "", "", cell.text]
    width = cell.figure.spread(spread)
    return [cell.figure.mean, "" if width is None else width, cell.figure.seeds, ""]


def as_json(table: Table, spread: SpreadName, digits: int) -> str:
    """The table as it is, unrounded."""
    return json.dumps(asdict(table), indent=1, ensure_ascii=False) + "\n"


def terminal(table: Table, spread: SpreadName, digits: int, width: int | None) -> None:
    """A table on stdout, bold and underlined where a terminal can."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(title=table.caption, title_justify="left", box=box.SIMPLE_HEAD)
    for header in table.headers:
        shown.add_column(header, no_wrap=True)
    for column in table.columns:
        shown.add_column(column, justify="right")
    for row in table.rows:
        if row.rule and shown.rows:
            shown.add_section()
        texts = []
        for cell in row.cells:
            mean, wide = parts(cell, spread, digits)
            text = Text(mean, style={"": "", "best": "bold", "second": "underline"}[cell.mark])
            texts.append(text.append((f" ±{wide}" if wide else "") + "".join(cell.notes), ""))
        shown.add_row(*row.headers, *texts)
    console = Console(width=width, markup=False, emoji=False, highlight=False)
    console.print(shown)
    for sign, note in table.notes.items():
        console.print(Text(f"{sign} {note}"))


def latex_escape(text: str) -> str:
    """Text in which LaTeX sees no command; A_T, F_T and minus signs in the way of a paper.

    >>> print(latex_escape("a_b<c>&$"), latex_escape("A_T: -1"))
    a\\_b\\textless{}c\\textgreater{}\\&\\$ $A_T$: $-$1
    """
    escaped = "".join(
        LATEX_CHARACTERS.get(character, character if ord(character) < LATEX_KNOWS else "?")
        for character in text
    )
    escaped = re.sub(r"\b([AF])\\_([Tt])\b", r"$\1_\2$", escaped)
    return re.sub(r"(?<![\w-])-(?=\d)", "$-$", escaped)


def markdown_escape(text: str) -> str:
    """Text in which Markdown and HTML see no markup.

    >>> print(markdown_escape("a_b<c>&$|"))
    a\\_b&lt;c&gt;&amp;\\$\\|
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|~$])", r"\\\1", text)


def transposed(table: Table) -> Table:
    """The main table with methods as rows: what was a column becomes a row."""
    dataset = metric = ""
    titles = []
    for row in table.rows:
        name, kind = row.headers
        dataset = name or dataset
        metric = kind if kind.endswith(("↑", "↓")) else metric
        titles.append(f"{dataset} {metric}" + ("" if kind == metric else f" {kind}"))
    rows = [
        Row((column,), [row.cells[i] for row in table.rows])
        for i, column in enumerate(table.columns)
    ]
    start = 0
    for _, count in table.groups:
        rows[start].rule = True
        start += count
    return Table(table.name, table.caption, ("",), titles, rows, [], table.notes)
