"""``tsbench check``: the conformance checks on somebody's method or data set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tsbench.cli.options import SOME_FAILED, command


@command
def check(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="FILE.py:NAME",
            help="A method or a data set in a file, a folder of series, or a method's name.",
        ),
    ],
) -> None:
    """What every method (or data set) must do, checked on one: each rule with pass or a reason."""
    rules = broken = 0
    for name, reason in _examine(reference):
        print(f"FAIL  {name}: {reason}" if reason else f"pass  {name}", flush=True)
        rules += 1
        broken += bool(reason)
    print(f"{reference}: {rules - broken} of {rules} rules kept")
    if broken:
        raise typer.Exit(SOME_FAILED)


def _examine(reference: str) -> Iterator[tuple[str, str]]:
    from tsbench.data.card import Card
    from tsbench.data.own import is_own
    from tsbench.learn.catalogue import METHODS

    in_folder = is_own(reference) and ".py" not in reference
    in_folder = in_folder or (Path(reference).is_dir() and reference not in METHODS.names())
    if in_folder or isinstance(METHODS.load(reference), Card):
        from tsbench.data.check import examine as examine_dataset

        return examine_dataset(reference)
    import torch

    from tsbench.bench.conformance import examine
    from tsbench.bench.run import load_method

    torch.set_num_threads(1)
    return examine(load_method(reference))
