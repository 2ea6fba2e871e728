"""``--executor ray`` on a real cluster: same records, lost nodes, lost drivers, nodes refused."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import PLUGINS, finish, run, start
from ray_cluster import RayCluster, processes, ray_cluster

from tsbench.bench.store import Store, comparable

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and 127.0.0.x"),
]

MATRIX = ["--method", "naive,ts-acl-deep", "--dataset", "demo", "--seeds", "3", "--epochs", "2"]
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
    code, said = run(results, *MATRIX)
    assert code == 0, said
    return outcomes(results)


@pytest.fixture
def slow(tmp_path: Path) -> list[str]:
    """Runs that are short of work but take a second or two: (matrix arguments)."""
    path = tmp_path / "slow.py"
    path.write_text(PLUGINS + SLOW)
    return ["--method", f"{path}:Slow", "--dataset", "demo"]


def outcomes(results: Path) -> dict[str, dict]:
    records, problems = Store(results).records()
    assert not problems
    return {f"{r['label']} {r['spec']['seed']}": comparable(r) for r in records}


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
    told = [line for line in said.splitlines() if not line.startswith(("[", "demo:"))]
    assert told[0] == "Ray: 2 node(s), room for 2 run(s) at a time"
    assert len(told) == 2, "no word of Ray itself"
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


def test_a_lost_driver_loses_nothing_that_was_done(tmp_path: Path, cluster, slow) -> None:
    results = tmp_path / "r"
    matrix = [*slow, "--seeds", "6", *on(cluster)]
    process = start(results, *matrix)
    wait_for_records(results, 2, process)
    process.kill()
    process.communicate()
    done = {path: path.stat().st_mtime_ns for path in results.glob("*/*/*/*.json")}
    assert 2 <= len(done) < 6
    code, said = finish(start(results, *matrix))
    assert code == 0, said
    assert f"{len(done)} of 6 runs are done already" in said
    assert f"{6 - len(done)} run(s) done" in said
    now = {path: path.stat().st_mtime_ns for path in results.glob("*/*/*/*.json")}
    assert len(now) == 6
    assert done.items() <= now.items(), "only the rest was run"


def test_two_drivers_at_once_do_each_run_once(tmp_path: Path, cluster, slow) -> None:
    matrix = [*slow, "--seeds", "4", *on(cluster)]
    said = ""
    for process in [start(tmp_path / "r", *matrix) for _ in range(2)]:
        code, text = finish(process)
        assert code == 0, text
        said += text
    assert len(outcomes(tmp_path / "r")) == 4
    ends = [line for line in said.splitlines() if "A_T" in line]
    assert len([line for line in ends if "another process" not in line]) == 4, said


def test_ctrl_c_leaves_nothing_running(tmp_path: Path, cluster, slow) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        process = start(tmp_path / number.name, *slow, "--seeds", "20", *on(cluster))
        wait_for_records(tmp_path / number.name, 1, process)
        process.send_signal(number)
        code, said = finish(process)
        assert code == 130, said
        assert "goes on where it stopped" in said
        assert "Traceback" not in said
        waited = time.monotonic()
        while any(_busy(node) for node in cluster.nodes):
            assert time.monotonic() - waited < 10, "a worker is left behind"
            time.sleep(0.1)
    assert not list(tmp_path.rglob("*.failed.json"))


def _busy(node: str) -> list[int]:
    """Processes that were forked for a run: those whose parent is a fork server."""
    found = []
    for pid in processes(node):
        with contextlib.suppress(OSError):
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            if "forkserver" in Path(f"/proc/{parent}/cmdline").read_text():
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
import json, sys
from pathlib import Path
from tsbench.bench.executor import Where
from tsbench.bench.machine import Machine
from tsbench.bench.plan import Request, make_specs
from tsbench.bench.ray import executor as ray
from tsbench.bench.store import Store

data, results, address, seeds = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
packed = []
def pack(name, root, pack=ray.pack):
    packed.append(name)
    return pack(name, data)
ray.pack = pack
specs = make_specs(Request(["naive"], ["uwave"], [int(s) for s in seeds], epochs=1), data)
nowhere = Machine(results / "a folder that no node has")
executor = ray.RayExecutor(Store(results), nowhere, Where("ray", address=address))
events = [(event.kind, event.spec.seed) for event in executor.run(specs)]
print(json.dumps([packed, events]))
"""


def test_data_go_to_each_node_once(tmp_path: Path, cluster) -> None:
    prepare_small_uwave(tmp_path / "data")

    def drive(*seeds: int) -> tuple[list[str], list[tuple[str, int]]]:
        command = [sys.executable, "-c", DRIVER, tmp_path / "data", tmp_path / "r", cluster.address]
        done = subprocess.run([*command, *map(str, seeds)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        packed, events = json.loads(done.stdout)
        assert sorted(seed for kind, seed in events if kind == "done") == list(seeds)
        return packed

    def copies() -> dict[Path, int]:
        found = [p for node in cluster.nodes for p in Path(node).glob("cache/data/*/uwave/*/*.npy")]
        return {path: path.stat().st_ino for path in found}

    assert drive(1, 2) == ["uwave"], "put into the object store once"
    first = copies()
    assert 4 <= len(first) <= 12, "x and y of train, val and test: on one node or on both"
    assert drive(3, 4) in ([], ["uwave"])
    second = copies()
    assert first.items() <= second.items(), "not sent again"
    damaged = next(path for path in second if path.name == "train.x.npy")
    damaged.write_bytes(damaged.read_bytes()[:-4] + b"oops")
    node = next(node for node in cluster.nodes if damaged.is_relative_to(node))
    others = [each for each in cluster.nodes[1:] if each != node and processes(each)]
    assert others
    drive(5, 6)
    local = tmp_path / "local"
    code, said = run(local, "--method", "naive", "--dataset", "uwave", "--epochs", "1",
                     *[f"--seed={seed}" for seed in range(1, 7)],
                     "--data", str(tmp_path / "data"))  # fmt: skip
    assert code == 0, said
    assert outcomes(tmp_path / "r") == outcomes(local)


def prepare_small_uwave(root: Path) -> None:
    """Made-up data in the place of a data set that has to be prepared."""
    import numpy as np

    from tsbench.data.arrays import Coverage, Split, Splits, finish
    from tsbench.data.catalogue import card
    from tsbench.data.prepared import save

    random = np.random.default_rng(0)

    def draw(each: int) -> Split:
        y = np.repeat(np.arange(8), each)
        x = random.normal(size=(len(y), 3, 315)) + y[:, None, None]
        return Split(x.astype(np.float32), y)

    splits = Splits(draw(10), draw(4), Coverage(1, 2, "half"))
    save(card("uwave"), finish(card("uwave"), splits), [{"name": "made up"}], root)


@pytest.mark.parametrize(
    ("oddity", "words"),
    [
        ("import tsbench; tsbench.__version__ = '0.0.1'", "has tsbench 0.0.1"),
        ("import sys; sys.modules['torch'] = None", "has no torch"),
    ],
)
def test_an_unlike_node_is_refused(tmp_path: Path, cluster, oddity, words) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "sitecustomize.py").write_text(oddity)
    node = cluster.add_node(PYTHONPATH=str(tmp_path / "odd"))
    try:
        code, said = run(tmp_path / "r", *MATRIX, *on(cluster))
    finally:
        cluster.kill(node)
    assert code == 2, said
    assert words in said.splitlines()[-1]
    assert "install the same on all nodes" in said
    assert "Traceback" not in said
    assert not list(tmp_path.glob("r/*/*/*/*.json"))


def test_a_cluster_without_room_is_refused(tmp_path: Path, cluster) -> None:
    code, said = run(tmp_path / "r", *MATRIX, *on(cluster), "--cpus-per-run", "2")
    assert code == 2
    assert "no node of the Ray cluster has 2 CPU(s) for a run" in said


def test_without_an_address_a_cluster_is_started(tmp_path: Path, undisturbed) -> None:
    code, said = run(tmp_path, *MATRIX, "--executor", "ray", "--jobs", "2")
    assert code == 0, said
    assert outcomes(tmp_path) == undisturbed
    assert "Ray: starting a cluster on this machine" in said
