"""``tsbench merge``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tsbench.cli.options import DEFAULT_RESULTS, SOME_FAILED, ResultsDir, command
from tsbench.console import Meter, say
from tsbench.errors import UserError


@command
def merge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Results folders to take from.")
    ],
    check: Annotated[
        bool,
        typer.Option("--check", help="Only check DIR as a submission to the leaderboard."),
    ] = False,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Mark the records in DIR as submitted by.")
    ] = "",
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="Where to ask about submitted records.")
    ] = "",
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Put results folders together, from --shard or from other machines; overwrites nothing.

    tsbench run --shard 1/2 --results here     (and 2/2 elsewhere)
    tsbench merge here there --results results
    tsbench merge results/submitted --check
    """
    from tsbench.runs.merge import count_files
    from tsbench.runs.merge import merge as merge_into
    from tsbench.runs.store import Store

    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"'{folder}' is not a folder")
    if by or url:
        _mark(folders, by, url)
    if check:
        _check(folders)
    if check or by or url:
        return
    Store(results).check_writable()
    files = sum(map(count_files, folders))
    if not files:
        raise UserError(f"there are no records in {', '.join(map(str, folders))}")
    with Meter("merging", files) as meter:
        merged = merge_into(folders, results, lambda: meter.advance(1))
    for problem in merged.problems:
        say(f"notice: {problem}; left alone")
    for conflict in merged.conflicts:
        say(f"conflict: {conflict}; left as it is")
    parts = [f"{merged.new} record(s) new", f"{merged.alike} there already"]
    if merged.beaten:
        parts.append(f"{merged.beaten} failed one(s) finished elsewhere")
    if merged.tuned:
        parts.append(f"{merged.tuned} file(s) of tuned settings new")
    if merged.conflicts:
        parts.append(f"{len(merged.conflicts)} CONFLICT(S)")
    say(f"{', '.join(parts)}; in '{results}'")
    if merged.conflicts:
        raise typer.Exit(SOME_FAILED)


def _mark(folders: list[Path], by: str, url: str) -> None:
    from tsbench.runs.submission import mark

    count = sum(mark(folder, by, url) for folder in folders)
    say(f"{count} record(s) marked as submitted by {by}")


def _check(folders: list[Path]) -> None:
    """One line per problem, and exit code 1 if there is one."""
    from tsbench.runs.submission import check_submission, unknown_data

    problems = [problem for folder in folders for problem in check_submission(folder)]
    for problem in problems:
        say(f"problem: {problem}")
    for name in sorted({name for folder in folders for name in unknown_data(folder)}):
        say(f"notice: no digest of the complete data of {name} is known, so it was not compared")
    if problems:
        say(f"{len(problems)} problem(s)")
        raise typer.Exit(SOME_FAILED)
    say("the records can be submitted")
