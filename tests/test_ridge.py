"""Every solver equals joint ridge regression by scikit-learn."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
import torch

from tsbench.analytic.ridge import Factor, Gram, NotSolvable, Recursive, cheapest

linear_model = pytest.importorskip("sklearn.linear_model")

SOLVERS = {"gram": Gram, "factor": Factor, "recursive": Recursive}


def make(name: str, features: int, gamma: float):
    return Recursive(features, gamma) if name == "recursive" else SOLVERS[name](features)


def joint(features: np.ndarray, labels: np.ndarray, gamma: float) -> np.ndarray:
    one_hot = np.eye(labels.max() + 1)[labels]
    model = linear_model.Ridge(alpha=gamma, fit_intercept=False, solver="cholesky")
    return model.fit(features, one_hot).coef_.T


def data(n: int, d: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=n)
    labels[:classes] = np.arange(classes)
    return np.maximum(random.normal(size=(n, d)) + 0.3 * labels[:, None], 0), labels


def assert_equal(weights: torch.Tensor, expected: np.ndarray) -> None:
    error = np.abs(weights.numpy() - expected).max() / np.abs(expected).max()
    assert error < 1e-8


def absorb(solver, features: np.ndarray, labels: np.ndarray, sizes: list[int]) -> None:
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        solver.absorb(torch.from_numpy(features[rows]), torch.from_numpy(labels[rows]))
        start += size
    assert start == len(features)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("gamma", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(("n", "d"), [(200, 40), (60, 150), (100, 100)])
@pytest.mark.parametrize("sizes", ["whole", "ones", "uneven"])
def test_any_batching_equals_joint_ridge(name, gamma, n, d, sizes) -> None:
    features, labels = data(n, d, 5)
    chosen = {"whole": [n], "ones": [1] * n, "uneven": [n - 37 - 7, 37, 7]}[sizes]
    solver = make(name, d, gamma)
    absorb(solver, features, labels, chosen)
    assert_equal(solver.weights(gamma), joint(features, labels, gamma))


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 2, 1]])
def test_tasks_of_two_new_classes_in_any_order(name, order) -> None:
    features, labels = data(240, 60, 8)
    index = [np.flatnonzero(labels // 2 == task) for task in order]
    position = {task: i for i, task in enumerate(order)}
    labels = np.array([2 * position[c // 2] + c % 2 for c in labels])
    solver = make(name, 60, 1.0)
    for done, rows in enumerate(index, start=1):
        solver.absorb(torch.from_numpy(features[rows]), torch.from_numpy(labels[rows]))
        so_far = np.concatenate(index[:done])
        assert_equal(solver.weights(1.0), joint(features[so_far], labels[so_far], 1.0))


@pytest.mark.parametrize("name", SOLVERS)
def test_ill_conditioned_features(name) -> None:
    random = np.random.default_rng(3)
    features, labels = data(150, 80, 4)
    features = features @ np.diag(np.logspace(0, -5, 80)) @ random.normal(size=(80, 80))
    features[:, -1] = features[:, 0]  # two features alike
    solver = make(name, 80, 0.01)
    absorb(solver, features, labels, [50, 50, 50])
    assert_equal(solver.weights(0.01), joint(features, labels, 0.01))


@pytest.mark.parametrize("name", SOLVERS)
def test_fifty_tasks_without_drift(name) -> None:
    features, labels = data(1500, 120, 100)
    solver = make(name, 120, 1.0)
    order = np.argsort(labels // 2, kind="stable")
    features, labels = features[order], labels[order]
    sizes = np.bincount(labels // 2).tolist()
    assert len(sizes) == 50
    absorb(solver, features, labels, sizes)
    assert_equal(solver.weights(1.0), joint(features, labels, 1.0))


@pytest.mark.parametrize("name", ["gram", "factor"])
def test_all_gammas_from_one_pass(name) -> None:
    features, labels = data(100, 70, 3)
    solver = make(name, 70, 1.0)
    absorb(solver, features, labels, [40, 60])
    for gamma in (0.1, 1, 10, 100):
        assert_equal(solver.weights(gamma), joint(features, labels, gamma))


def test_the_recursion_is_the_papers() -> None:
    """Eqs. 11 and 12 written down literally, with explicit inverses."""
    features, labels = data(90, 30, 4)
    order = np.argsort(labels, kind="stable")
    U, y = features[order], labels[order]
    gamma = 2.0
    tasks = [y < 2, y >= 2]
    psi = np.eye(30) / gamma
    phi = np.zeros((30, 0))
    solver = Recursive(30, gamma)
    for task in tasks:
        u, v = U[task], np.eye(4)[y[task]][:, phi.shape[1] : y[task].max() + 1]
        inner = np.linalg.inv(np.eye(len(u)) + u @ psi @ u.T)
        psi = psi - psi @ u.T @ inner @ u @ psi
        phi = np.hstack([phi - psi @ u.T @ u @ phi, psi @ u.T @ v])
        solver.absorb(torch.from_numpy(u), torch.from_numpy(y[task]))
        np.testing.assert_allclose(solver.Psi.numpy(), psi, atol=1e-12)
        np.testing.assert_allclose(solver.weights(gamma).numpy(), phi, atol=1e-12)


def test_the_factor_knows_no_more_than_the_gram_matrix() -> None:
    """Samples in another order give the same factor, up to signs: nobody can be told apart."""
    features, labels = data(40, 90, 3)
    other = np.random.default_rng(1).permutation(40)
    first, second = Factor(90), Factor(90)
    absorb(first, features, labels, [40])
    absorb(second, features[other], labels[other], [10, 30])
    np.testing.assert_allclose(first.R.abs().numpy(), second.R.abs().numpy(), atol=1e-9)
    assert [tuple(t.shape) for t in first.tensors()] == [(40, 90), (40, 3)]


@pytest.mark.parametrize(
    ("samples", "tasks", "gamma", "kind"),
    [
        (725, 4, 1.0, Factor),  # UWave
        (5955, 3, 1.0, Gram),  # UCI-HAR
        (3888, 6, 1.0, Recursive),  # DSA
        (3888, 6, None, Factor),  # DSA while γ is being chosen
        (20310, 5, 1.0, Gram),  # GRABMyo
        (5000, 50, 1.0, Recursive),  # many small tasks
        (5000, 50, None, Gram),
    ],
)
def test_the_cheapest_solver_is_chosen_by_size(samples, tasks, gamma, kind) -> None:
    assert isinstance(cheapest(8000, samples, tasks, gamma), kind)


@pytest.mark.alone
def test_the_choice_is_the_fastest_here() -> None:
    """Sizes at which the three differ by a factor, timed."""
    torch.set_num_threads(1)
    d = 1200
    for n, tasks in ((20, 3), (400, 2), (40, 20)):
        features, labels = data(n * tasks, d, 4)
        seconds = dict.fromkeys(SOLVERS.values(), math.inf)
        for name in 3 * list(SOLVERS):  # the first time pays for what is set up once
            solver = make(name, d, 1.0)
            started = time.perf_counter()
            for part in np.split(np.arange(n * tasks), tasks):
                solver.absorb(torch.from_numpy(features[part]), torch.from_numpy(labels[part]))
                solver.weights(1.0)
            taken = time.perf_counter() - started
            seconds[SOLVERS[name]] = min(taken, seconds[SOLVERS[name]])
        chosen = type(cheapest(d, n * tasks, tasks, 1.0))
        assert seconds[chosen] < 2.5 * min(seconds.values()), (n, tasks, chosen, seconds)


@pytest.mark.parametrize("name", SOLVERS)
def test_failures_say_to_raise_gamma(name) -> None:
    features, labels = data(20, 30, 2)
    huge = torch.from_numpy(features * 1e160)
    with pytest.raises(NotSolvable, match="raise γ"):
        solver = make(name, 30, 1e-300 if name != "recursive" else 1.0)
        solver.absorb(huge, torch.from_numpy(labels))
        solver.weights(1e-300)
    with pytest.raises(ValueError, match="NaN"):
        make(name, 30, 1.0).absorb(huge * float("nan"), torch.from_numpy(labels))


def test_a_matrix_that_is_not_positive_definite() -> None:
    solver = Gram(3)
    solver.G = -torch.eye(3, dtype=torch.float64)
    solver.Q = torch.ones(3, 1, dtype=torch.float64)
    with pytest.raises(NotSolvable, match="not positive definite; raise γ"):
        solver.weights(0.5)


def test_the_recursion_has_one_gamma() -> None:
    with pytest.raises(ValueError, match="begun with"):
        Recursive(4, 1.0).weights(2.0)
