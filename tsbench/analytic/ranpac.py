"""RanPAC: random projection, Gram matrix, ridge regression with a penalty chosen task by task.

McDonnell et al., RanPAC: Random Projections and Pre-trained Models for Continual Learning, NeurIPS
2023.

H = ReLU(F·W) with a fixed normal W of ``width`` columns; the classifier is (G + γI)⁻¹Q with
G = HᵀH and Q = HᵀY over all samples so far, Y one-hot. After each task γ is the power of ten with
the least squared error on a random fifth of the task's training samples, for a ridge on the other
four fifths of that task alone; then all of the task enters G and Q.

Deviations from the paper: 1. the encoder is trained on the first task, not pretrained and adapted;
2. W has standard deviation 1/√d_in, not 1, which only changes the scale of γ; 3. γ from 10⁻³ to
10⁸, since the paper's 10⁻⁸ to 10⁻⁴ are lost in rounding; 4. 8000 columns as in TS-ACL, not
10 000; 5. G and Q in whichever exact form is fastest (see ``ridge``).
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

GRID = tuple(10.0**exponent for exponent in range(-3, 9))


@dataclass(frozen=True)
class RanPACSettings(FrozenSettings):
    """Hyper-parameters."""

    width: int = setting(8000, "random features", grid=(8000, 2000, 4000), least=1)


class RanPAC(FrozenMethod[RanPACSettings]):
    """Ridge regression on random features."""

    name, title = "ranpac", "RanPAC"
    keeps = "encoder, statistics"
    paper = Paper(
        "McDonnell et al.",
        "RanPAC: Random Projections and Pre-trained Models for Continual Learning",
        "NeurIPS",
        2023,
    )

    def __init__(self, context: Context, settings: RanPACSettings) -> None:
        super().__init__(context, settings)
        draws = context.torch_random("hidden layer", 0)
        self.layer = HiddenLayer(self.inputs, settings.width, draws, self.solve_on)
        self.ridge = cheapest(settings.width, context.samples, self.solve_on)
        self.weights = torch.empty(0, 0, dtype=torch.float64)
        self.gammas: list[float] = []

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Choose γ on the task, add the task to G and Q, and solve."""
        expanded = self._expand(features)
        draws = self.context.torch_random("ridge validation", int(labels.min()))
        order = torch.randperm(len(labels), generator=draws).to(labels.device)
        self.gammas.append(choose_gamma(expanded[order], labels[order]))
        self.ridge.absorb(expanded, labels)
        self.weights = self.ridge.weights(self.gammas[-1])

    def scores(self, features: Tensor) -> Tensor:
        """Ridge output."""
        return self._expand(features) @ self.weights

    def statistics(self) -> list[Tensor]:
        """G and Q, in the solver's form."""
        return self.ridge.tensors()

    def classifier(self) -> list[Tensor]:
        """Ridge weights."""
        return [self.weights]

    def fixed(self) -> list[Tensor]:
        """The random projection."""
        return [self.layer.weight]

    def notes(self) -> dict[str, Any]:
        """γ of each task, and how often float32 did not suffice to solve the ridge."""
        return {"gamma of each task": self.gammas, **solver_notes(self.ridge)}

    def _expand(self, features: Tensor) -> Tensor:
        return self.layer(features.float()).double()


def choose_gamma(features: Tensor, labels: Tensor) -> float:
    """The γ of least squared error on the last fifth, for a ridge on the rows before it.

    In the dual form one eigendecomposition serves every γ: K(A)⁻¹ = V (S + γ)⁻¹ Vᵀ.
    """
    cut = max(1, 4 * len(labels) // 5)
    fitted, held = features[:cut], features[min(cut, len(labels) - 1) :]
    targets = F.one_hot(labels).double()
    values, vectors = torch.linalg.eigh(fitted @ fitted.T)
    across, along = held @ fitted.T @ vectors, vectors.T @ targets[:cut]
    errors = [
        (across @ (along / (values.clamp_min(0) + gamma)[:, None]) - targets[-len(held) :])
        .square()
        .mean()
        for gamma in GRID
    ]
    return GRID[int(torch.stack(errors).argmin())]
