"""The ridge update at the paper's size: d_E = 8000, a task of 2,200 samples, float64, one thread.

    python tests/benchmarks/bench_ridge.py

Prints the update (absorb and solve) against the floor (one XᵀX and one Cholesky) and against the
published order of operations (batches of 64, R − R Xᵀ K X R from left to right, a few batches
timed and scaled), and the peak memory of TS-ACL and TS-ACL-E in d_E × d_E float64 matrices.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

D, N, BATCH = 8000, 2200, 64
MATRIX = 8 * D * D


def seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def make_data() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(N, D, generator=generator).relu_().double()
    return features, torch.randint(2, (N,), generator=generator)


def measure_update() -> dict[str, float]:
    from tsbench.analytic.ridge import Factor, Gram, Recursive

    torch.set_num_threads(1)
    U, y = make_data()
    gram = U.T @ U
    gram.diagonal().add_(1.0)
    floor = seconds(lambda: U.T @ U) + seconds(lambda: torch.linalg.cholesky(gram))
    solver = Gram(D)
    update = seconds(lambda: (solver.absorb(U, y), solver.weights(1.0)))
    small = Factor(D)
    few = seconds(lambda: (small.absorb(U[:181], y[:181]), small.weights(1.0)))
    recursion = Recursive(D, 1.0)
    few_recursive = seconds(lambda: recursion.absorb(U[:181], y[:181]))
    published = seconds(lambda: published_batch(recursion.Psi, U[:BATCH])) * N / BATCH
    return {
        "update": update,
        "floor": floor,
        "published": published,
        "few": few,
        "few_recursive": few_recursive,
    }


def published_batch(R: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
    """One step of the released code, products from left to right."""
    K = torch.inverse(torch.eye(len(X), dtype=torch.float64) + X @ R @ X.T)
    return R - R @ X.T @ K @ X @ R


def peak_of(kind: str, samples: int, result: multiprocessing.Queue) -> None:
    """Peak memory of learning, in matrices, beyond what an idle process has."""
    from tsbench.analytic import tsacl
    from tsbench.bench.conformance import make_context
    from tsbench.bench.machine import peak_memory
    from tsbench.data.arrays import Split
    from tsbench.data.catalogue import card
    from tsbench.data.prepared import load
    from tsbench.data.stream import Task, make_stream

    torch.set_num_threads(1)
    dataset = load(card("demo"), Path())
    stream = make_stream(dataset, 1234)
    context = make_context(dataset, stream)
    object.__setattr__(context, "samples", 4 * samples)
    method = getattr(tsacl, kind)(context, tsacl.AnalyticSettings(gamma=1.0))
    method.learn(stream.tasks[0])
    x = np.random.default_rng(0).normal(size=(samples, 3, 100)).astype(np.float32)
    task = Task(1, (2, 3), Split(x, np.arange(samples) % 2 + 2), stream.tasks[1].val)
    method.learn(task)
    method.predict(x)
    idle = 0.35e9  # torch imported, nothing done
    result.put((peak_memory() - idle - x.nbytes) / MATRIX)


def peak(kind: str, samples: int) -> float:
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=peak_of, args=(kind, samples, queue))
    process.start()
    value = queue.get(timeout=600)
    process.join()
    return float(value)


if __name__ == "__main__":
    t = measure_update()
    print(f"update {t['update']:.1f} s, {t['update'] / t['floor']:.2f} × the floor (≤ 1.5)")
    print(f"published order {t['published']:.0f} s, {t['published'] / t['update']:.0f} × (≥ 50)")
    print(f"181 samples: factor {t['few']:.2f} s, recursion {t['few_recursive']:.2f} s")
    ok = t["update"] <= 1.5 * t["floor"] and t["published"] >= 50 * t["update"]
    for kind, limit in (("TSACL", 4), ("TSACLE", 9)):
        peaks = [peak(kind, samples) for samples in (2500, 10000)]
        shown = " and ".join(f"{p:.2f}" for p in peaks)
        print(f"{kind}: peak {shown} matrices for 2,500 and 10,000 samples (< {limit})")
        ok &= max(peaks) < limit
    sys.exit(not ok)
