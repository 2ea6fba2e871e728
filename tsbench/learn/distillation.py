"""Teachers, and learning from them: what LwF and DT2W share."""

from __future__ import annotations

import copy

import torch.nn.functional as F
from torch import Tensor

from tsbench.nn.network import Network

TEMPERATURE = 2.0


def teacher_of(network: Network) -> Network:
    """A frozen copy in evaluation mode."""
    teacher = copy.deepcopy(network).eval()
    return teacher.requires_grad_(False)


def distillation(student: Tensor, teacher: Tensor) -> Tensor:
    """KL(teacher ‖ student) of softened logits, mean over the batch, without a T² factor."""
    return F.kl_div(
        F.log_softmax(student / TEMPERATURE, dim=1),
        F.softmax(teacher / TEMPERATURE, dim=1),
        reduction="batchmean",
    )


def task_weights(adaptive: bool, index: int) -> tuple[float, float]:
    """Weights of new and old: 1/t and 1 − 1/t at the t-th task, or 1 and 1.

    >>> task_weights(True, 3), task_weights(False, 3)
    ((0.25, 0.75), (1.0, 1.0))
    """
    return (1 / (index + 1), 1 - 1 / (index + 1)) if adaptive else (1.0, 1.0)
