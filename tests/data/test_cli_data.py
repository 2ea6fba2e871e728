"""``tsbench list`` and ``tsbench download`` as a user calls them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from raw_files import uwave_files, write
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
    texts = {
        "uwave": "{",
        "wisdm": json.dumps({"schema": 99}),
        "dsa": "[]",
        "uci-har": json.dumps({"schema": 1}),
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text(text)
    result = tsbench("list", "datasets", "--json", "--data", str(tmp_path))
    assert result.exit_code == 0
    status = {row["name"]: row["status"] for row in json.loads(result.stdout)}
    assert "cannot be read" in status["uwave"]
    assert "newer tsbench" in status["wisdm"]
    assert "not a manifest" in status["dsa"]
    assert "tsbench is missing" in status["uci-har"]


def test_a_broken_manifest_or_lost_arrays_are_prepared_again(tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", uwave_files())
    download = ["download", "uwave", "--from", str(raw), "--data", str(tmp_path / "d")]
    assert tsbench(*download).exit_code == 0
    (arrays,) = (tmp_path / "d" / "uwave").glob("arrays-*")
    shutil.rmtree(arrays)
    again = tsbench(*download)
    assert again.exit_code == 0
    assert "the folder of its arrays is missing" in again.stderr
    assert "uwave: prepared" in again.stderr
    (tmp_path / "d" / "uwave" / "manifest.json").write_text(json.dumps({"schema": 99}))
    assert_refused(tsbench(*download), "newer tsbench")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["download", "uwawe"], ["unknown data set 'uwawe'", "did you mean 'uwave'"]),
        (["download", "demo"], ["built in"]),
        (["download", ""], ["empty"]),
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
    raw = write(tmp_path / "raw", uwave_files())
    result = tsbench("download", "dsa,uwave", "--from", str(raw), "--data", str(tmp_path / "d"))
    assert result.exit_code == 2
    assert "error: dsa" in result.stderr
    assert (tmp_path / "d" / "uwave" / "manifest.json").exists()
    everything = tsbench("download", "--from", str(raw), "--data", str(tmp_path / "d"))
    assert everything.exit_code == 0
    assert everything.stderr.count("passed over") == 4
    (raw / "UCI HAR Dataset.zip").write_bytes(b"PK damaged")
    damaged = tsbench("download", "--from", str(raw), "--data", str(tmp_path / "d"))
    assert damaged.exit_code == 2, "what is there but damaged is not passed over"
    assert "UCI HAR Dataset.zip" in damaged.stderr


def test_a_folder_without_any_data_set_is_an_error(tmp_path: Path) -> None:
    result = tsbench("download", "--from", str(tmp_path), "--data", str(tmp_path / "d"))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("error: none of the five data sets is in")


def test_version() -> None:
    from tsbench import __version__

    assert tsbench("--version").stdout.strip() == f"tsbench {__version__}"


def program(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("tsbench")
    command = [*options.pop("before", []), str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["downlod"], "downlod"), (["list", "--bogus"], "--bogus"), (["list", "foo"], "foo")],
)
def test_usage_errors_take_a_line(arguments: list[str], word: str) -> None:
    result = program(*arguments)
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert word in result.stderr


def test_a_terminal_without_unicode_is_served(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = program("list", "datasets", cwd=tmp_path, env=environment)
    assert result.returncode == 0
    assert "3 ? 315" in result.stdout


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"),
    reason="needs root and setpriv to become somebody else",
)
def test_folders_without_permission() -> None:
    probe = subprocess.run(
        ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", "import tsbench"],
        check=False,
        cwd="/",
        capture_output=True,
    )
    if probe.returncode:
        pytest.skip("nobody may not read this Python installation")
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        check_permissions(root, write(root / "raw", uwave_files()))


def check_permissions(root: Path, raw: Path) -> None:
    nobody = ["setpriv", "--reuid=65534", "--clear-groups"]
    download = ["download", "uwave", "--from", str(raw), "--data", str(root / "d")]
    (root / "d").mkdir()
    refused = program(*download, before=nobody, cwd="/")
    assert refused.returncode == 2
    assert "Permission denied" in refused.stderr
    assert program(*download).returncode == 0
    assert program(*download, before=nobody, cwd="/").returncode == 0, "there is nothing to do"
    raw.chmod(0o700)
    unreadable = program(*download, "--force", before=nobody, cwd="/")
    assert unreadable.returncode == 2
    assert "Traceback" not in unreadable.stderr
