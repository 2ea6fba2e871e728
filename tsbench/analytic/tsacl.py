"""TS-ACL, TS-ACL-E and their ablations: a frozen encoder and ridge regression in closed form.

Li et al., TS-ACL: Closed-Form Solution for Time Series-oriented Continual Learning, 2024.

Task 1 trains the encoder with cross-entropy as every other method does, then freezes it. The time
means of its four blocks, side by side (576), go through a random hidden layer to d_E = 8000
features U, and the classifier is Φ = (UᵀU + γI)⁻¹UᵀV over all samples so far, kept up to date by
statistics alone. γ is chosen on the validation stream, per seed. TS-ACL-E averages the softmax of
five such classifiers with different hidden layers. ``Deep`` is ridge on the last block's 128
features; ``DeepHidden`` puts the hidden layer behind them.

Deviations from the released code, which is only ``DeepHidden`` (§6 of the protocol notes):
1. Fusion of all blocks and the ensemble, as in the paper.
2. The first task's head is trained, and the best checkpoint restored.
3. Φ_E is normal with standard deviation 1/√d_in, where the code draws from U(±1/√d_in).
4. d_E = 8000 as in the paper, not 8192.
5. γ by accuracy on the validation stream (ties: by squared error), never on test data.
6. The ridge is solved from G and Q, or from their triangular factor (see ``ridge``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from tsbench.analytic.hidden import HiddenLayer
from tsbench.analytic.ridge import cheapest, solver_notes
from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.method import Context, Kept, Paper, nbytes
from tsbench.learn.settings import setting
from tsbench.nn.encoder import FEATURES, FUSED
from tsbench.protocol.stream import Stream, Task

GRID = (1.0, 10.0, 100.0)
CHUNK = 1024
"""Samples whose expanded features are in memory at a time."""


@dataclass(frozen=True)
class RidgeSettings(GradientSettings):
    """Hyper-parameters; those of the training loop are for the first task."""

    gamma: float = setting(
        0.0, "ridge penalty γ; 0 chooses from 1, 10, 100 on the validation stream", least=0
    )


@dataclass(frozen=True)
class AnalyticSettings(RidgeSettings):
    """Hyper-parameters with a random hidden layer."""

    width: int = setting(8000, "features d_E of the random hidden layer", least=1)


PAPER = Paper(
    "Li et al.",
    "TS-ACL: Closed-Form Solution for Time Series-oriented Continual Learning",
    "arXiv",
    2024,
)
S = TypeVar("S", bound=RidgeSettings)


class RidgeMethod(GradientMethod[S]):
    """A frozen encoder under one or more ridge classifiers."""

    family = "analytic"
    keeps = "encoder, statistics"
    paper = PAPER
    members: ClassVar[int] = 1
    """Hidden layers, each with a ridge classifier of its own."""
    fused: ClassVar[bool] = True
    hidden: ClassVar[bool] = True

    def __init__(self, context: Context, settings: S) -> None:
        super().__init__(context, settings)
        inputs = FUSED if self.fused else FEATURES
        width = settings.width if isinstance(settings, AnalyticSettings) else inputs
        self.layers: list[Callable[[Tensor], Tensor]] = [
            HiddenLayer(inputs, width, context.torch_random("hidden layer", i), context.device)
            if self.hidden
            else _identity
            for i in range(self.members)
        ]
        # Apple's GPUs have no float64: the ridge stays on the CPU there.
        self.solve_on = torch.device("cpu") if context.device.type == "mps" else context.device
        self.ridges = [cheapest(width, context.samples, self.solve_on) for _ in range(self.members)]
        self.weights: list[Tensor] = []

    def learn(self, task: Task) -> None:
        """Task 1 trains the encoder; every task updates the ridge."""
        if task.index == 0:
            super().learn(task)
        self.absorb(task)
        self.weights = self.solve(self.settings.gamma)

    def absorb(self, task: Task) -> None:
        """Add a task to the statistics."""
        for features, rows in self._features(task.train.x):
            labels = torch.from_numpy(task.train.y[rows]).to(self.solve_on)
            for layer, ridge in zip(self.layers, self.ridges, strict=True):
                ridge.absorb(layer(features).to(self.solve_on).double(), labels)

    def solve(self, gamma: float) -> list[Tensor]:
        """Classifier weights for a γ, one matrix a member."""
        return [ridge.weights(gamma) for ridge in self.ridges]

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Ridge output, or the mean softmax of the members."""
        return self.scores(x, [self.weights])[0]

    def scores(self, x: np.ndarray, candidates: list[list[Tensor]]) -> list[np.ndarray]:
        """Scores under several sets of weights from one pass over the features."""
        parts: list[list[Tensor]] = [[] for _ in candidates]
        for features, _ in self._features(x):
            expanded = [layer(features).to(self.solve_on).double() for layer in self.layers]
            for part, weights in zip(parts, candidates, strict=True):
                outputs = [u @ w for u, w in zip(expanded, weights, strict=True)]
                if self.members > 1:
                    outputs = [o.softmax(dim=1) for o in outputs]
                part.append(torch.stack(outputs).mean(dim=0))
        seen = self.weights[0].shape[1] if self.weights else 0
        return [torch.cat(part).cpu().numpy() if part else np.empty((0, seen)) for part in parts]

    def classifier_features(self, x: np.ndarray) -> np.ndarray:
        """What the classifier sees, all members side by side."""
        parts = [
            torch.cat([layer(f) for layer in self.layers], dim=1) for f, _ in self._features(x)
        ]
        return torch.cat(parts).cpu().numpy()

    def _features(self, x: np.ndarray) -> Iterator[tuple[Tensor, slice]]:
        """Encoder features of a chunk of samples at a time, and which they are."""
        encode = self.network.encoder.fused if self.fused else self.network.encoder
        for start in range(0, len(x), CHUNK):
            rows = slice(start, start + CHUNK)
            with torch.inference_mode():
                encoded = self.map(encode, x[rows])
            yield torch.from_numpy(encoded).to(self.context.device), rows

    @classmethod
    def select_hyperparameters(
        cls, settings: S, context: Context, validation: Callable[[], Stream]
    ) -> tuple[S, dict[str, Any]]:
        """γ from the grid by accuracy at the end of the validation stream."""
        if settings.gamma > 0:
            return settings, {}
        stream = validation()
        trial = cls(context.for_stream(stream, context.budget), settings)
        for task in stream.tasks:
            if task.index == 0:
                GradientMethod.learn(trial, task)
            trial.absorb(task)
        candidates = [trial.solve(gamma) for gamma in GRID]
        accuracy, error = np.zeros(len(GRID)), np.zeros(len(GRID))
        tested = sum(len(test) > 0 for test in stream.tests)
        for test in stream.tests:
            if not len(test):
                continue
            truth = np.eye(len(stream.classes))[test.y]
            for i, scores in enumerate(trial.scores(test.x, candidates)):
                accuracy[i] += (scores.argmax(axis=1) == test.y).mean() / tested
                error[i] += ((scores - truth) ** 2).mean()
        best = max(range(len(GRID)), key=lambda i: (accuracy[i], -error[i]))
        evidence = {f"{g:g}": float(100 * a) for g, a in zip(GRID, accuracy, strict=True)}
        chosen = GRID[best]
        return replace(settings, gamma=chosen), {"gamma": chosen, "validation A_T": evidence}

    def notes(self) -> dict[str, Any]:
        """How often float32 did not suffice to solve the ridge."""
        return solver_notes(*self.ridges)

    def kept(self) -> Kept:
        """Encoder, hidden layers and classifiers; the statistics of the ridge; no sample."""
        layers = [layer.weight for layer in self.layers if isinstance(layer, HiddenLayer)]
        statistics = [tensor for ridge in self.ridges for tensor in ridge.tensors()]
        return Kept(
            statistics=nbytes(*statistics),
            parameters=super().kept().parameters + nbytes(*layers, *self.weights),
        )

    def parameters(self) -> int:
        """Encoder, first head and ridge weights."""
        return super().parameters() + sum(w.numel() for w in self.weights)


class TSACL(RidgeMethod[AnalyticSettings]):
    """Fused features, one random hidden layer."""

    name, title = "ts-acl", "TS-ACL"


class TSACLE(RidgeMethod[AnalyticSettings]):
    """Five hidden layers on one encoder; their softmax is averaged."""

    name, title = "ts-acl-e", "TS-ACL-E"
    keeps = "encoder, statistics × 5"
    members = 5


class DeepHidden(RidgeMethod[AnalyticSettings]):
    """Ablation: the last block's features through the hidden layer."""

    name, title = "ts-acl-deep-rhl", "Deep+RHL"
    fused = False


class Deep(RidgeMethod[RidgeSettings]):
    """Ablation: ridge on the last block's features as they are."""

    name, title = "ts-acl-deep", "Deep"
    fused = False
    hidden = False


def _identity(features: Tensor) -> Tensor:
    return features
