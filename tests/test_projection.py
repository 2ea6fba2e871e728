"""PCA and t-SNE against scikit-learn, numerical derivatives and what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import softmax
from scipy.stats import entropy
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from tsbench.report.projection import joint_probabilities, kl_gradient, pca, tsne


def blobs(n: int = 60, groups: int = 4, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = np.arange(n) % groups
    return random.normal(size=(n, d)) + 4 * random.normal(size=(groups, d))[labels], labels


@pytest.mark.parametrize("shape", [(40, 7), (12, 50)], ids=["tall", "wide"])
def test_pca_is_scikit_learns(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).normal(size=shape) * np.arange(1, shape[1] + 1)
    scores, shares = pca(x, 3)
    theirs = PCA(3).fit(x)
    assert np.allclose(np.abs(scores), np.abs(theirs.transform(x)))
    assert np.allclose(shares, theirs.explained_variance_ratio_)
    assert (scores[np.abs(scores).argmax(axis=0), range(3)] > 0).all()


def test_pca_of_what_does_not_vary() -> None:
    scores, shares = pca(np.ones((5, 3)))
    assert not scores.any()
    assert not shares.any()


def test_each_point_has_as_many_neighbours_as_asked_for() -> None:
    x, _ = blobs()
    p = joint_probabilities(x, 10.0)
    assert p.sum() == pytest.approx(1)
    assert np.allclose(p, p.T)
    distances = ((x[:, None] - x[None]) ** 2).sum(-1)
    rows = np.zeros_like(p)
    for i, row in enumerate(distances):  # the same by the definition, with scipy's root finder
        others = np.arange(len(x)) != i

        def weights(log_beta: float, row=row[others]) -> np.ndarray:
            return softmax(-np.exp(log_beta) * row)

        width = brentq(lambda b: entropy(weights(b)) - np.log(10), -12, 4)
        rows[i, others] = weights(width)
    assert np.allclose(p, (rows + rows.T) / (2 * len(x)), atol=1e-7)


def divergence(p: np.ndarray, y: np.ndarray) -> float:
    kernel = 1 / (1 + ((y[:, None] - y[None]) ** 2).sum(-1))
    np.fill_diagonal(kernel, 0)
    q = kernel / kernel.sum()
    off = ~np.eye(len(y), dtype=bool)
    return float((p[off] * np.log(p[off] / q[off])).sum())


def test_the_gradient_is_that_of_the_divergence() -> None:
    x, _ = blobs(12)
    p = joint_probabilities(x, 3.0)
    np.fill_diagonal(p, 0)
    p /= p.sum()
    y = np.random.default_rng(2).normal(size=(12, 2))
    gradient = kl_gradient(p, y)
    for place in np.ndindex(y.shape):
        step = np.zeros_like(y)
        step[place] = 1e-5
        numerical = (divergence(p, y + step) - divergence(p, y - step)) / 2e-5
        assert gradient[place] == pytest.approx(numerical, abs=1e-7)


def test_tsne_ends_as_low_as_scikit_learns() -> None:
    x, labels = blobs(120)
    p = joint_probabilities(x, 15.0)
    ours = tsne(x, 15.0)
    theirs = TSNE(perplexity=15.0, method="exact", init="pca", random_state=0)
    theirs.fit(x)
    assert divergence(p, ours) < 1.05 * theirs.kl_divergence_
    nearest = ((ours[:, None] - ours[None]) ** 2).sum(-1) + 1e9 * np.eye(len(x))
    assert (labels[nearest.argmin(axis=1)] == labels).mean() > 0.97
    assert np.array_equal(ours, tsne(x, 15.0))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_tsne_of_very_few(n: int) -> None:
    assert np.isfinite(tsne(np.arange(2.0 * n).reshape(n, 2))).all()
