"""TS-ACL against joint ridge on its own features; γ by the validation stream only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tsbench.analytic.hidden import HiddenLayer
from tsbench.analytic.tsacl import (
    GRID,
    TSACL,
    TSACLE,
    AnalyticSettings,
    Deep,
    DeepHidden,
    RidgeMethod,
)
from tsbench.learn.gradient import GradientMethod
from tsbench.nn.random import torch_generator
from tsbench.protocol.rules import VALIDATION
from tsbench.protocol.samples import Split
from tsbench.protocol.stream import make_stream
from tsbench.runs.conformance import awkward, make_context

linear_model = pytest.importorskip("sklearn.linear_model")


def learned(kind: type[RidgeMethod], width: int):
    dataset = awkward(channels=2)
    stream = make_stream(dataset, 1235)
    settings = kind.Settings(gamma=1.0, **({"width": width} if kind.hidden else {}))
    method = kind(make_context(dataset, stream), settings)
    for task in stream.tasks:
        method.learn(task)
    return method, stream


@pytest.mark.parametrize("kind", [TSACL, DeepHidden, Deep])
@pytest.mark.parametrize("width", [50, 2000])
def test_equals_joint_ridge_on_its_features(kind, width) -> None:
    method, stream = learned(kind, width=width)
    joint = stream.joint().train
    features = method.classifier_features(joint.x).astype(np.float64)
    truth = np.eye(6)[joint.y]
    model = linear_model.Ridge(alpha=1.0, fit_intercept=False, solver="cholesky")
    model.fit(features, truth)
    tests = np.concatenate([test.x for test in stream.tests])
    expected = method.classifier_features(tests).astype(np.float64) @ model.coef_.T
    np.testing.assert_allclose(method.predict(tests), expected, atol=1e-7)


def test_features_are_what_they_are_called() -> None:
    x = awkward(channels=2).splits.test.x[:5]
    sizes = {TSACL: 300, TSACLE: 5 * 300, DeepHidden: 300, Deep: 128}
    for kind, size in sizes.items():
        method, _ = learned(kind, width=300)
        assert method.classifier_features(x).shape == (5, size)
    method, _ = learned(TSACL, width=300)
    with torch.no_grad():
        fused = torch.cat([m.mean(2) for m in method.network.encoder.maps(torch.from_numpy(x))], 1)
    expected = torch.relu(fused @ method.layers[0].weight)
    np.testing.assert_allclose(method.classifier_features(x), expected, rtol=1e-5, atol=1e-6)


def test_the_ensemble_averages_softmaxes() -> None:
    method, stream = learned(TSACLE, width=100)
    x = stream.tests[0].x
    scores = []
    for layer, weights in zip(method.layers, method.weights, strict=True):
        with torch.no_grad():
            encoded = method.network.encoder.fused(torch.from_numpy(x))
        scores.append((layer(encoded).double() @ weights).softmax(1))
    np.testing.assert_allclose(method.predict(x), torch.stack(scores).mean(0), atol=1e-6)
    assert len({w.sum().item() for w in method.weights}) == 5


def test_the_hidden_layer_is_normal_with_the_decided_scale() -> None:
    weight = HiddenLayer(576, 8000, torch_generator(0, "h"), torch.device("cpu")).weight
    assert weight.mean().item() == pytest.approx(0, abs=1e-4)
    assert weight.std().item() == pytest.approx(576**-0.5, rel=1e-2)
    kurtosis = ((weight / weight.std()) ** 4).mean().item()
    assert kurtosis == pytest.approx(3, abs=0.05)


def test_the_encoder_is_the_naive_one_and_frozen() -> None:
    dataset = awkward(channels=2)
    stream = make_stream(dataset, 1235)
    context = make_context(dataset, stream)
    naive = GradientMethod(context, AnalyticSettings())
    naive.learn(stream.tasks[0])
    method, _ = learned(TSACL, width=50)
    ours, theirs = method.network.encoder.state_dict(), naive.network.encoder.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_gamma_is_the_best_on_the_validation_stream() -> None:
    dataset = awkward(channels=2)
    stream = make_stream(dataset, 1235)
    context = make_context(dataset, stream)
    settings = AnalyticSettings(width=100)
    chosen, evidence = TSACL.select_hyperparameters(
        settings, context, lambda: make_stream(dataset, 1235, VALIDATION)
    )
    val = make_stream(dataset, 1235, VALIDATION)
    accuracies = []
    for gamma in GRID:
        method = TSACL(context, replace(settings, gamma=gamma))
        for task in val.tasks:
            method.learn(task)
        hits = [(method.predict(t.x).argmax(1) == t.y).mean() for t in val.tests]
        accuracies.append(100 * float(np.mean(hits)))
    assert list(evidence["validation A_T"].values()) == pytest.approx(accuracies)
    assert chosen.gamma in [
        g for g, a in zip(GRID, accuracies, strict=True) if a == max(accuracies)
    ]
    kept, nothing = TSACL.select_hyperparameters(
        replace(settings, gamma=7.0), context, lambda: 1 / 0
    )
    assert (kept.gamma, nothing) == (7.0, {})


def test_gamma_does_not_depend_on_the_experiment_streams_test_data() -> None:
    dataset = awkward(channels=2)
    garbage = Split(np.full_like(dataset.splits.test.x, 9.0), dataset.splits.test.y[::-1].copy())
    other = replace(dataset, splits=replace(dataset.splits, test=garbage))
    chosen = []
    for each in (dataset, other):
        stream = make_stream(each, 1235)
        context = make_context(each, stream)
        chosen.append(
            TSACL.select_hyperparameters(
                AnalyticSettings(width=100),
                context,
                lambda e=each: make_stream(e, 1235, VALIDATION),
            )
        )
    assert chosen[0] == chosen[1]


def test_it_keeps_statistics_and_no_sample() -> None:
    method, stream = learned(TSACL, width=50)
    kept = method.kept()
    assert kept.raw == kept.generator == 0
    assert kept.statistics == 8 * (50 * 50 + 50 * 6)  # G and Q
    few, _ = learned(TSACL, width=5000)
    rows = sum(len(task.train) for task in stream.tasks)
    assert few.kept().statistics == 8 * rows * (5000 + 6)
