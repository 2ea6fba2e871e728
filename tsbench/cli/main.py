"""The ``tsbench`` program."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tsbench import __version__
from tsbench.cli.check import check
from tsbench.cli.data import download
from tsbench.cli.figure import figure
from tsbench.cli.listing import list_
from tsbench.cli.merge import merge
from tsbench.cli.new import new_dataset, new_method
from tsbench.cli.options import BAD_INPUT, INTERRUPTED, command
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
    rich_markup_mode=None,  # its tables show flags as if they took a value
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


def _add(name: str, function: Callable[..., Any]) -> None:
    """Add a command, with the help in its docstring."""
    text = inspect.cleandoc(function.__doc__ or "")
    # Click would join the lines of the examples, and cut the first line in the list of commands.
    text = text.replace("\n\ntsbench ", "\n\n\b\ntsbench ")
    app.command(name, help=text, short_help=text.splitlines()[0])(function)


_add("demo", demo)
_add("list", list_)
_add("download", download)
_add("run", run)
_add("tune", tune)
_add("status", status)
_add("merge", merge)
_add("report", report)
_add("figure", figure)
_add("verify", verify)
_add("check", check)
_add("new-method", new_method)
_add("new-dataset", new_dataset)


def main() -> None:
    """Entry point of the console script: usage errors in a line, exit codes as promised."""
    _open_streams()
    try:
        code = _run()
    except typer.Exit as error:
        code = error.exit_code
    except typer.Abort:
        code = INTERRUPTED
    except Exception as error:
        if not hasattr(error, "format_message"):  # Click's own errors have it, under any Click
            raise
        message = error.format_message().partition(", unable to parse")[0]
        message = message.replace("Value error, ", "").replace("Input should", "it should")
        if type(error).__name__ == "NoArgsIsHelpError":
            with contextlib.suppress(typer.Exit):
                _print(message)  # the help, where Click has not printed it
        else:
            context = getattr(error, "ctx", None)
            called = context.command_path if context else "tsbench"
            say(f"error: {' '.join(message.split())} (see {called} --help)")
        code = BAD_INPUT
    sys.exit(code if isinstance(code, int) else 0)


@command
def _run() -> object:
    Path.cwd()  # raises if it was deleted; torch would only say that it cannot load itself
    return app(standalone_mode=False)


@command
def _print(message: str) -> None:
    print(message)


def _open_streams() -> None:
    """Make stdin, stdout and stderr usable even where the caller has closed them.

    Else the next file that is opened would become stdout. A terminal that lacks × or ± gets ?.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        stream = getattr(sys, name)
        if number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
