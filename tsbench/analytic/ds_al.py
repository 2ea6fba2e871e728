"""DS-AL: dual-stream analytic learning; a second ridge learns what the first one leaves over.

Zhuang et al., DS-AL: A Dual-Stream Analytic Learning for Exemplar-Free Class-Incremental Learning,
AAAI 2024.

U = F·W with a fixed normal W of ``width`` columns. The main stream is a ridge from ReLU(U) to the
one-hot labels Y over all samples so far, γ. The compensation stream is a ridge from tanh(U), γ too,
to what the main stream, after it has learned a task, leaves over on that task's samples:
Y − ReLU(U)·Φ_main, with zeros in the columns of old classes. Score: ReLU(U)·Φ_main +
C·tanh(U)·Φ_compensation.

Deviations from the paper: 1. the encoder is trained on two classes, the paper's on half of them;
2. W has standard deviation 1/√d_in; 3. one γ for both streams; 4. both are solved in whichever
exact form is fastest (see ``ridge``), which equals the paper's recursion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.analytic.hidden import HiddenLayer
from tsbench.analytic.ridge import cheapest, solver_notes
from tsbench.learn.frozen import FrozenMethod, FrozenSettings
from tsbench.learn.method import Context, Paper
from tsbench.learn.settings import setting


@dataclass(frozen=True)
class DSALSettings(FrozenSettings):
    """Hyper-parameters."""

    gamma: float = setting(3.0, "ridge penalty γ", grid=(3.0, 1.0, 10.0), above=0)
    ratio: float = setting(
        1.5, "weight C of the compensation stream", grid=(1.5, 0.0, 0.5, 1.0), least=0
    )
    width: int = setting(4000, "random features", grid=(4000, 2000), least=1)


class DSAL(FrozenMethod[DSALSettings]):
    """A ridge, and a ridge on its residuals."""

    name, title = "ds-al", "DS-AL"
    keeps = "encoder, statistics × 2"
    paper = Paper(
        "Zhuang et al.",
        "DS-AL: A Dual-Stream Analytic Learning for Exemplar-Free Class-Incremental Learning",
        "AAAI",
        2024,
    )

    def __init__(self, context: Context, settings: DSALSettings) -> None:
        super().__init__(context, settings)
        draws = context.torch_random("hidden layer", 0)
        self.layer = HiddenLayer(self.inputs, settings.width, draws, self.solve_on)
        self.ridges = [cheapest(settings.width, context.samples, self.solve_on) for _ in range(2)]
        self.main = torch.zeros(settings.width, 0, dtype=torch.float64, device=self.solve_on)
        self.compensation = self.main

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """The main stream, then the compensation stream on what is left over."""
        main, side = self._streams(features)
        old = self.main.shape[1]
        self.ridges[0].absorb(main, labels)
        self.main = self.ridges[0].weights(self.settings.gamma)
        residual = F.one_hot(labels, self.main.shape[1]).double() - main @ self.main
        residual[:, :old] = 0.0
        self.ridges[1].absorb(side, residual)
        self.compensation = self.ridges[1].weights(self.settings.gamma)

    def scores(self, features: Tensor) -> Tensor:
        """Both streams."""
        main, side = self._streams(features)
        return main @ self.main + self.settings.ratio * (side @ self.compensation)

    def statistics(self) -> list[Tensor]:
        """Those of both streams."""
        return [tensor for ridge in self.ridges for tensor in ridge.tensors()]

    def classifier(self) -> list[Tensor]:
        """Ridge weights of both streams."""
        return [self.main, self.compensation]

    def fixed(self) -> list[Tensor]:
        """The random projection."""
        return [self.layer.weight]

    def notes(self) -> dict[str, Any]:
        """How often float32 did not suffice to solve a ridge."""
        return solver_notes(*self.ridges)

    def _streams(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """ReLU(U) and tanh(U)."""
        projected = features.float() @ self.layer.weight
        return projected.relu().double(), projected.tanh().double()
