"""Torch generators for named random streams, and layers that draw from them only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tsbench.randomness import stream_key


def torch_generator(
    seed: int, *names: object, device: torch.device | str = "cpu"
) -> torch.Generator:
    """A torch generator for the stream called ``names`` under ``seed``."""
    generator = torch.Generator(device=device)
    generator.manual_seed(stream_key(seed, *names) % 2**63)
    return generator


def uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> nn.Parameter:
    """A parameter drawn from U(−bound, bound)."""
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))


class Dropout(nn.Module):
    """Dropout with its own generator, which the training loop sets."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Zero a share ``p`` of the entries while training, and scale the others up."""
        if not self.training or self.p == 0:
            return x
        keep = torch.empty_like(x).bernoulli_(1 - self.p, generator=self.generator)
        return x * keep.div_(1 - self.p)
