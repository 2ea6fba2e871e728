"""Runs on other data, or of another version of a file, do not enter a mean; contents decide."""

from __future__ import annotations

import os
from pathlib import Path

from handmade_records import make
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.catalogue import card
from tsbench.report.records import collect


def values(root: Path, method: str = "er", dataset: str = "uwave") -> list[float]:
    return collect(root).get(dataset, method).values("A_T")


def test_the_data_with_most_runs_counts(tmp_path: Path) -> None:
    make(tmp_path, "er", 1, 10.0, about={"data_digest": "a"})
    make(tmp_path, "er", 2, 20.0, about={"data_digest": "b"})
    make(tmp_path, "der", 3, 30.0, about={"data_digest": "b"})
    assert values(tmp_path) == [20.0]
    assert collect(tmp_path).problems == ["1 run(s) of uwave were made with other data"]
    told = CliRunner().invoke(app, ["report", "--results", str(tmp_path), "--format", "csv"])
    assert "notice: 1 run(s) of uwave were made with other data; left out" in told.stderr


def test_file_times_do_not_matter(tmp_path: Path) -> None:
    paths = [
        make(tmp_path, "er", seed, 10.0 * seed, about={"data_digest": digest})
        for seed, digest in ((1, "b"), (2, "a"))
    ]
    for times in ((1, 9), (9, 1)):
        for path, seconds in zip(paths, times, strict=True):
            os.utime(path, (seconds, seconds))
        assert values(tmp_path) == [20.0], "as many runs of each: the smallest digest"


def test_complete_data_comes_before_partial_data(tmp_path: Path) -> None:
    for seed in (1, 2):
        make(tmp_path, "er", seed, 10.0, complete=False, about={"data_digest": "a"})
    make(tmp_path, "er", 3, 20.0, about={"data_digest": "b"})
    assert values(tmp_path) == [20.0]


def test_the_official_data_comes_first(tmp_path: Path, prepared_real: Path) -> None:
    from tsbench.data.prepared import load

    official = load(card("uci-har"), prepared_real).digest
    for seed in (1, 2):
        make(tmp_path, "er", seed, 10.0, dataset="uci-har", about={"data_digest": "0"})
    make(tmp_path, "er", 3, 20.0, dataset="uci-har", about={"data_digest": official})
    assert values(tmp_path, dataset="uci-har") == [20.0]


def test_one_version_of_a_file_and_other_methods_stay(tmp_path: Path) -> None:
    make(tmp_path, "mine.py:Mine", 1, 10.0, about={"code": "old"})
    make(tmp_path, "mine.py:Mine", 2, 20.0, about={"code": "new"})
    make(tmp_path, "mine.py:Mine", 3, 30.0, about={"code": "new"})
    make(tmp_path, "er", 1, 50.0)
    assert values(tmp_path, "mine-Mine") == [20.0, 30.0]
    assert values(tmp_path) == [50.0]
    assert collect(tmp_path).problems == [
        "1 run(s) of mine-Mine on uwave were made with other code"
    ]


def test_the_order_of_reading_does_not_matter(tmp_path: Path) -> None:
    for seed in (3, 1, 2):
        make(tmp_path, "er", seed, 10.0 * seed)
    assert values(tmp_path) == [10.0, 20.0, 30.0]
