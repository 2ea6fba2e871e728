"""Small streams and contexts for testing methods."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from tsbench.data.prepared import Dataset, load
from tsbench.learn.method import Context, Method
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.stream import Stream, make_stream
from tsbench.randomness import generator
from tsbench.runs.conformance import awkward, make_context


def setting(epochs: int = 2, dropout: float = 0.0, **shape: int) -> tuple[Context, Stream]:
    """A context and the stream it is for: three tasks of two classes."""
    dataset = awkward(**shape)
    stream = make_stream(dataset, 1234)
    context = make_context(dataset, stream)
    card = replace(dataset.card, dropout=dropout)
    return replace(context, epochs=epochs, card=card), stream


def made_up(classes: int) -> Dataset:
    """Noisy waves, a frequency a class: with ten classes the two streams share none."""

    def draw(name: str, count: int) -> Split:
        y = np.repeat(np.arange(classes), count)
        waves = np.sin(2 * np.pi * (y[:, None, None] + 1) * np.linspace(0, 1, 32))
        noise = generator(0, "made up", name).normal(size=(len(y), 2, 32))
        return Split((waves + 0.5 * noise).astype(np.float32), y)

    def generate() -> Splits:
        return Splits(draw("train", 20), draw("test", 5), Coverage(1, 1, "set"))

    names = tuple(map(str, range(classes)))
    card = replace(awkward().card, name=f"made-up-{classes}", channels=2, length=32)
    return load(replace(card, class_names=names, generate=generate), Path())


def learned(
    kind: type[Method], tasks: int = 3, context: Context | None = None, **settings: object
) -> Method:
    """A method that has learned some tasks."""
    made, stream = setting()
    method = kind(context or made, kind.Settings(**settings))
    for task in stream.tasks[:tasks]:
        method.learn(task)
    return method


def weights(method) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in method.network.named_parameters()}


def same_weights(a, b) -> bool:
    first, second = weights(a), weights(b)
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)


def train_x(stream: Stream, task: int = 0) -> np.ndarray:
    return stream.tasks[task].train.x
