"""CLOPS with β in float32, and the traces that show which samples it would store."""

from __future__ import annotations

import numpy as np
import torch
from clops_rounding import Rounded, Traced
from small_streams import setting
from tsbench.baselines.clops import CLOPS, CLOPSSettings


def offsets(kind: type[CLOPS], rate: float) -> torch.Tensor:
    """β − 1 after one step on all samples of the first task."""
    context, stream = setting()
    method = kind(context, CLOPSSettings(beta_rate=rate))
    task = stream.tasks[0]
    method.network.head = method.network.head.grown(2, context.torch_random("head", 0))
    method.offset = torch.zeros(len(task.train))
    x, y = method.tensors(task.train.x, task.train.y)
    method.loss(x, y, torch.arange(len(x)))
    return method.offset


def test_beta_moves_by_whole_steps_of_float32() -> None:
    exact = offsets(CLOPS, 1e-4)
    rounded = offsets(Rounded, 1e-4)
    steps = rounded.double().numpy() / np.spacing(np.float32(0.99))
    assert (rounded < 0).all() and not torch.equal(exact, rounded)
    assert np.array_equal(steps, steps.round())
    np.testing.assert_allclose(rounded, exact, atol=np.spacing(np.float32(0.99)) / 2)


def test_a_step_below_the_rounding_of_one_is_lost() -> None:
    assert (offsets(CLOPS, 1e-8) < 0).all()
    assert not offsets(Rounded, 1e-8).any()


def test_the_exact_trace_stores_what_clops_stores() -> None:
    context, stream = setting()
    task = stream.tasks[0]
    method = Traced(context, CLOPSSettings())
    method.learn(task)
    for label in task.labels:
        stored = method.memory.x[method.memory.y == label]
        places = torch.from_numpy((task.train.y == label).nonzero()[0])
        chosen = method.stored((1e-4, torch.float64), places, len(stored))
        assert 0 < len(chosen) < len(places)
        expected = torch.from_numpy(task.train.x[sorted(chosen)])
        assert {row.numpy().tobytes() for row in stored} == {r.numpy().tobytes() for r in expected}
