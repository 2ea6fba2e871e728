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
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Put results folders together, from --shard or from other machines; overwrites nothing.

    tsbench run --shard 1/2 --results here     (and 2/2 elsewhere)
    tsbench merge here there --results results
    """
    from tsbench.bench.merge import count_files
    from tsbench.bench.merge import merge as bring
    from tsbench.bench.store import Store

    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"'{folder}' is not a folder")
    Store(results).check_writable()
    files = sum(map(count_files, folders))
    if not files:
        raise UserError(f"there are no records in {', '.join(map(str, folders))}")
    try:
        with Meter("merging", files) as meter:
            merged = bring(folders, results, lambda: meter.advance(1))
    except OSError as error:
        raise UserError(f"cannot merge into '{results}': {error}") from error
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
