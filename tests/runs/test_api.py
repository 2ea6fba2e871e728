"""tsbench from Python: lazy to import, the same records as the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from handmade_records import fail, make
from misbehaving_methods import PLUGINS
from tsbench_process import run_here as command

import tsbench
from tsbench.learn import registry
from tsbench.runs.record import comparable
from tsbench.runs.store import Store


@pytest.fixture(autouse=True)
def forget_classes() -> Iterator[None]:
    """Classes that a test made known are not known to the next one."""
    yield
    for name in list(registry._CODE):
        del registry._CODE[name], registry.METHODS.builtin[name]


def test_import_loads_nothing() -> None:
    code = "import sys, tsbench; assert not {'numpy', 'torch', 'pandas', 'yaml'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", tsbench.__all__)
def test_everything_promised_is_there(name: str) -> None:
    assert getattr(tsbench, name) is not None
    assert name in dir(tsbench)


def test_what_is_not_promised_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Dataset'"):
        tsbench.Dataset  # noqa: B018


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
    with pytest.raises(tsbench.UserError, match="unknown data set"):
        tsbench.list_methods("dmo", data=tmp_path)
    path = tmp_path / "plug.py"
    path.write_text(PLUGINS)
    with pytest.raises(RuntimeError, match="no such luck"):
        tsbench.run(f"{path}:Raises", data=tmp_path)
    path.write_text(PLUGINS.replace('raise RuntimeError("no such luck")', "super().learn(task)"))
    assert tsbench.run(f"{path}:Raises", data=tmp_path)["status"] == "ok", "the file as it is now"


class Last(tsbench.Method):
    """Always says the class it saw last."""

    def learn(self, task) -> None:
        self.seen = max(task.labels) + 1

    def predict(self, x):
        return np.tile(np.arange(self.seen), (len(x), 1))

    def kept(self) -> tsbench.Kept:
        return tsbench.Kept()


class Broken(Last):
    def predict(self, x):
        raise ArithmeticError("no luck")


def test_a_class_can_be_run_as_it_is(tmp_path: Path) -> None:
    record = tsbench.run(Last, "demo", 7, data=tmp_path, results=tmp_path)
    assert record["result"]["accuracy"][-1][-1] == 50.0, "right for one of the last two classes"
    assert record["result"]["A_T"] == 12.5
    assert record["label"] == "Last"
    assert record["spec"]["code"], "another class of that name is another run"
    (stored,), problems = Store(tmp_path).records()
    assert (stored, problems) == (record, [])
    assert tsbench.run(Last, "demo", 7, data=tmp_path, results=tmp_path) == record
    with pytest.raises(ArithmeticError, match="no luck"):
        tsbench.run(Broken, "demo", data=tmp_path)


def test_a_built_in_method_is_the_same_run_by_name_and_as_a_class(tmp_path: Path) -> None:
    from tsbench.baselines.naive import Naive

    by_name = tsbench.run("naive", "demo", epochs=1, data=tmp_path)
    assert tsbench.run(Naive, "demo", epochs=1, data=tmp_path)["hash"] == by_name["hash"]


def test_a_class_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tsbench.UserError, match="does not derive from"):
        tsbench.run(dict, "demo", data=tmp_path)
    with pytest.raises(tsbench.UserError, match="lacks kept, learn, predict"):
        tsbench.run(type("Half", (tsbench.Method,), {}), "demo", data=tmp_path)
    taken = type("Taken", (Last,), {"name": "er"})
    with pytest.raises(tsbench.UserError, match="'er' already; give yours another name"):
        tsbench.run(taken, "demo", data=tmp_path)


def test_a_class_that_was_changed_is_another_run(tmp_path: Path) -> None:
    """As in a notebook: a cell defines the class, is edited, and defines it again."""
    first = tsbench.run(Last, "demo", 7, data=tmp_path)

    class Last2(Last):
        def predict(self, x):
            return -super().predict(x)

    Last2.__name__ = "Last"
    second = tsbench.run(Last2, "demo", 7, data=tmp_path)
    assert second["label"] == first["label"]
    assert second["hash"] != first["hash"]
    assert second["result"]["accuracy"] != first["result"]["accuracy"]


def test_records_as_a_table(tmp_path: Path, capsys) -> None:
    make(tmp_path, "er", 1234, a_t=70.0, f_t=12.0, seconds=8.0)
    make(tmp_path, "er", 1235, a_t=80.0, f_t=None, complete=False)
    fail(tmp_path, "naive", 1234)
    broken = tmp_path / "exp-ln-100" / "uwave" / "er" / "seed-9.json"
    broken.write_text("{")
    table = tsbench.read_records(tmp_path)
    assert capsys.readouterr().err == "", "notices are shown only when asked for"
    assert "seed-9.json' is not a record" in table.attrs["left_out"][0]
    tsbench.read_records(tmp_path, verbose=True)
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


def test_tables_and_figures(tmp_path: Path, capsys) -> None:
    for seed, a_t in ((1234, 70.0), (1235, 80.0)):
        make(tmp_path, "er", seed, a_t=a_t, f_t=12.0)
        make(tmp_path, "ts-acl", seed, a_t=90.0, f_t=None, dataset="dsa")
    table = tsbench.report("main", tmp_path)
    assert list(table.index) == ["ER", "TS-ACL"]
    assert table["UWave", "A_T"]["ER"] == 75.0
    assert table["UWave", "A_T ±"]["ER"] == pytest.approx(50**0.5)
    assert table["UWave", "A_T"].isna()["TS-ACL"], "not run"
    assert "Average accuracy" in table.attrs["caption"]
    assert "<table" in table._repr_html_()
    board = tsbench.report("leaderboard", tmp_path, spread="none", dataset="uwave")
    assert board.loc[("UWave", "ER"), ["rank", "A_T", "seeds"]].tolist() == ["1", 75.0, 2.0]
    drawing = tsbench.figure("curves", tmp_path, method=["er"])
    assert [panel.get_title() for panel in drawing.axes] == ["UWave"]
    assert drawing._repr_png_().startswith(b"\x89PNG")
    assert capsys.readouterr() == ("", "")
    with pytest.raises(tsbench.UserError, match="no table 'mian'; there are: leaderboard, main"):
        tsbench.report("mian", tmp_path)
    with pytest.raises(tsbench.UserError, match="no figure 'pie'"):
        tsbench.figure("pie", tmp_path)


def test_a_stream_and_its_parts_fit_a_line() -> None:
    stream = tsbench.load_stream("demo")
    for each in (stream, stream.tasks[0], stream.tests[0]):
        assert len(repr(each).splitlines()) == 1
    assert repr(stream).startswith("Stream(exp, seed 1234: 4 tasks, 8 classes; 305 samples")
