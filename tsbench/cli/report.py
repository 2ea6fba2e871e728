"""``tsbench report``: tables from the records of a results folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tsbench.cli.options import (
    DEFAULT_DATA,
    DEFAULT_RESULTS,
    SOME_FAILED,
    DataDir,
    ResultsDir,
    SplitChoice,
    command,
    is_styled,
    split_names,
    stdout_width,
)
from tsbench.console import Meter, say
from tsbench.disk import save
from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.report.records import Results
    from tsbench.report.table import Options, Table


Format = Literal["markdown", "latex", "csv", "json"]
ReportFormat = Literal["markdown", "latex", "csv", "json", "html"]
TableName = Literal[
    "leaderboard", "main", "time", "memory", "ablation", "datasets", "curves", "pairs", "ranks",
    "settings", "protocols", "all",
]  # fmt: skip
ENDINGS: dict[str, str] = {"markdown": "md", "latex": "tex", "csv": "csv", "json": "json"}

Datasets = Annotated[
    list[str] | None, typer.Option("--dataset", metavar="NAME", help="Only these data sets.")
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Only these methods; all: the paper's, every: all, or a family.",
    ),
]
ProtocolName = Annotated[
    str | None,
    typer.Option(
        "--protocol", help="Protocol of the runs, such as exp-ln-100 or exp-ln-100-subject."
    ),
]
Split = Annotated[
    SplitChoice | None,
    typer.Option(
        "--split", help="Only runs with this split. Default: published, where there are such runs."
    ),
]
TextWidth = Annotated[
    float,
    typer.Option("--text-width", min=100, help="LaTeX: width of the text; IEEEtran: 516."),
]


@command
def report(
    format_: Annotated[
        ReportFormat | None,
        typer.Option("--format", help="html: one page with everything. Default: plain text."),
    ] = None,
    table: Annotated[TableName, typer.Option("--table", help="Which table.")] = "main",
    compare: Annotated[
        Literal["paper", "reference"] | None,
        typer.Option("--compare", help="Add the values to compare with."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="A file, or a folder for --table all and html.")
    ] = None,
    spread: Annotated[
        Literal["std", "ci95", "none"], typer.Option("--spread", help="What ± shows.")
    ] = "std",
    digits: Annotated[int, typer.Option("--digits", min=0, max=6, help="After the point.")] = 2,
    layout: Annotated[
        Literal["methods", "datasets"], typer.Option("--layout", help="Rows of the main table.")
    ] = "methods",
    ranks: Annotated[
        bool | None,
        typer.Option(
            "--ranks/--no-ranks", help="Ranks with ties in the main table. Default: in plain text."
        ),
    ] = None,
    shared_seeds: Annotated[
        bool,
        typer.Option("--shared-seeds", help="Rank over the seeds that all methods have."),
    ] = False,
    text_width: TextWidth = 345,
    baseline: Annotated[
        str, typer.Option("--baseline", metavar="NAME", help="Reference method for 'pairs'.")
    ] = "ts-acl",
    dataset: Datasets = None,
    method: Methods = None,
    protocol: ProtocolName = None,
    split: Split = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Print tables of finished runs, for the terminal, a paper or a README.

    tsbench report --format latex
    tsbench report --table all --format markdown --out tables/
    tsbench report --format html --out report/
    """
    from tsbench.report import published
    from tsbench.report.records import collect
    from tsbench.report.table import Options
    from tsbench.runs.spec import method_label

    if format_ is None and out is not None:
        raise UserError("--out needs a --format")
    names = split_names(dataset or []), split_names(method or [])
    runs = collect(results, protocol, *names, split=split)
    runs.say_problems()
    against = published.comparison(compare, runs)
    with_ranks = format_ is None if ranks is None else ranks
    options = Options(
        digits, against, data, method_label(baseline), spread, shared_seeds, with_ranks
    )
    if format_ == "html":
        _page([runs, *([] if protocol or split else runs.others)], options, results, out)
        return
    made = _tables(runs, options, table)
    if layout == "datasets":
        made = [_by_dataset(each, options, format_, text_width) for each in made]
    hidden = ", ".join(name for name in runs.everything if name != runs.protocol)
    others = f"; not shown: {hidden} (--protocol)" if hidden else ""
    say(f"protocol {runs.protocol}, {len(runs.datasets)} data set(s) in '{results}'{others}")
    texts = {each.name: _rendered(each, options, format_, text_width) for each in made}
    if format_ is not None and out is not None and table == "all":
        for name, text in texts.items():
            save(out / f"{name}.{ENDINGS[format_]}", text.encode())
        say(f"written to '{out}'")
    else:
        _print_or_write("\n".join(texts.values()), out)


@command
def verify(
    format_: Annotated[Format | None, typer.Option("--format", help="Default: plain text.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="A file; needs a --format.")] = None,
    protocol: ProtocolName = None,
    all_: Annotated[bool, typer.Option("--all", help="Show also what was not run.")] = False,
    tuned: Annotated[
        bool, typer.Option("--tuned", help="Take our tuned runs, not those with the defaults.")
    ] = False,
    text_width: TextWidth = 345,
    rerun: Annotated[
        str | None,
        typer.Option(
            "--rerun",
            metavar="DATASET/METHOD/SEED",
            help="Repeat this run and compare its accuracy matrix with the record.",
        ),
    ] = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Compare every cell of the paper's main and ablation tables with ours.

    The exit code is 0 when nothing is worse.

    tsbench verify --results results/reference
    tsbench verify --results results/reference --rerun uwave/er/1234
    """
    from tsbench.report import published
    from tsbench.report.records import collect
    from tsbench.report.table import Options
    from tsbench.report.verdict import verdict_line, verdict_table, verdicts

    if format_ is None and out is not None:
        raise UserError("--out needs a --format")
    if rerun is not None:
        _rerun(rerun, protocol, data, results)
        return
    runs = collect(results, protocol)
    runs.say_problems()
    judged = verdicts(runs, published.paper(), tuned)
    shown = verdict_table(runs, [j for j in judged if all_ or j.verdict != "not run"])
    line = verdict_line(judged)
    text = _rendered(shown, Options(), format_, text_width)
    if format_ in (None, "markdown"):
        text += f"\n{line}\n"
    else:
        say(line)
    _print_or_write(text, out)
    if any(j.verdict == "worse" for j in judged):
        raise typer.Exit(SOME_FAILED)


def _rerun(reference: str, protocol: str | None, data: Path, results: Path) -> None:
    """Repeat one run; exit code 1 if its accuracies differ from the record's."""
    from tsbench.protocol.rules import DEFAULT
    from tsbench.runs.machine import Machine, commit
    from tsbench.runs.rerun import find_record, rerun
    from tsbench.runs.store import Store

    record = find_record(Store(results), reference, protocol or DEFAULT.name)
    with Meter(f"repeating {reference}", len(record["result"]["accuracy"])) as meter:
        found = rerun(
            record,
            Machine(data=data, commit=commit()),
            lambda task, epoch, loss: meter.to(task, meter.total),
        )
    before, now = (r["result"]["A_T"] for r in (found.stored, found.repeated))
    if found.difference == 0:
        print(f"{reference}: A_T {now:.2f}, the accuracy matrix equals the record's")
        return
    print(
        f"{reference}: A_T {now:.2f}, the record says {before:.2f}; the accuracy matrices differ "
        f"by up to {found.difference:.2f} points"
    )
    cpus = [r["environment"]["cpu"] for r in (found.stored, found.repeated)]
    if cpus[0] != cpus[1]:
        print(
            f"the record is from another CPU ({cpus[0]}, here {cpus[1]}): training by gradient "
            "descent gives the same bits on the same CPU model only"
        )
    raise typer.Exit(SOME_FAILED)


def _page(protocols: list[Results], options: Options, results: Path, out: Path | None) -> None:
    from tsbench.report.page.build import page, write_page

    text = page(protocols, options, results, shlex.join(["tsbench", *sys.argv[1:]]))
    if out is None:
        print(text, end="")
    else:
        say(f"written to '{write_page(text, out)}'")


def _tables(runs: Results, options: Options, wanted: TableName) -> list[Table]:
    from tsbench.report.tables import TABLES

    if wanted != "all":
        return [TABLES[wanted](runs, options)]
    made = []
    for name, make in TABLES.items():
        try:
            made.append(make(runs, options))
        except UserError as error:
            say(f"notice: no table of {name}: {error}")
    return made


def _by_dataset(
    table: Table, options: Options, kind: ReportFormat | None, text_width: float
) -> Table:
    """The main table with data sets as rows, unless that is too wide for LaTeX."""
    from tsbench.report import latex
    from tsbench.report.render import transposed

    if table.name != "main":
        return table
    turned = transposed(table)
    if kind == "latex" and not latex.fits(turned, options.spread, options.digits, text_width):
        say("notice: with data sets as rows the table is too wide; methods are rows")
        return table
    return turned


def _rendered(table: Table, options: Options, kind: ReportFormat | None, text_width: float) -> str:
    from tsbench.report import latex, layout, render

    spread, digits = options.spread, options.digits
    if kind is None:
        return layout.terminal(table, spread, digits, stdout_width(), is_styled())
    if kind == "latex":
        return latex.latex(table, spread, digits, text_width)
    renderers = {"markdown": render.markdown, "csv": render.as_csv, "json": render.as_json}
    return renderers[kind](table, spread, digits)


def _print_or_write(text: str, out: Path | None) -> None:
    if out is None:
        print(text, end="")
    else:
        save(out, text.encode())
        say(f"written to '{out}'")
