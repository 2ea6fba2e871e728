"""What Ray and Slurm cost against worker processes here, and what 2,000 queued runs cost Ray.

    python tests/benchmarks/bench_executors.py [runs of 10 s] [queued runs]

The same matrix of runs that sleep for 10 s, first with the local executor, then on a Ray cluster
started here, then in two jobs of the tests' Slurm where that can be had; two at a time. Target: at
most 1.05 × the time, from the end of the second round to the last record. What comes before,
starting the cluster and importing torch in each of its workers, is printed separately: it does not
grow with the matrix. Then trivial runs: from the 200th to the last the driver must not grow.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import slurm_cluster as cluster

from tsbench.executors.base import Event, ExecutorOptions, make_executor
from tsbench.executors.local import LocalOptions
from tsbench.executors.ray import RayOptions
from tsbench.executors.slurm import SlurmOptions
from tsbench.runs.plan import Request, plan
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

METHODS = """
import time
import numpy as np
from tsbench.learn.method import Kept, Method

class Trivial(Method):
    def learn(self, task):
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen))
    def kept(self):
        return Kept()

class Sleeps(Trivial):
    def learn(self, task):
        if task.index == 0:
            time.sleep(10)
        super().learn(task)
"""
WORKERS = 2
RAY = RayOptions(jobs=WORKERS)
WARM = 200
GROWTH = 5e6
"""Bytes that count as none."""


def specs(folder: Path, name: str, count: int) -> list[RunSpec]:
    file = folder / "methods.py"
    file.write_text(METHODS)
    return plan(Request([f"{file}:{name}"], ["demo"], list(range(count))), folder).specs


def events(folder: Path, options: ExecutorOptions, runs: list[RunSpec]) -> Iterator[Event]:
    for event in make_executor(options, Store(folder), folder).run(runs):
        if event.kind == "failed":
            raise SystemExit(f"{event.spec.title}: {event.details['error']}")
        yield event


def seconds(folder: Path, options: ExecutorOptions, runs: list[RunSpec]) -> tuple[float, float]:
    """Until the second round is done, and from then on."""
    began = time.perf_counter()
    done = [time.perf_counter() for event in events(folder, options, runs) if event.kind == "done"]
    warm = done[2 * WORKERS - 1]
    return warm - began, done[-1] - warm


def resident() -> int:
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.partition("VmRSS:")[2].split()[0])


def growth(folder: Path, runs: list[RunSpec]) -> tuple[int, float]:
    """Bytes by which the driver grew after the 200th run, and its CPU seconds a run."""
    marks = [
        (resident(), time.process_time())
        for event in events(folder, RAY, runs)
        if event.kind == "done"
    ]
    (warm, began), (end, ended) = marks[WARM], marks[-1]
    return end - warm, (ended - began) / (len(runs) - WARM)


def main(count: int, queued: int) -> bool:
    ok = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if count:
            runs = specs(folder, "Sleeps", count)
            first, local = seconds(folder / "local", LocalOptions(device="cpu", jobs=WORKERS), runs)
            start, ray = seconds(folder / "ray", RAY, runs)
            print(f"{count} runs of 10 s, {WORKERS} at a time, after the second round:")
            print(f"  local {local:.1f} s, Ray {ray:.1f} s: {ray / local:.3f} × (≤ 1.05)")
            print(f"  two rounds from nothing: local {first:.1f} s, Ray {start:.1f} s")
            ok &= ray / local <= 1.05
            if cluster.missing() is None:
                with cluster.running() as one_host:
                    os.environ.update(one_host.environment)
                    options = SlurmOptions(slurm=[f"pack={-(-count // WORKERS)}"])
                    start, slurm = seconds(folder / "slurm", options, runs)
                print(f"  Slurm {slurm:.1f} s: {slurm / local:.3f} × (≤ 1.05)")
                print(f"  two rounds from nothing: Slurm {start:.1f} s")
                ok &= slurm / local <= 1.05
        if queued:
            grown, spent = growth(folder / "queued", specs(folder, "Trivial", queued))
            print(f"{queued} queued runs: the driver grew by {grown / 1e6:.1f} MB (< 5)")
            print(f"  it spent {1000 * spent:.1f} ms of a core on each")
            ok &= grown < GROWTH
    return ok


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(not main(*numbers[:2]) if len(numbers) == 2 else not main(24, 2000))
