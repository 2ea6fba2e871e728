"""``tsbench report``: tables from the records of a results folder."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tsbench.cli.options import (
    DEFAULT_DATA,
    DEFAULT_RESULTS,
    SOME_FAILED,
    DataDir,
    ResultsDir,
    command,
    split_names,
    stdout_width,
)
from tsbench.console import say
from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.report.records import Collection
    from tsbench.report.table import Options


class Format(str, Enum):
    """Output format of a table."""

    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"


class ReportFormat(str, Enum):
    """Output format of a report: that of its tables, or a page with all of them."""

    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"
    html = "html"


class TableName(str, Enum):
    """Which table."""

    main = "main"
    time = "time"
    memory = "memory"
    ablation = "ablation"
    datasets = "datasets"
    curves = "curves"
    pairs = "pairs"
    ranks = "ranks"
    all = "all"


class Compare(str, Enum):
    """What to compare with."""

    paper = "paper"
    reference = "reference"


class Spread(str, Enum):
    """What stands behind ±."""

    std = "std"
    ci95 = "ci95"
    none = "none"


class Layout(str, Enum):
    """What the rows of the main table are."""

    datasets = "datasets"
    methods = "methods"


@command
def report(
    format_: Annotated[
        ReportFormat | None,
        typer.Option("--format", help="None: a table for the terminal; html: a page with all."),
    ] = None,
    table: Annotated[TableName, typer.Option("--table", help="Which table.")] = TableName.main,
    compare: Annotated[Compare | None, typer.Option("--compare", help="Beside ours.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file, or a folder for --table all and html.")
    ] = None,
    spread: Annotated[Spread, typer.Option("--spread", help="Behind ±.")] = Spread.std,
    digits: Annotated[int, typer.Option("--digits", min=0, max=6)] = 2,
    layout: Annotated[Layout, typer.Option("--layout", help="Rows of the main table.")] = (
        Layout.datasets
    ),
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="NAME", help="Whom 'pairs' compares with.")
    ] = "ts-acl",
    dataset: Annotated[list[str] | None, typer.Option("--dataset", metavar="NAME")] = None,
    method: Annotated[list[str] | None, typer.Option("--method", metavar="NAME")] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="Such as exp-ln-100 or exp-bn-100.")
    ] = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Tables of what was run, for a paper, a README or the terminal.

    tsbench report --format latex
    tsbench report --table all --format markdown --out tables/
    tsbench report --format html --out report/
    """
    from tsbench.bench.spec import method_label
    from tsbench.report import published, render
    from tsbench.report.records import collect
    from tsbench.report.table import Options
    from tsbench.report.tables import TABLES

    runs = collect(results, protocol, split_names(dataset or []), split_names(method or []))
    for problem in runs.problems:
        say(f"notice: {problem}; left out")
    against = None
    if compare is Compare.paper:
        against = published.paper()
    elif compare is Compare.reference:
        against = published.reference(runs.protocol)
    options = Options(digits, against, data, method_label(baseline), spread.value)
    if format_ is ReportFormat.html:
        _page(runs, options, spread, out)
        return
    made = []
    for name in TABLES if table is TableName.all else [table.value]:
        try:
            made.append(TABLES[name](runs, options))
        except UserError as error:
            if table is not TableName.all:
                raise
            say(f"notice: no table of {name}: {error}")
    if layout is Layout.methods:
        made = [render.transposed(t) if t.name == "main" else t for t in made]
    others = f"; not shown: {', '.join(runs.others)} (--protocol)" if runs.others else ""
    say(f"protocol {runs.protocol}, {len(runs.groups)} kinds of runs in '{results}'{others}")
    if format_ is None:
        if out is not None:
            raise UserError("--out needs a --format")
        for each in made:
            render.terminal(each, spread.value, digits, stdout_width())
        return
    renderer, ending = _renderers()[Format(format_.value)]
    texts = {each.name: renderer(each, spread.value, digits) for each in made}
    if out is None:
        print("\n".join(texts.values()), end="")
        return
    _write(texts, out, ending, several=table is TableName.all)


@command
def verify(
    format_: Annotated[
        Format | None, typer.Option("--format", help="None: a table for the terminal.")
    ] = None,
    protocol: Annotated[str | None, typer.Option("--protocol")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Also what was not run.")] = False,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Our tuned runs, not the default.")
    ] = False,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Every cell of the paper's main and ablation tables against ours.

    The exit code is 0 when nothing is worse.
    """
    from tsbench.report import published, render
    from tsbench.report.records import collect
    from tsbench.report.verdict import verdict_line, verdict_table, verdicts

    runs = collect(results, protocol)
    for problem in runs.problems:
        say(f"notice: {problem}; left out")
    judged = verdicts(runs, published.paper(), tuned)
    shown = verdict_table([j for j in judged if all_ or j.verdict != "not run"])
    if format_ is None:
        render.terminal(shown, "std", 2, stdout_width())
    else:
        print(_renderers()[format_][0](shown, "std", 2), end="")
    if format_ in (None, Format.markdown):
        print(f"\n{verdict_line(judged)}")
    else:
        say(verdict_line(judged))
    if any(j.verdict == "worse" for j in judged):
        raise typer.Exit(SOME_FAILED)


def _page(runs: Collection, options: Options, spread: Spread, out: Path | None) -> None:
    from tsbench.report.page.build import page, write_page

    text = page(runs, options, spread.value)
    if out is None:
        print(text, end="")
    else:
        say(f"written to '{write_page(text, out)}'")


def _renderers() -> dict[Format, tuple[Callable[..., str], str]]:
    """How to write a format, and the ending of its files."""
    from tsbench.report import render

    return {
        Format.markdown: (render.markdown, "md"),
        Format.latex: (render.latex, "tex"),
        Format.csv: (render.as_csv, "csv"),
        Format.json: (render.as_json, "json"),
    }


def _write(texts: dict[str, str], out: Path, ending: str, several: bool) -> None:
    try:
        if several:
            out.mkdir(parents=True, exist_ok=True)
            for name, text in texts.items():
                (out / f"{name}.{ending}").write_text(text, encoding="utf-8")
        else:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text("\n".join(texts.values()), encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write '{out}': {error.strerror}") from error
    say(f"written to '{out}'")
