"""The data sets that tsbench knows by name."""

from __future__ import annotations

from pathlib import Path

from tsbench.data.card import Card
from tsbench.data.prepared import stored_card
from tsbench.errors import UserError
from tsbench.registry import Registry

DATASETS = Registry(
    kind="data set",
    group="tsbench.datasets",
    builtin={
        "uci-har": "tsbench.datasets.uci_har:CARD",
        "uwave": "tsbench.datasets.uwave:CARD",
        "dsa": "tsbench.datasets.dsa:CARD",
        "grabmyo": "tsbench.datasets.grabmyo:CARD",
        "wisdm": "tsbench.datasets.wisdm:CARD",
        "demo": "tsbench.datasets.demo:CARD",
    },
)
PAPER = ("uci-har", "uwave", "dsa", "grabmyo", "wisdm")
"""The five data sets of the paper, in its order."""


def card(name: str, root: Path | None = None) -> Card:
    """The card called ``name``: of a known data set, or of one that is prepared under ``root``."""
    if root is not None and name not in DATASETS.names():
        own = stored_card(name, root)
        if own is not None:
            return own
        if Path(name).is_dir():
            raise UserError(f"unknown data set '{name}'; for the folder of that name: ./{name}")
    found = DATASETS.load(name)
    if not isinstance(found, Card):
        raise UserError(f"'{name}' is a {type(found).__name__}, not a tsbench Card")
    return found
