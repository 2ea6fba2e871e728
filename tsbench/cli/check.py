"""``tsbench check``: the conformance checks on somebody's method."""

from __future__ import annotations

from typing import Annotated

import typer

from tsbench.cli.options import SOME_FAILED, command


@command
def check(
    method: Annotated[str, typer.Argument(metavar="FILE.py:Class", help="Or a registered name.")],
) -> None:
    """What every method must do, checked on one: each rule with pass or a reason."""
    import torch

    from tsbench.bench.conformance import CHECKS
    from tsbench.bench.run import load_method

    torch.set_num_threads(1)
    kind = load_method(method)
    broken = 0
    for name, rule in CHECKS.items():
        try:
            rule(kind)
        except Exception as error:
            broken += 1
            print(f"FAIL  {name}: {type(error).__name__}: {error}")
        else:
            print(f"pass  {name}")
    print(f"{method}: {len(CHECKS) - broken} of {len(CHECKS)} rules kept")
    if broken:
        raise typer.Exit(SOME_FAILED)
