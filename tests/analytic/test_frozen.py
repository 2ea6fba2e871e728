"""Methods on a frozen encoder against scikit-learn, brute force and joint ridge regression."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.neighbors import NearestCentroid
from small_streams import setting, weights
from tsbench.baselines.fecam import FeCAM, correlation
from tsbench.baselines.naive import Naive
from tsbench.baselines.ncm import NCM
from tsbench.baselines.slda import SLDA

from tsbench.analytic.ds_al import DSAL
from tsbench.analytic.ranpac import GRID, RanPAC, choose_gamma

KINDS = [NCM, SLDA, FeCAM, RanPAC, DSAL]
SMALL = {RanPAC: {"width": 60}, DSAL: {"width": 60}}


def balanced(tasks: int = 3, per_class: int = 30, size: int = 128) -> list[tuple]:
    """Made-up features of two classes per task, correlated, with as many samples each."""
    random = np.random.default_rng(5)
    mixing = random.normal(size=(size, size)) / size**0.5
    found = []
    for task in range(tasks):
        y = np.repeat([2 * task, 2 * task + 1], per_class)
        centres = 0.3 * np.random.default_rng(6).normal(size=(2 * tasks, size))
        x = centres[y] + random.normal(size=(len(y), size)) @ mixing
        found.append((x, y))
    return found


def fed(kind, batches: list[tuple], **settings):
    """A method that has absorbed features as they are, without an encoder before them."""
    context, _ = setting()
    chosen = {"features": "last", **SMALL.get(kind, {}), **settings}
    method = kind(context, kind.Settings(**chosen))
    for x, y in batches:
        method.absorb(torch.from_numpy(x), torch.from_numpy(y))
    return method


@pytest.mark.parametrize("kind", KINDS)
def test_the_encoder_is_that_of_the_first_task_and_stays(kind) -> None:
    context, stream = setting()
    method = kind(context, kind.Settings(**SMALL.get(kind, {})))
    naive = Naive(context, Naive.Settings())
    naive.learn(stream.tasks[0])
    for task in stream.tasks:
        method.learn(task)
        for name, value in weights(naive).items():
            assert torch.equal(weights(method)[name], value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("choice", "size"), [("fused", 576), ("last", 128)])
def test_features_are_fused_or_the_last(kind, choice: str, size: int) -> None:
    context, stream = setting()
    method = kind(context, kind.Settings(features=choice, **SMALL.get(kind, {})))
    method.learn(stream.tasks[0])
    x = torch.from_numpy(stream.tests[0].x)
    method.network.eval()
    with torch.no_grad():
        encoder = method.network.encoder
        expected = encoder.fused(x) if choice == "fused" else encoder(x)
    found = method.encode(stream.tests[0].x)
    assert found.shape[1] == size
    assert found.dtype == torch.float64
    torch.testing.assert_close(found.float(), expected)
    assert method.predict(stream.tests[0].x).shape == (len(x), 2)


@pytest.mark.parametrize("kind", KINDS)
def test_no_sample_is_kept(kind) -> None:
    context, stream = setting()
    method = kind(context, kind.Settings(**SMALL.get(kind, {})))
    for task in stream.tasks:
        method.learn(task)
    kept = method.kept()
    assert kept.raw == kept.generator == 0
    assert kept.statistics > 0


def test_ncm_equals_scikit_learn() -> None:
    parts = balanced()
    x, y = (np.concatenate(side) for side in zip(*parts, strict=True))
    probe = np.random.default_rng(1).normal(size=(200, x.shape[1])) * 0.5
    plain = fed(NCM, parts, normalise=False)
    theirs = NearestCentroid().fit(x, y)
    assert (
        plain.scores(torch.from_numpy(probe)).argmax(1).tolist() == theirs.predict(probe).tolist()
    )

    def unit(rows: np.ndarray) -> np.ndarray:
        return rows / np.linalg.norm(rows, axis=-1, keepdims=True)

    theirs = NearestCentroid().fit(unit(x), y)
    theirs.centroids_ = unit(theirs.centroids_)
    scaled = fed(NCM, parts, normalise=True)
    found = scaled.scores(torch.from_numpy(probe)).argmax(1).tolist()
    assert found == theirs.predict(unit(probe)).tolist()


@pytest.mark.parametrize("shrinkage", [1e-3, 0.1, 1.0])
def test_slda_equals_scikit_learn(shrinkage: float) -> None:
    parts = balanced()
    x, y = (np.concatenate(side) for side in zip(*parts, strict=True))
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(x, y)
    ours = fed(SLDA, parts, shrinkage=shrinkage)
    probe = np.random.default_rng(1).normal(size=(50, x.shape[1]))
    expected = theirs.decision_function(probe)
    found = ours.scores(torch.from_numpy(probe)).numpy()
    # Theirs has the log of the prior, the same for all classes here.
    np.testing.assert_allclose(
        found - found.mean(1, keepdims=True), expected - expected.mean(1, keepdims=True), atol=1e-6
    )


def test_fecam_equals_brute_force() -> None:
    parts = balanced(size=128, per_class=12)
    ours = fed(FeCAM, parts, shrinkage=0.7, power=0.5)
    probe = np.random.default_rng(1).normal(size=(6, 128))
    found = ours.scores(torch.from_numpy(probe)).numpy()

    def tukey(v: np.ndarray) -> np.ndarray:
        return np.sign(v) * np.sqrt(np.abs(v))

    for x, y in parts:
        for label in np.unique(y):
            group = x[y == label]
            cov = np.cov(tukey(group).T)
            size = len(cov)
            v1 = np.mean([cov[i, i] for i in range(size)])
            v2 = np.mean([cov[i, j] for i in range(size) for j in range(size) if i != j])
            shrunk = np.array(
                [
                    [cov[i, j] + 0.7 * (v1 if i == j else v2) for j in range(size)]
                    for i in range(size)
                ]
            )
            normal = np.array(
                [
                    [shrunk[i, j] / np.sqrt(shrunk[i, i] * shrunk[j, j]) for j in range(size)]
                    for i in range(size)
                ]
            )
            centre = tukey(group.mean(0))
            centre /= np.linalg.norm(centre)
            for row, sample in enumerate(probe):
                u = tukey(sample)
                off = u / np.linalg.norm(u) - centre
                distance = off @ np.linalg.solve(normal, off)
                assert found[row, label] == pytest.approx(-distance, rel=1e-7)


def test_a_class_of_one_sample_has_the_identity_as_its_metric() -> None:
    assert torch.equal(correlation(torch.ones(1, 4).double(), 1.0), torch.eye(4).double())


def joint_ridge(features: np.ndarray, targets: np.ndarray, gamma: float) -> np.ndarray:
    """Weights (d, K) from scikit-learn, all samples at once."""
    return Ridge(alpha=gamma, fit_intercept=False, solver="cholesky").fit(features, targets).coef_.T


@pytest.mark.parametrize("width", [60, 400])
def test_ranpac_equals_joint_ridge(width: int) -> None:
    parts = balanced()
    method = fed(RanPAC, parts, width=width)
    x, y = (np.concatenate(side) for side in zip(*parts, strict=True))
    hidden = np.maximum(0, x.astype(np.float32) @ method.layer.weight.numpy()).astype(np.float64)
    expected = joint_ridge(hidden, np.eye(6)[y], method.gammas[-1])
    np.testing.assert_allclose(method.weights.numpy(), expected, atol=1e-6)


def test_ranpac_chooses_gamma_by_the_error_on_a_fifth_of_the_task() -> None:
    random = np.random.default_rng(0)
    chosen = set()
    for noise in (0.01, 1.0, 30.0):
        x = random.normal(size=(50, 20))
        y = (x[:, 0] + noise * random.normal(size=50) > 0).astype(np.int64)
        errors = []
        for gamma in GRID:
            phi = joint_ridge(x[:40], np.eye(2)[y[:40]], gamma)
            errors.append(((x[40:] @ phi - np.eye(2)[y[40:]]) ** 2).mean())
        found = choose_gamma(torch.from_numpy(x), torch.from_numpy(y))
        assert found == GRID[int(np.argmin(errors))]
        chosen.add(found)
    assert len(chosen) > 1
    one = choose_gamma(torch.ones(1, 3).double(), torch.zeros(1, dtype=torch.long))
    assert one in GRID


def test_ds_al_equals_joint_ridge_in_both_streams() -> None:
    parts = balanced()
    gamma, width = 3.0, 60
    method = fed(DSAL, parts, gamma=gamma, ratio=0.7, width=width)
    projected = [x.astype(np.float32) @ method.layer.weight.numpy() for x, _ in parts]
    relu = [np.maximum(0, u).astype(np.float64) for u in projected]
    tanh = [np.tanh(u).astype(np.float64) for u in projected]
    one_hot = [np.eye(6)[y] for _, y in parts]
    left_over = []
    for t in range(len(parts)):
        main = joint_ridge(np.concatenate(relu[: t + 1]), np.concatenate(one_hot[: t + 1]), gamma)
        residual = one_hot[t] - relu[t] @ main
        cleansed = np.zeros_like(residual)
        cleansed[:, 2 * t : 2 * t + 2] = residual[:, 2 * t : 2 * t + 2]
        left_over.append(cleansed)
    side = joint_ridge(np.concatenate(tanh), np.concatenate(left_over), gamma)
    np.testing.assert_allclose(method.main.numpy(), main, atol=1e-5)
    np.testing.assert_allclose(method.compensation.numpy(), side, atol=1e-5)
    probe = parts[1][0]
    expected = relu[1] @ main + 0.7 * (tanh[1] @ side)
    np.testing.assert_allclose(method.scores(torch.from_numpy(probe)).numpy(), expected, atol=1e-5)
