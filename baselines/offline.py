"""Offline: joint training on all classes of the stream at once. What others are measured by.

Loss: cross-entropy over all classes. Patience 20, as published.
Deviation from the published code: A_T is the mean over tasks as for every other method, where the
published figure is the accuracy over all samples (kept in the record as ``pooled``).
"""

from __future__ import annotations

from dataclasses import dataclass

from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.settings import setting


@dataclass(frozen=True)
class OfflineSettings(GradientSettings):
    """Hyper-parameters."""

    patience: int = setting(20, "epochs without improvement before stopping", least=1)


class Offline(GradientMethod[OfflineSettings]):
    """The shared loop, once, on everything."""

    name, title, family = "offline", "Offline", "bounds"
    keeps = "all data"
    offline = True
