"""Every solver equals joint ridge regression by scikit-learn; integer statistics are exact."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from tsbench.analytic import ridge, solve
from tsbench.analytic.ridge import Factor, Gram, IntegerGram, cheapest
from tsbench.analytic.solve import NotSolvable, cholesky_by_panels_
from tsbench.analytic.triangle import PANEL, Triangle

linear_model = pytest.importorskip("sklearn.linear_model")

SOLVERS = ["gram", "integers", "factor"]
LARGEST = 200


def make(name: str, features: int):
    return {
        "gram": lambda: Gram(features),
        "integers": lambda: IntegerGram(features, LARGEST),
        "factor": lambda: Factor(features),
    }[name]()


def joint(features: np.ndarray, labels: np.ndarray, gamma: float) -> np.ndarray:
    one_hot = np.eye(labels.max() + 1)[labels]
    model = linear_model.Ridge(alpha=gamma, fit_intercept=False, solver="cholesky")
    return model.fit(features, one_hot).coef_.T


def data(n: int, d: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Counts from 0 to 200 with a constant, as TS-ACL-R has them, and labels."""
    random = np.random.default_rng(seed)
    labels = random.integers(classes, size=n)
    labels[:classes] = np.arange(classes)
    counts = random.normal(size=(n, d)) * 50 + 20 * random.normal(size=(classes, d))[labels] + 60
    counts[:, 0] = LARGEST
    return counts.round().clip(0, LARGEST), labels


def assert_equal(weights: torch.Tensor, expected: np.ndarray, within: float = 1e-8) -> None:
    assert np.abs(weights.numpy() - expected).max() / np.abs(expected).max() < within


def absorb(solver, features: np.ndarray, labels: np.ndarray, sizes: list[int]) -> None:
    kind = torch.float32 if isinstance(solver, IntegerGram) else torch.float64
    start = 0
    for size in sizes:
        rows = slice(start, start + size)
        part = torch.from_numpy(features[rows]).to(kind)
        solver.absorb(part, torch.from_numpy(labels[rows]))
        start += size
    assert start == len(features)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("gamma", [1e2, 1e4, 1e6])
@pytest.mark.parametrize(("n", "d"), [(200, 40), (60, 150), (100, 100)])
@pytest.mark.parametrize("sizes", ["whole", "ones", "uneven"])
def test_any_batching_equals_joint_ridge(name, gamma, n, d, sizes) -> None:
    features, labels = data(n, d, 5)
    chosen = {"whole": [n], "ones": [1] * n, "uneven": [n - 37 - 7, 37, 7]}[sizes]
    solver = make(name, d)
    absorb(solver, features, labels, chosen)
    assert_equal(solver.weights(gamma), joint(features, labels, gamma))


@pytest.mark.parametrize("name", ["gram", "factor"])
def test_any_targets_in_place_of_labels(name) -> None:
    features, _ = data(90, 40, 5)
    targets = np.random.default_rng(1).normal(size=(90, 6))
    targets[:30, 4:] = 0.0  # columns that come with the second batch
    solver = make(name, 40)
    solver.absorb(torch.from_numpy(features[:30]), torch.from_numpy(targets[:30, :4]))
    solver.absorb(torch.from_numpy(features[30:]), torch.from_numpy(targets[30:]))
    model = linear_model.Ridge(alpha=50.0, fit_intercept=False, solver="cholesky")
    assert_equal(solver.weights(50.0), model.fit(features, targets).coef_.T)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 2, 1]])
def test_tasks_of_two_new_classes_in_any_order(name, order) -> None:
    features, labels = data(240, 60, 8)
    index = [np.flatnonzero(labels // 2 == task) for task in order]
    position = {task: i for i, task in enumerate(order)}
    labels = np.array([2 * position[c // 2] + c % 2 for c in labels])
    solver = make(name, 60)
    for done, rows in enumerate(index, start=1):
        absorb(solver, features[rows], labels[rows], [len(rows)])
        so_far = np.concatenate(index[:done])
        assert_equal(solver.weights(1e4), joint(features[so_far], labels[so_far], 1e4))


@pytest.mark.parametrize("name", ["gram", "factor"])
def test_ill_conditioned_features(name) -> None:
    random = np.random.default_rng(3)
    features, labels = data(150, 80, 4)
    spread = np.diag(np.logspace(0, -5, 80)) @ random.normal(size=(80, 80))
    features = features / LARGEST @ spread
    features[:, -1] = features[:, 0]  # two features alike
    solver = make(name, 80)
    absorb(solver, features, labels, [50, 50, 50])
    assert_equal(solver.weights(0.01), joint(features, labels, 0.01))


@pytest.mark.parametrize("name", SOLVERS)
def test_fifty_tasks_without_drift(name) -> None:
    features, labels = data(1500, 120, 100)
    solver = make(name, 120)
    order = np.argsort(labels // 2, kind="stable")
    features, labels = features[order], labels[order]
    sizes = np.bincount(labels // 2).tolist()
    assert len(sizes) == 50
    absorb(solver, features, labels, sizes)
    assert_equal(solver.weights(1e4), joint(features, labels, 1e4))


@pytest.mark.parametrize("name", SOLVERS)
def test_all_penalties_from_one_pass(name) -> None:
    features, labels = data(100, 70, 3)
    solver = make(name, 70)
    absorb(solver, features, labels, [40, 60])
    for gamma in (1e2, 1e4, 1e6):
        assert_equal(solver.weights(gamma), joint(features, labels, gamma))


@pytest.mark.parametrize("name", SOLVERS)
def test_a_penalty_for_each_feature_is_a_scale_of_the_feature(name) -> None:
    features, labels = data(90, 70, 3)
    scale = np.random.default_rng(1).uniform(0.1, 1, size=70)
    solver = make(name, 70)
    absorb(solver, features, labels, [90])
    expected = scale[:, None] * joint(features * scale, labels, 1e4)
    assert_equal(solver.weights(torch.from_numpy(1e4 / scale**2)), expected)


@pytest.mark.parametrize("name", ["gram", "factor"])
def test_equals_the_papers_recursion(name) -> None:
    """Eqs. 11 and 12 written down literally, with explicit inverses."""
    features, labels = data(90, 30, 4)
    order = np.argsort(labels, kind="stable")
    U, y = features[order] / LARGEST, labels[order]
    gamma = 2.0
    psi = np.eye(30) / gamma
    phi = np.zeros((30, 0))
    solver = make(name, 30)
    for task in (y < 2, y >= 2):
        u, v = U[task], np.eye(4)[y[task]][:, phi.shape[1] : y[task].max() + 1]
        inner = np.linalg.inv(np.eye(len(u)) + u @ psi @ u.T)
        psi = psi - psi @ u.T @ inner @ u @ psi
        phi = np.hstack([phi - psi @ u.T @ u @ phi, psi @ u.T @ v])
        solver.absorb(torch.from_numpy(u), torch.from_numpy(y[task]))
        np.testing.assert_allclose(solver.weights(gamma).numpy(), phi, atol=1e-9)


def test_the_factor_knows_no_more_than_the_gram_matrix() -> None:
    """Samples in another order give the same factor, up to signs: nobody can be told apart."""
    features, labels = data(40, 90, 3)
    features = features / LARGEST
    other = np.random.default_rng(1).permutation(40)
    first, second = Factor(90), Factor(90)
    absorb(first, features, labels, [40])
    absorb(second, features[other], labels[other], [10, 30])
    np.testing.assert_allclose(first.R.abs().numpy(), second.R.abs().numpy(), atol=1e-9)
    assert [tuple(t.shape) for t in first.tensors()] == [(40, 90), (40, 3)]


@pytest.fixture(params=[1, 2])
def threads(request) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("batches", ["whole", "ones", "uneven"])
@pytest.mark.parametrize("largest", [1, 128, 200, 4096])
@pytest.mark.usefixtures("threads")
def test_integer_statistics_equal_the_brute_force(batches, largest) -> None:
    """Bit for bit, for any batch size and any order; the worst case is that all are the largest."""
    random = np.random.default_rng(5)
    n, d, classes = 1000, 300, 6
    counts = random.integers(largest + 1, size=(n, d))
    counts[:, :150] = largest
    labels = np.arange(n) % classes
    gram, sums = counts.T @ counts, counts.T @ np.eye(classes, dtype=np.int64)[labels]
    for order in (np.arange(n), random.permutation(n)):
        solver = IntegerGram(d, largest)
        chosen = {"whole": [n], "ones": [1] * n, "uneven": [700, 1, 299]}[batches]
        absorb(solver, counts[order].astype(np.float32), labels[order], chosen)
        for (start, stop), panel in zip(solver.G.spans, solver.G.panels, strict=True):
            np.testing.assert_array_equal(panel.numpy(), gram[start:stop, :stop])
        np.testing.assert_array_equal(solver.Q.numpy(), sums)
        assert solver.G.dtype == (torch.int64 if largest == 4096 else torch.int32)


def test_the_gram_matrix_grows_from_int32_to_int64() -> None:
    solver = IntegerGram(3, 4000)
    row = torch.full((134, 3), 4000.0)  # 134 × 4000² is the last multiple within int32
    label = torch.zeros(134, dtype=torch.long)
    solver.absorb(row, label)
    assert solver.G.dtype == torch.int32
    for _ in range(20):
        solver.absorb(row, label)
    assert solver.G.dtype == torch.int64
    assert (solver.G.panels[0] == 21 * 134 * 4000**2).all()


def test_integer_statistics_take_nothing_but_integers() -> None:
    label = torch.zeros(1, dtype=torch.long)
    for wrong in (0.5, -1.0, 201.0):
        with pytest.raises(ValueError, match="integers from 0 to 200"):
            IntegerGram(1, 200).absorb(torch.tensor([[wrong]]), label)
    with pytest.raises(ValueError, match="not exact"):
        IntegerGram(1, 4097)


def test_integer_statistics_take_a_quarter_of_the_memory_of_a_float64_square() -> None:
    kept = sum(t.numel() * t.element_size() for t in IntegerGram(8001, 200).tensors())
    assert kept < 0.26 * 8 * 8001**2


def test_fast_solutions_are_solutions() -> None:
    """To the promised residual, in the matrix itself, in few iterations."""
    features, labels = data(700, 900, 6)
    solver = IntegerGram(900, LARGEST)
    absorb(solver, features, labels, [700])
    gram, right = features.T @ features, features.T @ np.eye(6)[labels]
    for penalty in (1e-4, 1e-3, 1e-2):
        gamma = penalty * 700 * LARGEST**2
        found = solver.weights(gamma).numpy()
        left = right - gram @ found - gamma * found
        assert (np.linalg.norm(left, axis=0) / np.linalg.norm(right, axis=0)).max() < 3e-12
        exact = np.linalg.solve(gram + gamma * np.eye(900), right)
        assert np.abs(found - exact).max() < 1e-9 * np.abs(exact).max()
    assert solver.float64_solves == 0
    assert ridge.solver_notes(solver) == {}


def test_where_float32_does_not_suffice_float64_is_used_and_reported() -> None:
    features, labels = data(150, 80, 4)
    features = np.hstack([features, features[:, 1:] * (1 + 1e-9)])  # singular but for γ
    solver = Gram(159)
    absorb(solver, features, labels, [150])
    assert_equal(solver.weights(1e-3), joint(features, labels, 1e-3), 1e-4)
    assert ridge.solver_notes(solver, Factor(3)) == {"float64 Cholesky solves": 1}


def test_no_convergence_in_time_is_noticed(monkeypatch) -> None:
    features, labels = data(300, 200, 4)
    solver = IntegerGram(200, LARGEST)
    absorb(solver, features, labels, [300])
    monkeypatch.setattr(solve, "ITERATIONS", 1)
    assert_equal(solver.weights(1e3), joint(features, labels, 1e3))
    assert solver.float64_solves == 1


def test_the_float32_factor_is_gone_when_the_float64_one_is_made(monkeypatch) -> None:
    """Otherwise a solution that falls back takes half a matrix more than it needs."""
    features, labels = data(300, 200, 4)
    solver = IntegerGram(200, LARGEST)
    absorb(solver, features, labels, [300])
    squares: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []

    def square(*arguments, **options) -> torch.Tensor:
        alive.append(sum(one() is not None for one in squares))
        found = Triangle.square(solver.G, *arguments, **options)
        squares.append(weakref.ref(found))
        return found

    monkeypatch.setattr(solver.G, "square", square)
    monkeypatch.setattr(solve, "ITERATIONS", 1)
    solver.weights(1e3)
    assert alive == [0, 0]


def test_a_class_without_samples_has_weights_of_zero() -> None:
    features, labels = data(50, 20, 3)
    for name in ("gram", "integers", "factor"):
        solver = make(name, 20)
        absorb(solver, features, labels * 2, [50])  # classes 0, 2 and 4
        weights = solver.weights(1e4)
        assert weights.shape == (20, 5)
        assert not weights[:, [1, 3]].any()
        assert solver.float64_solves == 0


@pytest.mark.parametrize(
    ("samples", "kind"),
    [(725, Factor), (1944, Factor), (3888, Gram), (5955, Gram), (20310, Gram)],
)
def test_the_solver_is_chosen_by_size(samples, kind) -> None:
    assert isinstance(cheapest(8000, samples), kind)


@pytest.mark.parametrize(("n", "tasks"), [(20, 3), (400, 2), (40, 20)])
def test_the_choice_is_the_fastest_here(n, tasks) -> None:
    """Sizes at which they differ by a factor, timed on one thread of the CPU."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    d = 1200
    features, labels = data(n * tasks, d, 4)
    seconds = {"gram": math.inf, "factor": math.inf}
    for name in 3 * list(seconds):  # the first time pays for what is set up once
        solver = make(name, d)
        started = time.process_time()
        for part in np.split(np.arange(n * tasks), tasks):
            absorb(solver, features[part], labels[part], [n])
            solver.weights(1e6)
        seconds[name] = min(time.process_time() - started, seconds[name])
    torch.set_num_threads(before)
    chosen = type(cheapest(d, n * tasks)).__name__.lower()
    assert seconds[chosen] < 2.5 * min(seconds.values()), (chosen, seconds)


@pytest.mark.parametrize("name", ["gram", "factor"])
def test_failures_say_to_raise_gamma(name) -> None:
    features, labels = data(20, 30, 2)
    huge = torch.from_numpy(features * 1e158)
    with pytest.raises(NotSolvable, match="raise γ"):
        solver = make(name, 30)
        solver.absorb(huge, torch.from_numpy(labels))
        solver.weights(1e-300)


@pytest.mark.parametrize("name", SOLVERS)
def test_features_that_are_not_numbers(name) -> None:
    features = torch.full((20, 30), float("nan"), dtype=torch.float64)
    with pytest.raises(ValueError, match="NaN"):
        make(name, 30).absorb(features, torch.zeros(20, dtype=torch.long))


def test_a_matrix_that_is_not_positive_definite() -> None:
    solver = Gram(3)
    solver.G.panels = [-torch.eye(3, dtype=torch.float64)]
    solver.Q = torch.ones(3, 1, dtype=torch.float64)
    with pytest.raises(NotSolvable, match="not positive definite; raise γ"):
        solver.weights(0.5)


@pytest.mark.parametrize("size", [1, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL + 3])
def test_cholesky_by_panels_equals_numpy(size: int) -> None:
    rows = np.random.default_rng(size).normal(size=(size + 5, size))
    matrix = rows.T @ rows + np.eye(size)
    below = torch.from_numpy(np.tril(matrix))
    assert cholesky_by_panels_(below)
    np.testing.assert_allclose(below.numpy(), np.linalg.cholesky(matrix), rtol=1e-9, atol=1e-9)
    matrix[-1, -1] = -1.0
    assert not cholesky_by_panels_(torch.from_numpy(np.tril(matrix)))
