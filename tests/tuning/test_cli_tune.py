"""``tsbench tune`` and ``tsbench run --tuned``: killed, twice at once, what they say."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from tsbench_process import finish, run_here, start
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.runs.store import Store

SEARCH = ["--method", "mas", "--dataset", "demo", "--seed", "1234", "--epochs", "1", "--jobs", "1"]


def chosen(results: Path) -> dict[str, bytes]:
    return {str(p.relative_to(results)): p.read_bytes() for p in results.glob("tuned/*/*/*/*")}


def trials(results: Path) -> int:
    return len(list(results.glob("val-ln-1/demo/*/*.json")))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished search, and what it printed."""
    results = tmp_path_factory.mktemp("undisturbed")
    done = CliRunner().invoke(app, ["tune", *SEARCH, "--json", "--results", str(results)])
    assert done.exit_code == 0, done.stderr
    return results, done.stdout


def test_a_search_tells_what_it_chose(undisturbed) -> None:
    results, out = undisturbed
    (row,) = json.loads(out)
    assert (row["method"], row["dataset"], row["seed"]) == ("mas", "demo", 1234)
    assert set(row["chosen"]) == {"schedule", "strength"}
    assert row["trials"] == trials(results) >= 5
    assert row["failed"] == 0
    assert list(chosen(results)) == ["tuned/ln-1/demo/mas/seed-1234.yaml"]
    records, problems = Store(results).records()
    assert not problems, "what was chosen is not taken for a record"
    assert row["A_T"] == max(r["result"]["A_T"] for r in records)
    assert {r["spec"]["stream"] for r in records} == {"val"}


def test_a_search_killed_at_any_moment_goes_on(tmp_path: Path, undisturbed) -> None:
    process = start(tmp_path, *SEARCH, verb="tune")
    while process.poll() is None and trials(tmp_path) < 2:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    before = {p: p.stat().st_mtime_ns for p in tmp_path.glob("val-ln-1/demo/*/*.json")}
    assert len(before) >= 2
    assert not chosen(tmp_path)
    code, said = run_here(tmp_path, *SEARCH, verb="tune")
    assert code == 0, said
    assert "runs are done already" in said
    assert chosen(tmp_path) == chosen(undisturbed[0])
    assert before.items() <= {p: p.stat().st_mtime_ns for p in before}.items()


def test_two_searches_at_once_share_the_trials(tmp_path: Path, undisturbed) -> None:
    other = start(tmp_path, *SEARCH, verb="tune")
    while other.poll() is None and not trials(tmp_path):
        time.sleep(0.05)
    codes, said = zip(run_here(tmp_path, *SEARCH, verb="tune"), finish(other), strict=True)
    assert codes == (0, 0), said
    assert chosen(tmp_path) == chosen(undisturbed[0])
    ends = [
        line
        for line in "\n".join(said).splitlines()
        if line.startswith("[") and "another" not in line
    ]
    assert len(ends) == trials(tmp_path), "every trial was done once"


def test_tuned_runs_are_told_apart(undisturbed) -> None:
    results, out = undisturbed
    (row,) = json.loads(out)
    runs = ["--method", "mas", "--dataset", "demo", "--seed", "1234", "--epochs", "1"]
    done = CliRunner().invoke(app, ["run", *runs, "--tuned", "--results", str(results)])
    assert done.exit_code == 0, done.stderr
    assert "MAS (tuned)" in done.stdout
    assert "1 run(s) with tuned settings" in done.stderr
    (path,) = results.glob("exp-ln-1/demo/*/*.json")
    assert path.parent.name == "mas+tuned"
    spec = json.loads(path.read_text())["spec"]
    assert spec["tuned"]["A_T"] == row["A_T"]
    assert spec["tuned"]["chosen"] == row["chosen"]
    assert spec["settings"].items() >= row["chosen"].items()
    states = {}
    for option in ([], ["--tuned"]):
        command = ["status", *runs, *option, "--json", "--results", str(results)]
        told = json.loads(CliRunner().invoke(app, command).stdout)
        states[tuple(option)] = [(r["method"], r["state"]) for r in told["runs"]]
    assert states == {(): [("mas", "missing")], ("--tuned",): [("mas+tuned", "done")]}


def test_a_run_that_was_not_tuned_says_what_to_do(tmp_path: Path) -> None:
    runs = ["--method", "er", "--dataset", "demo", "--seed", "7", "--tuned"]
    result = CliRunner().invoke(app, ["run", *runs, "--results", str(tmp_path)])
    assert result.exit_code == 2
    assert "not tuned yet: er demo seed 7" in result.stderr
    assert "tsbench tune --method er --dataset demo --seed 7" in result.stderr
    assert "Traceback" not in result.output


FAILS = """
from tsbench.learn.gradient import GradientMethod

class Fails(GradientMethod):
    def learn(self, task):
        raise FloatingPointError("the loss became nan")
"""


def test_a_search_without_a_trial_that_works(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FAILS)
    search = ["--method", f"{tmp_path}/own.py:Fails", "--dataset", "demo", "--seed", "1"]
    result = CliRunner().invoke(app, ["tune", *search, "--results", str(tmp_path / "r")])
    assert result.exit_code == 1, result.output
    assert "every trial failed" in result.stdout
    assert "0 chosen, 3 trial(s) FAILED" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "naiv", "--dataset", "demo"], "did you mean 'naive'"),
        (["--dataset", "demo", "--seeds", "0"], "--seeds must be at least 1"),
        (["--dataset", "demo", "--epochs", "0"], "--epochs must be at least 1"),
        (["--dataset", "demo", "--jobs", "0"], "--jobs must be at least 1"),
        (["--dataset", "uwave"], "tsbench download uwave"),
    ],
)
def test_bad_input_is_told_in_a_line(tmp_path: Path, arguments, words) -> None:
    places = ["--results", str(tmp_path / "r"), "--data", str(tmp_path / "none")]
    result = CliRunner().invoke(app, ["tune", *arguments, *places])
    assert result.exit_code == 2, result.output
    assert words in result.stderr
    assert "Traceback" not in result.output
