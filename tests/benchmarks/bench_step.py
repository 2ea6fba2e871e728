"""A training step against the plain way, and what a run costs outside learning and evaluating.

    python tests/benchmarks/bench_step.py

Plain: (N, C, L) ``Conv1d``, LayerNorm on the transposed tensor, a ``DataLoader``. Target: ours
takes at most 0.8 × of it. The run is Naive on data shaped as UWave; target: under 2 % outside.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tsbench.learn.loop import Fit, fit
from tsbench.nn.encoder import KERNEL, WIDTHS, Encoder
from tsbench.nn.network import Head, Network
from tsbench.nn.random import torch_generator
from tsbench.protocol.rules import Protocol
from tsbench.runs.execute import execute
from tsbench.runs.machine import Machine
from tsbench.runs.plan import Request, plan

SHAPES = {"UWave": (3, 315), "UCI-HAR": (9, 128), "GRABMyo": (28, 128)}
SAMPLES, EPOCHS = 192, 4


class Plain(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        ins = (channels, *WIDTHS[:-1])
        self.convs = nn.ModuleList(
            nn.Conv1d(i, o, KERNEL, padding=2) for i, o in zip(ins, WIDTHS, strict=True)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(o) for o in WIDTHS)
        self.head = nn.Linear(WIDTHS[-1], 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = F.max_pool1d(norm(F.relu(conv(x)).transpose(1, 2)).transpose(1, 2), 2)
        return self.head(x.mean(2))


def plain(x: torch.Tensor, y: torch.Tensor) -> float:
    network = Plain(x.shape[1])
    optimiser = torch.optim.Adam(network.parameters())
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    started = time.perf_counter()
    for _ in range(EPOCHS):
        for xs, ys in loader:
            optimiser.zero_grad()
            loss = F.cross_entropy(network(xs), ys)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1)
            optimiser.step()
            loss.item()
    return time.perf_counter() - started


def ours(x: torch.Tensor, y: torch.Tensor) -> float:
    weights = torch_generator(0, "weights")
    network = Network(Encoder(x.shape[1], "none", "ln", 0.0, weights), Head(2, weights))
    how = Fit(EPOCHS, "step10", 1e-3, 64, 99)
    started = time.perf_counter()
    fit(
        network,
        len(x),
        how,
        torch_generator(0, "order"),
        lambda rows: F.cross_entropy(network(x[rows]), y[rows]),
        lambda: 0.0,
        lambda epoch, loss: None,
    )
    return time.perf_counter() - started


def measure_step(channels: int, length: int) -> float:
    x = torch.randn(SAMPLES, channels, length, generator=torch_generator(0, "x"))
    y = torch.arange(SAMPLES) % 2
    plain(x[:64], y[:64])
    ours(x[:64], y[:64])
    pairs = [(ours(x, y), plain(x, y)) for _ in range(3)]
    return min(o for o, _ in pairs) / min(p for _, p in pairs)


def measure_overhead(data: Path, dataset: str) -> float:
    (spec,) = plan(Request(["naive"], [dataset], [1234], Protocol(epochs=20)), data).specs
    execute(spec, Machine(data), lambda *_: None)
    times = execute(spec, Machine(data), lambda *_: None)["time"]
    return 1 - (sum(times["learn"]) + sum(times["evaluate"])) / times["total"]


if __name__ == "__main__":
    torch.set_num_threads(1)
    ok = True
    for name, (channels, length) in SHAPES.items():
        ratio = measure_step(channels, length)
        print(f"training step, {name}: {ratio:.2f} × the plain one (≤ 0.8)")
        ok &= ratio <= 0.8
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("datasets")
    dataset = "uwave" if (data / "uwave").is_dir() else "demo"
    share = measure_overhead(data, dataset)
    print(f"outside learning and evaluating, {dataset}: {100 * share:.2f} % of the run (< 2)")
    sys.exit(not (ok and share < 0.02))
