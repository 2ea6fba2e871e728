"""Small streams and contexts for testing methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from tsbench.bench.conformance import awkward, make_context
from tsbench.data.stream import Stream, make_stream
from tsbench.learn.method import Context, Method


def setting(epochs: int = 2, dropout: float = 0.0, **shape: int) -> tuple[Context, Stream]:
    """A context and the stream it is for: three tasks of two classes."""
    dataset = awkward(**shape)
    stream = make_stream(dataset, 1234)
    context = make_context(dataset, stream)
    card = replace(dataset.card, dropout=dropout)
    return replace(context, epochs=epochs, card=card), stream


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
