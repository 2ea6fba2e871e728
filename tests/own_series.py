"""Data sets of one's own, for tests: a folder of series, and a card in a Python file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CLASSES, EACH, STEPS = 6, 8, 20
CARD_FILE = '''
"""A data set in one file."""

import numpy as np

from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.data.card import Card

LEVEL = 1


def generate():
    print("this is no data")
    random = np.random.default_rng(0)
    def draw(each):
        y = np.repeat(np.arange(4), each)
        x = LEVEL * y[:, None, None] + random.normal(size=(len(y), 1, 12))
        return Split(x.astype(np.float32), y)
    return Splits(draw(10), draw(5), Coverage(60, 60, "series"))


card = Card(
    name="levels",
    title="Levels",
    channels=1,
    length=12,
    class_names=("a", "b", "c", "d"),
    input_norm="none",
    dropout=0.0,
    memory_per_class=20,
    generate=generate,
)
'''


def waves(classes: int = CLASSES, each: int = EACH, channels: int = 2):
    """Series (N, C, L) and labels that tell them apart."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), each)
    x = np.sin((y[:, None, None] + 1) * np.linspace(0, 6, STEPS))
    return x + 0.1 * random.normal(size=(len(y), channels, STEPS)), y


def folder(path: Path, card: str, **arrays: np.ndarray) -> Path:
    """A folder with a card, and arrays as ``.npy`` files, or all of them in ``all.npz``."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "card.yaml").write_text(card, encoding="utf-8")
    if arrays:
        np.savez(path / "all.npz", **arrays)
        for name, array in arrays.items():
            np.save(path / f"{name}.npy", array)
    return path
