"""Encoder and a single head that grows with the classes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tsbench.nn.encoder import FEATURES, Encoder
from tsbench.nn.random import Dropout, uniform


class Head(nn.Module):
    """Linear layer; it grows by drawing a larger one and copying the old rows, as published."""

    def __init__(self, classes: int, generator: torch.Generator) -> None:
        super().__init__()
        xavier = (6 / (FEATURES + classes)) ** 0.5
        self.weight = uniform((classes, FEATURES), xavier, generator)
        self.bias = uniform((classes,), FEATURES**-0.5, generator)

    @property
    def classes(self) -> int:
        """Number of outputs."""
        return len(self.bias)

    def forward(self, features: Tensor) -> Tensor:
        """(N, 128) → logits (N, classes)."""
        return F.linear(features, self.weight, self.bias)

    def grown(self, classes: int, generator: torch.Generator) -> Head:
        """A head with more outputs that agrees with this one on the old ones."""
        head = Head(classes, generator).to(self.weight.device)
        with torch.no_grad():
            head.weight[: self.classes] = self.weight
            head.bias[: self.classes] = self.bias
        return head


class Network(nn.Module):
    """What gradient methods train."""

    def __init__(self, encoder: Encoder, head: Head) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, L) → logits (N, classes)."""
        logits: Tensor = self.head(self.encoder(x))
        return logits

    def draw_dropout_from(self, generator: torch.Generator) -> None:
        """Let all dropout layers draw from ``generator``."""
        for module in self.modules():
            if isinstance(module, Dropout):
                module.generator = generator
