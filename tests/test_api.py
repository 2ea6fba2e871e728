"""tsbench from Python: lazy to import, the same records as the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from handmade import fail, make
from program import PLUGINS
from program import run as command

import tsbench
from tsbench.bench.store import Store, comparable


def test_import_loads_nothing() -> None:
    code = "import sys, tsbench; assert not {'numpy', 'torch', 'pandas', 'yaml'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", tsbench.__all__)
def test_everything_promised_is_there(name: str) -> None:
    assert getattr(tsbench, name) is not None
    assert name in dir(tsbench)


def test_what_is_not_promised_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        tsbench.runs  # noqa: B018


def test_a_run_from_python_is_that_of_the_command_line(tmp_path: Path) -> None:
    command(
        tmp_path / "r", "--method", "naive", "--dataset", "demo", "--seed", "1", "--epochs", "1"
    )
    (theirs,), _ = Store(tmp_path / "r").records()
    threads = torch.get_num_threads()
    ours = tsbench.run("naive", "demo", 1, epochs=1, results=tmp_path / "own")
    assert comparable(ours) == comparable(theirs)
    assert torch.get_num_threads() == threads
    assert tsbench.run("naive", "demo", 1, epochs=1, results=tmp_path / "own") == ours, "not anew"
    assert tsbench.run("naive", "demo", 1, epochs=1, results=tmp_path / "r") == theirs


def test_settings_errors_and_plugins(tmp_path: Path) -> None:
    record = tsbench.run("naive", epochs=1, settings={"batch": 16}, data=tmp_path)
    assert record["label"] == "naive+batch=16"
    with pytest.raises(tsbench.UserError, match="did you mean 'naive'"):
        tsbench.run("naiv")
    with pytest.raises(tsbench.UserError, match="unknown data set"):
        tsbench.load_stream("dmo", data=tmp_path)
    path = tmp_path / "plug.py"
    path.write_text(PLUGINS)
    with pytest.raises(RuntimeError, match="no such luck"):
        tsbench.run(f"{path}:Raises", data=tmp_path)
    path.write_text(PLUGINS.replace('raise RuntimeError("no such luck")', "super().learn(task)"))
    assert tsbench.run(f"{path}:Raises", data=tmp_path)["status"] == "ok", "the file as it is now"


def test_records_as_a_table(tmp_path: Path, capsys) -> None:
    make(tmp_path, "er", 1234, a_t=70.0, f_t=12.0, seconds=8.0)
    make(tmp_path, "er", 1235, a_t=80.0, f_t=None, complete=False)
    fail(tmp_path, "naive", 1234)
    broken = tmp_path / "exp-ln-100" / "uwave" / "er" / "seed-9.json"
    broken.write_text("{")
    table = tsbench.read_records(tmp_path)
    assert "seed-9.json' is not a record" in capsys.readouterr().err
    assert table["method"].tolist() == ["er", "er", "naive"]
    assert table["status"].tolist() == ["ok", "ok", "failed"]
    assert table["A_T"].dropna().tolist() == [70.0, 80.0]
    assert table["F_T"].isna().tolist() == [False, True, True]
    assert table["learn_seconds"][0] == 8.0
    assert table["kept_bytes"][0] == 2_000_500
    assert table["complete"].tolist()[:2] == [True, False]
    assert table["error"][2]
    empty = tsbench.read_records(tmp_path / "nothing")
    assert (len(empty), list(empty.columns)) == (0, list(table.columns))
