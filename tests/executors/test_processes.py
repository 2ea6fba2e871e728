"""``tsbench run`` as a process: stopped, twice at once, with methods that fail."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from misbehaving_methods import PLUGINS
from process_tree import alive, workers
from tsbench_process import finish, outcomes, run_here, start

from tsbench.runs.store import Store

MATRIX = ["--method", "naive,ts-acl-deep", "--dataset", "demo", "--seeds", "3", "--epochs", "2"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    results = tmp_path_factory.mktemp("undisturbed")
    code, said = run_here(results, *MATRIX, "--jobs", "1")
    assert code == 0, said
    found = outcomes(results)
    assert len(found) == 6
    return found


def test_two_workers_give_the_same_records_and_a_second_run_does_nothing(
    tmp_path: Path, undisturbed
) -> None:
    assert run_here(tmp_path, *MATRIX, "--jobs", "2")[0] == 0
    assert outcomes(tmp_path) == undisturbed
    files = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/*/*/*.json")}
    code, said = run_here(tmp_path, *MATRIX)
    assert code == 0
    assert "6 of 6 runs are done already" in said
    assert files == {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/*/*/*.json")}


def test_two_commands_at_once_do_each_run_once(tmp_path: Path, undisturbed) -> None:
    other = start(tmp_path, *MATRIX, "--jobs", "1")
    while other.poll() is None and not (tmp_path / ".locks").exists():
        time.sleep(0.02)
    codes, texts = zip(run_here(tmp_path, *MATRIX, "--jobs", "1"), finish(other), strict=True)
    said = "\n".join(texts)
    assert codes == (0, 0), said
    assert outcomes(tmp_path) == undisturbed
    finished = [line for line in said.splitlines() if line.startswith("[")]
    done_here = [line for line in finished if "another process" not in line]
    assert len(done_here) == 6, said


def test_ctrl_c_and_sigterm_stop_cleanly(tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(tmp_path, *MATRIX, "--epochs", "50")
        while process.poll() is None and not workers(process.pid):
            time.sleep(0.05)
        started = workers(process.pid)
        process.send_signal(number)
        code, said = finish(process)
        assert code == 130, said
        assert "same command to resume" in said
        assert "Traceback" not in said
        time.sleep(0.5)
        assert not [pid for pid in started if alive(pid)], "no worker is left behind"
    assert not list(tmp_path.rglob("*.failed.json"))


REASONS = {
    "Raises": "RuntimeError: no such luck",
    "Killed": "killed by SIGKILL (out of memory?)",
    "Forks": "killed by SIGKILL (out of memory?)",
    "Exits": "exit code 3",
    "WrongShape": "a score for every class seen",
}


def matrix(plugins: Path, *names: str) -> list[str]:
    chosen = ",".join(f"{plugins}:{name}" for name in names)
    return ["--method", chosen, "--dataset", "demo", "--seed", "1234"]


def test_runs_that_fail_are_recorded_and_the_others_go_on(tmp_path: Path, plugins: Path) -> None:
    command = matrix(plugins, *REASONS, "Good")
    code, said = run_here(tmp_path, *command)
    assert code == 1, said
    assert "1 run(s) done, 5 FAILED" in said
    records = {r["label"]: r for r in Store(tmp_path).records()[0]}
    assert records["Plug_ins_ü-Good"]["status"] == "ok"
    for name, reason in REASONS.items():
        assert reason in said
        assert reason in records[f"Plug_ins_ü-{name}"]["error"]
    assert "no such luck" in records["Plug_ins_ü-Raises"]["details"]
    code, said = run_here(tmp_path, *command)
    assert code == 1
    assert said.count("--retry-failed repeats it") == 5


def test_a_run_that_hangs_is_ended(tmp_path: Path, plugins: Path) -> None:
    code, said = run_here(tmp_path, *matrix(plugins, "Hangs"), "--timeout", "0.02")
    assert code == 1, said
    assert "FAILED: timed out after 0.02 min" in said


def test_a_failed_run_is_repeated_on_request(tmp_path: Path, plugins: Path) -> None:
    assert run_here(tmp_path, *matrix(plugins, "Raises"))[0] == 1
    plugins.write_text(PLUGINS.replace('raise RuntimeError("no such luck")', "super().learn(task)"))
    code, _ = run_here(tmp_path, *matrix(plugins, "Raises"), "--retry-failed")
    assert code == 0, "a changed file is another run"
    assert not list(tmp_path.rglob("*.failed.json"))


def test_a_worker_that_does_not_leave_is_shown_out(tmp_path: Path, plugins: Path) -> None:
    started = time.monotonic()
    code, said = run_here(tmp_path / "r", *matrix(plugins, "Lingers"))
    assert code == 0, said
    assert time.monotonic() - started < 40


def test_a_failure_that_cannot_be_stored_and_what_a_method_prints(
    tmp_path: Path, plugins: Path
) -> None:
    blocked = tmp_path / "r" / "exp-ln-100" / "demo" / "Plug_ins_ü-Raises"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder should be")
    process = start(tmp_path / "r", *matrix(plugins, "Raises", "Good"))
    out, said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "could not be stored" in said
    assert "Traceback" not in said
    assert "1 run(s) done" in said, "the others are not stopped"
    assert "this is no data" not in out
    assert "Good" in out
