"""Records made with settings that are no longer the defaults are marked, without torch."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from handmade_records import make
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.protocol.rules import PAPER_DATASETS, PAPER_METHODS
from tsbench.report.defaults import default_settings, stale_settings
from tsbench.report.records import collect
from tsbench.report.table import Options
from tsbench.report.tables import TABLES


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_the_file_holds_what_runs_use(method: str) -> None:
    """If this fails: python tools/write_defaults.py"""
    from tsbench.learn.registry import effective_settings

    for dataset in (*PAPER_DATASETS, "somebody's own"):
        now = json.loads(json.dumps(asdict(effective_settings(method, dataset))))
        assert default_settings(method, dataset) == now


def test_no_method_in_the_file_is_out_of_date() -> None:
    """A method that is not in the file yet is not checked; one that is must be right."""
    from tsbench.learn.registry import METHODS, effective_settings

    for method in METHODS.names():
        found = default_settings(method, "uwave")
        assert found in (None, json.loads(json.dumps(asdict(effective_settings(method, "uwave")))))
    assert default_settings("nobody's", "uwave") is None


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for seed in (1, 2):
        make(tmp_path, "er", seed, 50.0, 9.0)
        make(tmp_path, "gr", seed, 60.0, 9.0, about={"settings": {"reconstruction": 7.5}})
        make(tmp_path, "lwf", seed, 60.0, 9.0, about={"changed": {"strength": 7.5}})
        make(tmp_path, "mas", seed, 60.0, 9.0,
             about={"settings": {"strength": 7.5}, "tuned": {"file": "f"}})  # fmt: skip
        make(tmp_path, "mine.py:Mine", seed, 60.0, 9.0, about={"settings": {"x": 1}})
    return tmp_path


def test_only_what_nobody_chose_is_stale(results: Path) -> None:
    runs = collect(results)
    found = {m: stale_settings(runs.get("uwave", m).finished[0]) for m in runs.methods}
    assert found == {
        "er": {}, "lwf+strength=7.5": {}, "mas+tuned": {}, "mine-Mine": {},
        "gr": {"reconstruction": (7.5, default_settings("gr", "uwave")["reconstruction"])},
    }  # fmt: skip


def test_added_and_removed_settings_are_stale(results: Path) -> None:
    record = collect(results).get("uwave", "er").finished[0]
    record["spec"]["settings"] = {"batch": 32, "gone": 1}
    found = stale_settings(record)
    assert found["gone"] == (1, None)
    assert found["replay"] == (None, 32)
    assert "batch" not in found


def test_stale_cells_are_marked_and_explained(results: Path) -> None:
    made = TABLES["main"](collect(results), Options())
    marked = {row.headers[0] for row in made.rows if "*" in row.cells[0].notes}
    assert marked == {"GR"}
    note = dict(made.footnotes())["*"]
    assert note.startswith("settings that are no longer the defaults: GR on UWave (reconstruction")


def test_every_records_settings_are_shown(results: Path) -> None:
    make(results, "er", 3, 50.0, 9.0, about={"settings": {"batch": 5}})
    made = TABLES["settings"](collect(results), Options())
    rows = [(row.headers[1], *(c.text for c in row.cells)) for row in made.rows]
    er = [row for row in rows if row[0] == "ER"]
    assert [row[1] for row in er] == ["1–2", "3"], "runs with other settings have their own row"
    assert "batch=32" in er[0][2]
    assert er[0][3] == "same"
    assert "batch=5" in er[1][2]
    assert er[1][3] == "batch was 5, is 32"
    (mine,) = [row for row in rows if row[0] == "mine-Mine"]
    assert mine[2] == "x=1"
    shown = CliRunner().invoke(app, ["report", "--results", str(results), "--table", "settings"])
    assert "reconstruction was 7.5" in shown.stdout


def test_the_generator_writes_what_is_committed() -> None:
    root = Path(__file__).resolve().parents[2]
    sys.path.insert(0, str(root / "tools"))
    try:
        import write_defaults
    finally:
        sys.path.remove(str(root / "tools"))
    committed = json.loads(write_defaults.FILE.read_text(encoding="utf-8"))
    made = json.loads(write_defaults.text())
    assert {name: made[name] for name in committed} == committed
