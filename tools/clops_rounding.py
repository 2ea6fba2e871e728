"""CLOPS with β in float32, as the published code holds it, and what that does to its memory.

    tsbench run --method tools/clops_rounding.py:Rounded --dataset uci-har --seeds 5 \
        --set beta_rate=1e-5
    python tools/clops_rounding.py --seed 1235

β starts at 1, where neighbouring float32 numbers are 6e-8 apart. A step of β is lr_β·CE / 32, so
with lr_β = 1e-5 every sample with CE below about 0.1 stands still, and many samples tie. The first
command runs CLOPS like that. The second trains on the first task, follows β exactly and rounded
for both values of the grid, and prints how many of the samples that each would store are the same.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from tsbench.baselines.clops import CLOPS, CLOPSSettings

from tsbench.data.catalogue import card
from tsbench.data.prepared import load
from tsbench.learn.method import Context
from tsbench.protocol.stream import Task, make_stream

RATES = (1e-4, 1e-5)
"""The grid of the published code."""


class Rounded(CLOPS):
    """β = 1 + offset is rounded to float32 after every step."""

    name, title = "clops-rounded", "CLOPS, β in float32"

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """The loss of CLOPS; the offset becomes what is left of it beside 1."""
        value = super().loss(x, y, rows)
        self.offset[rows] = (1 + self.offset[rows]) - 1
        return value


class Traced(CLOPS):
    """Beside CLOPS itself, β by every rate of the grid, exact (float64) and rounded."""

    name, title = "clops-traced", "CLOPS, traced"

    def learn(self, task: Task) -> None:
        """Begin all traces at 1."""
        kinds = [(rate, kind) for rate in RATES for kind in (torch.float64, torch.float32)]
        self.betas = {(r, kind): torch.ones(len(task.train), dtype=kind) for r, kind in kinds}
        self.areas = {key: torch.zeros(len(task.train), dtype=torch.float64) for key in self.betas}
        super().learn(task)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """A step of every β."""
        with torch.no_grad():
            each = F.cross_entropy(self.network(x), y, reduction="none")
        for (rate, kind), beta in self.betas.items():
            slope = each.to(kind) + 2 * self.settings.beta_strength * (beta[rows] - 1)
            beta[rows] -= rate * slope / len(rows)
        return super().loss(x, y, rows)

    def after_epoch(self, epoch: int) -> None:
        """The areas grow by β; the halves at both ends of the trapezoids do not matter here."""
        super().after_epoch(epoch)
        for key, beta in self.betas.items():
            self.areas[key] += beta

    def stored(self, key: tuple[float, torch.dtype], places: Tensor, share: int) -> set[int]:
        """The samples among ``places`` with the largest areas."""
        order = self.areas[key][places].argsort(descending=True, stable=True)
        return set(places[order[:share]].tolist())


def main() -> None:
    """Train on the first task and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dataset", default="uci-har")
    parser.add_argument("--seed", type=int, default=1235)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    options = parser.parse_args()
    data = load(card(options.dataset, options.data), options.data)
    stream = make_stream(data, options.seed)
    context = Context(
        card=data.card,
        seed=options.seed,
        classes=len(stream.classes),
        samples=sum(len(task.train) for task in stream.tasks),
        budget=data.budget(len(stream.classes)),
        epochs=options.epochs,
    )
    method, task = Traced(context, CLOPSSettings()), stream.tasks[0]
    torch.set_num_threads(1)
    method.learn(task)
    share = context.budget // len(stream.classes)
    print(f"| class | samples | lr_β | distinct areas | of {share} stored, the same as exactly |")
    print("|---" * 5 + "|")
    for label in task.labels:
        places = torch.from_numpy((task.train.y == label).nonzero()[0])
        for rate in RATES:
            exact, rounded = (rate, torch.float64), (rate, torch.float32)
            same = method.stored(exact, places, share) & method.stored(rounded, places, share)
            distinct = len(method.areas[rounded][places].unique())
            print(f"| {label} | {len(places)} | {rate:g} | {distinct} | {len(same)} |")


if __name__ == "__main__":
    main()
