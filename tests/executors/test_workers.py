"""Worker processes: what they leave behind, how they end, and where they can be started."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace

import pytest
from handmade_records import finished
from misbehaving_methods import PLUGINS
from process_tree import alive, servers, workers
from tsbench_process import finish, run, run_here, start

from tsbench.disk import LEFTOVER_AGE
from tsbench.executors.local import LocalExecutor
from tsbench.executors.workers import while_wanted
from tsbench.runs.machine import Machine
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

MORE = """
import subprocess
from pathlib import Path
HERE = Path(__file__).parent

class Slow(Good):
    def learn(self, task):
        time.sleep(0.5)
        super().learn(task)

class Starts(Good):
    def learn(self, task):
        if task.index == 0:
            child = subprocess.Popen(["sleep", "600"])
            fork = os.fork()
            if fork == 0:
                time.sleep(600)
            (HERE / "pids").write_text(f"{child.pid} {fork}")
        super().learn(task)

class StartsAndDies(Starts):
    def learn(self, task):
        super().learn(task)
        os.kill(os.getpid(), signal.SIGKILL)

class StartsAndHangs(Starts):
    def learn(self, task):
        super().learn(task)
        time.sleep(600)

class LeavesQuietly(Good):
    def learn(self, task):
        os._exit(0)

class RaisesBase(Good):
    def learn(self, task):
        raise type("Unusual", (BaseException,), {})("not an Exception")

class Interrupts(Good):
    def learn(self, task):
        raise KeyboardInterrupt("from the method")

class DiesAfterStoring(Good):
    def learn(self, task):
        from tsbench.runs.store import Store
        save = Store.save

        def save_and_die(*args):
            save(*args)
            os.kill(os.getpid(), signal.SIGKILL)

        Store.save = save_and_die
        super().learn(task)

class SystemExits(Good):
    def learn(self, task):
        sys.exit("enough")

class BreaksAPipe(Good):
    def learn(self, task):
        raise BrokenPipeError("of the method's own")

class Unspeakable(Good):
    def learn(self, task):
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError
        raise Mute

class Surrogates(Good):
    def learn(self, task):
        raise RuntimeError("half a letter: \\ud800")
"""


@pytest.fixture
def methods(tmp_path: Path) -> Path:
    path = tmp_path / "m.py"
    path.write_text(PLUGINS + MORE)
    return path


def matrix(methods: Path, *names: str, seeds: int = 1) -> list[str]:
    chosen = ",".join(f"{methods}:{name}" for name in names)
    return ["--method", chosen, "--dataset", "demo", "--seeds", str(seeds)]


def failures(results: Path) -> dict[str, dict]:
    return {r["label"]: r for r in Store(results).records()[0] if r["status"] != "ok"}


def wait_for(condition, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_ctrl_c_in_the_first_seconds_prints_no_traceback(
    tmp_path: Path, methods: Path, delay: float
) -> None:
    process = start(tmp_path / "r", *matrix(methods, "Hangs"))
    wait_for(lambda: servers(process.pid))
    (server,) = servers(process.pid)
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    code, said = finish(process)
    assert code == 130, said
    assert "Traceback" not in said
    wait_for(lambda: not alive(server), 10)
    assert not failures(tmp_path / "r")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("victim", "number", "reason"),
    [
        ("server", signal.SIGKILL, "the worker processes were ended from outside"),
        ("worker", signal.SIGTERM, "ended from outside by SIGTERM"),
    ],
)
def test_a_run_ended_from_outside_is_lost_and_repeated_by_the_same_command(
    tmp_path: Path, methods: Path, victim: str, number: signal.Signals, reason: str
) -> None:
    results = tmp_path / "r"
    process = start(results, *matrix(methods, "Slow", seeds=3), "--jobs", "1")
    wait_for(lambda: workers(process.pid))
    time.sleep(0.5)
    (worker,) = workers(process.pid)
    os.kill(worker if victim == "worker" else servers(process.pid)[0], number)
    code, said = finish(process)
    assert code == 1, said
    assert reason in said
    assert "2 run(s) done, 1 FAILED" in said, "the others go on, with a new server if need be"
    assert "Traceback" not in said
    assert not alive(worker)
    (failure,) = failures(results).values()
    assert failure["lost"]
    code, said = run_here(results, *matrix(methods, "Slow", seeds=3))
    assert code == 0, said
    assert "2 of 3 runs are done already" in said
    assert not failures(results)


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path, methods: Path) -> None:
    process = start(tmp_path / "r", *matrix(methods, "Hangs", seeds=2), "--jobs", "2")
    wait_for(lambda: len(workers(process.pid)) == 2)
    left = [*servers(process.pid), *workers(process.pid)]
    process.kill()
    process.communicate()
    wait_for(lambda: not any(map(alive, left)), 5)


def test_a_server_that_is_still_importing_ends_with_its_parent() -> None:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        with while_wanted(theirs):
            time.sleep(60)
        os._exit(1)
    theirs.close()
    time.sleep(0.3)
    assert alive(pid)
    ours.close()
    wait_for(lambda: not alive(pid), 20)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.slow
def test_workers_end_although_parent_and_server_are_killed(tmp_path: Path, methods: Path) -> None:
    process = start(tmp_path / "r", *matrix(methods, "Hangs"))
    wait_for(lambda: workers(process.pid))
    time.sleep(1)
    (server,), (worker,) = servers(process.pid), workers(process.pid)
    os.kill(process.pid, signal.SIGSTOP)  # so that it cannot do anything about it
    os.kill(server, signal.SIGKILL)
    process.kill()
    process.communicate()
    wait_for(lambda: not alive(worker), 5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "code"), [("Starts", 0), ("StartsAndDies", 1), ("StartsAndHangs", 1)]
)
def test_what_a_method_starts_ends_with_its_run(
    tmp_path: Path, methods: Path, name: str, code: int
) -> None:
    limit = ["--timeout", "0.02"] if name == "StartsAndHangs" else []
    ended, said = run_here(tmp_path / "r", *matrix(methods, name), *limit)
    assert ended == code, said
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    wait_for(lambda: not any(map(alive, pids)), 5)


@pytest.mark.slow
def test_unusual_ends_are_recorded_with_their_reason(tmp_path: Path, methods: Path) -> None:
    reasons = {
        "LeavesQuietly": "the method ended its process with exit code 0",
        "RaisesBase": "Unusual: not an Exception",
        "Interrupts": "KeyboardInterrupt: from the method",
        "SystemExits": "SystemExit: enough",
        "BreaksAPipe": "BrokenPipeError: of the method's own",
        "Unspeakable": "Mute: its message cannot be shown",
        "Surrogates": r"RuntimeError: half a letter: \ud800",
    }
    code, said = run_here(tmp_path / "r", *matrix(methods, *reasons, "Good", "DiesAfterStoring"))
    assert code == 1, said
    assert "Traceback" not in said
    assert "2 run(s) done, 7 FAILED" in said
    found = failures(tmp_path / "r")
    assert set(found) == {f"m-{name}" for name in reasons}
    for name, reason in reasons.items():
        assert reason in found[f"m-{name}"]["error"]
        assert not found[f"m-{name}"]["lost"]


def killed_worker(messages: list) -> SimpleNamespace:
    """A worker that sent these messages and was then ended from outside."""
    ours, theirs = Pipe()
    for message in messages:
        theirs.send(message)
    theirs.close()
    return SimpleNamespace(
        connection=ours, reports=Pipe()[0], end=lambda: None, exit_code=lambda: -signal.SIGTERM
    )


@pytest.mark.parametrize(("messages", "kind"), [([("began", {})], "done"), ([], "elsewhere")])
def test_a_worker_that_is_killed_beside_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: list, kind: str
) -> None:
    """It has stored the record itself if it had begun; if not, another command has."""
    spec = RunSpec(dataset="demo", data_digest="d", method="naive", seed=1234)
    store = Store(tmp_path)

    def start_worker(*_args):
        store.save(spec, finished(spec))
        return killed_worker(messages)

    monkeypatch.setattr("tsbench.executors.workers.start_worker", start_worker)
    started, event = LocalExecutor(store, Machine(tmp_path)).run([spec])
    assert (started.kind, event.kind) == ("started", kind)


@pytest.mark.parametrize(("stores", "kind"), [(True, "done"), (False, "failed")])
def test_a_repeated_run_that_is_killed_beside_its_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stores: bool, kind: str
) -> None:
    """With --force it is done if the worker had stored the new record, and only then."""
    spec = RunSpec(dataset="demo", data_digest="d", method="naive", seed=1234)
    store = Store(tmp_path)
    old, new = finished(spec, seconds=10), finished(spec, seconds=11)
    store.save(spec, old)

    def start_worker(*_args):
        if stores:
            store.save(spec, new)
        return killed_worker([("began", {})])

    monkeypatch.setattr("tsbench.executors.workers.start_worker", start_worker)
    _, event = LocalExecutor(store, Machine(tmp_path, force=True)).run([spec])
    assert event.kind == kind
    assert store.done(spec) == (new if stores else old)


def test_a_long_temporary_folder(
    tmp_path: Path, methods: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 130)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    code, said = run(tmp_path / "r", *matrix(methods, "Good"))
    assert code == 0, said


def test_old_leftovers_of_killed_processes_are_removed(tmp_path: Path, methods: Path) -> None:
    results = tmp_path / "r"
    name = f".x.npz.{'0' * 32}.tmp"
    old = [results / ".shared" / name, results / "exp-ln-100" / "demo" / "er" / name]
    kept = [results / ".shared" / f".y.npz.{'0' * 32}.tmp", results / ".shared" / ".mine.tmp"]
    for path in [*old, *kept]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    long_ago = time.time() - LEFTOVER_AGE - 60
    for path in [*old, kept[1]]:
        os.utime(path, (long_ago, long_ago))
    assert run_here(results, *matrix(methods, "Good"))[0] == 0
    assert not any(path.exists() for path in old)
    assert all(path.exists() for path in kept), "one may still be written, one is not ours"
