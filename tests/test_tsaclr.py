"""TS-ACL-R: exact ridge on features of the first task's making; no sample is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from small import learned, setting

from tsbench.analytic.ridge import Factor, Gram
from tsbench.analytic.tsaclr import TSACLR, KernelSettings
from tsbench.errors import UserError

linear_model = pytest.importorskip("sklearn.linear_model")


@pytest.mark.parametrize(("features", "solver"), [(20, Gram), (1000, Factor)])
def test_equals_joint_ridge_after_every_task(features, solver) -> None:
    context, stream = setting()
    method = TSACLR(context, KernelSettings(kernels=features, thresholds=1))
    assert isinstance(method.ridge, solver)
    for seen, task in enumerate(stream.tasks, start=1):
        method.learn(task)
        x = np.concatenate([t.train.x for t in stream.tasks[:seen]])
        y = np.concatenate([t.train.y for t in stream.tasks[:seen]])
        model = linear_model.Ridge(alpha=1e-3 * len(x), fit_intercept=False, solver="cholesky")
        model.fit(method.inputs(x).astype(np.float64), np.eye(2 * seen)[y])
        tests = np.concatenate([test.x for test in stream.tests])
        expected = method.inputs(tests).astype(np.float64) @ model.coef_.T
        np.testing.assert_allclose(method.predict(tests), expected, atol=1e-8)


def test_features_come_from_the_first_task_alone() -> None:
    context, stream = setting()
    x = stream.tests[0].x
    full = learned(TSACLR, tasks=3, kernels=25, thresholds=2)
    np.testing.assert_array_equal(
        full.inputs(x), learned(TSACLR, tasks=1, kernels=25, thresholds=2).inputs(x)
    )
    first = stream.tasks[0]
    method = TSACLR(context, KernelSettings(kernels=25, thresholds=2))
    method.learn(replace(first, train=replace(first.train, x=first.train.x * 3 + 1)))
    assert not np.array_equal(method.inputs(x), full.inputs(x))


def test_validation_samples_are_not_learned() -> None:
    context, stream = setting()
    one, other = (TSACLR(context, KernelSettings(kernels=25, thresholds=2)) for _ in range(2))
    for task in stream.tasks:
        one.learn(task)
        other.learn(replace(task, val=replace(task.val, x=np.full_like(task.val.x, np.nan))))
    np.testing.assert_array_equal(one.predict(stream.tests[0].x), other.predict(stream.tests[0].x))


def test_nothing_needs_a_gradient() -> None:
    method = learned(TSACLR, kernels=25, thresholds=2)
    tensors = [method.weights, *method.ridge.tensors()]
    tensors += [t for group in method.bank.groups for t in (group.weights, group.thresholds)]
    assert not any(t.requires_grad for t in tensors)


def test_what_is_kept() -> None:
    kept = learned(TSACLR, kernels=10, thresholds=2).kept()
    d, classes = 21, 6
    assert kept.raw == kept.generator == 0
    assert kept.statistics == 8 * (d * d + d * classes) + 4 * 20  # G, Q and the thresholds
    assert kept.parameters == 8 * d * classes + 8  # Φ and a seed


def test_shares_and_a_constant() -> None:
    features = learned(TSACLR, kernels=25, thresholds=2).inputs(setting()[1].tests[0].x)
    assert features.shape[1] == 51
    assert (features[:, -1] == 1).all()
    assert features.min() >= 0
    assert features.max() <= 1


def test_it_tells_classes_apart() -> None:
    _, stream = setting()
    method = learned(TSACLR)
    hits = [(method.predict(t.x).argmax(1) == t.y).mean() for t in stream.tests[1:]]
    assert np.mean(hits) > 0.9


@pytest.mark.parametrize(
    "wrong", [{"kernels": 0}, {"thresholds": 0}, {"penalty": 0.0}, {"penalty": float("inf")}]
)
def test_settings_that_make_no_sense(wrong) -> None:
    with pytest.raises(UserError):
        KernelSettings(**wrong)


def test_threads_do_not_change_features() -> None:
    method = learned(TSACLR, kernels=150, thresholds=2)
    x = setting()[1].tests[1].x
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = method.inputs(x)
        torch.set_num_threads(2)
        np.testing.assert_array_equal(method.inputs(x), one)
    finally:
        torch.set_num_threads(before)
