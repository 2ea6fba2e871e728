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
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from tsbench.data.stream import Task
from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.loop import batches
from tsbench.learn.method import Context, Kept, Settings, nbytes

DECAY = 0.8


@dataclass(frozen=True)
class MASSettings(GradientSettings):
    """Hyper-parameters."""

    strength: float = 1000.0
    """λ of the penalty; published grid 10², 10³, 10⁴."""


class MAS(GradientMethod):
    """Cross-entropy and a penalty on moving important weights."""

    Settings: ClassVar[type[Settings]] = MASSettings

    def __init__(self, context: Context, settings: Any) -> None:
        super().__init__(context, settings)
        self.importance: dict[str, Tensor] = {}
        self.anchor: dict[str, Tensor] = {}

    def before_task(self, task: Task) -> None:
        """Weights after the previous task."""
        named = self.network.named_parameters()
        self.anchor = {name: p.detach().clone() for name, p in named}

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """CE + λ Σ Ω (θ − θ*)²."""
        return super().loss(x, y, rows) + self.settings.strength * self.penalty()

    def penalty(self) -> Tensor:
        """Σ Ω (θ − θ*)², new rows of the head left out."""
        total = torch.zeros((), device=self.context.device)
        for name, parameter in self.network.named_parameters():
            before, weight = self.anchor[name], self.importance[name]
            total = total + (weight * (parameter[: len(before)] - before).square()).sum()
        return total

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Average the task's importances in."""
        order = self.context.torch_random("importances", task.index)
        mixed = (x[rows] for rows in batches(len(x), self.settings.batch, order, x.device))
        for name, new in importances(self.network, mixed).items():
            old = self.importance.get(name, torch.zeros_like(new))
            merged = new.clone()
            merged[: len(old)] = DECAY * old + (1 - DECAY) * new[: len(old)]
            self.importance[name] = merged
        self.anchor = {}

    def kept(self) -> Kept:
        """Network and importances."""
        return replace(super().kept(), statistics=nbytes(*self.importance.values()))


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
