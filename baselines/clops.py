"""CLOPS: replay of samples that were learned with importance, β.

Kiyasseh et al., A clinical deep learning framework for continually learning from cardiac signals
across diseases, time, modalities, and institutions, Nature Communications 2021.

Loss: CE(replay) + mean(β_i·CE_i) + λ_β·MSE(β, 1) on the new batch. β is 1 for every sample at the
start of a task and follows plain gradient descent: β ← β − lr_β·∂loss/∂β. After the task the
samples of each new class are ranked by the area under their β over the epochs (trapezoids).
Retrieval is at random, or (``uncertain``) the most uncertain per class: 10 passes with dropout,
refreshed every third epoch, entropy of the mean − mean entropy.

Deviations from the paper: 1. no storage and acquisition fractions, shares of the budget instead;
2. random retrieval by default (both as in the published code). From the published code: 3. the
gradient is clipped and the schedule followed as in every method; 4. shares are rounded down, so
that the budget is never exceeded; 5. the trace of β begins with its initial value; 6. uncertainty,
where it is used, is that of probabilities, not logits, with nothing but dropout in training mode;
7. β is followed exactly, where float32 near 1 loses many of its steps (docs/evidence.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.loop import EVAL_BATCH
from tsbench.learn.method import Context, Paper
from tsbench.learn.replay import ReplayMethod, ReplaySettings
from tsbench.learn.settings import setting
from tsbench.nn.random import Dropout
from tsbench.protocol.stream import Task

PASSES, REFRESH, FALLBACK_DROPOUT = 10, 3, 0.25


@dataclass(frozen=True)
class CLOPSSettings(ReplaySettings):
    """Hyper-parameters."""

    beta_rate: float = setting(1e-4, "step lr_β of β", grid=(1e-4, 1e-5), least=0)
    beta_strength: float = setting(
        1.0, "λ_β that holds β near 1", grid=(1.0, 0.1, 10.0, 100.0), least=0
    )
    uncertain: bool = setting(False, "replay the most uncertain samples, not random ones")


class CLOPS(ReplayMethod[CLOPSSettings]):
    """Importance-guided storage."""

    name, title = "clops", "CLOPS"
    paper = Paper(
        "Kiyasseh et al.",
        "A clinical deep learning framework for continually learning from cardiac signals across "
        "diseases, time, modalities, and institutions",
        "Nature Communications",
        2021,
    )
    plain_first_task = False

    def __init__(self, context: Context, settings: CLOPSSettings) -> None:
        super().__init__(context, settings)
        self.offset = self.area = self.previous = torch.empty(0)
        self.candidates: Tensor | None = None

    def learn(self, task: Task) -> None:
        """Begin with β = 1 for every sample of the task.

        Steps of β are so small that they drown in the rounding of numbers near 1: what is followed
        and summed up is β − 1, which ranks the samples alike.
        """
        self.offset = torch.zeros(len(task.train), device=self.context.device)
        self.previous, self.area = self.offset.clone(), torch.zeros_like(self.offset)
        self.candidates = None
        super().learn(task)
        self.offset = self.area = self.previous = torch.empty(0)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """CE(replay) + mean(β·CE) + λ_β·MSE(β, 1), and a step of β."""
        each = F.cross_entropy(self.network(x), y, reduction="none")
        offset = self.offset[rows]
        strength = self.settings.beta_strength
        new = ((1 + offset) * each).mean() + strength * offset.square().mean()
        slope = (each.detach() + 2 * strength * offset) / len(rows)
        self.offset[rows] = offset - self.settings.beta_rate * slope
        if not len(self.memory):
            return new
        return self.replay_loss(self.retrieve(x, y)) + new

    def retrieve(self, x: Tensor, y: Tensor) -> Tensor:
        """At random, from all of the memory or from its most uncertain samples."""
        if not self.settings.uncertain:
            return super().retrieve(x, y)
        if self.candidates is None:
            self.candidates = self._most_uncertain()
        order = torch.randperm(len(self.candidates), generator=self.draws)
        return self.candidates[order[: self.settings.replay].to(self.candidates.device)]

    def after_epoch(self, epoch: int) -> None:
        """Add a trapezoid to every sample's area; let the uncertainties grow old."""
        self.area += (self.previous + self.offset) / 2
        self.previous = self.offset.clone()
        if epoch % REFRESH == 0:
            self.candidates = None

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Rank the new classes by area, trim the old ones."""
        ranking = {}
        for label in task.labels:
            places = (y == label).nonzero().flatten()
            order = self.area[places].argsort(descending=True, stable=True)
            ranking[label] = places[order]
        self.store_ranked(x, y, ranking)

    @torch.no_grad()
    def _most_uncertain(self) -> Tensor:
        """The top ⌈replay / classes⌉ of each class by uncertainty."""
        training = self.network.training
        with self._dropping():
            passes = torch.stack(
                [
                    torch.cat([self.network(p).softmax(1) for p in self.memory.x.split(EVAL_BATCH)])
                    for _ in range(PASSES)
                ]
            )
        self.network.train(training)
        doubt = entropy_difference(passes)
        most = math.ceil(self.settings.replay / len(self.memory.y.unique()))
        by_doubt = doubt.argsort(descending=True, stable=True)
        order = by_doubt[self.memory.y[by_doubt].argsort(stable=True)]
        labels = self.memory.y[order]
        rank = torch.arange(len(order), device=order.device) - torch.searchsorted(labels, labels)
        return order[rank < most]

    @contextmanager
    def _dropping(self) -> Iterator[None]:
        """Dropout on, and nothing else in training mode; at 0.25 where the network has none."""
        layers = [m for m in self.network.modules() if isinstance(m, Dropout)]
        before = [layer.p for layer in layers]
        self.network.eval()
        for layer in layers:
            layer.train()
            layer.p = layer.p or FALLBACK_DROPOUT
        try:
            yield
        finally:
            for layer, p in zip(layers, before, strict=True):
                layer.p = p


def entropy_difference(passes: Tensor) -> Tensor:
    """Entropy of the mean − mean entropy of class probabilities (passes, N, K)."""

    def entropy(p: Tensor) -> Tensor:
        return -(p * p.clamp_min(1e-12).log()).sum(-1)

    return entropy(passes.mean(0)) - entropy(passes).mean(0)
