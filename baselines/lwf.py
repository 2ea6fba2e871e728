"""LwF: learning without forgetting, by distilling the old network's answers on new data.

Li and Hoiem, Learning without Forgetting, TPAMI 2017.

Loss at the t-th task: w₁·CE + w₂·λ·KL(teacher ‖ student) over the old classes' logits, both at
temperature 2, mean over the batch; w₁ = 1/t, w₂ = 1 − 1/t if adaptive, else 1. The teacher is the
network as it was after the previous task.

Deviations from the paper: 1. no T² factor; 2. adaptive weights; 3. one head, no warm-up of it
(all as in the published code). From the published code: 4. the teacher is in evaluation mode.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tsbench.learn.distillation import distillation, task_weights, teacher_of
from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.method import Paper
from tsbench.learn.settings import setting
from tsbench.nn.network import Network
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class LwFSettings(GradientSettings):
    """Hyper-parameters."""

    strength: float = setting(
        100.0, "λ of the distillation", grid=(100.0, 10.0, 1000.0, 1.0, 10000.0), least=0
    )
    adaptive: bool = setting(True, "weigh new and old by 1/t and 1 − 1/t")


class LwF(GradientMethod[LwFSettings]):
    """Cross-entropy on the new classes, distillation on the old ones."""

    name, title, family = "lwf", "LwF", "exemplar-free"
    keeps = "network"
    paper = Paper("Li and Hoiem", "Learning without Forgetting", "TPAMI", 2017)
    teacher: Network | None = None

    def before_task(self, task: Task) -> None:
        """The network before the task is the teacher."""
        self.teacher = teacher_of(self.network)
        self.weights = task_weights(self.settings.adaptive, task.index)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """w₁·CE + w₂·λ·KL."""
        logits = self.network(x)
        assert self.teacher is not None
        with torch.no_grad():
            target = self.teacher(x)
        old = distillation(logits[:, : target.shape[1]], target)
        w_new, w_old = self.weights
        return w_new * self.criterion(logits, y) + w_old * self.settings.strength * old

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """The teacher is not kept: the next one is the network itself."""
        self.teacher = None
