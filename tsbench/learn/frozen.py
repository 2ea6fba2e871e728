"""The base of methods that train the encoder on the first task and then only collect statistics."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.method import Context, Kept, nbytes
from tsbench.learn.settings import setting
from tsbench.nn.encoder import FEATURES, FUSED
from tsbench.protocol.stream import Task

CHUNK = 1024
"""Samples that are scored at a time."""

Features = Literal["fused", "last"]


@dataclass(frozen=True)
class FrozenSettings(GradientSettings):
    """Hyper-parameters; those of the training loop are for the first task."""

    features: Features = setting(
        "fused",
        "what the encoder gives: fused = time means of all blocks (576), last = of the last (128)",
        grid=("fused", "last"),
    )


S = TypeVar("S", bound=FrozenSettings)


class FrozenMethod(GradientMethod[S]):
    """A frozen encoder, and statistics of its features in float64.

    The first task trains the encoder as in every other method. A method says what to make of the
    features of each task (``absorb``) and how to score those of new samples (``scores``).
    """

    Settings = FrozenSettings
    family = "analytic"

    def __init__(self, context: Context, settings: S) -> None:
        super().__init__(context, settings)
        self.inputs = FUSED if settings.features == "fused" else FEATURES
        # Apple's GPUs have no float64: statistics stay on the CPU there.
        self.solve_on = torch.device("cpu") if context.device.type == "mps" else context.device

    def learn(self, task: Task) -> None:
        """Task 1 trains the encoder; every task adds to the statistics."""
        if task.index == 0:
            super().learn(task)
        labels = torch.from_numpy(task.train.y).to(self.solve_on)
        self.absorb(self.encode(task.train.x), labels)

    @abstractmethod
    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Take in all training samples of a task: features (n, d) in float64, labels (n,)."""

    @abstractmethod
    def scores(self, features: Tensor) -> Tensor:
        """Features (n, d) → scores (n, classes seen)."""

    @abstractmethod
    def statistics(self) -> list[Tensor]:
        """Statistics of the data that are kept."""

    def classifier(self) -> list[Tensor]:
        """Fitted weights beside the encoder."""
        return []

    def fixed(self) -> list[Tensor]:
        """Random weights beside the encoder."""
        return []

    def encode(self, x: np.ndarray) -> Tensor:
        """Series (N, C, L) → features (N, d) in float64."""
        encoder = self.network.encoder
        with torch.inference_mode():
            found = self.map(encoder.fused if self.inputs == FUSED else encoder, x)
        return torch.from_numpy(found).to(self.solve_on).double()

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Scores over all classes seen."""
        chunks = range(0, len(x), CHUNK)
        parts = [self.scores(self.encode(x[start : start + CHUNK])) for start in chunks]
        return torch.cat(parts).cpu().numpy()

    def classifier_features(self, x: np.ndarray) -> np.ndarray:
        """The encoder's features."""
        return self.encode(x).float().cpu().numpy()

    def kept(self) -> Kept:
        """Encoder, classifier and statistics; no sample."""
        weights = nbytes(*self.classifier(), *self.fixed())
        return Kept(
            statistics=nbytes(*self.statistics()), parameters=super().kept().parameters + weights
        )

    def parameters(self) -> int:
        """Encoder, first head and classifier."""
        return super().parameters() + sum(w.numel() for w in self.classifier())
