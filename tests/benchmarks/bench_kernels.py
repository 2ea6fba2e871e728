"""TS-ACL-R's features and whole runs of it, in CPU seconds of one thread.

    python tests/benchmarks/bench_kernels.py [--data datasets]

Prints, for the shapes of UWave, UCI-HAR and DSA: the features against the bare convolutions (one
grouped dilated convolution per dilation, at the same positions where torch can stride), against the
responses alone, and the responses against sums and differences of shifted copies. Then memory for
ten times the samples. Where DSA is prepared: the learning time of each task, and the whole run (all
tasks, evaluation included) and its statistics against the first version, which is kept here as a
reference. Where UWave is prepared: the whole run against TS-ACL's.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv1d, pad

from tsbench.analytic.kernels import KernelBank
from tsbench.analytic.ridge import Factor
from tsbench.analytic.tsaclr import TSACLR, KernelSettings
from tsbench.data.catalogue import card
from tsbench.data.prepared import load
from tsbench.errors import UserError
from tsbench.learn.method import Context
from tsbench.protocol.stream import Task, make_stream
from tsbench.runs import execute as run
from tsbench.runs.plan import Request, plan

SHAPES = {"UWave": (3, 315), "UCI-HAR": (9, 128), "DSA": (45, 125)}
SETTINGS, SAMPLES = KernelSettings(), 64
KERNELS, THRESHOLDS = SETTINGS.kernels, SETTINGS.thresholds


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
        bank = KernelBank(channels, length, KERNELS, THRESHOLDS, 0.0, random, signs=False)
        bank.fit(x, random)
        tensor = torch.from_numpy(x)
        whole = seconds(lambda: bank(x))  # noqa: B023
        alone = seconds(lambda: [None for _ in bank.responses(tensor)])  # noqa: B023
        bare = seconds(lambda: grouped(bank, tensor))  # noqa: B023
        copies = seconds(lambda: shifted(bank, tensor))  # noqa: B023
        print(
            f"{name}: {1e3 * whole / SAMPLES:.2f} ms per sample; features / grouped convolutions "
            f"{whole / bare:.2f} (allowed 3); features / responses {whole / alone:.2f}; "
            f"responses / shifted copies {alone / copies:.2f}"
        )


def compare_memory() -> None:
    bank = KernelBank(3, 315, KERNELS, THRESHOLDS, 0.5, np.random.default_rng(0))
    grown = []
    for samples in (1000, 10_000):
        x = np.zeros((samples, 3, 315), np.float32)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, samples, 1024):
            bank(x[start : start + 1024])
        grown.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    print(f"peak grows by {grown[0] >> 10} MB for 1,000 samples, {grown[1] >> 10} MB for 10,000")


class FirstVersion(TSACLR):
    """2,000 zero-sum kernels, shares in float64, and the QR factor that it chose on DSA."""

    def __init__(self, context: Context, settings: KernelSettings) -> None:
        shape = {"kernels": 2000, "thresholds": 4, "level_share": 0.0, "penalty": 1e-3}
        super().__init__(context, replace(settings, crossings=False, signs=False, **shape))
        self.ridge = Factor(self.bank.features + 1)  # type: ignore[assignment]
        self.samples = 0

    def learn(self, task: Task) -> None:
        if task.index == 0:
            self.bank.fit(task.train.x, self.context.random("thresholds"))
        self.ridge.absorb(self._counts(task.train.x), torch.from_numpy(task.train.y))
        self.samples += len(task.train)
        self.weights = self.ridge.weights(self.settings.penalty * self.samples)

    def _counts(self, x: np.ndarray) -> Tensor:
        return super()._counts(x).div_(self.bank.positions).double()


def compare_versions(data: Path) -> None:
    """DSA, seed 1234, as a run does it: learn a task, then predict all tasks so far."""
    try:
        dataset = load(card("dsa"), data)
    except UserError as error:
        print(f"DSA not measured: {error}")
        return
    stream = make_stream(dataset, 1234)
    samples = sum(len(task.train) for task in stream.tasks)
    context = Context(dataset.card, 1234, len(stream.classes), samples, 0)
    spent, kept, learned = {}, {}, []
    for kind in (FirstVersion, TSACLR):
        method, learned, evaluated = kind(context, SETTINGS), [], 0.0
        for task in stream.tasks:
            started = time.process_time()
            method.learn(task)
            learned.append(time.process_time() - started)
            for test in stream.tests[: task.index + 1]:
                method.predict(test.x)
            evaluated += time.process_time() - started - learned[-1]
        spent[kind], kept[kind] = sum(learned) + evaluated, method.kept().statistics
        shown = " ".join(f"{seconds:.1f}" for seconds in learned)
        print(f"DSA, {kind.__name__}: learn {shown} s, evaluate {evaluated:.1f} s")
    print(f"DSA, last task / first task: {learned[-1] / learned[0]:.2f} (≤ 1.5)")
    print(f"DSA, first version / this one: {spent[FirstVersion] / spent[TSACLR]:.2f} (≥ 2)")
    shares = [kept[TSACLR] / other for other in (kept[FirstVersion], 8 * method.scale.numel() ** 2)]
    print(
        f"DSA, bytes of statistics: {shares[0]:.2f} of the first version's, "
        f"{shares[1]:.2f} of a float64 Gram matrix (≤ 0.5)"
    )


def compare_with_tsacl(data: Path) -> None:
    """Whole runs on UWave."""
    try:
        request = Request(methods=["ts-acl-r", "ts-acl"], datasets=["uwave"], seeds=[1234, 1235])
        specs = plan(request, data).specs
    except UserError as error:
        print(f"whole runs not compared: {error}")
        return
    time.perf_counter = time.process_time  # what the runs measure their parts with
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
    print(f"whole UWave runs, TS-ACL-R / TS-ACL: {ratio:.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    compare_features()
    compare_memory()
    compare_versions(options.data)
    compare_with_tsacl(options.data)


if __name__ == "__main__":
    main()
