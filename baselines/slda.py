"""SLDA: streaming linear discriminant analysis on the frozen encoder of the first task.

Hayes and Kanan, Lifelong Machine Learning with Deep Streaming Linear Discriminant Analysis, CVPR
Workshops 2020.

Score of class k: μ_kᵀΛf − ½ μ_kᵀΛμ_k, where μ_k is the mean feature of the class and Λ the inverse
of the shrunk covariance (1 − ε)Σ + ε·(tr Σ / d)·I; Σ is the covariance within classes over all
samples so far, Σ = (1/n) Σ_i (f_i − μ_{y_i})(f_i − μ_{y_i})ᵀ. Classes are equally probable.

Deviations from the paper: 1. the encoder is trained on the first task, not pretrained; 2. Σ is
exact, where the paper's one-sample update uses the means as they are at that moment; 3. the paper
shrinks towards I: here the target has the scale of Σ, so that ε does not depend on that of the
features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tsbench.learn.frozen import FrozenMethod, FrozenSettings
from tsbench.learn.method import Context, Paper
from tsbench.learn.settings import setting


@dataclass(frozen=True)
class SLDASettings(FrozenSettings):
    """Hyper-parameters."""

    shrinkage: float = setting(
        1e-2,
        "share ε of the identity in the covariance",
        grid=(1e-2, 1e-4, 1e-3, 1e-1),
        above=0,
        most=1,
    )


class SLDA(FrozenMethod[SLDASettings]):
    """Class means and one covariance."""

    name, title = "slda", "SLDA"
    keeps = "encoder, means, covariance"
    paper = Paper(
        "Hayes and Kanan",
        "Lifelong Machine Learning with Deep Streaming Linear Discriminant Analysis",
        "CVPR Workshops",
        2020,
    )

    def __init__(self, context: Context, settings: SLDASettings) -> None:
        super().__init__(context, settings)
        self.samples = 0
        self.means = torch.empty(0, self.inputs, dtype=torch.float64, device=self.solve_on)
        self.scatter = self.means.new_zeros(self.inputs, self.inputs)
        self.weights, self.bias = self.means, self.means.new_empty(0)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Means of the new classes, scatter around them, and the discriminant."""
        for label in labels.unique():
            group = features[labels == label]
            mean = group.mean(0)
            self.scatter.addmm_((group - mean).T, group - mean)
            self.means = torch.cat([self.means, mean[None]])
        self.samples += len(features)
        covariance = shrunk(self.scatter / self.samples, self.settings.shrinkage)
        self.weights = torch.linalg.solve(covariance, self.means.T)  # Λμ, (d, K)
        self.bias = -0.5 * (self.means.T * self.weights).sum(0)

    def scores(self, features: Tensor) -> Tensor:
        """The linear discriminant."""
        return features @ self.weights + self.bias

    def statistics(self) -> list[Tensor]:
        """Means and scatter."""
        return [self.means, self.scatter]

    def classifier(self) -> list[Tensor]:
        """The discriminant."""
        return [self.weights, self.bias]


def shrunk(covariance: Tensor, share: float) -> Tensor:
    """(1 − ε)Σ + ε·(tr Σ / d)·I; the identity where nothing varies."""
    scale = covariance.diagonal().mean()
    eye = torch.eye(len(covariance), dtype=covariance.dtype, device=covariance.device)
    return (1 - share) * covariance + share * scale * eye if scale > 0 else eye
