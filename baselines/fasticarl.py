"""FastICARL: replay of the samples nearest to the class mean, nearest-mean prediction.

Kwon et al., FastICARL: Fast Incremental Classifier and Representation Learning with Efficient
Budget Allocation in Audio Sensing Applications, Interspeech 2021.

Loss: BCE(replay) + BCE(new), BCE the mean over all entries of logits against one-hot labels; early
stopping by it too. After a task each new class is ranked by the distance of its features to their
mean. Prediction is by the nearest class mean of the memory's features, all L2-normalised.

Deviations from the paper: 1. no distillation (as in the published code); 2. quantised exemplars
(8 bits, a scale and an offset per channel and sample) are an option. From the published code:
3. nearest means in every row of the accuracy matrix, the last one included; 4. shares are rounded
down, so that the budget is never exceeded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tsbench.learn.method import Context, Kept, Paper, nbytes
from tsbench.learn.replay import ReplayMethod, ReplaySettings
from tsbench.learn.settings import setting
from tsbench.nn.encoder import FEATURES
from tsbench.protocol.stream import Task

LEVELS = 255


@dataclass(frozen=True)
class FastICARLSettings(ReplaySettings):
    """Hyper-parameters."""

    quantise: bool = setting(False, "keep exemplars in 8 bits")


class FastICARL(ReplayMethod[FastICARLSettings]):
    """Replay of exemplars near the mean; nearest-mean prediction."""

    name, title = "fasticarl", "FastICARL"
    keeps = "network, raw samples, means"
    paper = Paper(
        "Kwon et al.",
        "FastICARL: Fast Incremental Classifier and Representation Learning with Efficient Budget "
        "Allocation in Audio Sensing Applications",
        "Interspeech",
        2021,
    )

    def __init__(self, context: Context, settings: FastICARLSettings) -> None:
        super().__init__(context, settings)
        self.means = torch.empty(0, FEATURES, device=context.device)

    def criterion(self, logits: Tensor, y: Tensor) -> Tensor:
        """Binary cross-entropy over all entries."""
        target = F.one_hot(y, logits.shape[1]).to(logits.dtype)
        return F.binary_cross_entropy_with_logits(logits, target)

    def after_task(self, task: Task, x: Tensor, y: Tensor) -> None:
        """Rank the new classes, trim the old ones, and take the means."""
        features = self.features(x)
        ranking = {}
        for label in task.labels:
            places = (y == label).nonzero().flatten()
            ranking[label] = places[nearest_to_mean(features[places])]
        if self.settings.quantise:
            x = dequantise(*quantise(x))  # what can be had back is what is replayed
        self.store_ranked(x, y, ranking)
        stored = self.features(self.memory.x)
        classes = range(self.classes_seen)
        means = torch.stack([stored[self.memory.y == k].mean(0) for k in classes])
        self.means = F.normalize(means, dim=1)

    @torch.inference_mode()
    def predict(self, x: np.ndarray) -> np.ndarray:
        """Minus the distance to each class mean."""
        return self.map(
            lambda part: -torch.cdist(F.normalize(self.network.encoder(part), dim=1), self.means), x
        )

    def linear_head(self, x: np.ndarray) -> np.ndarray:
        """The published last row comes from the linear head, not from the means."""
        return super().predict(x)

    def kept(self) -> Kept:
        """Network, memory and means; quantised samples weigh a byte a value, and their scales."""
        kept = super().kept()
        raw = kept.raw
        if self.settings.quantise and len(self.memory):
            raw = sum(nbytes(part) for part in quantise(self.memory.x))
        return replace(kept, raw=raw, statistics=kept.statistics + nbytes(self.means))


def nearest_to_mean(features: Tensor) -> Tensor:
    """Places in the order of the distance to the mean."""
    return (features - features.mean(0)).norm(dim=1).argsort(stable=True)


def quantise(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N, C, L) → 8-bit codes, and a step and an offset per sample and channel.

    Rounding twice changes nothing: quantising what was quantised gives the same codes.
    """
    low, high = x.amin(2, keepdim=True), x.amax(2, keepdim=True)
    step = (high - low) / LEVELS
    codes = ((x - low) / step.clamp_min(1e-30)).round().to(torch.uint8)
    return codes, step, low


def dequantise(codes: Tensor, step: Tensor, low: Tensor) -> Tensor:
    """Codes back to values, off by half a step at most."""
    return codes * step + low
