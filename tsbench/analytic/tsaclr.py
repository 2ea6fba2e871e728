"""TS-ACL-R: ridge regression in closed form on random convolution kernels. Our own method.

TS-ACL's weak point is the encoder, trained on the two classes of the first task and frozen; its
strong point is the ridge, which learns task by task exactly what it would learn from all data at
once. So the ridge is kept, and encoder and random hidden layer give way to a bank of random
convolution kernels (see ``kernels``) that nothing trains: no gradient step, no exemplar.

Features U are the shares of the bank and a constant 1; Φ = (UᵀU + γI)⁻¹UᵀV over all samples so
far, with γ = penalty × their number, so that the balance of fit and penalty does not shift as the
stream grows. Raw input, no normalisation layer.

What is taken from data before the ridge: the kernels' thresholds, from training data of task 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from tsbench.analytic.kernels import KernelBank
from tsbench.analytic.ridge import cheapest
from tsbench.data.stream import CLASSES_PER_TASK, Task
from tsbench.learn.method import Context, Kept, Method, Settings, nbytes, require

CHUNK = 1024
"""Samples whose features are in memory at a time."""
SEED_BYTES = 8


@dataclass(frozen=True)
class KernelSettings(Settings):
    """Hyper-parameters; one default for all data sets."""

    kernels: int = 2000
    """Random convolution kernels."""
    thresholds: int = 4
    """Thresholds a kernel, each a feature."""
    penalty: float = 1e-3
    """Ridge penalty a sample: γ = penalty × samples so far."""

    def __post_init__(self) -> None:
        require(self.kernels >= 1, "kernels must be at least 1")
        require(self.thresholds >= 1, "thresholds must be at least 1")
        require(0 < self.penalty < math.inf, "penalty must be a number above 0")


class TSACLR(Method):
    """Random convolution kernels, ridge."""

    Settings: ClassVar[type[Settings]] = KernelSettings

    def __init__(self, context: Context, settings: Any) -> None:
        super().__init__(context, settings)
        card, device = context.card, context.device
        self.bank = KernelBank(
            card.channels,
            card.length,
            settings.kernels,
            settings.thresholds,
            context.random("kernels"),
            device,
        )
        # Apple's GPUs have no float64: the ridge stays on the CPU there.
        self.solve_on = torch.device("cpu") if device.type == "mps" else device
        tasks = max(1, context.classes // CLASSES_PER_TASK)
        self.ridge = cheapest(self.bank.features + 1, context.samples, tasks, None, self.solve_on)
        self.samples = 0
        self.weights = torch.empty(0, 0, dtype=torch.float64)

    def learn(self, task: Task) -> None:
        """Task 1 sets the thresholds; every task updates the ridge."""
        x, y = task.train.x, task.train.y
        if task.index == 0:
            self.bank.fit(x, self.context.random("thresholds"))
        for start in range(0, len(x), CHUNK):
            rows = slice(start, start + CHUNK)
            labels = torch.from_numpy(y[rows]).to(self.solve_on)
            self.ridge.absorb(self._features(x[rows]), labels)
        self.samples += len(x)
        self.weights = self.ridge.weights(self.settings.penalty * self.samples)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Ridge output."""
        scores = [
            self._features(x[start : start + CHUNK]) @ self.weights
            for start in range(0, len(x), CHUNK)
        ]
        return torch.cat(scores).cpu().numpy()

    def inputs(self, x: np.ndarray) -> np.ndarray:
        """The features that the ridge sees."""
        return self._features(x).float().cpu().numpy()

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

    def _features(self, x: np.ndarray) -> Tensor:
        """Shares and a constant, in the precision of the ridge."""
        return pad(self.bank(x).to(self.solve_on), (0, 1), value=1.0).double()
