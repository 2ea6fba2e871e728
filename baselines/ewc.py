"""EWC: elastic weight consolidation, online; weights that the likelihood depends on are held back.

Kirkpatrick et al., Overcoming catastrophic forgetting in neural networks, PNAS 2017; online form:
Schwarz et al., Progress & Compress: A scalable framework for continual learning, ICML 2018.

Loss: CE + λ Σ F (θ − θ*)² over all parameters, old rows of the head included, θ* being the weights
after the previous task. After a task F ← γ·F + F_new, where F_new is the diagonal of the empirical
Fisher information: the mean over the task's samples of (∂ log p(y | x) / ∂θ)², y being the true
label. New rows of the head take F_new as it is.

Deviations from the papers: 1. λ includes the factor ½; 2. the empirical Fisher information, with
true labels in place of labels drawn from the model; 3. it is taken over all training samples of a
task, in evaluation mode; 4. one head for all classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tsbench.learn.importance import ImportanceMethod, ImportanceSettings
from tsbench.learn.method import Paper
from tsbench.learn.settings import setting
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class EWCSettings(ImportanceSettings):
    """Hyper-parameters."""

    strength: float = setting(1e7, "λ of the penalty", grid=(1e7, 1e3, 1e5, 1e9), least=0)
    decay: float = setting(1.0, "γ, the share of the old importances that stays", least=0, most=1)


class EWC(ImportanceMethod[EWCSettings]):
    """Cross-entropy and a penalty on moving weights with much Fisher information."""

    name, title = "ewc", "EWC"
    paper = Paper(
        "Kirkpatrick et al.",
        "Overcoming catastrophic forgetting in neural networks",
        "PNAS",
        2017,
    )

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Add the task's Fisher information."""
        self.merge(fisher(self.network, x, y), self.settings.decay, 1.0)


def fisher(network: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Mean over samples of the squared gradient of log p(y | x), one backward pass per sample."""
    network.eval()
    named = dict(network.named_parameters())
    totals = {name: torch.zeros_like(p) for name, p in named.items()}
    for sample, label in zip(x.split(1), y.split(1), strict=True):
        surprise = F.cross_entropy(network(sample), label)
        slopes = torch.autograd.grad(surprise, list(named.values()))
        for total, slope in zip(totals.values(), slopes, strict=True):
            total.addcmul_(slope, slope)
    return {name: total / len(x) for name, total in totals.items()}
