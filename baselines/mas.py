"""MAS: memory aware synapses; weights that the output is sensitive to are held back.

Aljundi et al., Memory Aware Synapses: Learning what (not) to forget, ECCV 2018.

Loss: CE + λ Σ Ω (θ − θ*)² over all parameters, old rows of the head included, θ* being the weights
after the previous task. Ω is the mean over shuffled batches of |∂/∂θ of the batch-mean L2 norm of
the logits|, averaged over tasks as Ω ← 0.8 Ω + 0.2 Ω_new; new rows of the head take Ω_new as it is.

Deviations from the paper: 1. the norm is not squared; 2. gradients of batches, not of samples;
3. a running average in place of a sum (all as in the published code). From the published code:
4. importances are taken in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tsbench.learn.importance import ImportanceMethod, ImportanceSettings
from tsbench.learn.loop import SCHEDULES, Schedule, batches
from tsbench.learn.method import Paper
from tsbench.learn.settings import setting
from tsbench.protocol.stream import Task

DECAY = 0.8


@dataclass(frozen=True)
class MASSettings(ImportanceSettings):
    """Hyper-parameters."""

    schedule: Schedule = setting("onecycle", "learning rate, as for every method", grid=SCHEDULES)
    strength: float = setting(
        1000.0,
        "λ of the penalty",
        grid=(1000.0, 100.0, 10000.0),
        grids={"grabmyo": (10.0, 1.0, 100.0, 1000.0)},
        least=0,
    )


class MAS(ImportanceMethod[MASSettings]):
    """Cross-entropy and a penalty on moving important weights."""

    name, title = "mas", "MAS"
    paper = Paper(
        "Aljundi et al.",
        "Memory Aware Synapses: Learning what (not) to forget",
        "ECCV",
        2018,
    )

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Average the task's importances in."""
        order = self.context.torch_random("importances", task.index)
        mixed = (x[rows] for rows in batches(len(x), self.settings.batch, order, x.device))
        self.merge(importances(self.network, mixed), DECAY, 1 - DECAY)


def importances(network: nn.Module, batches: Iterable[Tensor]) -> dict[str, Tensor]:
    """Mean over batches of |gradient of the mean L2 norm of the outputs|."""
    network.eval()
    named = dict(network.named_parameters())
    totals = {name: torch.zeros_like(p) for name, p in named.items()}
    count = 0
    for batch in batches:
        length = network(batch).norm(dim=1).mean()
        for name, slope in zip(
            named, torch.autograd.grad(length, list(named.values())), strict=True
        ):
            totals[name] += slope.abs()
        count += 1
    return {name: total / count for name, total in totals.items()}
