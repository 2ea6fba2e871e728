"""NCM: nearest class mean on the frozen encoder of the first task.

Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, CVPR 2017 (the rule);
Janson et al., A Simple Baseline that Questions the Use of Pretrained-Models in Continual Learning,
2022 (the rule alone, on a frozen encoder).

Score of class k: −‖f − μ_k‖², μ_k being the mean feature of all its training samples. With
``normalise`` features and means are scaled to length 1.

Deviations from the papers: 1. the encoder is trained on the first task, not pretrained; 2. means of
all training samples, not of exemplars.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.frozen import FrozenMethod, FrozenSettings
from tsbench.learn.method import Context, Paper
from tsbench.learn.settings import setting


@dataclass(frozen=True)
class NCMSettings(FrozenSettings):
    """Hyper-parameters."""

    normalise: bool = setting(False, "scale features and means to length 1", grid=(False, True))


class NCM(FrozenMethod[NCMSettings]):
    """The class whose mean is nearest."""

    name, title = "ncm", "NCM"
    keeps = "encoder, means"
    paper = Paper(
        "Janson et al.",
        "A Simple Baseline that Questions the Use of Pretrained-Models in Continual Learning",
        "arXiv",
        2022,
    )

    def __init__(self, context: Context, settings: NCMSettings) -> None:
        super().__init__(context, settings)
        self.means = torch.empty(0, self.inputs, dtype=torch.float64, device=self.solve_on)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Means of the new classes."""
        features = self._scaled(features)
        new = [features[labels == k].mean(0) for k in labels.unique()]
        self.means = torch.cat([self.means, self._scaled(torch.stack(new))])

    def scores(self, features: Tensor) -> Tensor:
        """Minus the squared distance to each mean."""
        return -(self._scaled(features)[:, None] - self.means).square().sum(2)

    def statistics(self) -> list[Tensor]:
        """The means."""
        return [self.means]

    def _scaled(self, features: Tensor) -> Tensor:
        return F.normalize(features, dim=1) if self.settings.normalise else features
