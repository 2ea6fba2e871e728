"""The study of class orders in tools/: its numbers, on scores with a known spread."""

from __future__ import annotations

from pathlib import Path

import class_orders
import numpy as np
import pytest
from handmade_records import make

from tsbench.protocol.rules import seeds


def test_sets_of_five_vary_as_the_chi_square_law_says() -> None:
    scores = np.random.default_rng(0).normal(80, 2, size=2000)
    low, high, below = class_orders.spread_of_few(scores.tolist())
    assert low == pytest.approx(2 * 0.348, abs=0.1)
    assert high == pytest.approx(2 * 1.669, abs=0.1)
    assert below == pytest.approx(0.594, abs=0.03)


def test_the_table_and_the_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_orders, "RECORDS", tmp_path / "orders")
    monkeypatch.setattr(class_orders, "FIGURE", tmp_path / "orders.svg")
    assert "not committed" in class_orders.table()
    class_orders.draw()
    assert not class_orders.FIGURE.exists()
    for seed in seeds(30):
        make(tmp_path / "orders", "ts-acl-r", seed, 80.0 + seed % 3, 5.0)
    (row,) = class_orders.table().splitlines()[2:]
    assert row.startswith("| UWave | TS-ACL-R | 30 | 81.00 |")
    class_orders.draw()
    assert class_orders.FIGURE.stat().st_size > 1000
