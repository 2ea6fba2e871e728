"""TS-ACL-R: ridge regression in closed form on random convolution kernels. Our own method.

TS-ACL's weak point is the encoder, trained on the two classes of the first task and frozen; its
strong point is the ridge, which learns task by task exactly what it would learn from all data at
once. So the ridge is kept, and encoder and random hidden layer give way to a bank of random
convolution kernels (see ``kernels``) that nothing trains: no gradient step, no exemplar.

Features U are a constant 1 and the bank's counts as shares of all positions, those of
level-sensitive kernels times a scale s < 1: they recognise recordings as well as activities, and a
larger penalty on them keeps what carries over to other people. W = (UᵀU + γI)⁻¹UᵀV over all
samples so far, with γ = penalty × their number, so that the balance of fit and penalty does not
shift as the stream grows. Raw input, no normalisation layer.

The statistics are of counts, not of shares, so they are integers and exact (see ``ridge``); the
scale is applied when solving, as a penalty 1/s² times as large.

What is taken from data before the ridge: the kernels' thresholds, from training data of task 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from tsbench.analytic.kernels import KernelBank
from tsbench.analytic.ridge import IntegerGram, solver_notes
from tsbench.learn.method import Context, Kept, Method, Paper, nbytes
from tsbench.learn.settings import Settings, setting
from tsbench.protocol.stream import Task

CHUNK = 1024
"""Samples whose features are in memory at a time."""
SEED_BYTES = 8


@dataclass(frozen=True)
class KernelSettings(Settings):
    """Hyper-parameters; one default for all data sets."""

    kernels: int = setting(1700, "random convolution kernels", least=1)
    thresholds: int = setting(2, "thresholds per kernel", least=1)
    crossings: bool = setting(True, "also count how often each threshold is crossed")
    signs: bool = setting(True, "zero-sum kernels add or subtract each channel at random")
    level_share: float = setting(0.2, "share of level-sensitive kernels", least=0, most=1)
    level_scale: float = setting(0.3, "scale of their features; smaller: penalised more", above=0)
    penalty: float = setting(
        1e-3, "ridge penalty per sample: γ = penalty × samples so far", above=0
    )


class TSACLR(Method[KernelSettings]):
    """Random convolution kernels, ridge."""

    name, title, family = "ts-acl-r", "TS-ACL-R", "analytic"
    keeps = "statistics"
    paper = Paper("The tsbench authors", "TS-ACL-R (docs/ts-acl-r.md)", "tsbench", 2026)

    def __init__(self, context: Context, settings: KernelSettings) -> None:
        super().__init__(context, settings)
        card, device = context.card, context.device
        self.bank = KernelBank(
            card.channels,
            card.length,
            settings.kernels,
            settings.thresholds,
            settings.level_share,
            context.random("kernels"),
            device,
            crossings=settings.crossings,
            signs=settings.signs,
        )
        # Apple's GPUs have no float64: the ridge stays on the CPU there.
        self.solve_on = torch.device("cpu") if device.type == "mps" else device
        scale = torch.ones(1 + self.bank.features, dtype=torch.float64)
        scale[1:][self.bank.level] = settings.level_scale
        self.scale = scale.to(self.solve_on)
        self.ridge = IntegerGram(self.bank.features + 1, self.bank.positions, self.solve_on)
        self.weights = torch.empty(0, 0, dtype=torch.float64)

    def learn(self, task: Task) -> None:
        """Task 1 sets the thresholds; every task updates the ridge."""
        x, y = task.train.x, task.train.y
        if task.index == 0:
            self.bank.fit(x, self.context.random("thresholds"))
        for start in range(0, len(x), CHUNK):
            rows = slice(start, start + CHUNK)
            labels = torch.from_numpy(y[rows]).to(self.solve_on)
            self.ridge.absorb(self._counts(x[rows]), labels)
        gamma = self.settings.penalty * self.ridge.samples
        self.weights = self.ridge.weights(gamma * (self.bank.positions / self.scale) ** 2)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Ridge output."""
        scores = [
            self._counts(x[start : start + CHUNK]).double() @ self.weights
            for start in range(0, len(x), CHUNK)
        ]
        return torch.cat(scores).cpu().numpy()

    def classifier_features(self, x: np.ndarray) -> np.ndarray:
        """The features that the ridge sees."""
        scale = (self.scale / self.bank.positions).float()
        return (self._counts(x) * scale).cpu().numpy()

    def notes(self) -> dict[str, Any]:
        """Whether float32 did not suffice to solve the ridge."""
        return solver_notes(self.ridge)

    def kept(self) -> Kept:
        """The seed of the kernels; thresholds and ridge statistics; the classifier."""
        thresholds = [group.thresholds for group in self.bank.groups]
        return Kept(
            statistics=nbytes(*thresholds, *self.ridge.tensors()),
            parameters=SEED_BYTES + nbytes(self.weights),
        )

    def parameters(self) -> int:
        """Weights of the ridge."""
        return self.weights.numel()

    def _counts(self, x: np.ndarray) -> Tensor:
        """A constant and the counts of the bank, where the ridge is solved."""
        return pad(self.bank(x).to(self.solve_on), (1, 0), value=float(self.bank.positions))
