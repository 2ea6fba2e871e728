"""The data sets that tsbench knows by name: one file each in ``datasets/``."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from tsbench.data.card import Card
from tsbench.data.manifest import stored_card
from tsbench.errors import UserError
from tsbench.protocol.rules import PAPER_DATASETS
from tsbench.registry import Registry


def _named(thing: Any, module: ModuleType) -> str:
    return thing.name if isinstance(thing, Card) else ""


DATASETS: Registry[Card] = Registry(
    kind="data set",
    group="tsbench.datasets",
    packages=["tsbench.datasets"],
    named=_named,
    first=PAPER_DATASETS,
)


def card(name: str, root: Path | None = None) -> Card:
    """The card called ``name``: of a known data set, or of one that is prepared under ``root``."""
    if root is not None and name not in DATASETS.names():
        custom = stored_card(name, root)
        if custom is not None:
            return custom
        if Path(name).is_dir():
            raise UserError(
                f"unknown data set '{name}'; for the folder of that name write ./{name}"
            )
    found = DATASETS.load(name)
    if not isinstance(found, Card):
        raise UserError(f"'{name}' is a {type(found).__name__}, not a tsbench Card")
    return found
