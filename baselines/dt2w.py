"""DT2W: distilling the old network's feature maps under dynamic time warping.

Qiao et al., Class-Incremental Learning on Multivariate Time Series Via Shape-Aligned Temporal
Distillation, ICASSP 2023.

Loss at the t-th task: w₁·CE + w₂·(λ_f·softDTW(student map, teacher map) + λ_k·KD + λ_p·Proto).
Maps are the last block's outputs (128 channels), soft-DTW has γ = 1 and squared Euclidean cost,
mean over the batch; w₁, w₂ and KD as in LwF. Proto: cross-entropy of the head on as many old
prototypes as there are new samples per step, drawn uniformly, with normal noise of a radius fixed
after the first task, r = √(mean over its classes of trace(covariance)/128).

Deviations from the published code: 1. the teacher is in evaluation mode; 2. one forward pass of
the student serves all terms; 3. prototypes are means over all samples, not over full batches only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.distillation import distillation, task_weights, teacher_of
from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.loop import SCHEDULES, Schedule
from tsbench.learn.method import Context, Kept, Paper, nbytes
from tsbench.learn.settings import setting
from tsbench.nn.encoder import FEATURES
from tsbench.nn.network import Network
from tsbench.nn.softdtw import soft_dtw
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class DT2WSettings(GradientSettings):
    """Hyper-parameters."""

    schedule: Schedule = setting("onecycle", "learning rate, as for every method", grid=SCHEDULES)
    maps: float = setting(
        0.01,
        "λ_f of the feature maps",
        grid=(0.01, 0.1, 0.001),
        grids={"uci-har": (0.01, 0.1), "uwave": (0.003, 0.01, 0.001)},
        least=0,
    )
    logits: float = setting(1.0, "λ_k of the distillation", grid=(1.0, 10.0), least=0)
    prototypes: float = setting(10.0, "λ_p of the prototypes", grid=(10.0, 100.0), least=0)
    adaptive: bool = setting(True, "weigh new and old by 1/t and 1 − 1/t")


class DT2W(GradientMethod[DT2WSettings]):
    """Cross-entropy on the new, soft-DTW, distillation and prototypes for the old."""

    name, title, family = "dt2w", "DT2W", "exemplar-free"
    keeps = "network, prototypes"
    paper = Paper(
        "Qiao et al.",
        "Class-Incremental Learning on Multivariate Time Series Via Shape-Aligned Temporal "
        "Distillation",
        "ICASSP",
        2023,
    )
    teacher: Network | None = None

    def __init__(self, context: Context, settings: DT2WSettings) -> None:
        super().__init__(context, settings)
        self.prototypes = torch.empty(0, FEATURES, device=context.device)
        self.radius = 0.0
        self.noise = context.torch_random("prototypes")

    def before_task(self, task: Task) -> None:
        """The network before the task is the teacher."""
        self.teacher = teacher_of(self.network)
        self.weights = task_weights(self.settings.adaptive, task.index)
        self.noise = self.context.torch_random("prototypes", task.index)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """w₁·CE + w₂·(λ_f·softDTW + λ_k·KD + λ_p·Proto)."""
        s, teacher = self.settings, self.teacher
        assert teacher is not None
        maps = self.network.encoder.maps(x)[-1]
        logits = self.network.head(maps.mean(2))
        with torch.no_grad():
            old_maps = teacher.encoder.maps(x)[-1]
            old_logits = teacher.head(old_maps.mean(2))
        old = (
            s.maps * soft_dtw(maps, old_maps).mean()
            + s.logits * distillation(logits[:, : old_logits.shape[1]], old_logits)
            + s.prototypes * self.prototype_loss(s.batch)
        )
        w_new, w_old = self.weights
        return w_new * self.criterion(logits, y) + w_old * old

    def prototype_loss(self, count: int) -> Tensor:
        """Cross-entropy of the head on noisy prototypes of old classes."""
        labels = torch.randint(len(self.prototypes), (count,), generator=self.noise)
        noise = torch.randn(count, FEATURES, generator=self.noise) * self.radius
        labels, noise = labels.to(self.context.device), noise.to(self.context.device)
        return F.cross_entropy(self.network.head(self.prototypes[labels] + noise), labels)

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Prototypes of the new classes; after the first task, the radius."""
        features = self.features(x)
        groups = [features[y == label] for label in task.labels]
        means = torch.stack([group.mean(0) for group in groups])
        self.prototypes = torch.cat([self.prototypes, means])
        if task.index == 0:
            self.radius = radius(groups)
        self.teacher = None

    def kept(self) -> Kept:
        """Network and prototypes."""
        return replace(super().kept(), statistics=nbytes(self.prototypes) + 8)


def radius(groups: list[Tensor]) -> float:
    """√(mean over classes of trace(covariance) / features)."""
    traces = [group.var(dim=0).sum() for group in groups if len(group) > 1]
    if not traces:
        return 0.0
    return float((torch.stack(traces).mean() / groups[0].shape[1]).sqrt())
