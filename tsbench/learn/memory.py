"""The replay memory: raw samples kept between tasks, never more than the budget."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class Memory:
    """Samples with labels and, by name, whatever else belongs to each of them."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.x = torch.empty(0)
        self.y = torch.empty(0, dtype=torch.long)
        self.extras: dict[str, Tensor] = {}

    def __len__(self) -> int:
        return len(self.y)

    def set(self, x: Tensor, y: Tensor, **extras: Tensor) -> None:
        """Replace everything."""
        if len(y) > self.budget:
            raise ValueError(f"{len(y)} samples for a budget of {self.budget}")
        self.x, self.y, self.extras = x, y, extras

    def keep(self, rows: Tensor) -> None:
        """Keep these rows only."""
        extras = {name: value[rows] for name, value in self.extras.items()}
        self.set(self.x[rows], self.y[rows], **extras)

    def add(self, x: Tensor, y: Tensor, **extras: Tensor) -> None:
        """Append samples."""
        if not len(self):
            self.set(x, y, **extras)
            return
        joined = {name: torch.cat([self.extras[name], extras[name]]) for name in self.extras}
        self.set(torch.cat([self.x, x]), torch.cat([self.y, y]), **joined)

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Places of up to ``count`` samples, uniformly without replacement."""
        order = torch.randperm(len(self), generator=generator)
        return order[:count].to(self.y.device)

    def raw_bytes(self) -> int:
        """Bytes of the samples themselves."""
        return self.x.numel() * self.x.element_size()

    def extra_bytes(self) -> int:
        """Bytes of labels and extras."""
        tensors = [self.y, *self.extras.values()]
        return sum(t.numel() * t.element_size() for t in tensors)


class Reservoir:
    """Reservoir sampling: after any number of samples each of them is kept equally probably."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.seen = 0

    def place(self, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """For ``count`` more samples: (slots, samples) that change hands, each slot once."""
        number = np.arange(self.seen, self.seen + count)
        target = np.where(
            number < self.slots, number, np.floor(random.random(count) * (number + 1))
        ).astype(np.int64)
        self.seen += count
        holder = np.full(self.slots, -1)
        for sample in np.flatnonzero(target < self.slots):  # in order: a later one takes over
            holder[target[sample]] = sample
        changed = np.flatnonzero(holder >= 0)
        return changed, holder[changed]


def quotas(budget: int, classes: int) -> list[int]:
    """The budget shared equally; what is left over goes to the first classes.

    >>> quotas(40, 6)
    [7, 7, 7, 7, 6, 6]
    """
    share, rest = divmod(budget, classes)
    return [share + (k < rest) for k in range(classes)]


def per_class(labels: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Places of up to ``count`` random samples of each class."""
    order = torch.randperm(len(labels), generator=generator).to(labels.device)
    order = order[labels[order].argsort(stable=True)]
    grouped = labels[order]
    first = torch.searchsorted(grouped, grouped)  # where the class of each begins
    rank = torch.arange(len(labels), device=labels.device) - first
    return order[rank < count]
