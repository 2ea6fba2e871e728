"""Plans: what is refused, what is limited, what an empty part is."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.errors import UserError
from tsbench.protocol.rules import Protocol
from tsbench.runs.plan import (
    MOST_RUNS,
    Plan,
    Request,
    choose_datasets,
    choose_seeds,
    plan,
    shard,
)

HEAD = """
import math
from dataclasses import dataclass, field
import numpy as np
from tsbench import Kept, Method, Settings
from tsbench.learn.settings import setting

class Base(Method):
    def learn(self, task):
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen))
    def kept(self):
        return Kept()
"""


def method(path: Path, settings: str) -> str:
    """A method in a file with one setting; returns how to call it."""
    text = f"""{HEAD}
@dataclass(frozen=True)
class Own(Settings):
    {settings}

class Mine(Base):
    Settings = Own
"""
    path.write_text(text)
    return f"{path}:Mine"


def planned(*methods: str, **changes: str) -> Plan:
    request = Request(list(methods), ["demo"], [1, 2], Protocol(epochs=1), changes)
    return plan(request, Path())


NOT_STORED = {
    "clip: float = math.inf": "clip must be a finite number, not inf",
    "clip: float = math.nan": "clip must be a finite number, not nan",
    "limits: tuple = (1.0, math.inf)": "limits must be a finite number, not inf",
    "by_name: dict = field(default_factory=lambda: {'a': [math.nan]})": "not nan",
    "loss: object = math.sin": "loss cannot be stored in a record",
    "device: object = field(default_factory=lambda: np.float64)": "device cannot be stored",
    "names: frozenset = frozenset('ab')": "names cannot be stored in a record",
    "text: str = 'a\\ud800'": "text cannot be stored in a record",
    "def __post_init__(self): raise ValueError('the moon is full')": "the moon is full",
    "def __post_init__(self): 1 / 0": "division by zero",
    "size: int": "Settings must be a dataclass with defaults",
}


@pytest.mark.parametrize("settings", NOT_STORED)
def test_a_method_with_settings_that_cannot_be_used_is_refused_and_the_others_are_planned(
    tmp_path: Path, settings: str
) -> None:
    bad = method(tmp_path / "bad.py", settings)
    found = planned(bad, "naive", "ts-acl-r")
    assert [spec.method for spec in found.specs] == ["naive", "naive", "ts-acl-r", "ts-acl-r"]
    (reason,) = found.refused.values()
    assert NOT_STORED[settings] in reason
    assert "bad.py" in reason
    assert "\n" not in reason
    with pytest.raises(UserError, match=r"bad\.py"):
        planned(bad)


def test_a_value_from_the_command_line_is_refused_for_the_method_that_has_it() -> None:
    found = planned("mas", "ts-acl-r", strength="nan")
    assert [spec.method for spec in found.specs] == ["ts-acl-r"] * 2
    assert found.refused == {"mas": "mas: strength must be a finite number, not nan"}


def test_numbers_of_numpy_are_plain_settings(tmp_path: Path) -> None:
    mine = method(tmp_path / "mine.py", "rate: float = np.float64(0.5)\n    n: int = np.int32(3)")
    assert planned(mine).specs[0].settings == {"rate": 0.5, "n": 3}
    assert type(planned(mine).specs[0].settings["n"]) is int


def test_a_run_with_a_refused_method_does_the_others(tmp_path: Path) -> None:
    bad = method(tmp_path / "bad.py", "clip: float = math.inf")
    good = method(tmp_path / "good.py", "clip: float = 1.0")
    matrix = ["--method", f"{bad},{good}", "--dataset", "demo", "--seed", "1"]
    result = CliRunner().invoke(app, ["run", *matrix, "--results", str(tmp_path / "r")])
    assert result.exit_code == 1, result.output
    assert "clip must be a finite number, not inf; continuing with the other" in result.stderr
    assert "1 run(s) done, 1 method(s) could not be used" in result.stderr
    assert len(list((tmp_path / "r").glob("*/*/*/*.json"))) == 1


@pytest.mark.parametrize(
    ("count", "given", "words"),
    [
        (0, [], "--seeds must be at least 1"),
        (-5, [], "--seeds must be at least 1"),
        (MOST_RUNS + 1, [], "--seeds must be at most 1,000,000"),
        (10**18, [], "--seeds must be at most"),
        (None, [-1], "--seed must be between 0 and 4294967295"),
        (None, [2**32], "--seed must be between"),
        (3, [1], "either --seeds or --seed"),
    ],
)
def test_seeds_have_limits(count: int | None, given: list[int], words: str) -> None:
    with pytest.raises(UserError, match=words):
        choose_seeds(count, given)


def test_seeds() -> None:
    assert choose_seeds() == [1234, 1235, 1236, 1237, 1238]
    assert choose_seeds(2) == [1234, 1235]
    assert choose_seeds(given=[7, 2**32 - 1, 7]) == [7, 2**32 - 1]


@pytest.mark.parametrize("verb", ["run", "status", "tune"])
def test_more_runs_than_anybody_wants_are_refused_at_once(tmp_path: Path, verb: str) -> None:
    matrix = ["--method", "naive,er", "--dataset", "demo", "--seeds", str(MOST_RUNS)]
    result = CliRunner().invoke(app, [verb, *matrix, "--results", str(tmp_path)])
    assert result.exit_code == 2
    assert "more than 1,000,000 runs were asked for; use fewer --seeds" in result.stderr


@pytest.mark.parametrize("names", ["", ",,,", " , "])
@pytest.mark.parametrize("verb", ["run", "status", "tune"])
def test_no_method_at_all(tmp_path: Path, verb: str, names: str) -> None:
    matrix = ["--method", names, "--dataset", "demo"]
    result = CliRunner().invoke(app, [verb, *matrix, "--results", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr == "error: --method names no method; see: tsbench list methods\n"


@pytest.mark.parametrize("part", ["0/3", "4/3", "1/0", "-1/3", "a/b", "1", "", "1/3/5", "１/３"])
def test_parts_that_make_no_sense(part: str) -> None:
    with pytest.raises(UserError, match="is not i/n"):
        shard([1, 2, 3], part)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12])
def test_parts_are_disjoint_and_complete(n: int) -> None:
    parts = [shard(list(range(10)), f"{i}/{n}") for i in range(1, n + 1)]
    assert sorted(item for part in parts for item in part) == list(range(10))
    assert max(map(len, parts)) == math.ceil(10 / n)


def test_an_empty_part_has_nothing_to_do(tmp_path: Path) -> None:
    matrix = ["--method", "naive", "--dataset", "demo", "--seeds", "2", "--shard", "3/3"]
    result = CliRunner().invoke(app, ["run", *matrix, "--results", str(tmp_path / "r")])
    assert result.exit_code == 0, result.output
    assert "nothing to do" in result.stderr
    assert not (tmp_path / "r").exists()


def test_data_sets_each_once_and_in_order(tmp_path: Path) -> None:
    assert choose_datasets(["demo", "uwave", "demo"], tmp_path) == ["demo", "uwave"]
    assert len(choose_datasets(["all", "demo"], tmp_path)) == 6
    with pytest.raises(UserError, match="no data set is prepared"):
        choose_datasets([], tmp_path)
