"""``tsbench run`` as a process: killed at any moment, twice at once, with methods that fail."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest
from program import PLUGINS, finish, run, start

from tsbench.bench.store import Store, comparable

MATRIX = ["--method", "naive,ts-acl-deep", "--dataset", "demo", "--seeds", "3", "--epochs", "2"]


def outcomes(results: Path) -> dict[str, dict]:
    records, problems = Store(results).records()
    assert not problems
    return {f"{r['label']} {r['spec']['seed']}": comparable(r) for r in records}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    results = tmp_path_factory.mktemp("undisturbed")
    code, said = run(results, *MATRIX, "--jobs", "1")
    assert code == 0, said
    found = outcomes(results)
    assert len(found) == 6
    return found


def test_two_workers_give_the_same_records(tmp_path: Path, undisturbed) -> None:
    assert run(tmp_path, *MATRIX, "--jobs", "2")[0] == 0
    assert outcomes(tmp_path) == undisturbed


def test_a_second_run_does_nothing(tmp_path: Path, undisturbed) -> None:
    run(tmp_path, *MATRIX)
    files = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/*/*/*.json")}
    code, said = run(tmp_path, *MATRIX)
    assert code == 0
    assert "6 of 6 runs are done already" in said
    assert files == {p: p.stat().st_mtime_ns for p in tmp_path.glob("*/*/*/*.json")}


def workers(session: int) -> list[int]:
    """Processes of a session that are busy with a run: children of its fork server."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
            parent = (Path("/proc") / fields[1] / "cmdline").read_text()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z" and "forkserver" in parent:
            found.append(int(path.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find the workers")
@pytest.mark.parametrize("victim", ["parent", "worker", "everybody"])
def test_killed_at_random_moments_nothing_is_lost(tmp_path: Path, undisturbed, victim) -> None:
    moments = random.Random(victim)
    kills = 0
    done_before: dict[str, dict] = {}
    for _ in range(4):
        process = start(tmp_path, *MATRIX, "--jobs", "2", "--retry-failed")
        while process.poll() is None and not workers(process.pid):
            time.sleep(0.05)
        time.sleep(
            moments.random() * (0.3 if victim == "worker" else 1)
        )  # a run takes half a second
        kills += victim != "worker" and process.poll() is None
        if victim == "parent":
            process.kill()
        elif victim == "worker":
            for _ in range(3):
                while process.poll() is None and not (alive := workers(process.pid)):
                    time.sleep(0.02)
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(alive[0], signal.SIGKILL)
                        kills += 1
                time.sleep(moments.random() * 0.3)
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=120)
        records, problems = Store(tmp_path).records()
        assert not problems, "every record on disk is whole"
        now = {
            f"{r['label']} {r['spec']['seed']}": comparable(r)
            for r in records
            if r["status"] == "ok"
        }
        assert done_before.items() <= now.items(), "finished runs stay"
        done_before = now
    assert kills >= 2
    code, said = run(tmp_path, *MATRIX, "--retry-failed")
    assert code == 0, said
    assert outcomes(tmp_path) == undisturbed
    assert not list(tmp_path.rglob("*.tmp")) or victim != "worker"


def test_two_commands_at_once_do_each_run_once(tmp_path: Path, undisturbed) -> None:
    processes = [start(tmp_path, *MATRIX, "--jobs", "1") for _ in range(2)]
    said = ""
    for process in processes:
        code, text = finish(process)
        assert code == 0, text
        said += text
    assert outcomes(tmp_path) == undisturbed
    finished = [line for line in said.splitlines() if line.startswith("[")]
    done_here = [line for line in finished if "another process" not in line]
    assert len(done_here) == 6, said


def test_ctrl_c_and_sigterm_stop_cleanly(tmp_path: Path) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(tmp_path, *MATRIX, "--epochs", "50")
        while process.poll() is None and not workers(process.pid):
            time.sleep(0.05)
        process.send_signal(number)
        code, said = finish(process)
        assert code == 130, said
        assert "goes on where it stopped" in said
        assert "Traceback" not in said
        time.sleep(0.5)
        assert not workers(process.pid), "no worker is left behind"
    assert not list(tmp_path.rglob("*.failed.json"))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Raises", "RuntimeError: no such luck"),
        ("Killed", "killed by SIGKILL (out of memory?)"),
        ("Forks", "killed by SIGKILL (out of memory?)"),
        ("Exits", "exit code 3"),
        ("Hangs", "timed out after 0.05 min"),
        ("WrongShape", "a score for every class seen"),
    ],
)
def test_a_run_that_fails_is_recorded_and_the_others_go_on(
    tmp_path: Path, plugins: Path, name: str, reason: str
) -> None:
    results = tmp_path / "results"
    matrix = ["--method", f"{plugins}:{name},{plugins}:Good", "--dataset", "demo", "--seed", "1234"]
    timeout = ["--timeout", "0.05"] if name == "Hangs" else []
    code, said = run(results, *matrix, *timeout)
    assert code == 1, said
    assert reason in said
    assert "1 FAILED" in said
    records, _ = Store(results).records()
    by_status = {r["status"]: r for r in records}
    assert reason in by_status["failed"]["error"]
    assert by_status["ok"]["label"] == "Plug_ins_ü-Good"
    if name == "Raises":
        assert "no such luck" in by_status["failed"]["details"]
        code, said = run(results, *matrix)
        assert code == 1
        assert "--retry-failed" in said
        plugins.write_text(
            PLUGINS.replace('raise RuntimeError("no such luck")', "super().learn(task)")
        )
        assert run(results, *matrix, "--retry-failed")[0] == 0, "a changed file is another run"
        assert not list(results.rglob("*.failed.json"))


def test_a_worker_that_does_not_leave_is_shown_out(tmp_path: Path, plugins: Path) -> None:
    started = time.monotonic()
    code, said = run(tmp_path / "r", "--method", f"{plugins}:Lingers", "--dataset", "demo",
                     "--seed", "1")  # fmt: skip
    assert code == 0, said
    assert time.monotonic() - started < 40


def test_a_failure_that_cannot_be_stored_does_not_stop_the_others(tmp_path: Path, plugins) -> None:
    blocked = tmp_path / "r" / "exp-ln-100" / "demo" / "Plug_ins_ü-Raises"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder should be")
    methods = f"{plugins}:Raises,{plugins}:Good"
    code, said = run(tmp_path / "r", "--method", methods, "--dataset", "demo", "--seed", "1")
    assert code == 1
    assert "could not be stored" in said
    assert "Traceback" not in said
    assert "1 run(s) done" in said


def test_what_a_method_prints_is_no_data(tmp_path: Path, plugins: Path) -> None:
    process = start(
        tmp_path / "r", "--method", f"{plugins}:Good", "--dataset", "demo", "--seed", "1"
    )
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "this is no data" not in out
    assert "Good" in out
