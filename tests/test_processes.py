"""``tsbench run`` as a process: killed at any moment, twice at once, with methods that fail."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tsbench.bench.run import comparable
from tsbench.bench.store import Store

PROGRAM = str(Path(sys.executable).with_name("tsbench"))
MATRIX = ["--method", "naive,ts-acl-deep", "--dataset", "demo", "--seeds", "3", "--epochs", "2"]


def start(results: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [PROGRAM, "run", *arguments, "--results", str(results)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=300)
    return process.returncode, said


def run(results: Path, *arguments: str) -> tuple[int, str]:
    return finish(start(results, *arguments))


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
        if int(fields[3]) == session and "forkserver" in parent:
            found.append(int(path.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find the workers")
@pytest.mark.parametrize("victim", ["parent", "worker", "everybody"])
def test_killed_at_random_moments_nothing_is_lost(tmp_path: Path, undisturbed, victim) -> None:
    moments = random.Random(victim)
    kills = 0
    done_before: dict[str, dict] = {}
    for _ in range(6):
        process = start(tmp_path, *MATRIX, "--jobs", "2", "--retry-failed")
        while process.poll() is None and not workers(process.pid):
            time.sleep(0.05)
        time.sleep(moments.random())
        kills += victim != "worker" and process.poll() is None
        if victim == "parent":
            process.kill()
        elif victim == "worker":
            for pid in workers(process.pid)[:1]:
                os.kill(pid, signal.SIGKILL)
                kills += 1
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
        time.sleep(4)
        process.send_signal(number)
        code, said = finish(process)
        assert code == 130, said
        assert "goes on where it stopped" in said
        assert "Traceback" not in said
        time.sleep(0.5)
        assert not workers(process.pid), "no worker is left behind"
    assert not list(tmp_path.rglob("*.failed.json"))


PLUGINS = """
import os, signal, sys, time
import numpy as np
from tsbench.learn.method import Kept, Method

class Good(Method):
    def learn(self, task):
        print("this is no data")
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen)) + np.arange(self.seen)
    def kept(self):
        return Kept()

class Raises(Good):
    def learn(self, task):
        raise RuntimeError("no such luck")

class Killed(Good):
    def learn(self, task):
        os.kill(os.getpid(), signal.SIGKILL)

class Exits(Good):
    def learn(self, task):
        os._exit(3)

class Hangs(Good):
    def learn(self, task):
        time.sleep(600)

class WrongShape(Good):
    def predict(self, x):
        return np.zeros((len(x), 99))

class Lingers(Good):
    def learn(self, task):
        import threading
        threading.Thread(target=time.sleep, args=(60,)).start()
        super().learn(task)

class Forks(Good):
    def learn(self, task):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL)

class BadSettings(Good):
    class Settings:
        pass

class NoVerb(Method):
    def learn(self, task):
        pass

class NoMethod:
    pass
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    path = tmp_path / "Plug ins ü.py"
    path.write_text(PLUGINS)
    return path


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "naiv"], ["unknown method 'naiv'", "did you mean 'naive'"]),
        (["--method", "naive", "--dataset", "dmo"], ["did you mean 'demo'"]),
        (["--dataset", "demo", "--seeds", "0"], ["--seeds must be at least 1"]),
        (["--dataset", "demo", "--seed", "-1"], ["--seed"]),
        (["--dataset", "demo", "--jobs", "0"], ["--jobs must be at least 1"]),
        (["--dataset", "demo", "--threads", "0"], ["--threads must be at least 1"]),
        (["--dataset", "demo", "--epochs", "0"], ["--epochs must be at least 1"]),
        (["--dataset", "demo", "--timeout", "0"], ["--timeout"]),
        (["--dataset", "demo", "--shard", "3/2"], ["--shard"]),
        (["--dataset", "demo", "--device", "cuda"], ["--device cuda", "--device cpu"]),
        (["--dataset", "demo", "--device", "abacus"], ["unknown device"]),
        (["--dataset", "demo", "--set", "schedul=step10"], ["did you mean 'schedule'"]),
        (["--dataset", "demo", "--set", "batch=big"], ["batch must be of type int"]),
        (["--dataset", "demo", "--set", "batch"], ["key=value"]),
        (["--method", "naive", "--dataset", "uwave"], ["not prepared", "tsbench download uwave"]),
        (["--method", "naive"], ["no data set is prepared", "--dataset demo"]),
        (["--method", "PLUGIN:NoVerb", "--dataset", "demo"], ["lacks kept, predict"]),
        (["--method", "PLUGIN:NoMethod", "--dataset", "demo"], ["does not derive"]),
        (["--method", "PLUGIN:BadSettings", "--dataset", "demo"], ["must be a dataclass"]),
        (["--method", "PLUGIN:Good,COPY:Good", "--dataset", "demo"], ["rename one"]),
        (["--method", "QUITS:X", "--dataset", "demo"], ["failed to import", "SystemExit"]),
        (["--dataset", "demo", "--timeout", "nan"], ["--timeout"]),
        (["--method", "ts-acl", "--dataset", "demo", "--set", "gamma=-1"], ["gamma must be"]),
        (["--method", "PLUGIN:Nobody", "--dataset", "demo"], ["has no 'Nobody'"]),
        (["--method", "./gone.py:X", "--dataset", "demo"], ["does not exist"]),
        (["--method", "BROKEN:X", "--dataset", "demo"], ["failed to import", "ZeroDivisionError"]),
        (["--method", "naive", "--dataset", "demo", "--results", "FILE"], ["cannot be written"]),
    ],
)
def test_bad_input_is_told_in_a_line_or_two(tmp_path: Path, plugins, arguments, words) -> None:
    from typer.testing import CliRunner

    from tsbench.cli.main import app

    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "file").write_text("")
    (tmp_path / "quits.py").write_text("import sys; sys.exit(0)")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / plugins.name).write_text(PLUGINS + "# changed")
    names = {
        "PLUGIN": plugins,
        "COPY": tmp_path / "copy" / plugins.name,
        "BROKEN": tmp_path / "broken.py",
        "QUITS": tmp_path / "quits.py",
        "FILE": tmp_path / "file",
    }
    for name, path in names.items():
        arguments = [a.replace(name, str(path)) for a in arguments]
    if "--results" not in arguments:
        arguments = [*arguments, "--results", str(tmp_path / "r")]
    result = CliRunner().invoke(app, ["run", *arguments, "--data", str(tmp_path / "none")])
    assert result.exit_code == 2, result.output
    told = [line for line in result.stderr.splitlines() if not line.startswith("demo: ")]
    assert len(told) <= 2, told
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output


def test_the_live_display_shows_every_worker() -> None:
    from rich.console import Console

    from tsbench.bench.display import Display, Estimate
    from tsbench.bench.local import Event
    from tsbench.bench.spec import RunSpec

    specs = [RunSpec("demo", "d", "naive", seed) for seed in (1, 2, 3)]
    display = Display(specs, Estimate([]), workers=2)
    display.live = type("Live", (), {"console": Console(record=True, width=100)})()
    display.show(Event("started", specs[0]))
    display.show(Event("started", specs[1]))
    display.show(Event("progress", specs[1], {"task": 2, "epoch": 7, "loss": 0.125}))
    details = {"A_T": 50.0, "F_T": 12.5, "seconds": 61.0, "total": 62.0}
    display.show(Event("done", specs[0], details))
    console = Console(record=True, width=100)
    console.print(display._render())
    shown = console.export_text()
    assert "1/3 runs" in shown
    assert "about 1 min 2 s left" in shown
    assert "seed 2" in shown
    assert "task 3, epoch 7" in shown
    assert "loss 0.1250" in shown
    assert "seed 1" not in shown
    told = display.live.console.export_text()
    assert "[1/3] naive demo seed 1: A_T 50.00, F_T 12.50, 1 min 1 s" in told


@pytest.mark.slow
def test_demo_runs_every_method_and_ends_with_the_table(tmp_path: Path) -> None:
    from tsbench.learn.catalogue import METHODS

    started = time.monotonic()
    process = subprocess.run(
        [PROGRAM, "demo", "--results", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert time.monotonic() - started < 180
    for name in METHODS.builtin:
        assert f" {name} " in process.stdout
    records, _ = Store(tmp_path).records()
    assert len(records) == 3 * len(METHODS.builtin)
    accuracy = {r["label"]: r["result"]["A_T"] for r in records if r["spec"]["seed"] == 1234}
    assert accuracy["naive"] < 30, "it forgets nearly everything"
    assert 80 < accuracy["ts-acl"] < 100


def test_shards_are_disjoint_and_complete() -> None:
    from tsbench.bench.names import shard

    parts = [shard(list(range(10)), f"{i}/3") for i in (1, 2, 3)]
    assert sorted(n for part in parts for n in part) == list(range(10))


def test_force_does_finished_runs_again(tmp_path: Path) -> None:
    matrix = ["--method", "naive", "--dataset", "demo", "--seed", "1234", "--epochs", "1"]
    run(tmp_path, *matrix)
    (path,) = tmp_path.glob("*/*/*/*.json")
    before = path.stat().st_mtime_ns
    assert run(tmp_path, *matrix, "--force")[0] == 0
    assert path.stat().st_mtime_ns > before


def test_status_counts_and_estimates(tmp_path: Path) -> None:
    run(tmp_path, "--method", "naive", "--dataset", "demo", "--seeds", "2", "--epochs", "1")
    command = [PROGRAM, "status", "--method", "naive,ts-acl", "--dataset", "demo", "--seeds", "3",
               "--epochs", "1", "--results", str(tmp_path)]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "2 done, 0 failed, 4 missing; about" in shown
    told = json.loads(
        subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout
    )
    assert [r["state"] for r in told["runs"]] == ["done", "done"] + ["missing"] * 4
    assert told["seconds_left"] > 0
