"""What all commands share: options, exit codes, how errors are said."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from tsbench.console import say
from tsbench.errors import UserError

DataDir = Annotated[
    Path, typer.Option("--data", envvar="TSBENCH_DATA", help="Folder of the prepared data sets.")
]
ResultsDir = Annotated[
    Path, typer.Option("--results", envvar="TSBENCH_RESULTS", help="Folder of the run records.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DEFAULT_DATA = Path("datasets")
DEFAULT_RESULTS = Path("results")

SOME_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130

Command = TypeVar("Command", bound=Callable[..., Any])


def command(function: Command) -> Command:
    """Say a user's error in a line with exit code 2, and stop quietly on Ctrl-C."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            say(f"error: {error}")
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            say("stopped; the same command goes on where it stopped")
            raise typer.Exit(INTERRUPTED) from error

    return wrapped  # type: ignore[return-value]


def split_names(values: Sequence[str]) -> list[str]:
    """Names from repeated options and comma lists, each once, in order."""
    names = [name.strip() for value in values for name in value.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table to stdout: as wide as the terminal, or as wide as it needs elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(width=stdout_width(), markup=False).print(table)


def stdout_width() -> int | None:
    """As wide as the terminal, or wide enough for anything where there is none."""
    return None if sys.stdout.isatty() else 220
