"""``tsbench download``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tsbench.cli.options import BAD_INPUT, DEFAULT_DATA, DataDir, command, split_names
from tsbench.console import say
from tsbench.errors import NotHere, UserError


@command
def download(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[DATASET]...", help="None: all five.")
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="An archive, or a folder of archives or files, already on this machine."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch and prepare again.")] = False,
    data: DataDir = DEFAULT_DATA,
) -> None:
    """Download, verify and prepare data sets; continues what was interrupted.

    tsbench download uwave
    tsbench download uci-har wisdm --from ~/archives
    """
    from tsbench.data.catalogue import card
    from tsbench.data.custom.prepare import is_custom, prepare_custom
    from tsbench.data.obtain import obtain
    from tsbench.protocol.rules import PAPER_DATASETS

    wanted = split_names(names or [])
    if names and not wanted:
        raise UserError("the name of the data set is empty")
    if source is not None:
        _expect_readable(source)
    chosen = [_place(name, data) for name in wanted or PAPER_DATASETS]
    failed, absent = [], []
    for each in chosen:
        try:
            if is_custom(each):
                name = prepare_custom(each, data, source, force, fetch=True).name
                say(f"{name}: ready, from now on also by its name: --dataset {name}")
            else:
                obtain(card(each), data, source, force)
        except NotHere as error:
            absent.append(each)
            say(f"error: {error}" if wanted else f"{error}; passed over")
        except UserError as error:
            failed.append(each)
            say(f"error: {error}")
    if absent and not wanted and len(absent) == len(chosen):
        raise UserError(f"none of the five data sets is in '{source}'")
    if failed or (absent and wanted):
        raise typer.Exit(BAD_INPUT)


def _place(name: str, data: Path) -> str:
    """The name, or where somebody's own data set of that name comes from; raises if unknown."""
    from tsbench.data.catalogue import card
    from tsbench.data.custom.prepare import is_custom

    if is_custom(name):
        return name
    origin = card(name, data).origin
    return name if origin is None else origin.path


def _expect_readable(source: Path) -> None:
    try:
        source.stat()
    except FileNotFoundError:
        raise UserError(f"--from '{source}' does not exist") from None
    except OSError as error:
        raise UserError(f"--from '{source}' cannot be read: {error.strerror}") from error
