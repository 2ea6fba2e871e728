"""The one training loop: Adam, schedule, clipping, early stopping on the validation loss.

Data stays on the device, batches are rows of a permutation, and the loss is read back once an
epoch, so that no step waits for the host.

Deviation from the published loop: the validation loss is the mean over samples, not over batches.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler, MultiStepLR, OneCycleLR

Schedule = Literal["onecycle", "step10", "step15"]
SCHEDULES: tuple[Schedule, ...] = ("step15", "step10", "onecycle")
"""In the order that tuning tries them."""

CLIP = 1.0
EVAL_BATCH = 128


@dataclass(frozen=True)
class Fit:
    """How to train: what differs between methods and data sets."""

    epochs: int
    schedule: Schedule
    learning_rate: float
    batch: int
    patience: int


def fit(
    network: nn.Module,
    samples: int,
    how: Fit,
    order: torch.Generator,
    loss: Callable[[Tensor], Tensor],
    validate: Callable[[], float],
    progress: Callable[[int, float], None],
    improved: Callable[[], None] = lambda: None,
) -> int:
    """Train ``network`` and leave it with its best weights; returns the epochs run.

    ``loss`` maps the indices of a batch to its loss; ``validate`` gives the loss to stop by;
    ``improved`` is called whenever the weights are the best so far.
    """
    device = next(network.parameters()).device
    trained = [p for p in network.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(trained, lr=how.learning_rate)
    steps = math.ceil(samples / how.batch)
    scheduler = make_schedule(optimiser, how, steps)
    best, best_loss, waited, epoch = copy.deepcopy(network.state_dict()), math.inf, 0, 0
    for epoch in range(1, how.epochs + 1):
        network.train()
        total = torch.zeros((), device=device)
        for rows in batches(samples, how.batch, order, device):
            optimiser.zero_grad(set_to_none=True)
            value = loss(rows)
            value.backward()
            nn.utils.clip_grad_norm_(trained, CLIP)
            optimiser.step()
            if how.schedule == "onecycle":
                scheduler.step()
            total += value.detach() * len(rows)
        if how.schedule != "onecycle":
            scheduler.step()
        network.eval()
        with torch.no_grad():
            current = validate()
        mean = total.item() / samples
        progress(epoch, mean)
        if not (math.isfinite(mean) and math.isfinite(current)):
            raise FloatingPointError(
                f"the loss became {mean} (validation {current}) in epoch {epoch}"
            )
        if current <= best_loss:
            best, best_loss, waited = copy.deepcopy(network.state_dict()), current, 0
            improved()
        else:
            waited += 1
            if waited >= how.patience:
                break
    network.load_state_dict(best)
    network.eval()
    return epoch


def make_schedule(optimiser: torch.optim.Optimizer, how: Fit, steps: int) -> LRScheduler:
    """``onecycle``: one step a batch; ``step10``, ``step15``: ×0.1 after that epoch."""
    if how.schedule == "onecycle":
        return OneCycleLR(optimiser, how.learning_rate, epochs=how.epochs, steps_per_epoch=steps)
    return MultiStepLR(optimiser, [int(how.schedule.removeprefix("step"))], gamma=0.1)


def batches(
    samples: int, size: int, order: torch.Generator, device: torch.device
) -> Iterator[Tensor]:
    """A random permutation of the rows in batches; the last one may be smaller."""
    yield from torch.randperm(samples, generator=order).to(device).split(size)


def mean_loss(
    forward: Callable[[Tensor], Tensor],
    criterion: Callable[[Tensor, Tensor], Tensor],
    x: Tensor,
    y: Tensor,
) -> float:
    """Mean of a criterion (itself a mean) over samples, in batches."""
    total = torch.zeros((), device=x.device)
    for xs, ys in zip(x.split(EVAL_BATCH), y.split(EVAL_BATCH), strict=True):
        total += criterion(forward(xs), ys) * len(xs)
    return total.item() / max(1, len(x))
