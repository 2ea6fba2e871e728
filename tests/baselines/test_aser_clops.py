"""ASER and CLOPS: Shapley values by enumeration, importances and uncertainties by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_streams import learned, setting
from tsbench.baselines.aser import ASER, shapley
from tsbench.baselines.clops import CLOPS, entropy_difference


def exact_shapley(labels: list[int], truth: int, k: int) -> list[float]:
    """By all coalitions; candidates stand in the order of their distance."""
    n = len(labels)

    def worth(members: tuple[int, ...]) -> float:
        nearest = sorted(members)[:k]
        return sum(labels[i] == truth for i in nearest) / k

    values = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        total = 0.0
        for size in range(n):
            weight = 1 / (n * math.comb(n - 1, size))
            for group in itertools.combinations(others, size):
                total += weight * (worth((*group, i)) - worth(group))
        values.append(total)
    return values


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_knn_shapley_equals_the_definition(n: int, k: int) -> None:
    random = np.random.default_rng(10 * n + k)
    places = np.sort(random.random(n))
    labels = random.integers(2, size=n)
    shuffle = random.permutation(n)
    points = torch.zeros(2, 1, dtype=torch.float64)  # the nearest is the smallest place
    truth = torch.tensor([0, 1])
    found = shapley(
        torch.from_numpy(places[shuffle])[:, None],
        torch.from_numpy(labels[shuffle]),
        points,
        truth,
        k,
    )
    for point in range(2):
        exact = exact_shapley(labels.tolist(), point, k)
        if k > n:
            continue  # the recursion is for at least k candidates
        expected = [exact[i] for i in shuffle]
        np.testing.assert_allclose(found[point], expected, atol=1e-12)


def test_aser_retrieves_from_memory_and_changes_it_within_the_budget() -> None:
    context, stream = setting()
    method = ASER(context, ASER.Settings(replay=5, per_class=2))
    method.learn(stream.tasks[0])
    assert method.offered > context.budget
    before = method.memory.x.clone()
    method.learn(stream.tasks[1])
    assert set(method.memory.y.tolist()) & {2, 3}, "the new classes get in"
    assert not torch.equal(before, method.memory.x)
    method.before_task(stream.tasks[2])
    x, y = method.tensors(stream.tasks[2].train.x[:8], stream.tasks[2].train.y[:8])
    chosen = method.retrieve(x, y)
    assert len(chosen) == 5 == len(set(chosen.tolist()))


def test_aser_prefers_friends_near_the_enemy() -> None:
    """Of two candidates of a class, the one among the new batch's features scores lower there."""
    candidates = torch.tensor([[0.0], [10.0]])
    labels = torch.tensor([0, 0])
    hostile = shapley(candidates, labels, torch.tensor([[10.0]]), torch.tensor([1]), 1)
    assert hostile.tolist() == [[0.0, 0.0]], "no candidate has the new class"
    friendly = shapley(candidates, labels, torch.tensor([[1.0]]), torch.tensor([0]), 1)
    assert friendly[0].tolist() == [0.5, 0.5]


def test_clops_beta_follows_gradient_descent() -> None:
    context, stream = setting()
    settings = CLOPS.Settings(beta_rate=0.1, beta_strength=2.0)
    method = CLOPS(context, settings)
    task = stream.tasks[0]
    method.network.head = method.network.head.grown(2, context.torch_random("t"))
    method.offset = torch.linspace(-0.5, 0.5, len(task.train))
    x, y = method.tensors(task.train.x[:6], task.train.y[:6])
    rows = torch.tensor([3, 1, 7, 0, 5, 9])
    beta = (1 + method.offset[rows]).requires_grad_()
    each = F.cross_entropy(method.network(x), y, reduction="none").detach()
    loss = (beta * each).mean() + 2.0 * F.mse_loss(beta, torch.ones(6))
    (slope,) = torch.autograd.grad(loss, beta)
    assert method.loss(x, y, rows).item() == pytest.approx(loss.item(), rel=1e-5)
    torch.testing.assert_close(1 + method.offset[rows], (beta - 0.1 * slope).detach())


def test_clops_keeps_the_largest_area_under_beta() -> None:
    context, stream = setting()
    method = CLOPS(context, CLOPS.Settings())
    task = stream.tasks[0]
    traces = np.random.default_rng(0).random((4, len(task.train)))
    method.network.head = method.network.head.grown(2, context.torch_random("t"))
    method.offset = torch.zeros(len(task.train), dtype=torch.float64)
    method.previous, method.area = method.offset.clone(), torch.zeros_like(method.offset)
    for epoch, values in enumerate(traces, start=1):
        method.offset = torch.from_numpy(values - 1)
        method.after_epoch(epoch)
    whole = np.vstack([np.ones(len(task.train)), traces])
    area = ((whole[1:] + whole[:-1]) / 2).sum(axis=0)
    np.testing.assert_allclose(method.area, area - len(traces))
    x, y = method.tensors(task.train.x, task.train.y)
    method.after_task(task, x, y)
    for label in task.labels:
        places = np.flatnonzero(task.train.y == label)
        best = places[np.argsort(-area[places], kind="stable")]
        kept = method.memory.x[method.memory.y == label].numpy()
        np.testing.assert_array_equal(kept, task.train.x[best[: len(kept)]])


def test_clops_ranks_by_steps_that_rounding_near_one_would_swallow() -> None:
    """Losses of well-learned samples, 1e-4 and less, over many epochs at the smaller rate."""
    method = CLOPS(setting()[0], CLOPS.Settings(beta_rate=1e-5, beta_strength=0.1))
    losses = torch.logspace(-6, -4, 32)
    method.offset = torch.zeros(32)
    method.previous, method.area = method.offset.clone(), torch.zeros_like(method.offset)
    scores = torch.stack([torch.zeros(32), (-losses).expm1().neg().log() + losses], dim=1)
    method.network = lambda rows: scores[rows]  # cross-entropy of class 0: the losses, about
    for epoch in range(1, 61):
        method.loss(torch.arange(32), torch.zeros(32, dtype=torch.long), torch.arange(32))
        method.after_epoch(epoch)
    assert (method.area.diff() < 0).all(), "the larger its loss, the smaller its area"


def test_entropy_difference_by_hand() -> None:
    agree = torch.tensor([[[0.9, 0.1]], [[0.9, 0.1]]])
    differ = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])
    assert entropy_difference(agree).item() == pytest.approx(0, abs=1e-6)
    assert entropy_difference(differ).item() == pytest.approx(math.log(2), abs=1e-6)
    mixed = torch.tensor([[[0.8, 0.2]], [[0.4, 0.6]]])

    def entropy(*p: float) -> float:
        return -sum(v * math.log(v) for v in p)

    expected = entropy(0.6, 0.4) - (entropy(0.8, 0.2) + entropy(0.4, 0.6)) / 2
    assert entropy_difference(mixed).item() == pytest.approx(expected, rel=1e-5)


def test_clops_uncertain_retrieval_draws_from_every_class() -> None:
    context, stream = setting()
    method = CLOPS(context, CLOPS.Settings(uncertain=True, replay=4))
    for task in stream.tasks[:2]:
        method.learn(task)
    chosen = method._most_uncertain()
    labels = method.memory.y[chosen].tolist()
    assert sorted(labels) == [0, 1, 2, 3], "⌈4 / 4⌉ of each class"
    assert all(layer.p == 0 for layer in method.network.modules() if hasattr(layer, "p"))
    assert not same_as_default(method)


def same_as_default(method: CLOPS) -> bool:
    other = learned(CLOPS, tasks=2, replay=4)
    return torch.equal(other.network.head.weight, method.network.head.weight)
