"""TS-ACL-R's features and a whole run of it, in CPU seconds of one thread.

    python tests/benchmarks/bench_kernels.py [--data datasets]

Prints, for the shapes of UWave, UCI-HAR and DSA: the features against the bare convolutions (one
grouped dilated convolution a dilation, at the same positions where torch can stride), against the
responses alone, and the responses against sums and differences of shifted copies. Then memory for
ten times the samples and, where UWave is prepared, the whole run (all tasks, evaluation included)
against TS-ACL's.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv1d, pad

from tsbench.analytic.kernels import KernelBank
from tsbench.bench import run
from tsbench.bench.plan import Request, make_specs
from tsbench.errors import UserError

SHAPES = {"UWave": (3, 315), "UCI-HAR": (9, 128), "DSA": (45, 125)}
KERNELS, THRESHOLDS, SAMPLES = 2000, 4, 64


def seconds(function: Callable[[], object]) -> float:
    """The least of five, in CPU seconds: other work on the machine does not count."""
    function()
    found = []
    for _ in range(5):
        started = time.process_time()
        function()
        found.append(time.process_time() - started)
    return min(found)


def grouped(bank: KernelBank, x: Tensor) -> None:
    """Channels mixed, then every kernel on its own mixture, by torch's grouped convolution."""
    for group in bank.groups:
        kernels = group.weights.shape[1]
        weights = group.weights.reshape(9, -1, kernels)
        mask = (weights[0] != 0).float().T  # (kernels, channels)
        taps = weights.sum(1).div(mask.sum(1)).T[:, None]
        mixed = mask @ x[:, group.channels]
        conv1d(
            mixed,
            taps,
            stride=bank.step,
            padding=4 * group.dilation,
            dilation=group.dilation,
            groups=kernels,
        )


def shifted(bank: KernelBank, x: Tensor) -> None:
    """3 × (three shifted copies) − (all nine), of the channels' mixture."""
    for group in bank.groups:
        kernels, d = group.weights.shape[1], group.dilation
        weights = group.weights.reshape(9, -1, kernels)
        mask = (weights[0] != 0).float().T
        heavy = weights.amax(1).T.eq(2).nonzero()[:, 1].reshape(kernels, 3)
        mixed = mask @ pad(x[:, group.channels], (4 * d, 4 * d))
        copies = mixed.as_strided(
            (len(x), kernels, 9, bank.positions),
            (mixed.stride(0), mixed.stride(1), d, bank.step),
        )
        response = copies.sum(2).neg_()
        rows = torch.arange(kernels)
        for i in range(3):
            response.add_(copies[:, rows, heavy[:, i]], alpha=3.0)


def compare_features() -> None:
    random = np.random.default_rng(0)
    for name, (channels, length) in SHAPES.items():
        x = random.standard_normal((SAMPLES, channels, length)).cumsum(2).astype(np.float32)
        bank = KernelBank(channels, length, KERNELS, THRESHOLDS, random)
        bank.fit(x, random)
        tensor = torch.from_numpy(x)
        whole = seconds(lambda: bank(x))  # noqa: B023
        alone = seconds(lambda: [None for _ in bank.responses(tensor)])  # noqa: B023
        bare = seconds(lambda: grouped(bank, tensor))  # noqa: B023
        copies = seconds(lambda: shifted(bank, tensor))  # noqa: B023
        print(
            f"{name}: {1e3 * whole / SAMPLES:.2f} ms a sample; features / grouped convolutions "
            f"{whole / bare:.2f} (allowed 3); features / responses {whole / alone:.2f}; "
            f"responses / shifted copies {alone / copies:.2f}"
        )


def compare_memory() -> None:
    bank = KernelBank(3, 315, KERNELS, THRESHOLDS, np.random.default_rng(0))
    grown = []
    for samples in (1000, 10_000):
        x = np.zeros((samples, 3, 315), np.float32)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, samples, 1024):
            bank(x[start : start + 1024])
        grown.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    print(f"peak grows by {grown[0] >> 10} MB for 1,000 samples, {grown[1] >> 10} MB for 10,000")


def compare_runs(data: Path) -> None:
    try:
        request = Request(methods=["ts-acl-r", "ts-acl"], datasets=["uwave"], seeds=[1234, 1235])
        specs = make_specs(request, data)
    except UserError as error:
        print(f"whole runs not compared: {error}")
        return
    run.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[attr-defined]
    spent = dict.fromkeys(request.methods, 0.0)
    for spec in specs:
        times = run.execute(spec, run.Machine(data), lambda *_: None)["time"]
        learn, evaluate = sum(times["learn"]), sum(times["evaluate"])
        spent[spec.method] += learn + evaluate + times["tuning"]
        print(
            f"{spec.title}: learn {learn:.1f} s, evaluate {evaluate:.1f} s, "
            f"choice of γ {times['tuning']:.1f} s"
        )
    ratio = spent["ts-acl-r"] / spent["ts-acl"]
    print(f"whole UWave runs, TS-ACL-R / TS-ACL: {ratio:.2f} (allowed 0.2)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    compare_features()
    compare_memory()
    compare_runs(options.data)


if __name__ == "__main__":
    main()
