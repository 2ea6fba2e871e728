"""Memory, reservoir, ER, DER, Herding, FastICARL, ASER, CLOPS, GR."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from small import learned, setting
from torch import nn
from tsbench.baselines.aser import ASER, shapley
from tsbench.baselines.clops import CLOPS, entropy_difference
from tsbench.baselines.der import DER
from tsbench.baselines.er import ER
from tsbench.baselines.fasticarl import FastICARL, dequantise, nearest_to_mean, quantise
from tsbench.baselines.gr import GR
from tsbench.baselines.herding import Herding, herd

from tsbench.data.catalogue import PAPER, card
from tsbench.learn.memory import Memory, Reservoir, per_class, quotas
from tsbench.nn.random import torch_generator
from tsbench.nn.timevae import TimeVAE, vae_loss

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
    method.beta = torch.linspace(0.5, 1.5, len(task.train))
    x, y = method.tensors(task.train.x[:6], task.train.y[:6])
    rows = torch.tensor([3, 1, 7, 0, 5, 9])
    beta = method.beta[rows].clone().requires_grad_()
    each = F.cross_entropy(method.network(x), y, reduction="none").detach()
    loss = (beta * each).mean() + 2.0 * F.mse_loss(beta, torch.ones(6))
    (slope,) = torch.autograd.grad(loss, beta)
    assert method.loss(x, y, rows).item() == pytest.approx(loss.item(), rel=1e-5)
    torch.testing.assert_close(method.beta[rows], (beta - 0.1 * slope).detach())


def test_clops_keeps_the_largest_area_under_beta() -> None:
    context, stream = setting()
    method = CLOPS(context, CLOPS.Settings())
    task = stream.tasks[0]
    traces = np.random.default_rng(0).random((4, len(task.train)))
    method.network.head = method.network.head.grown(2, context.torch_random("t"))
    method.beta = torch.ones(len(task.train), dtype=torch.float64)
    method.previous, method.area = method.beta.clone(), torch.zeros_like(method.beta)
    for epoch, values in enumerate(traces, start=1):
        method.beta = torch.from_numpy(values)
        method.after_epoch(epoch)
    whole = np.vstack([np.ones(len(task.train)), traces])
    area = ((whole[1:] + whole[:-1]) / 2).sum(axis=0)
    np.testing.assert_allclose(method.area, area)
    x, y = method.tensors(task.train.x, task.train.y)
    method.after_task(task, x, y)
    for label in task.labels:
        places = np.flatnonzero(task.train.y == label)
        best = places[np.argsort(-area[places], kind="stable")]
        kept = method.memory.x[method.memory.y == label].numpy()
        np.testing.assert_array_equal(kept, task.train.x[best[: len(kept)]])


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


PUBLISHED_VAE = {"uci-har": 3.9, "uwave": 5.9, "dsa": 34.3, "grabmyo": 15.5, "wisdm": 4.0}


@pytest.mark.parametrize("name", PAPER)
def test_timevae_shapes_and_sizes(name: str) -> None:
    each = card(name)
    vae = TimeVAE(each.channels, each.length, torch_generator(0, "v"))
    millions = sum(p.numel() for p in vae.parameters()) / 1e6
    assert millions == pytest.approx(PUBLISHED_VAE[name], abs=0.051)
    lengths = {"uci-har": 8, "uwave": 20, "dsa": 8, "grabmyo": 8, "wisdm": 13}
    assert vae.lengths[-1] == lengths[name]
    x = torch.zeros(2, each.channels, each.length)
    assert vae.encode(x)[0].shape == (2, 128)
    assert vae.generate(3, torch_generator(0, "z")).shape == (3, each.channels, each.length)


@pytest.mark.parametrize("length", [9, 37, 50, 101])
def test_timevae_takes_any_length(length: int) -> None:
    vae = TimeVAE(2, length, torch_generator(0, "v"))
    assert vae.decode(vae.encode(torch.zeros(3, 2, length))[0]).shape == (3, 2, length)


def test_vae_loss_by_hand() -> None:
    x, decoded = torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 1.0]]])
    mean, log_variance = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, math.log(4.0)]])
    fit = (1 + 4) + ((1 + 2) / 2) ** 2
    kl = 0.5 * (1.0) + 0.5 * (4 - 1 - math.log(4))
    found = vae_loss(x, decoded, mean, log_variance, 0.1).item()
    assert found == pytest.approx(0.1 * fit + kl, rel=1e-6)


@pytest.mark.slow
def test_timevae_learns_to_reconstruct_the_demo_stream() -> None:
    from pathlib import Path

    from tsbench.data.prepared import load

    torch.set_num_threads(1)
    x = torch.from_numpy(np.array(load(card("demo"), Path()).splits.train.x[:128]))
    vae = TimeVAE(3, 100, torch_generator(0, "v"))
    optimiser = torch.optim.Adam(vae.parameters(), lr=1e-3)
    noise = torch_generator(0, "n")
    before = F.mse_loss(vae.decode(vae.encode(x)[0]), x).item()
    for _ in range(60):
        for part in x.split(32):
            optimiser.zero_grad()
            vae.loss(part, 10.0, noise).backward()
            optimiser.step()
    after = F.mse_loss(vae.decode(vae.encode(x)[0]), x).item()
    assert after < 0.5 * before


def test_gr_labels_by_the_previous_network_and_keeps_no_sample() -> None:
    context, stream = setting()
    method = GR(context, GR.Settings())
    method.learn(stream.tasks[0])
    assert [k for k, v in vars(method).items() if isinstance(v, nn.Module)] == [
        "network",
        "generator",
    ]
    kept = method.kept()
    assert kept.raw == 0
    parameters = sum(p.numel() for p in method.generator.parameters())
    assert kept.generator >= 3 * 4 * parameters, "weights and Adam's two moments"
    method.before_task(stream.tasks[1])
    previous = {n: p.clone() for n, p in method.network.state_dict().items()}
    method.network.head = method.network.head.grown(4, context.torch_random("t"))
    x, y = method.tensors(stream.tasks[1].train.x[:5], stream.tasks[1].train.y[:5])
    with torch.no_grad():
        invented = method.generator.generate(32, context.torch_random("generated", 1))
        labels = method.labeller(invented).argmax(1)
        assert labels.max() < 2, "only what the previous network knew"
        expected = F.cross_entropy(method.network(invented), labels)
        expected += F.cross_entropy(method.network(x), y)
    assert method.loss(x, y, torch.arange(5)).item() == pytest.approx(expected.item(), rel=1e-5)
    assert all(torch.equal(v, previous[n]) for n, v in method.labeller.state_dict().items())
