"""Which data sets, which seeds, which part of a matrix; without importing torch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tsbench.console import say
from tsbench.data.arrays import HOLD_OUT_BELOW
from tsbench.data.card import Card
from tsbench.data.catalogue import PAPER, card
from tsbench.data.own import bring, is_own
from tsbench.data.prepared import read_manifest
from tsbench.data.stream import FIRST_SEED, VALIDATION_TASKS
from tsbench.errors import UserError


def choose_seeds(count: int | None, seeds: list[int]) -> list[int]:
    """``--seeds N``: the first N published seeds; or those given."""
    if seeds and count is not None:
        raise UserError("give either --seeds or --seed, not both")
    if seeds:
        if min(seeds) < 0 or max(seeds) >= 2**32:
            raise UserError("--seed must be between 0 and 4294967295")
        return list(dict.fromkeys(seeds))
    if count is not None and count < 1:
        raise UserError("--seeds must be at least 1")
    return [FIRST_SEED + i for i in range(5 if count is None else count)]


def choose_datasets(names: list[str], root: Path) -> list[str]:
    """Names given, ``all`` five, or, with none given, every prepared one of the five.

    People's own, given by their place, are prepared, and go by their name from here on.
    """
    if not names:
        prepared = []
        for name in PAPER:
            try:
                if read_manifest(card(name), root):
                    prepared.append(name)
            except UserError as error:
                say(f"notice: {error}; passed over")
        if not prepared:
            raise UserError(
                f"no data set is prepared in '{root}'; run: tsbench download uwave, "
                "or try --dataset demo"
            )
        return prepared
    chosen: list[str] = []
    for name in names:
        chosen += PAPER if name == "all" else [name]
    chosen = [bring(name, root).name if is_own(name) else card(name, root).name for name in chosen]
    return list(dict.fromkeys(chosen))


def stream_tasks(each: Card) -> int:
    """Tasks of a complete data set's experiment stream."""
    few = each.tasks < HOLD_OUT_BELOW
    return each.tasks if few else each.tasks - VALIDATION_TASKS


def shard(items: list[Any], text: str) -> list[Any]:
    """Part i of n, from ``i/n`` counting from 1; the parts are disjoint and complete."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"--shard '{text}' is not i/n with 1 ≤ i ≤ n")
    return items[int(match[1]) - 1 :: int(match[2])]
