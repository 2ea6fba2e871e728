"""``tsbench run --executor slurm`` against a real Slurm of one host."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurm_cluster as cluster
from slurm_cluster import Slurm, until
from tsbench_process import finish, outcomes, start
from typer.testing import CliRunner

from tsbench.cli.main import app

METHODS = """
import os, time
import numpy as np
from pathlib import Path
from tsbench.learn.method import Kept, Method

class Quick(Method):
    def learn(self, task):
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen)) + np.arange(self.seen)
    def kept(self):
        return Kept()

class Waits(Quick):
    def learn(self, task):
        here = Path(__file__).parent
        (here / "waits").touch()
        while not (here / "go").exists():
            time.sleep(0.05)
        super().learn(task)

class Raises(Quick):
    def learn(self, task):
        print("a word before the end")
        raise RuntimeError("no such luck")
"""


@pytest.fixture(scope="session")
def one_host() -> Iterator[Slurm]:
    if reason := cluster.missing():
        pytest.skip(reason)
    with cluster.running() as found:
        yield found


@pytest.fixture
def slurm(one_host: Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    for key, value in one_host.environment.items():
        monkeypatch.setenv(key, value)
    yield one_host
    one_host.clear()


@pytest.fixture
def methods(tmp_path: Path) -> Path:
    """A file of methods in a folder of its own, and beside it what they wait for."""
    folder = tmp_path / "100% méthods"
    folder.mkdir()
    path = folder / "m.py"
    path.write_text(METHODS)
    return path


def matrix(methods: Path, *names: str, seeds: int = 1) -> list[str]:
    chosen = ",".join(f"{methods}:{name}" for name in names)
    return ["--method", chosen, "--dataset", "demo", "--seeds", str(seeds)]


def here(results: Path, *arguments: str) -> tuple[int, str]:
    """The command in this process, which has torch imported."""
    ended = CliRunner().invoke(app, ["run", *arguments, "--results", str(results)])
    assert ended.exception is None or isinstance(ended.exception, SystemExit), ended.exc_info
    return ended.exit_code, ended.stderr


def queue(slurm: Slurm) -> list[str]:
    return slurm.ask("squeue", "--noheader", "--array", "--format=%F_%K %T").splitlines()


def processes(word: str) -> list[int]:
    """Those with a word in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word in path.read_text(errors="replace"):
                found.append(int(path.parent.name))
    return found


def status(results: Path, *arguments: str) -> list[str]:
    command = ["status", *arguments, "--results", str(results), "--json"]
    printed = CliRunner().invoke(app, command).stdout
    return [run["state"] for run in json.loads(printed)["runs"]]


@pytest.mark.slow
def test_records_are_those_of_the_local_executor(tmp_path: Path, slurm: Slurm) -> None:
    runs = ["--method", "naive,ts-acl-deep", "--dataset", "demo", "--seeds", "2", "--epochs", "1"]
    assert here(tmp_path / "local", *runs)[0] == 0
    code, said = here(tmp_path / "slurm", *runs, "--executor", "slurm", "--slurm", "pack=2")
    assert code == 0, said
    assert "submitted 4 run(s) in 2 job(s)" in said
    assert "4 run(s) done" in said
    assert len(outcomes(tmp_path / "local")) == 4
    assert outcomes(tmp_path / "slurm") == outcomes(tmp_path / "local")
    left = [path.name for path in (tmp_path / "slurm" / ".slurm").iterdir()]
    assert left == ["lock"], "what is over is cleared away"
    code, said = here(tmp_path / "slurm", *runs, "--executor", "slurm")
    assert code == 0, said
    assert "4 of 4 runs are done already" in said
    assert "submitted" not in said


@pytest.mark.slow
def test_stopped_and_repeated_it_submits_nothing_twice(
    tmp_path: Path, slurm: Slurm, methods: Path
) -> None:
    results = tmp_path / "100% r"
    runs = matrix(methods, "Waits", seeds=2)
    command = [*runs, "--executor", "slurm", "--jobs", "1"]
    process = start(results, *command)
    until((methods.parent / "waits").exists)
    until(lambda: status(results, *runs) == ["running", "queued"])
    process.send_signal(signal.SIGINT)
    code, said = finish(process)
    assert code == 130
    assert "submitted 2 run(s) in 2 job(s)" in said
    assert "2 run(s) stay with Slurm" in said
    assert "scancel --name tsbench-" in said
    assert "same command to resume" in said
    before = queue(slurm)
    assert len(before) == 2

    again = start(results, *command)
    until(lambda: "wait or run in Slurm already" in again.stderr.readline())
    assert [line.split()[0] for line in queue(slurm)] == [line.split()[0] for line in before]
    (methods.parent / "go").touch()
    code, said = finish(again)
    assert code == 0, said
    assert "submitted" not in said
    assert "2 run(s) done" in said
    assert status(results, *runs) == ["done", "done"]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["cancelled", "killed", "unwatched"])
def test_after_a_job_is_ended_the_same_command_does_only_the_rest(
    tmp_path: Path, slurm: Slurm, methods: Path, end: str
) -> None:
    results = tmp_path / "r"
    runs = matrix(methods, "Quick", "Waits", seeds=2)
    command = [*runs, "--executor", "slurm", "--slurm", "pack=4"]
    process = start(results, *command)
    until((methods.parent / "waits").exists)
    if end == "unwatched":
        process.kill()
    if end == "killed":
        for pid in processes(f"{results}/.slurm/"):
            os.kill(pid, signal.SIGKILL)
    else:
        slurm.ask("scancel", "--user=root")
    code, said = finish(process)
    (done,) = results.glob("exp-*/demo/m-Quick/seed-1234.json")
    written = done.stat().st_mtime_ns
    if end == "unwatched":
        until(lambda: not queue(slurm))
        assert status(results, *runs) == ["done", "missing", "missing", "missing"]
    else:
        assert code == 1
        assert "m-Waits demo seed 1234: FAILED: the job ended early" in said
        assert ("CANCELLED AT" in said) == (end == "cancelled")
        assert "1 run(s) done, 3 FAILED" in said
        assert len(list(results.rglob("*.failed.json"))) == 3
    (methods.parent / "go").touch()
    code, said = here(results, *command)
    assert code == 0, said
    assert "1 of 4 runs are done already" in said
    assert "submitted 3 run(s) in 1 job(s)" in said
    assert ("; repeating 3 run(s)" in said) == (end == "unwatched")
    assert done.stat().st_mtime_ns == written
    assert not list(results.rglob("*.failed.json"))


@pytest.mark.slow
def test_a_failed_run_is_shown_with_its_log(tmp_path: Path, slurm: Slurm, methods: Path) -> None:
    results = tmp_path / "r"
    command = [*matrix(methods, "Raises", "Quick"), "--executor", "slurm", "--slurm", "pack=2"]
    code, said = here(results, *command)
    assert code == 1
    assert "m-Raises demo seed 1234: FAILED: RuntimeError: no such luck" in said
    assert 'raise RuntimeError("no such luck")' in said
    assert "1 run(s) done, 1 FAILED" in said
    (log,) = results.glob(".slurm/*/0.log")
    assert f"log: {log}" in said
    assert "a word before the end" in log.read_text()
    code, said = here(results, *command)
    assert code == 1
    assert "--retry-failed repeats it" in said
    assert "submitted" not in said


NO_LOCKS = """
import errno, fcntl
def flock(handle, operation):
    raise OSError(errno.ENOLCK, "no locks on this file system")
fcntl.flock = flock
"""


@pytest.mark.slow
@pytest.mark.parametrize("locks", [True, False])
def test_two_commands_at_once(
    tmp_path: Path, slurm: Slurm, methods: Path, monkeypatch: pytest.MonkeyPatch, locks: bool
) -> None:
    if not locks:
        (tmp_path / "sitecustomize.py").write_text(NO_LOCKS)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = [*matrix(methods, "Quick", seeds=2), "--executor", "slurm", "--slurm", "pack=2"]
    other = start(tmp_path / "r", *command)
    until(lambda: other.poll() is not None or (tmp_path / "r" / ".slurm").exists())
    ended = [here(tmp_path / "r", *command), finish(other)]
    assert [code for code, _ in ended] == [0, 0], ended
    assert len(outcomes(tmp_path / "r")) == 2
    if locks:
        assert sum(said.count("submitted 2 run(s)") for _, said in ended) == 1, ended


@pytest.mark.slow
def test_a_node_that_differs_is_refused(tmp_path: Path, slurm: Slurm, methods: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import tsbench; tsbench.__version__ = '9.9'")
    there = f"export=ALL,PYTHONPATH={tmp_path}"
    code, said = here(
        tmp_path / "r", *matrix(methods, "Quick"), "--executor", "slurm", "--slurm", there
    )
    assert code == 1
    assert "has tsbench 9.9" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("partition=nope", "invalid partition specified: nope"),
        ("gres=gpu:99", "Invalid generic resource"),
        ("foo=1", "unrecognized option '--foo=1'"),
        ("array=0-5", "is set by tsbench"),
        ("-p=main", "is not the name of an option"),
        ("pack=0", "pack must be a whole number from 1"),
        ("cpus-per-task=many", "cpus-per-task must be a whole number"),
    ],
)
def test_bad_options_are_reported_in_one_line(
    tmp_path: Path, slurm: Slurm, methods: Path, option: str, words: str
) -> None:
    code, said = here(
        tmp_path / "r", *matrix(methods, "Quick"), "--executor", "slurm", "--slurm", option
    )
    assert code == 2
    assert words in said
    assert "Traceback" not in said
    assert not queue(slurm)
    assert not list((tmp_path / "r").glob(".slurm/*/*"))


def test_without_slurm_it_is_reported_in_one_line(
    tmp_path: Path, methods: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, said = here(tmp_path / "r", *matrix(methods, "Quick"), "--executor", "slurm")
    assert code == 2
    assert "there is no sbatch on this machine" in said
