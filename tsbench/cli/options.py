"""What all commands share: options, exit codes, how errors are reported."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from tsbench.console import say
from tsbench.errors import UserError, os_error

DataDir = Annotated[
    Path,
    typer.Option(
        "--data",
        envvar="TSBENCH_DATA",
        help="Folder of the prepared data sets.",
        file_okay=False,
    ),
]
ResultsDir = Annotated[
    Path, typer.Option("--results", envvar="TSBENCH_RESULTS", help="Folder of the run records.")
]


SplitChoice = Literal["published", "subject", "recording"]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DEFAULT_DATA = Path("datasets")
DEFAULT_RESULTS = Path("results")

PIPE_WIDTH = 220
"""Letters per line where there is no terminal."""

LINES_PER_ROW = 3
"""Of a table, on average; with more it is printed as a list."""

SOME_FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130
PIPE_CLOSED = 141
"""As of a program that is ended by SIGPIPE."""

Command = TypeVar("Command", bound=Callable[..., Any])


def command(function: Command) -> Command:
    """Turn errors into one line and an exit code: the only place where that is done.

    A ``UserError`` and an ``OSError`` are the user's to fix; Ctrl-C stops; a reader that closes the
    pipe, like ``head``, has seen enough. Anything else is a bug.
    """

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
            sys.stdout.flush()  # or a full disk would be noticed too late to be reported
            return result
        except UserError as error:
            say(f"error: {error}")
            raise typer.Exit(BAD_INPUT) from error
        except BrokenPipeError as error:
            _discard_stdout()
            raise typer.Exit(PIPE_CLOSED) from error
        except OSError as error:
            _discard_stdout()
            say(f"error: {os_error(error)}")
            raise typer.Exit(BAD_INPUT) from error
        except MemoryError as error:
            say("error: there is not enough memory for this")
            raise typer.Exit(BAD_INPUT) from error
        except KeyboardInterrupt as error:
            say("stopped; repeat the same command to resume")
            raise typer.Exit(INTERRUPTED) from error

    return wrapped  # type: ignore[return-value]


def _discard_stdout() -> None:
    """Drop what cannot be written, or it would fail once more when the program ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def split_names(values: Sequence[str]) -> list[str]:
    """Names from repeated options and comma lists, each once, in order."""
    names = [name.strip() for value in values for name in value.split(",")]
    return list(dict.fromkeys(name for name in names if name))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the terminal, or a list where it would be narrow and long."""
    from tsbench.report.layout import text_list, text_table

    text = text_table(columns, rows, stdout_width())
    if text is None or text.count("\n") > LINES_PER_ROW * len(rows) + 1:
        text = text_list(columns, rows, stdout_width())
    print(f"{title}\n\n{text}\n")


def stdout_width() -> int:
    """As wide as the terminal, or wide enough for anything where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def is_styled() -> bool:
    """Whether stdout can show bold and underlined text."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
