"""The base of methods that hold important weights back: what MAS, EWC and SI share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.method import Context, Kept, nbytes
from tsbench.learn.settings import setting
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class ImportanceSettings(GradientSettings):
    """Hyper-parameters of a training loop with a penalty."""

    strength: float = setting(1.0, "λ of the penalty", least=0)


S = TypeVar("S", bound=ImportanceSettings)


class ImportanceMethod(GradientMethod[S]):
    """Loss: criterion + λ Σ Ω (θ − θ*)², θ* being the weights after the previous task."""

    Settings = ImportanceSettings
    family = "exemplar-free"
    keeps = "network, importances"

    def __init__(self, context: Context, settings: S) -> None:
        super().__init__(context, settings)
        self.importance: dict[str, Tensor] = {}
        self.anchor: dict[str, Tensor] = {}

    def before_task(self, task: Task) -> None:
        """Weights after the previous task."""
        named = self.network.named_parameters()
        self.anchor = {name: p.detach().clone() for name, p in named}

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """Criterion + λ Σ Ω (θ − θ*)²."""
        return super().loss(x, y, rows) + self.settings.strength * self.penalty()

    def penalty(self) -> Tensor:
        """Σ Ω (θ − θ*)², new rows of the head left out."""
        total = torch.zeros((), device=self.context.device)
        for name, parameter in self.network.named_parameters():
            before, weight = self.anchor[name], self.importance[name]
            total = total + (weight * (parameter[: len(before)] - before).square()).sum()
        return total

    def merge(self, found: dict[str, Tensor], old_share: float, new_share: float) -> None:
        """Ω ← old_share · Ω + new_share · Ω_new, beginning with Ω = 0.

        Rows that the head has grown by take Ω_new as it is. The anchor is not kept: the next one
        is the network itself.
        """
        for name, new in found.items():
            old = self.importance.get(name, torch.zeros_like(new))
            merged = new.clone()
            merged[: len(old)] = old_share * old + new_share * new[: len(old)]
            self.importance[name] = merged
        self.anchor = {}

    def kept(self) -> Kept:
        """Network and importances."""
        return replace(super().kept(), statistics=nbytes(*self.importance.values()))
