"""What the baselines cost beyond plain training, on shapes of UWave, one thread.

    python tests/benchmarks/bench_baselines.py

- a replay step against a plain step of the same number of new samples (≤ 2.2 ×);
- the share of ASER's and CLOPS's own work in their steps (< 50 %);
- soft-DTW of 64 pairs of (128, 19) maps, forward and backward, against an encoder step (< 1 ×);
- the generator's rate against what its operations allow at the encoder's measured speed (≥ 0.5).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from tsbench.baselines.aser import ASER
from tsbench.baselines.clops import CLOPS
from tsbench.baselines.er import ER

from tsbench.data.catalogue import card
from tsbench.learn.method import Context
from tsbench.nn.encoder import KERNEL, WIDTHS
from tsbench.nn.random import torch_generator
from tsbench.nn.softdtw import soft_dtw
from tsbench.nn.timevae import TimeVAE
from tsbench.protocol.samples import Split
from tsbench.protocol.stream import Task

CHANNELS, LENGTH, NEW, BUDGET = 3, 315, 32, 40


def seconds(function: Callable[[], object], times: int = 7) -> float:
    """The fastest of a few."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        function()
        taken.append(time.perf_counter() - started)
    return min(taken)


def make_tasks() -> list[Task]:
    random = np.random.default_rng(0)
    tasks = []
    for index in range(2):
        y = np.arange(180) % 2 + 2 * index
        x = random.normal(size=(180, CHANNELS, LENGTH)).astype(np.float32)
        val = Split(x[:20], y[:20])
        tasks.append(Task(index, (2 * index, 2 * index + 1), Split(x, y), val))
    return tasks


def step_of(kind: type, tasks: list[Task]) -> tuple[Callable[[], None], Callable[[], None]]:
    """A training step in the second task: with the method's own work, and without it."""
    context = Context(replace(card("uwave")), 1234, 8, 725, BUDGET, epochs=1)
    method = kind(context, kind.Settings())
    method.learn(tasks[0])
    method.before_task(tasks[1])
    method.network.head = method.network.head.grown(4, context.torch_random("head"))
    method.network.train()
    if kind is CLOPS:
        method.offset = torch.zeros(180)
    x, y = method.tensors(tasks[1].train.x[:NEW], tasks[1].train.y[:NEW])
    optimiser = torch.optim.Adam(method.network.parameters())
    fixed = torch.arange(NEW)
    retrieved = len(method.retrieve(x, y))

    def descend(loss: torch.Tensor) -> None:
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(method.network.parameters(), 1)
        optimiser.step()

    def bare() -> None:
        if kind is ASER:
            chosen = fixed[:retrieved]
            both = torch.cat([method.memory.x[chosen], x])
            labels = torch.cat([method.memory.y[chosen], y])
            descend(F.cross_entropy(method.network(both), labels))
        elif kind is ER:
            descend(F.cross_entropy(method.network(x), y))
        else:
            old = F.cross_entropy(method.network(method.memory.x[fixed]), method.memory.y[fixed])
            descend(old + F.cross_entropy(method.network(x), y))

    return lambda: descend(method.loss(x, y, fixed)), bare


def encoder_flops() -> float:
    length, total = LENGTH, 0.0
    for i, o in zip((CHANNELS, *WIDTHS[:-1]), WIDTHS, strict=True):
        total += i * o * KERNEL * length
        length //= 2
    return 6 * total


def generator_flops(vae: TimeVAE) -> float:
    total = 0.0
    for layer, out in zip(vae.down, vae.lengths[1:], strict=True):
        total += layer.weight.numel() * out
    for layer, into in zip(vae.up, vae.lengths[:0:-1], strict=True):
        total += layer.weight.numel() * into
    for linear in (vae.to_mean, vae.to_log_variance, vae.from_latent, vae.last):
        total += linear.weight.numel()
    return 6 * total


if __name__ == "__main__":
    torch.set_num_threads(1)
    tasks = make_tasks()
    ok = True

    def tell(text: str, value: float, good: bool) -> None:
        global ok
        print(f"{text}: {value:.2f}{'' if good else '  MISSED'}")
        ok &= good

    replayed, plain = (seconds(step) for step in step_of(ER, tasks))
    tell("replay step / plain step (≤ 2.2)", replayed / plain, replayed <= 2.2 * plain)
    for kind in (ASER, CLOPS):
        whole, bare = (seconds(step) for step in step_of(kind, tasks))
        share = 1 - bare / whole
        tell(f"{kind.__name__}: own share of a step (< 0.5)", share, share < 0.5)
    maps = torch.randn(64, 128, 19, generator=torch_generator(0, "m"), requires_grad=True)
    target = torch.randn(64, 128, 19, generator=torch_generator(1, "m"))
    warp = seconds(lambda: soft_dtw(maps, target).mean().backward())
    step64 = 2 * plain
    tell("soft-DTW / encoder step of 64 (< 1)", warp / step64, warp < step64)
    speed = encoder_flops() * NEW / plain
    vae = TimeVAE(CHANNELS, LENGTH, torch_generator(0, "v"))
    optimiser = torch.optim.Adam(vae.parameters())
    noise = torch_generator(0, "n")
    x = torch.randn(NEW, CHANNELS, LENGTH, generator=noise)

    def generator_step() -> None:
        optimiser.zero_grad(set_to_none=True)
        vae.loss(x, 0.1, noise).backward()
        optimiser.step()

    rate = generator_flops(vae) * NEW / seconds(generator_step) / speed
    print(f"encoder: {speed / 1e9:.0f} GFLOP/s, generator {generator_flops(vae) / 1e6:.0f} MFLOP")
    tell("generator's rate / what its operations allow (≥ 0.5)", rate, rate >= 0.5)
    sys.exit(not ok)
