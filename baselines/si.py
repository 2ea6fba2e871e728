"""SI: synaptic intelligence; weights that did much to lower past losses are held back.

Zenke et al., Continual Learning Through Synaptic Intelligence, ICML 2017.

Loss: CE + c Σ Ω (θ − θ*)² over all parameters, old rows of the head included, θ* being the weights
after the previous task. While a task is learned, each step adds −g·Δθ to a weight's ω: g is the
gradient of the cross-entropy alone, Δθ what the optimiser made of it. After the task
Ω ← Ω + max(0, ω) / (Δ² + ξ), where Δ is how far the weight has moved during the task.

Deviations from the paper: 1. negative ω, which would reward moving a weight, count as zero (as in
the authors' code); 2. the path ends at the best checkpoint, whose weights are the ones that stay;
3. one head for all classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from tsbench.learn.importance import ImportanceMethod, ImportanceSettings
from tsbench.learn.method import Paper
from tsbench.learn.settings import setting
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class SISettings(ImportanceSettings):
    """Hyper-parameters."""

    strength: float = setting(1e4, "c of the penalty", grid=(1e4, 1e2, 1e3, 1e5), least=0)
    damping: float = setting(0.01, "ξ, added to the squared distance moved", above=0)


class SI(ImportanceMethod[SISettings]):
    """Cross-entropy and a penalty on moving weights that mattered while they were learned."""

    name, title = "si", "SI"
    paper = Paper("Zenke et al.", "Continual Learning Through Synaptic Intelligence", "ICML", 2017)
    plain_first_task = False

    def learn(self, task: Task) -> None:
        """Follow the weights on their way through the task."""
        self.path = PathIntegral()
        super().learn(task)
        self.path = PathIntegral()

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """CE + c Σ Ω (θ − θ*)²."""
        named = dict(self.network.named_parameters())
        error = self.criterion(self.network(x), y)
        slopes = torch.autograd.grad(error, list(named.values()))
        self.path.step(named, slopes)
        # A linear function with these slopes: no second backward pass through the network.
        linear = torch.stack([(p * g).sum() for p, g in zip(named.values(), slopes, strict=True)])
        value = error.detach() + (linear - linear.detach()).sum()
        return value + self.settings.strength * self.penalty() if self.anchor else value

    def at_best(self) -> None:
        """The path ends here, unless a later checkpoint is better."""
        self.path.mark(dict(self.network.named_parameters()))

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Add the task's importances."""
        self.merge(self.path.importances(self.settings.damping), 1.0, 1.0)


class PathIntegral:
    """∫ −g dθ of each weight along the steps of an optimiser, up to the last mark."""

    def __init__(self) -> None:
        self.start: dict[str, Tensor] = {}
        self.end: dict[str, Tensor] = {}
        self.before: dict[str, Tensor] = {}
        self.slopes: dict[str, Tensor] = {}
        self.total: dict[str, Tensor] = {}
        self.marked: dict[str, Tensor] = {}

    @torch.no_grad()
    def step(self, weights: Mapping[str, Tensor], slopes: tuple[Tensor, ...]) -> None:
        """Note weights and slopes before a step; the step itself is seen at the next call."""
        if not self.start:
            self.start = {name: w.detach().clone() for name, w in weights.items()}
            self.total = {name: torch.zeros_like(w) for name, w in weights.items()}
        self._advance(weights)
        self.before = {name: w.detach().clone() for name, w in weights.items()}
        self.slopes = dict(zip(weights, slopes, strict=True))

    @torch.no_grad()
    def mark(self, weights: Mapping[str, Tensor]) -> None:
        """The path so far is the one that counts."""
        self._advance(weights)
        self.marked = {name: total.clone() for name, total in self.total.items()}
        self.end = {name: w.detach().clone() for name, w in weights.items()}

    def importances(self, damping: float) -> dict[str, Tensor]:
        """max(0, ω) / (Δ² + ξ)."""
        return {
            name: total.clamp_min(0) / ((self.end[name] - self.start[name]).square() + damping)
            for name, total in self.marked.items()
        }

    def _advance(self, weights: Mapping[str, Tensor]) -> None:
        for name, slope in self.slopes.items():
            self.total[name] -= slope * (weights[name] - self.before[name])
        self.slopes = {}
