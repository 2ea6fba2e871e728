"""Bringing a method of one's own: the template, ``check``, and plugins that break a rule."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from own_series import folder, waves
from process_tree import processes_with
from tsbench_process import PROGRAM, run_here
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.executors.workers import worker_server
from tsbench.learn.registry import load_method
from tsbench.runs.conformance import CHECKS, examine
from tsbench.runs.store import Store


def tsbench(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mine.py", "Mine"),
        ("my_good-method.py", "MyGoodMethod"),
        ("méthode à moi.py", "MéthodeÀMoi"),
    ],
)
def test_what_new_method_writes_keeps_all_rules(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    written = tsbench("new-method", str(path))
    assert written.exit_code == 0, written.output
    found = dict(examine(load_method(f"{path}:{kind}")))
    assert len(found) == len(CHECKS) + 1
    assert not {rule: reason for rule, reason in found.items() if reason}
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    assert len(lines) < 40, "about thirty lines"


def test_the_check_command_says_so(tmp_path: Path) -> None:
    path = tmp_path / "méthode à moi.py"
    tsbench("new-method", str(path))
    started = time.monotonic()
    checked = tsbench("check", f"{path}:MéthodeÀMoi")
    assert checked.exit_code == 0, checked.output
    assert checked.stdout.count("pass  ") == len(CHECKS) + 1
    assert time.monotonic() - started < 60


def test_the_template_runs_from_any_folder_and_beats_chance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "irgend wo"
    place.mkdir()
    monkeypatch.chdir(place)
    say = tsbench("new-method", "mine.py").stderr
    assert "tsbench run --method ./mine.py:Mine --dataset demo" in say
    command = ["run", "--method", "./mine.py:Mine", "--dataset", "demo", "--seed", "1234"]
    worker_server(new=True)  # that of an earlier test works in another folder
    assert tsbench(*command, "--set", "power=1").exit_code == 0
    (record,), _ = Store(place / "results").records()
    assert record["result"]["A_T"] > 60, "chance is 12.5"
    assert record["label"] == "mine-Mine+power=1.0"
    assert record["spec"]["code"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["new-method", "DIR/there.py"], "exists; --force overwrites it"),
        (["new-method", "DIR/mine.txt"], "must end in .py"),
        (["new-method", "DIR/mine"], "must end in .py"),
        (["new-method", "DIR/1.py"], "no name for Python code"),
        (["new-method", "DIR/---.py"], "no name for Python code"),
        (["new-method", "DIR/none.py"], "no name for Python code"),
        (["new-method", "DIR/gone/mine.py"], "there is no folder"),
        (["new-dataset", "DIR/there.py"], "exists; --force overwrites it"),
        (["new-dataset", "DIR/my data.py"], "no name for Python code"),
        (["new-dataset", "DIR/gone"], "is not a folder"),
        (["new-dataset", "DIR"], "no files that can be recognised"),
    ],
)
def test_bad_names_get_a_line(tmp_path: Path, command: list[str], words: str) -> None:
    (tmp_path / "there.py").write_text("precious")
    result = tsbench(*[word.replace("DIR", str(tmp_path)) for word in command])
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 2
    assert (tmp_path / "there.py").read_text() == "precious"


def test_force_overwrites(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("worthless")
    assert tsbench("new-method", str(tmp_path / "there.py"), "--force").exit_code == 0
    assert "class There(Method" in (tmp_path / "there.py").read_text()


def test_the_data_template_is_a_data_set(tmp_path: Path) -> None:
    path = tmp_path / "chirps.py"
    assert tsbench("new-dataset", str(path)).exit_code == 0
    checked = tsbench("check", f"{path}:card")
    assert checked.exit_code == 0, checked.output
    assert "5 of 5 rules kept" in checked.stdout
    root = tmp_path / "d"
    assert tsbench("download", f"{path}:card", "--data", str(root)).exit_code == 0
    listed = json.loads(tsbench("list", "datasets", "--json", "--data", str(root)).stdout)
    assert listed[-1]["name"] == "chirps"


def test_plugins_that_break_a_rule_are_named_and_the_others_go_on(tmp_path: Path, plugins) -> None:
    (tmp_path / "broken.py").write_text("import sys\nprint('hello')\n1 / 0")
    names = ("NoVerb", "WrongShape", "NanScores", "Words", "Hoards", "Untold", "Raises", "Good")
    methods = [f"{tmp_path}/broken.py:X", *(f"{plugins}:{name}" for name in names)]
    process = subprocess.run(
        [PROGRAM, "run", "--method", ",".join(methods), "--dataset", "demo", "--seed", "1",
         "--results", str(tmp_path / "r"), "--jobs", "2"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = process.stderr
    assert process.returncode == 1, said
    for line in (
        "broken.py' failed to import: ZeroDivisionError: division by zero (broken.py, line 3)",
        "Plug ins ü.py:NoVerb' lacks kept, predict",
        "Plug_ins_ü-WrongShape demo seed 1: FAILED: ValueError: predict returned shape",
        "Plug_ins_ü-NanScores demo seed 1: FAILED: ValueError: predict returned NaN or infinite",
        "Plug_ins_ü-Words demo seed 1: FAILED: ValueError: predict returned <U",
        "Plug_ins_ü-Hoards demo seed 1: FAILED: ValueError: after task 1 keeps 1000000000 bytes",
        "Plug_ins_ü-Untold demo seed 1: FAILED: ValueError: kept() must return a Kept",
        "Plug_ins_ü-Raises demo seed 1: FAILED: RuntimeError: no such luck (Plug ins ü.py, line",
        "Plug_ins_ü-Good demo seed 1: A_T",
        "notice: Plug_ins_ü-Good prints to stdout, which is for results",
        "2 method(s) could not be used",
    ):
        assert line in said, line
    assert "Traceback" not in said
    assert "this is no data" not in process.stdout
    assert "hello" not in process.stdout
    assert "Good" in process.stdout


def test_check_names_rule_and_line_for_plugins(tmp_path: Path, plugins: Path) -> None:
    raises = tsbench("check", f"{plugins}:Raises")
    assert raises.exit_code == 1
    assert "FAIL  awkward shapes: RuntimeError: no such luck (Plug ins ü.py, line" in raises.stdout
    good = tsbench("check", f"{plugins}:Good")
    assert "FAIL  nothing is printed to stdout: prints to stdout" in good.stdout
    assert "\nthis is no data" not in good.stdout
    hoards = dict(examine(load_method(f"{plugins}:Hoards")))
    assert hoards["the budget is kept"].startswith("after task 1 keeps")
    refused = tsbench("check", f"{plugins}:NoVerb")
    assert refused.exit_code == 2
    assert "lacks kept, predict" in refused.stderr


def test_a_file_that_changes_between_plan_and_run_is_noticed(tmp_path: Path, plugins) -> None:
    from tsbench.errors import UserError
    from tsbench.runs.execute import execute
    from tsbench.runs.machine import Machine
    from tsbench.runs.plan import Request, plan

    request = Request([f"{plugins}:Good"], ["demo"], [1])
    (spec,) = plan(request, tmp_path).specs
    plugins.write_text(plugins.read_text().replace("self.seen = max", "self.seen = 0 + max"))
    with pytest.raises(UserError, match="has changed since this run was planned"):
        execute(spec, Machine(tmp_path), lambda *_: None)
    (changed,) = plan(request, tmp_path).specs
    assert changed.hash() != spec.hash()
    assert execute(changed, Machine(tmp_path), lambda *_: None)["status"] == "ok"


def test_a_method_from_a_file_in_a_folder_with_its_own_data(tmp_path: Path, plugins) -> None:
    """Both brought, both with spaces and letters beyond ASCII in their paths."""
    x, y = waves()
    mine = folder(tmp_path / "Größe 1", "data: all.npz", x=x, y=y)
    code, said = run_here(tmp_path / "r", "--method", f"{plugins}:Good", "--dataset", str(mine),
                          "--seed", "1", "--data", str(tmp_path / "d"))  # fmt: skip
    assert code == 0, said
    assert (tmp_path / "r" / "exp-ln-100" / "Größe-1" / "Plug_ins_ü-Good").is_dir()


HOSTILE = {
    "sys.exit(0)": "SystemExit: 0",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise BaseException('odd \\ud800')": "BaseException: odd \\ud800",
    "raise Mute": "Mute: its message cannot be shown",
}
ENDS_ITS_PROCESS = {
    "os._exit(0)": "the process was ended with exit code 0 after 0 rule(s)",
    "os.kill(os.getpid(), 9)": "the process was killed by SIGKILL after 0 rule(s)",
    "os.closerange(0, 100)": "",
}


def hostile(folder: Path, act: str) -> str:
    path = folder / "hostile.py"
    path.write_text(HOSTILE_METHOD.replace("ACT", act))
    return f"{path}:Hostile"


@pytest.mark.parametrize("act", HOSTILE)
def test_no_exception_of_a_method_counts_as_a_pass(tmp_path: Path, act: str) -> None:
    found = dict(examine(load_method(hostile(tmp_path, act))))
    assert len(found) == len(CHECKS) + 1
    assert HOSTILE[act] in found["awkward shapes"]


@pytest.mark.parametrize("act", ENDS_ITS_PROCESS)
def test_a_check_without_a_verdict_is_not_a_pass(tmp_path: Path, act: str) -> None:
    result = tsbench("check", hostile(tmp_path, act))
    assert result.exit_code == 1, result.output
    assert "FAIL" in result.stdout
    assert ENDS_ITS_PROCESS[act] in result.stdout
    assert "rules kept" in result.stdout


HOSTILE_METHOD = """
import os, sys, time
import numpy as np
from tsbench import Kept, Method

class Mute(Exception):
    def __str__(self):
        raise ValueError("no")

class Hostile(Method):
    def learn(self, task):
        ACT
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen))
    def kept(self):
        return Kept()
"""


@pytest.mark.parametrize("act", ["while True: pass", "os.fork() or time.sleep(99)"])
def test_a_check_has_a_time_limit(tmp_path: Path, act: str) -> None:
    started = time.monotonic()
    result = tsbench("check", hostile(tmp_path, act), "--timeout", "0.1")
    if "fork" not in act:
        assert result.exit_code == 1, result.output
        assert (
            "FAIL  the checks come to an end: they did not within the time limit" in result.stdout
        )
    assert result.stdout.count("awkward shapes") <= 1, "a copy says nothing"
    assert time.monotonic() - started < 60
    while processes_with(str(tmp_path)):  # a killed process still has to free its memory
        assert time.monotonic() - started < 90, "nothing is left running"
        time.sleep(0.1)


def test_a_check_that_cannot_begin_is_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(HOSTILE_METHOD.replace("ACT", "pass") + BAD_DEFAULT)
    result = tsbench("check", f"{path}:Bad")
    assert result.exit_code == 2
    assert "clip must be a finite number, not inf" in result.stderr
    assert "--timeout must be more than 0" in tsbench("check", "naive", "--timeout", "0").stderr


BAD_DEFAULT = """
from dataclasses import dataclass
from tsbench import Settings

@dataclass(frozen=True)
class Own(Settings):
    clip: float = float("inf")

class Bad(Hostile):
    Settings = Own
"""
