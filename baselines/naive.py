"""Naive: fine-tune on each task in turn and do nothing against forgetting. The lower bound.

Loss: cross-entropy over all classes seen, on the new samples only.
"""

from __future__ import annotations

from tsbench.learn.gradient import GradientMethod, GradientSettings


class Naive(GradientMethod[GradientSettings]):
    """The shared loop as it is."""

    name, title, family = "naive", "Naive", "bounds"
    keeps = "network"
