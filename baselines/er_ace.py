"""ER-ACE: replay with asymmetric cross-entropy; new samples do not push old classes down.

Caccia et al., New Insights on Reducing Abrupt Representation Change in Online Continual Learning,
ICLR 2022.

Loss: CE(replay) over all classes seen + CE(new) over the classes that are present in the batch
alone, two means from two forward passes. The first task is plain cross-entropy. The memory is a
reservoir that takes in a task's samples before the task is learned, so that old and new classes
meet in the replayed batches, as they do in the paper's online memory once a task has been seen.

Deviations from the paper: 1. many epochs per task; 2. hence the reservoir is filled at once at the
beginning of a task, not batch by batch; 3. no augmentation.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tsbench.learn.method import Paper
from tsbench.learn.replay import ReplaySettings, ReservoirMethod
from tsbench.protocol.stream import Task


class ERACE(ReservoirMethod[ReplaySettings]):
    """Replay over all classes, new samples over their own."""

    name, title = "er-ace", "ER-ACE"
    paper = Paper(
        "Caccia et al.",
        "New Insights on Reducing Abrupt Representation Change in Online Continual Learning",
        "ICLR",
        2022,
    )

    def before_task(self, task: Task) -> None:
        """The task's samples enter the reservoir."""
        super().before_task(task)
        super().after_task(task, *self.tensors(task.train.x, task.train.y))

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Those of the first task do so after it: nothing is replayed during it."""
        if task.index == 0:
            super().after_task(task, x, y)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """CE(replay) + CE(new) over the classes present."""
        new = self.criterion(only(self.network(x), y), y)
        if not len(self.memory):
            return new
        return self.replay_loss(self.retrieve(x, y)) + new


def only(logits: Tensor, y: Tensor) -> Tensor:
    """Logits of the classes in ``y``; those of all others are −∞."""
    absent = torch.ones(logits.shape[1], dtype=torch.bool, device=logits.device)
    absent[y] = False
    return logits.masked_fill(absent, -math.inf)
