"""TS-ACL-R: exact ridge on features of the first task's making; no sample is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_streams import learned, setting

from tsbench.analytic import tsaclr
from tsbench.analytic.tsaclr import TSACLR, KernelSettings
from tsbench.errors import UserError

linear_model = pytest.importorskip("sklearn.linear_model")


def exact_features(method: TSACLR, x: np.ndarray) -> np.ndarray:
    """The features that the method names, without their rounding to float32."""
    size = method.scale.numpy() / method.bank.positions
    counts = method.classifier_features(x) / size
    assert np.abs(counts - counts.round()).max() < 1e-4
    return counts.round() * size


@pytest.mark.parametrize("features", [20, 1000])
def test_equals_joint_ridge_after_every_task(features) -> None:
    context, stream = setting()
    method = TSACLR(context, KernelSettings(kernels=features // 2, thresholds=1))
    for seen, task in enumerate(stream.tasks, start=1):
        method.learn(task)
        x = np.concatenate([t.train.x for t in stream.tasks[:seen]])
        y = np.concatenate([t.train.y for t in stream.tasks[:seen]])
        alpha = KernelSettings().penalty * len(x)
        model = linear_model.Ridge(alpha=alpha, fit_intercept=False, solver="cholesky")
        model.fit(exact_features(method, x), np.eye(2 * seen)[y])
        tests = np.concatenate([test.x for test in stream.tests])
        expected = exact_features(method, tests) @ model.coef_.T
        np.testing.assert_allclose(method.predict(tests), expected, atol=1e-8)


def test_features_come_from_the_first_task_alone() -> None:
    context, stream = setting()
    x = stream.tests[0].x
    full = learned(TSACLR, tasks=3, kernels=25, thresholds=2)
    np.testing.assert_array_equal(
        full.classifier_features(x),
        learned(TSACLR, tasks=1, kernels=25, thresholds=2).classifier_features(x),
    )
    first = stream.tasks[0]
    method = TSACLR(context, KernelSettings(kernels=25, thresholds=2))
    method.learn(replace(first, train=replace(first.train, x=first.train.x * 3 + 1)))
    assert not np.array_equal(method.classifier_features(x), full.classifier_features(x))


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
    d, classes = 41, 6
    assert kept.raw == kept.generator == 0
    assert kept.statistics == 4 * d * d + 8 * d * classes + 4 * 20  # G, Q and the thresholds
    assert kept.parameters == 8 * d * classes + 8  # Φ and a seed


def test_shares_and_a_constant() -> None:
    features = learned(TSACLR, kernels=25, thresholds=2).classifier_features(
        setting()[1].tests[0].x
    )
    assert features.shape[1] == 101
    assert (features[:, 0] == 1).all()
    assert features.min() >= 0
    assert features.max() <= 1


def test_features_of_level_sensitive_kernels_are_scaled() -> None:
    x = setting()[1].tests[0].x
    whole, small = (
        learned(TSACLR, kernels=25, level_share=0.4, level_scale=scale).classifier_features(x)
        for scale in (1.0, 0.25)
    )
    level = np.r_[False, learned(TSACLR, kernels=25, level_share=0.4).bank.level.numpy()]
    assert level.sum() == 40
    np.testing.assert_array_equal(small[:, ~level], whole[:, ~level])
    np.testing.assert_allclose(small[:, level], whole[:, level] / 4, rtol=1e-6)


def test_it_tells_classes_apart() -> None:
    _, stream = setting()
    method = learned(TSACLR, kernels=300)
    hits = [(method.predict(t.x).argmax(1) == t.y).mean() for t in stream.tests[1:]]
    assert np.mean(hits) > 0.9


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernels": 0},
        {"thresholds": 0},
        {"penalty": 0.0},
        {"penalty": float("inf")},
        {"level_share": 1.1},
        {"level_scale": 0.0},
    ],
)
def test_settings_that_make_no_sense(wrong) -> None:
    with pytest.raises(UserError):
        KernelSettings(**wrong)


def test_any_chunk_size_and_any_number_of_threads_give_the_same_run(monkeypatch) -> None:
    """The statistics bit for bit; the predictions, and so A_T."""
    _, stream = setting()
    before, found = torch.get_num_threads(), []
    try:
        for chunk, threads in ((1024, 1), (1, 1), (7, 2), (1024, 2)):
            monkeypatch.setattr(tsaclr, "CHUNK", chunk)
            torch.set_num_threads(threads)
            method = learned(TSACLR, kernels=150, thresholds=2)
            found.append((method, np.concatenate([method.predict(t.x) for t in stream.tests])))
    finally:
        torch.set_num_threads(before)
    method, scores = found[0]
    for other, predicted in found[1:]:
        for one, two in zip(method.ridge.tensors(), other.ridge.tensors(), strict=True):
            assert torch.equal(one, two)
        np.testing.assert_array_equal(predicted.argmax(1), scores.argmax(1))
        np.testing.assert_allclose(predicted, scores, atol=1e-10)


def test_the_order_of_samples_does_not_matter() -> None:
    """But for the thresholds, which are taken from task 1 and given here."""
    context, stream = setting()
    first, second = (TSACLR(context, KernelSettings(kernels=50)) for _ in range(2))
    for task in stream.tasks:
        first.learn(task)
    second.bank = first.bank
    second.bank.fit = lambda *_: None
    for task in stream.tasks:
        order = np.random.default_rng(task.index).permutation(len(task.train))
        second.learn(replace(task, train=task.train.take(order)))
    for one, two in zip(first.ridge.tensors(), second.ridge.tensors(), strict=True):
        assert torch.equal(one, two)
    assert torch.equal(first.weights, second.weights)


def test_a_solution_in_float64_is_noted() -> None:
    assert learned(TSACLR, kernels=25).notes() == {}
    weak = learned(TSACLR, kernels=25, penalty=1e-12)
    assert weak.notes()["float64 Cholesky solves"] > 0
