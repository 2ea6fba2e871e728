"""The base of all gradient methods: owns network and loop; a method overrides what differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.loop import EVAL_BATCH, SCHEDULES, Fit, Schedule, fit, mean_loss
from tsbench.learn.method import Context, Kept, Method, nbytes
from tsbench.learn.settings import Settings, setting
from tsbench.learn.shared import first_task_key
from tsbench.nn.encoder import FEATURES, Encoder
from tsbench.nn.network import Head, Network
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class GradientSettings(Settings):
    """Hyper-parameters of the training loop."""

    schedule: Schedule = setting(
        "step15", "learning rate: onecycle, or × 0.1 after epoch 10 or 15", grid=SCHEDULES
    )
    learning_rate: float = setting(1e-3, "Adam's step; the peak of onecycle", above=0)
    batch: int = setting(64, "new samples per step", least=1)
    patience: int = setting(5, "epochs without improvement before stopping", least=1)


S = TypeVar("S", bound=GradientSettings)
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Samples, labels and their places in the task → mean loss."""


class GradientMethod(Method[S]):
    """Fine-tunes one network with one growing head; cross-entropy over all classes seen."""

    Settings = GradientSettings
    plain_first_task: ClassVar[bool] = True
    """Whether the first task is plain training, to be shared with other methods."""

    def __init__(self, context: Context, settings: S) -> None:
        super().__init__(context, settings)
        card = context.card
        weights = context.torch_random("weights")
        encoder = Encoder(card.channels, card.input_norm, context.norm, card.dropout, weights)
        self.network = Network(encoder, Head(0, weights)).to(context.device)

    @property
    def classes_seen(self) -> int:
        """Outputs of the head."""
        return self.network.head.classes

    def learn(self, task: Task) -> None:
        """Grow the head, train, then whatever the method does after a task."""
        if task.index > 0:
            self.before_task(task)
        grow = self.context.torch_random("head", task.index)
        self.network.head = self.network.head.grown(max(task.labels) + 1, grow)
        x, y = self.tensors(task.train.x, task.train.y)
        if task.index == 0 and self.plain_first_task:
            self._learn_first(task, x, y)
        else:
            self._train(task, x, y, self.loss)
        self.after_task(task, x, y)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """Loss of a batch of new samples; ``rows`` are their places in the task."""
        return self.criterion(self.network(x), y)

    def criterion(self, logits: Tensor, y: Tensor) -> Tensor:
        """Mean loss of logits; also what early stopping goes by."""
        return F.cross_entropy(logits, y)

    def before_task(self, task: Task) -> None:
        """What to do with the old network before a task, from the second one on."""

    def after_epoch(self, epoch: int) -> None:
        """What to do after each epoch."""

    def at_best(self) -> None:
        """What to do after an epoch with the best weights so far; the last such are kept."""

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """What to do with the trained network and the task's data before it is gone."""

    def _learn_first(self, task: Task, x: Tensor, y: Tensor) -> None:
        """The first task is plain training, the same for all methods with the same settings."""

        def plain(batch_x: Tensor, batch_y: Tensor, rows: Tensor) -> Tensor:
            return self.criterion(self.network(batch_x), batch_y)

        def train() -> dict[str, Tensor]:
            self._train(task, x, y, plain)
            return self.network.state_dict()

        if self.context.shared is None:
            train()
            return
        key = first_task_key(self.context, task, self._fit(), type(self))
        self.network.load_state_dict(self.context.shared.first_task(key, train))
        self.network.eval()

    def _fit(self) -> Fit:
        s = self.settings
        return Fit(self.context.epochs, s.schedule, s.learning_rate, s.batch, s.patience)

    def _train(self, task: Task, x: Tensor, y: Tensor, loss: Loss) -> None:
        has_val = len(task.val) > 0
        val_x, val_y = self.tensors(task.val.x, task.val.y) if has_val else (x, y)
        self.network.draw_dropout_from(
            self.context.torch_random("dropout", task.index, on_device=True)
        )

        def progress(epoch: int, value: float) -> None:
            self.context.progress(task.index, epoch, value)
            self.after_epoch(epoch)

        fit(
            self.network,
            samples=len(x),
            how=self._fit(),
            order=self.context.torch_random("order", task.index),
            loss=lambda rows: loss(x[rows], y[rows], rows),
            validate=lambda: mean_loss(self.network, self.criterion, val_x, val_y),
            progress=progress,
            improved=self.at_best,
        )

    @torch.inference_mode()
    def predict(self, x: np.ndarray) -> np.ndarray:
        """Logits over all classes seen."""
        return self.map(self.network, x)

    def map(self, function: Callable[[Tensor], Tensor], x: np.ndarray) -> np.ndarray:
        """A function of batches (n, C, L) applied to all of ``x``, in evaluation mode."""
        self.network.eval()
        parts = [
            function(torch.from_numpy(np.array(x[i : i + EVAL_BATCH])).to(self.context.device))
            for i in range(0, len(x), EVAL_BATCH)
        ]
        return torch.cat(parts).cpu().numpy()

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """Features (N, 128) of samples on the device, in evaluation mode."""
        training = self.network.training
        self.network.eval()
        parts = [self.network.encoder(part) for part in x.split(EVAL_BATCH)]
        self.network.train(training)
        return torch.cat(parts) if parts else x.new_empty(0, FEATURES)

    def tensors(self, x: np.ndarray, y: np.ndarray) -> tuple[Tensor, Tensor]:
        """Arrays on the device of the run."""
        device = self.context.device
        return torch.from_numpy(x).to(device), torch.from_numpy(y).to(device)

    def kept(self) -> Kept:
        """The network; methods add what else they keep."""
        return Kept(parameters=nbytes(*self.network.parameters(), *self.network.buffers()))

    def parameters(self) -> int:
        """Trained parameters of the network."""
        return sum(p.numel() for p in self.network.parameters())
