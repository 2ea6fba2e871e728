"""``tsbench list`` and ``tsbench download`` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app

runner = CliRunner()


def tsbench(*arguments: str):
    return runner.invoke(app, list(arguments))


def assert_refused(result, *words: str) -> None:
    assert result.exit_code == 2, result.output
    message = result.stderr.strip().splitlines()
    assert len(message) <= 2, message
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output


def test_list_tells_what_is_prepared(tmp_path: Path) -> None:
    result = tsbench("list", "datasets", "--json", "--data", str(tmp_path))
    rows = {row["name"]: row for row in json.loads(result.stdout)}
    assert list(rows) == ["uci-har", "uwave", "dsa", "grabmyo", "wisdm", "demo"]
    assert rows["uwave"]["status"] == "not prepared"
    assert rows["demo"]["prepared"]
    assert (rows["dsa"]["channels"], rows["dsa"]["length"]) == (45, 125)
    table = tsbench("list", "datasets", "--data", str(tmp_path)).stdout
    assert "CC BY 4.0" in table
    assert "3 × 315" in table


def test_the_data_folder_comes_from_the_environment(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TSBENCH_DATA", str(tmp_path / "elsewhere"))
    assert "elsewhere" in tsbench("list", "datasets").stdout


def test_a_broken_or_newer_manifest_is_told_not_fatal(tmp_path: Path) -> None:
    for name, text in {"uwave": "{", "wisdm": json.dumps({"schema": 99}), "dsa": "[]"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(text)
    result = tsbench("list", "datasets", "--json", "--data", str(tmp_path))
    assert result.exit_code == 0
    status = {row["name"]: row["status"] for row in json.loads(result.stdout)}
    assert "cannot be read" in status["uwave"]
    assert "newer tsbench" in status["wisdm"]
    assert "not a manifest" in status["dsa"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["download", "uwawe"], ["unknown data set 'uwawe'", "did you mean 'uwave'"]),
        (["download", "demo"], ["built in"]),
        (["download", "uwave", "--from", "/no/such/place"], ["/no/such/place", "does not exist"]),
        (["download", "./nowhere.py:card"], ["nowhere.py", "does not exist"]),
    ],
)
def test_wrong_usage_is_told_in_a_line(tmp_path: Path, arguments, words) -> None:
    assert_refused(tsbench(*arguments, "--data", str(tmp_path)), *words)


def test_from_a_folder_that_lacks_the_data_or_holds_garbage(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "UWaveGestureLibraryX.zip").write_bytes(b"no zip at all")
    result = tsbench(
        "download", "uwave", "--from", str(tmp_path / "raw"), "--data", str(tmp_path / "data")
    )
    assert_refused(result, "uwave", "UWaveGestureLibraryX_TRAIN.ts", "not a readable zip")
    assert not list((tmp_path / "data").rglob("manifest.json"))


def test_one_bad_data_set_does_not_stop_the_others(tmp_path: Path) -> None:
    from test_datasets import uwave_files, write

    raw = write(tmp_path / "raw", uwave_files())
    result = tsbench("download", "dsa,uwave", "--from", str(raw), "--data", str(tmp_path / "d"))
    assert result.exit_code == 2
    assert "error: dsa" in result.stderr
    assert (tmp_path / "d" / "uwave" / "manifest.json").exists()
    everything = tsbench("download", "--from", str(raw), "--data", str(tmp_path / "d"))
    assert everything.exit_code == 0
    assert "1 of 5 data sets prepared" in everything.stderr


def test_version() -> None:
    from tsbench import __version__

    assert tsbench("--version").stdout.strip() == f"tsbench {__version__}"
