"""Memory, reservoir, ER, DER, Herding and FastICARL."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from small_streams import learned, setting
from tsbench.baselines.aser import ASER
from tsbench.baselines.clops import CLOPS
from tsbench.baselines.der import DER
from tsbench.baselines.er import ER
from tsbench.baselines.fasticarl import FastICARL, dequantise, nearest_to_mean, quantise
from tsbench.baselines.herding import Herding, herd

from tsbench.learn.memory import Memory, Reservoir, per_class, quotas
from tsbench.nn.random import torch_generator

REPLAY = [ER, DER, Herding, FastICARL, ASER, CLOPS]


def test_every_sample_is_kept_equally_probably() -> None:
    """Chi-square over many streams, offered in uneven parts."""
    slots, total, streams = 10, 50, 4000
    random = np.random.default_rng(0)
    counts = np.zeros(total)
    for _ in range(streams):
        reservoir = Reservoir(slots)
        held = np.full(slots, -1)
        start = 0
        for part in (7, 23, 20):
            places, samples = reservoir.place(part, random)
            assert len(set(places)) == len(places)
            held[places] = start + samples
            start += part
        assert len(set(held)) == slots
        counts[held] += 1
    expected = streams * slots / total
    # Within a stream samples exclude each other, which shrinks the spread by (1 − slots/total).
    statistic = ((counts - expected) ** 2 / expected).sum() / (1 - slots / total)
    assert stats.chi2.sf(statistic, total - 1) > 1e-3


def test_memory_never_exceeds_its_budget() -> None:
    memory = Memory(3)
    memory.add(torch.zeros(2, 1, 4), torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match="budget of 3"):
        memory.add(torch.zeros(2, 1, 4), torch.zeros(2, dtype=torch.long))
    assert memory.raw_bytes() == 2 * 4 * 4


def test_quotas_use_the_whole_budget() -> None:
    for budget, classes in itertools.product((6, 40, 366), range(1, 7)):
        shares = quotas(budget, classes)
        assert sum(shares) == budget
        assert max(shares) - min(shares) <= 1


def test_per_class_draws_that_many_of_each() -> None:
    labels = torch.tensor([2, 0, 0, 1, 0, 2, 0, 0])
    generator = torch_generator(0, "t")
    seen = set()
    for _ in range(50):
        chosen = per_class(labels, 2, generator)
        assert sorted(labels[chosen].tolist()) == [0, 0, 1, 2, 2]
        assert len(set(chosen.tolist())) == 5
        seen |= set(chosen.tolist())
    assert seen == set(range(8))


@pytest.mark.parametrize("kind", REPLAY)
def test_the_memory_holds_training_samples_with_their_labels(kind) -> None:
    context, stream = setting()
    method = kind(context, kind.Settings())
    known: dict[bytes, int] = {}
    for task in stream.tasks:
        for x, y in zip(task.train.x, task.train.y, strict=True):
            known[x.tobytes()] = int(y)
        method.learn(task)
        memory = method.memory
        assert 0 < len(memory) <= context.budget
        labels = [known[x.tobytes()] for x in memory.x.numpy()]
        assert labels == memory.y.tolist()
        assert method.kept().raw == memory.x.numel() * 4
    assert len(method.memory) == context.budget, "the whole budget is used"


@pytest.mark.parametrize("kind", [ER, DER, Herding])
def test_replay_loss_is_the_sum_of_two_means(kind) -> None:
    context, stream = setting()
    method = kind(context, kind.Settings())
    method.learn(stream.tasks[0])
    method.before_task(stream.tasks[1])
    method.network.head = method.network.head.grown(4, context.torch_random("test"))
    x, y = method.tensors(stream.tasks[1].train.x[:9], stream.tasks[1].train.y[:9])
    chosen = method.memory.draw(32, context.torch_random("replay", 1))
    with torch.no_grad():
        new = F.cross_entropy(method.network(x), y)
        logits = method.network(method.memory.x[chosen])
        if kind is DER:
            stored = method.memory.extras["logits"][chosen]
            assert stored.shape[1] == 6
            assert not stored[:, 2:].any(), "later classes are zero"
            old = 0.5 * ((logits - stored[:, :4]) ** 2).mean()
        else:
            old = F.cross_entropy(logits, method.memory.y[chosen])
    assert method.loss(x, y, torch.arange(9)).item() == pytest.approx((new + old).item(), rel=1e-5)


def test_der_stores_the_logits_of_the_network_after_the_task() -> None:
    method = learned(DER, tasks=1)
    with torch.no_grad():
        logits = method.network(method.memory.x)
    torch.testing.assert_close(method.memory.extras["logits"][:, :2], logits)
    again = learned(DER, tasks=2)
    later = again.memory.extras["logits"][again.memory.y >= 2]
    assert later[:, 2:4].any()


def brute_force_herding(features: np.ndarray, count: int) -> list[int]:
    mean, weight, order = features.mean(0), features.mean(0), []
    while len(order) < count:
        best = max(range(len(features)), key=lambda i: float(weight @ features[i]))
        if best not in order:
            order.append(best)
        weight = weight + mean - features[best]
    return order


@pytest.mark.parametrize("n", [3, 12, 40])
def test_herding_equals_greedy_brute_force(n: int) -> None:
    random = np.random.default_rng(n)
    features = random.normal(size=(n, 6)) + 1
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    count = min(n, 8)
    picked = herd(torch.from_numpy(features), count).tolist()
    assert picked == brute_force_herding(features, count)
    mean_gap = np.linalg.norm(features[picked].mean(0) - features.mean(0))
    at_random = [
        np.linalg.norm(features[random.permutation(n)[:count]].mean(0) - features.mean(0))
        for _ in range(200)
    ]
    assert mean_gap <= np.quantile(at_random, 0.1) or n == count == 3


def test_herding_ends_even_when_all_samples_are_alike() -> None:
    assert sorted(herd(torch.ones(6, 3), 6).tolist()) == list(range(6))


@pytest.mark.parametrize("kind", [Herding, FastICARL, CLOPS])
def test_trimming_keeps_the_best_ranks(kind) -> None:
    context, stream = setting()
    method = kind(context, kind.Settings())
    method.learn(stream.tasks[0])
    first = method.memory.x[method.memory.y == 1].clone()
    method.learn(stream.tasks[1])
    method.learn(stream.tasks[2])
    kept = method.memory.x[method.memory.y == 1]
    assert len(kept) == 2
    assert torch.equal(kept, first[: len(kept)]), "the best of them, in order"


def test_nearest_to_mean() -> None:
    features = torch.tensor([[0.0], [10.0], [4.0], [6.5]])  # mean 5.125
    assert nearest_to_mean(features).tolist() == [2, 3, 1, 0]


def test_fasticarl_predicts_by_the_nearest_mean_of_the_memory() -> None:
    context, stream = setting()
    method = FastICARL(context, FastICARL.Settings())
    for task in stream.tasks:
        method.learn(task)
        x = stream.tests[0].x
        with torch.no_grad():
            stored = method.network.encoder(method.memory.x)
            features = F.normalize(method.network.encoder(torch.from_numpy(x)), dim=1)
        means = F.normalize(
            torch.stack([stored[method.memory.y == k].mean(0) for k in range(2 * task.index + 2)]),
            dim=1,
        )
        expected = ((features[:, None] - means) ** 2).sum(-1).argmin(1)
        assert method.predict(x).argmax(1).tolist() == expected.tolist()


def test_fasticarl_trains_by_binary_cross_entropy() -> None:
    method = learned(FastICARL, tasks=1)
    logits, y = torch.tensor([[1.0, -2.0], [0.5, 0.0]]), torch.tensor([0, 1])
    p = torch.sigmoid(logits)
    by_hand = -(p[0, 0].log() + (1 - p[0, 1]).log() + (1 - p[1, 0]).log() + p[1, 1].log()) / 4
    assert method.criterion(logits, y).item() == pytest.approx(by_hand.item(), rel=1e-6)


def test_quantised_exemplars_are_close_and_a_quarter_of_the_size() -> None:
    x = torch.randn(5, 3, 40, generator=torch_generator(0, "q")) * 7 + 3
    codes, step, low = quantise(x)
    assert codes.dtype == torch.uint8
    back = dequantise(codes, step, low)
    assert ((back - x).abs() <= 0.5001 * step + 1e-6).all()
    again = quantise(back)[0].int() - codes.int()
    assert again.abs().max() <= 1
    assert torch.equal(
        dequantise(*quantise(torch.full((1, 1, 4), 2.5))), torch.full((1, 1, 4), 2.5)
    )
    plain, small = learned(FastICARL), learned(FastICARL, quantise=True)
    values = len(small.memory) * 37
    assert small.kept().raw == values + len(small.memory) * 2 * 4
    assert plain.kept().raw == 4 * values
