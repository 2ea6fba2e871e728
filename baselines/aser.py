"""ASER: replay of samples that matter most, by their kNN Shapley value.

Shim et al., Online Class-Incremental Continual Learning with Adversarial Shapley Value, AAAI 2021.

Loss: CE, mean over one batch of [replay, new]. The Shapley value of candidates for a 1-sample kNN
classifier, sorted by distance, is s_N = 1[y_N = y]/N, s_j = s_{j+1} + (1[y_j = y] − 1[y_{j+1} = y])
· min(k, j)/(k·j).
- Retrieval, once the memory has overflowed: candidates are n_c per class; score = mean of s for
  n_c others per class (cooperative) − mean of s for the new batch (adversarial); the top ones are
  replayed. Before that, at random.
- Update, after a task, in batches, once the memory is full: candidates are n_c × classes memory
  samples and the batch; they are valued for n_c others per class in memory and those of the batch
  whose class is scarce there; batch samples that rank in replace memory samples that rank out.

Deviations from the paper: 1. the memory is filled after the task, not online (as in the published
code). From the published code: 2. nothing on purpose.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tsbench.learn.memory import per_class
from tsbench.learn.method import Context, Paper
from tsbench.learn.replay import ReplayMethod, ReplaySettings
from tsbench.learn.settings import setting
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class ASERSettings(ReplaySettings):
    """Hyper-parameters."""

    neighbours: int = setting(3, "k of the kNN classifier", grids={"wisdm": (3, 5)}, least=1)
    per_class: int = setting(
        4,
        "n_c, samples per class in candidate and evaluation sets",
        grid=(4, 2),
        grids={"grabmyo": (8, 4, 12), "wisdm": (4, 2, 8, 12)},
        least=1,
    )


class ASER(ReplayMethod[ASERSettings]):
    """Shapley values choose what to replay and what to keep."""

    name, title = "aser", "ASER"
    paper = Paper(
        "Shim et al.",
        "Online Class-Incremental Continual Learning with Adversarial Shapley Value",
        "AAAI",
        2021,
    )

    def __init__(self, context: Context, settings: ASERSettings) -> None:
        super().__init__(context, settings)
        self.offered = 0
        """Samples that have been offered to the memory so far."""

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """One forward pass over replay and new together."""
        if len(self.memory):
            chosen = self.retrieve(x, y)
            x = torch.cat([self.memory.x[chosen], x])
            y = torch.cat([self.memory.y[chosen], y])
        return self.criterion(self.network(x), y)

    def retrieve(self, x: Tensor, y: Tensor) -> Tensor:
        """Helpful for the classes in memory, and close to what is being learned."""
        s = self.settings
        if self.offered <= self.memory.budget:
            return super().retrieve(x, y)
        candidates = per_class(self.memory.y, s.per_class, self.draws)
        others = self._outside(candidates)
        friends = others[per_class(self.memory.y[others], s.per_class, self.draws)]
        stored = self.features(self.memory.x[torch.cat([candidates, friends])])
        values, allies = stored[: len(candidates)], stored[len(candidates) :]
        labels = self.memory.y[candidates]
        friendly = shapley(values, labels, allies, self.memory.y[friends], s.neighbours)
        hostile = shapley(values, labels, self.features(x), y, s.neighbours)
        score = _mean(friendly) - hostile.mean(0)
        best = score.argsort(descending=True, stable=True)[: s.replay]
        return candidates[best]

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Offer the task to the memory, batch by batch."""
        draws = self.context.torch_random("memory", task.index)
        order = torch.randperm(len(x), generator=draws).to(y.device)
        features = self.features(x)
        stored = self.features(self.memory.x) if len(self.memory) else features[:0]
        for rows in order.split(self.settings.batch):
            self.offered += len(rows)
            room = self.memory.budget - len(self.memory)
            fill, rest = rows[:room], rows[room:]
            if len(fill):
                self.memory.add(x[fill].clone(), y[fill].clone())
                stored = torch.cat([stored, features[fill]])
            if len(rest):
                out, into = self._exchange(stored, features[rest], y[rest], draws)
                self.memory.x[out], self.memory.y[out] = x[rest[into]], y[rest[into]]
                stored[out] = features[rest[into]]

    def _exchange(
        self, stored: Tensor, new: Tensor, labels: Tensor, draws: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Places in memory that go, and places in the batch that take them."""
        s, kept = self.settings, self.memory.y
        jury = per_class(kept, s.per_class, draws)
        share = torch.bincount(kept, minlength=self.context.classes) / len(kept)
        threshold = torch.rand((), generator=draws) / self.context.classes
        scarce = share.cpu()[labels.cpu()] < threshold
        scarce = scarce.to(labels.device)
        others = self._outside(jury)
        shuffled = others[torch.randperm(len(others), generator=draws).to(others.device)]
        old = shuffled[: s.per_class * self.context.classes]
        score = shapley(
            torch.cat([stored[old], new]),
            torch.cat([kept[old], labels]),
            torch.cat([stored[jury], new[scarce]]),
            torch.cat([kept[jury], labels[scarce]]),
            s.neighbours,
        ).sum(0)
        order = score.argsort(descending=True, stable=True)
        stays, goes = order[: len(old)], order[len(old) :]
        return old[goes[goes < len(old)]], stays[stays >= len(old)] - len(old)

    def _outside(self, chosen: Tensor) -> Tensor:
        """Places in memory that are not among ``chosen``."""
        free = torch.ones(len(self.memory), dtype=torch.bool, device=chosen.device)
        free[chosen] = False
        return free.nonzero().flatten()


def shapley(
    candidates: Tensor, labels: Tensor, points: Tensor, truth: Tensor, neighbours: int
) -> Tensor:
    """kNN Shapley value of every candidate for every evaluation point, (points, candidates)."""
    count = len(candidates)
    order = torch.cdist(points, candidates).argsort(dim=1, stable=True)
    match = (labels[order] == truth[:, None]).to(candidates.dtype)
    rank = torch.arange(1, count, device=match.device, dtype=match.dtype)
    factor = rank.clamp(max=neighbours) / (neighbours * rank)
    last = match[:, -1:] / count
    steps = (match[:, :-1] - match[:, 1:]) * factor
    # s_j is the last value plus all the steps from j on.
    sorted_values = torch.cat([steps, last], dim=1).flip(1).cumsum(1).flip(1)
    return torch.zeros_like(sorted_values).scatter_(1, order, sorted_values)


def _mean(values: Tensor) -> Tensor:
    """Mean over points; nothing where there is no point."""
    return values.mean(0) if len(values) else values.sum(0)
