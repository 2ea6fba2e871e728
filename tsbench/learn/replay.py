"""The base of replay methods: a memory, and a batch from it beside each batch of new samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.memory import Memory, Reservoir, quotas
from tsbench.learn.method import Context, Kept
from tsbench.learn.settings import setting
from tsbench.protocol.stream import Task


@dataclass(frozen=True)
class ReplaySettings(GradientSettings):
    """Hyper-parameters of a training loop with replay."""

    batch: int = setting(32, "new samples per step", least=1)
    replay: int = setting(32, "samples from memory per step", least=1)
    patience: int = setting(20, "epochs without improvement before stopping", least=1)


S = TypeVar("S", bound=ReplaySettings)


class ReplayMethod(GradientMethod[S]):
    """Loss: criterion(replay) + criterion(new), two forward passes; replay from the second task."""

    Settings = ReplaySettings
    family = "exemplar-based"
    keeps = "network, raw samples"

    def __init__(self, context: Context, settings: S) -> None:
        super().__init__(context, settings)
        self.memory = Memory(context.budget)
        self.draws = context.torch_random("replay")

    def before_task(self, task: Task) -> None:
        """Draws are named after the task, so that a run may begin at any of them."""
        self.draws = self.context.torch_random("replay", task.index)

    def loss(self, x: Tensor, y: Tensor, rows: Tensor) -> Tensor:
        """Replay and new, each a mean."""
        new = super().loss(x, y, rows)
        if not len(self.memory):
            return new
        chosen = self.retrieve(x, y)
        return self.replay_loss(chosen) + new

    def retrieve(self, x: Tensor, y: Tensor) -> Tensor:
        """Places in memory of what to replay beside a batch."""
        return self.memory.draw(self.settings.replay, self.draws)

    def replay_loss(self, chosen: Tensor) -> Tensor:
        """Loss of replayed samples."""
        return self.criterion(self.network(self.memory.x[chosen]), self.memory.y[chosen])

    def store_ranked(self, x: Tensor, y: Tensor, ranking: dict[int, Tensor]) -> None:
        """Share the budget equally: old classes keep their best, new ones bring theirs.

        ``ranking`` gives, for each new class, places in ``x`` from the best on.
        """
        shares = torch.tensor(quotas(self.memory.budget, self.classes_seen), device=y.device)
        if len(self.memory):
            kept = self.memory.extras["rank"] < shares[self.memory.y]
            self.memory.keep(kept.nonzero().flatten())
        for label, places in ranking.items():
            best = places[: int(shares[label])]
            rank = torch.arange(len(best), device=y.device)
            self.memory.add(x[best].clone(), y[best].clone(), rank=rank)

    def kept(self) -> Kept:
        """Network and memory."""
        return replace(
            super().kept(), raw=self.memory.raw_bytes(), statistics=self.memory.extra_bytes()
        )


class ReservoirMethod(ReplayMethod[S]):
    """Replay from a memory that is filled by reservoir sampling after each task."""

    def __init__(self, context: Context, settings: S) -> None:
        super().__init__(context, settings)
        self.reservoir = Reservoir(context.budget)

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Offer all samples of the task to the reservoir, in random order."""
        random = self.context.random("reservoir", task.index)
        order = torch.from_numpy(random.permutation(len(x))).to(y.device)
        slots, samples = self.reservoir.place(len(x), random)
        chosen = order[torch.from_numpy(samples).to(y.device)]
        extras = self.extras(x[chosen])
        if not len(self.memory):
            self.memory.set(x[chosen].clone(), y[chosen].clone(), **extras)
            return
        new = slots >= len(self.memory)
        grown = torch.from_numpy(new.nonzero()[0]).to(y.device)
        old = torch.from_numpy((~new).nonzero()[0]).to(y.device)
        places = torch.from_numpy(slots[~new]).to(y.device)
        self.memory.x[places] = x[chosen[old]]
        self.memory.y[places] = y[chosen[old]]
        for name, value in extras.items():
            self.memory.extras[name][places] = value[old]
        added = {name: value[grown] for name, value in extras.items()}
        self.memory.add(x[chosen[grown]], y[chosen[grown]], **added)

    def extras(self, x: Tensor) -> dict[str, Tensor]:
        """What else to store with samples."""
        return {}
