"""iCaRL: herded exemplars, distillation, and prediction by the nearest mean of exemplars.

Rebuffi et al., iCaRL: Incremental Classifier and Representation Learning, CVPR 2017.

Loss: binary cross-entropy, mean over all entries of the logits of [new, replay]. The targets of new
classes are the one-hot labels; those of old classes are the sigmoid outputs of the network as it
was after the previous task, for new and replayed samples alike. Exemplars are chosen and trimmed as
in ``herding``. Prediction is by the nearest class mean of the memory's features; features and means
are L2-normalised.

Deviations from the paper: 1. each batch has as many replayed samples as new ones, where the paper
passes over the union of both; 2. a mean over entries, not a sum over classes; 3. Adam, early
stopping by the binary cross-entropy with true labels; 4. herding as in ``herding``: picks from the
whole class by w ← w + μ − d.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from tsbench.baselines.herding import Herding

from tsbench.learn.distillation import teacher_of
from tsbench.learn.method import Context, Kept, nbytes
from tsbench.learn.replay import ReplaySettings
from tsbench.nn.encoder import FEATURES
from tsbench.nn.network import Network
from tsbench.protocol.stream import Task


class ICaRL(Herding):
    """Herding with distillation and nearest-mean prediction."""

    name, title = "icarl", "iCaRL"
    keeps = "network, raw samples, means"
    teacher: Network | None = None

    def __init__(self, context: Context, settings: ReplaySettings) -> None:
        super().__init__(context, settings)
        self.means = torch.empty(0, FEATURES, device=context.device)

    def criterion(self, logits: Tensor, y: Tensor) -> Tensor:
        """Binary cross-entropy over all entries."""
        return F.binary_cross_entropy_with_logits(logits, _one_hot(y, logits))

    def before_task(self, task: Task) -> None:
        """The network before the task is the teacher."""
        super().before_task(task)
        self.teacher = teacher_of(self.network)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """One forward pass over new and replayed; old classes as the teacher sees them."""
        assert self.teacher is not None
        if len(self.memory):
            chosen = self.retrieve(x, y)
            x, y = torch.cat([x, self.memory.x[chosen]]), torch.cat([y, self.memory.y[chosen]])
        logits = self.network(x)
        target = _one_hot(y, logits)
        with torch.no_grad():
            old = self.teacher(x).sigmoid()
        target[:, : old.shape[1]] = old
        return F.binary_cross_entropy_with_logits(logits, target)

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Choose the exemplars and take their means."""
        self.teacher = None
        super().after_task(task, x, y)
        stored = F.normalize(self.features(self.memory.x), dim=1)
        classes = range(self.classes_seen)
        means = torch.stack([stored[self.memory.y == k].mean(0) for k in classes])
        self.means = F.normalize(means, dim=1)

    @torch.inference_mode()
    def predict(self, x: np.ndarray) -> np.ndarray:
        """Minus the distance to each class mean."""
        return self.map(
            lambda part: -torch.cdist(F.normalize(self.network.encoder(part), dim=1), self.means), x
        )

    def linear_head(self, x: np.ndarray) -> np.ndarray:
        """What the head that was trained would have said."""
        return super().predict(x)

    def kept(self) -> Kept:
        """Network, memory and means."""
        kept = super().kept()
        return replace(kept, statistics=kept.statistics + nbytes(self.means))


def _one_hot(y: Tensor, logits: Tensor) -> Tensor:
    return F.one_hot(y, logits.shape[1]).to(logits.dtype)
