"""``tsbench check``: the conformance checks on somebody's method or data set."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from tsbench.cli.options import DEFAULT_DATA, SOME_FAILED, DataDir, SplitChoice, command
from tsbench.console import printable
from tsbench.errors import UserError


@command
def check(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.py:NAME|FOLDER",
            help="A method or a data set, by its name or by its place.",
        ),
    ],
    split: Annotated[
        SplitChoice, typer.Option("--split", help="For data sets: the split to check.")
    ] = "published",
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="MIN", help="Stop after so many minutes.")
    ] = 10.0,
    data: DataDir = DEFAULT_DATA,
) -> None:
    """Check that a method or data set keeps the rules, and a data set for leakage.

    tsbench check ./mine.py:Mine
    tsbench check wisdm --split subject

    A leak between training and test data is a warning; the exit code is 0 unless a rule is broken.
    """
    from tsbench.executors.examine import examine

    if not timeout > 0:
        raise UserError("--timeout must be more than 0 minutes")
    count: Counter[str] = Counter()
    for level, line in examine(reference, data, split, 60 * timeout):
        print(printable(f"{level}  {line}"), flush=True)
        count[level] += 1
    rules = count["pass"] + count["FAIL"]
    warnings = f", {count['warn']} warning(s)" if count["warn"] else ""
    print(printable(f"{reference}: {count['pass']} of {rules} rules kept{warnings}"))
    if count["FAIL"]:
        raise typer.Exit(SOME_FAILED)
