"""Runs on data, or of a method's file, that have changed since do not enter a mean."""

from __future__ import annotations

import os
from pathlib import Path

from handmade import make
from typer.testing import CliRunner

from tsbench.bench.store import Store
from tsbench.cli.main import app
from tsbench.report.records import collect


def age(root: Path, label: str, seed: int, seconds: float) -> None:
    (path,) = root.glob(f"*/*/{label}/seed-{seed}.json")
    os.utime(path, (seconds, seconds))


def test_runs_on_earlier_data_are_left_out_and_told(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        make(tmp_path, "er", seed, a_t=10.0 * seed)
        age(tmp_path, "er", seed, 1000.0)
    assert collect(tmp_path).problems == []
    for path in tmp_path.glob("*/*/er/seed-[12].json"):
        path.write_text(path.read_text().replace('"data_digest": "d"', '"data_digest": "new"'))
    found = collect(tmp_path)
    assert found.get("uwave", "er").values("A_T") == [10.0, 20.0]
    assert found.problems == ["1 run(s) of uwave with earlier data"]
    report = CliRunner().invoke(app, ["report", "--results", str(tmp_path), "--format", "csv"])
    assert "notice: 1 run(s) of uwave with earlier data; left out" in report.stderr
    assert "15" in report.stdout
    age(tmp_path, "er", 3, 5e9)
    assert collect(tmp_path).get("uwave", "er").values("A_T") == [30.0], "what is newest counts"


def test_runs_of_an_earlier_file_are_left_out_and_others_stay(tmp_path: Path) -> None:
    make(tmp_path, "mine.py:Mine", 1, a_t=10.0, about={"code": "old"})
    make(tmp_path, "mine.py:Mine", 2, a_t=20.0, about={"code": "new"})
    make(tmp_path, "er", 1, a_t=50.0)
    age(tmp_path, "mine-Mine", 1, 1000.0)
    found = collect(tmp_path)
    assert found.get("uwave", "mine-Mine").values("A_T") == [20.0]
    assert found.get("uwave", "er").values("A_T") == [50.0]
    assert found.problems == ["1 run(s) of mine-Mine on uwave with earlier code"]
    assert Store(tmp_path / "elsewhere").written(found.get("uwave", "er").finished[0]) == 0.0
