"""``--executor ray`` on a real cluster: same records, lost nodes, lost drivers, nodes refused."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from misbehaving_methods import PLUGINS
from process_tree import SERVER
from ray_cluster import RayCluster, processes, ray_cluster
from tsbench_process import finish, outcomes, run, run_here, start

from tsbench.runs.store import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and 127.0.0.x"),
]

MATRIX = ["--method", "naive,ts-acl-deep", "--dataset", "demo", "--seeds", "3", "--epochs", "1"]
SLOW = """
class Slow(Good):
    def learn(self, task):
        time.sleep(0.3)
        super().learn(task)

class Sees(Good):
    def learn(self, task):
        raise RuntimeError("GPU " + os.environ["CUDA_VISIBLE_DEVICES"])
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    with (
        ray_cluster(tmp_path_factory.mktemp("ray")) as started,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in started.environment.items():
            patch.setenv(name, value)
        yield started


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    results = tmp_path_factory.mktemp("undisturbed")
    code, said = run_here(results, *MATRIX)
    assert code == 0, said
    return outcomes(results)


@pytest.fixture
def slow(tmp_path: Path) -> list[str]:
    """Runs that are short of work but take a second or two: (matrix arguments)."""
    path = tmp_path / "slow.py"
    path.write_text(PLUGINS + SLOW)
    return ["--method", f"{path}:Slow", "--dataset", "demo"]


def on(cluster: RayCluster) -> list[str]:
    return ["--executor", "ray", "--address", cluster.address]


def wait_for_records(results: Path, count: int, process: subprocess.Popen[str]) -> None:
    while process.poll() is None and len(list(results.glob("*/*/*/*.json"))) < count:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()


def test_the_records_are_those_of_one_machine(tmp_path: Path, cluster, undisturbed) -> None:
    code, said = run(tmp_path, *MATRIX, *on(cluster))
    assert code == 0, said
    assert outcomes(tmp_path) == undisturbed
    lines = [line for line in said.splitlines() if not line.startswith(("[", "demo:"))]
    assert lines[0] == "Ray: 2 node(s), room for 2 run(s) at a time"
    assert len(lines) == 2, "nothing from Ray itself"
    assert not (tmp_path / ".shared").exists(), "nodes share no disk with us"
    for node in cluster.nodes[1:]:
        assert list(Path(node, "cache", "shared").glob("*.npz")), "both nodes worked"
        assert not list(Path(node, "cache").glob("run-*"))


def test_a_node_lost_in_mid_run_loses_nothing(tmp_path: Path, cluster, undisturbed) -> None:
    process = start(tmp_path, *MATRIX, *on(cluster))
    wait_for_records(tmp_path, 1, process)
    cluster.kill(cluster.nodes[-1])
    code, said = finish(process)
    cluster.add_node()
    assert code == 0, said
    assert outcomes(tmp_path) == undisturbed
    ends = [
        line.partition("] ")[2].partition(":")[0] for line in said.splitlines() if "A_T" in line
    ]
    assert len(ends) == len(set(ends)) == 6, "nothing twice"


def test_a_lost_driver_loses_nothing_and_two_at_once_do_the_rest(
    tmp_path: Path, cluster, slow
) -> None:
    results = tmp_path / "r"
    matrix = [*slow, "--seeds", "6", *on(cluster)]
    process = start(results, *matrix)
    wait_for_records(results, 2, process)
    process.kill()
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in results.glob("*/*/*/*.json")}
    assert 2 <= len(done) < 6
    said = ""
    for process in [start(results, *matrix) for _ in range(2)]:
        code, text = finish(process)
        assert code == 0, text
        said += text
    assert f"{len(done)} of 6 runs are done already" in said
    ends = [line for line in said.splitlines() if "A_T" in line]
    ours = [line for line in ends if "another process" not in line]
    assert len(ours) == 6 - len(done), said
    now = {path: path.stat().st_mtime_ns for path in results.glob("*/*/*/*.json")}
    assert len(now) == 6
    assert done.items() <= now.items(), "only the rest was run"


def test_ctrl_c_leaves_nothing_running(tmp_path: Path, cluster, slow) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(tmp_path / number.name, *slow, "--seeds", "20", *on(cluster))
        wait_for_records(tmp_path / number.name, 1, process)
        process.send_signal(number)
        code, said = finish(process)
        assert code == 130, said
        assert "same command to resume" in said
        assert "Traceback" not in said
        waited = time.monotonic()
        while any(_busy(node) for node in cluster.nodes):
            assert time.monotonic() - waited < 10, "a worker is left behind"
            time.sleep(0.1)
    assert not list(tmp_path.rglob("*.failed.json"))


def _busy(node: str) -> list[int]:
    """Worker processes: those whose parent is a worker server."""
    found = []
    for pid in processes(node):
        with contextlib.suppress(OSError):
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            if SERVER in Path(f"/proc/{parent}/cmdline").read_text():
                found.append(pid)
    return found


def test_a_run_that_fails_is_recorded_and_not_repeated(tmp_path: Path, cluster, slow) -> None:
    file = slow[1].rpartition(":")[0]
    methods = ",".join(f"{file}:{name}" for name in ("Raises", "Killed", "Hangs", "Good", "Sees"))
    limits = ["--timeout", "0.05", "--gpus-per-run", "0.5", "--device", "cpu"]
    code, said = run(tmp_path / "r", "--method", methods, "--dataset", "demo", "--seed", "1234",
                     *limits, *on(cluster))  # fmt: skip
    assert code == 1, said
    records = {r["label"]: r for r in Store(tmp_path / "r").records()[0]}
    assert records["slow-Good"]["status"] == "ok"
    assert records["slow-Good"]["spec"]["method"] == f"{file}:Good", "not its copy on the node"
    errors = {label: record.get("error", "") for label, record in records.items()}
    assert errors["slow-Raises"].startswith("RuntimeError: no such luck")
    assert "no such luck" in records["slow-Raises"]["details"]
    assert errors["slow-Killed"] == "killed by SIGKILL (out of memory?)"
    assert errors["slow-Hangs"] == "timed out after 0.05 min"
    assert errors["slow-Sees"].startswith("RuntimeError: GPU 0"), "the one that Ray gave it"
    assert said.count("Raises demo") == 1


DRIVER = """
import sys
from dataclasses import replace
from pathlib import Path
from tsbench.executors.ray import RayOptions
from tsbench.executors.ray.executor import RayExecutor
from tsbench.protocol.rules import Protocol
from tsbench.runs.machine import Machine
from tsbench.runs.plan import Request, plan
from tsbench.runs.store import Store

data, results, address = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
for line in sys.stdin:
    seeds = [int(seed) for seed in line.split()]
    specs = plan(Request(["naive"], ["uwave"], seeds, Protocol(epochs=1)), data).specs
    executor = RayExecutor(RayOptions(address=address), Store(results), Machine(data))
    submitter = executor._submitter
    def without_the_drivers_folder(specs, helper):
        executor.machine = replace(executor.machine, data=results / "a folder that no node has")
        return submitter(specs, helper)
    executor._submitter = without_the_drivers_folder
    done = [event.spec.seed for event in executor.run(specs) if event.kind == "done"]
    print(*sorted(done), flush=True)
"""


def test_data_go_to_each_node_once(tmp_path: Path, cluster) -> None:
    prepare_small_uwave(tmp_path / "data")
    command = [sys.executable, "-c", DRIVER, tmp_path / "data", tmp_path / "r", cluster.address]
    driver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run_on_nodes(seeds: str) -> None:
        driver.stdin.write(f"{seeds}\n")
        driver.stdin.flush()
        assert driver.stdout.readline() == f"{seeds}\n"

    def copies() -> dict[Path, int]:
        found = [p for node in cluster.nodes for p in Path(node).glob("cache/data/*/uwave/*/*.npy")]
        return {path: path.stat().st_ino for path in found}

    run_on_nodes("1 2")
    first = copies()
    assert 4 <= len(first) <= 12, "x and y of train, val and test: on one node or on both"
    run_on_nodes("3 4")
    second = copies()
    assert first.items() <= second.items(), "not sent again"
    damaged = next(path for path in second if path.name == "train.x.npy")
    damaged.write_bytes(damaged.read_bytes()[:-4] + b"oops")
    node = next(node for node in cluster.nodes if damaged.is_relative_to(node))
    others = [each for each in cluster.nodes[1:] if each != node and processes(each)]
    assert others
    run_on_nodes("5 6")
    driver.communicate()
    assert driver.returncode == 0
    local = tmp_path / "local"
    code, said = run_here(local, "--method", "naive", "--dataset", "uwave", "--epochs", "1",
                          *[f"--seed={seed}" for seed in range(1, 7)],
                          "--data", str(tmp_path / "data"))  # fmt: skip
    assert code == 0, said
    assert outcomes(tmp_path / "r") == outcomes(local)


def prepare_small_uwave(root: Path) -> None:
    """Made-up data in the place of a data set that has to be prepared."""
    import numpy as np

    from tsbench.data.catalogue import card
    from tsbench.data.finish import finish
    from tsbench.data.prepared import save
    from tsbench.protocol.samples import Coverage, Split, Splits

    random = np.random.default_rng(0)

    def draw(each: int) -> Split:
        y = np.repeat(np.arange(8), each)
        x = random.normal(size=(len(y), 3, 315)) + y[:, None, None]
        return Split(x.astype(np.float32), y)

    splits = Splits(draw(10), draw(4), Coverage(1, 2, "half"))
    save(card("uwave"), finish(card("uwave"), splits), [{"name": "made up"}], root)


def test_an_unlike_node_is_refused(tmp_path: Path, cluster) -> None:
    """One without torch: the same check as with Slurm, which is tested with another version."""
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "sitecustomize.py").write_text("import sys; sys.modules['torch'] = None")
    node = cluster.add_node(PYTHONPATH=str(tmp_path / "odd"))
    try:
        code, said = run(tmp_path / "r", *MATRIX, *on(cluster))
    finally:
        cluster.kill(node)
    assert code == 2, said
    assert "has no torch" in said.splitlines()[-1]
    assert "install the same versions on all nodes" in said
    assert "Traceback" not in said


def test_a_cluster_without_room_is_refused(tmp_path: Path, cluster) -> None:
    code, said = run(tmp_path / "r", *MATRIX, *on(cluster), "--cpus-per-run", "2")
    assert code == 2
    assert "no node of the Ray cluster has 2 CPU(s) for a run" in said
