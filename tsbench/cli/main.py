"""The ``tsbench`` program."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from tsbench import __version__
from tsbench.cli.check import check
from tsbench.cli.data import download
from tsbench.cli.figure import figure
from tsbench.cli.listing import list_
from tsbench.cli.merge import merge
from tsbench.cli.new import new_dataset, new_method
from tsbench.cli.options import BAD_INPUT
from tsbench.cli.report import report, verify
from tsbench.cli.run import demo, run, status
from tsbench.cli.tune import tune
from tsbench.console import say

app = typer.Typer(
    name="tsbench",
    help="The benchmark suite for time-series class-incremental learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"tsbench {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.command("demo")(demo)
app.command("list")(list_)
app.command("download")(download)
app.command("run")(run)
app.command("tune")(tune)
app.command("status")(status)
app.command("merge")(merge)
app.command("report")(report)
app.command("figure")(figure)
app.command("verify")(verify)
app.command("check")(check)
app.command("new-method")(new_method)
app.command("new-dataset")(new_dataset)


def main() -> None:
    """Entry point of the console script: usage errors in a line, exit codes as promised."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks × or ±
    try:
        code = app(standalone_mode=False)
    except Exception as error:
        if not hasattr(error, "format_message"):  # Click's own errors have it, under any Click
            raise
        say(f"error: {error.format_message()} (see tsbench --help)")
        code = BAD_INPUT
    sys.exit(code if isinstance(code, int) else 0)
