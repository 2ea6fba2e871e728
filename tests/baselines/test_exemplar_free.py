"""LwF, MAS and DT2W against hand-computed cases, finite differences and plain recursions."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
import torch
from small_streams import learned, same_weights, setting, weights
from torch import nn
from tsbench.baselines import mas
from tsbench.baselines.dt2w import DT2W, radius
from tsbench.baselines.lwf import LwF
from tsbench.baselines.mas import MAS, importances
from tsbench.baselines.naive import Naive

from tsbench.learn.distillation import distillation, teacher_of
from tsbench.nn.softdtw import _SoftDTW, soft_dtw, squared_distances


def test_distillation_by_hand() -> None:
    student = torch.tensor([[2.0, 0.0], [0.0, 4.0]])
    teacher = torch.tensor([[0.0, 2.0], [2.0, 2.0]])

    def soften(row: list[float]) -> list[float]:
        e = [math.exp(v / 2) for v in row]
        return [v / sum(e) for v in e]

    total = 0.0
    for s, t in zip(student.tolist(), teacher.tolist(), strict=True):
        p, q = soften(t), soften(s)
        total += sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert distillation(student, teacher).item() == pytest.approx(total / 2, rel=1e-6)
    assert distillation(student, student).item() == pytest.approx(0, abs=1e-7)


def test_lwf_without_strength_is_naive_bit_for_bit() -> None:
    assert same_weights(learned(LwF, strength=0.0, adaptive=False), learned(Naive))
    assert not same_weights(learned(LwF, strength=1.0, adaptive=False), learned(Naive))


def test_lwf_loss_is_what_its_docstring_says() -> None:
    context, stream = setting()
    method = LwF(context, LwF.Settings(strength=10.0))
    method.learn(stream.tasks[0])
    before = teacher_of(method.network)
    method.before_task(stream.tasks[1])
    method.network.head = method.network.head.grown(4, context.torch_random("test"))
    x, y = method.tensors(stream.tasks[1].train.x[:7], stream.tasks[1].train.y[:7])
    logits = method.network(x)
    expected = 0.5 * nn.functional.cross_entropy(logits, y)
    expected = expected + 0.5 * 10.0 * distillation(logits[:, :2], before(x))
    torch.testing.assert_close(method.loss(x, y, torch.arange(7)), expected)


def test_strong_distillation_keeps_the_old_answers() -> None:
    context, stream = setting(epochs=20)
    x = torch.from_numpy(stream.tasks[1].train.x)

    def drift(strength: float) -> float:
        method = LwF(context, LwF.Settings(strength=strength, adaptive=False, patience=99))
        method.learn(stream.tasks[0])
        with torch.no_grad():
            old = method.network(x)
        method.learn(stream.tasks[1])
        with torch.no_grad():
            return distillation(method.network(x)[:, :2], old).item()

    assert drift(10.0) < 0.05 * drift(0.0)


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.a = nn.Parameter(torch.randn(4, 3, generator=generator, dtype=torch.float64))
        self.b = nn.Parameter(torch.randn(2, 4, generator=generator, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x @ self.a.T) @ self.b.T


def test_mas_importances_equal_finite_differences() -> None:
    net = Tiny()
    x = torch.randn(10, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    batches = x.split(4)
    found = importances(net, batches)
    step = 1e-6
    for name, parameter in net.named_parameters():
        for place in np.ndindex(*parameter.shape):
            slopes = []
            for batch in batches:
                values = []
                for sign in (1, -1):
                    with torch.no_grad():
                        parameter[place] += sign * step
                        values.append(net(batch).norm(dim=1).mean().item())
                        parameter[place] -= sign * step
                slopes.append(abs(values[0] - values[1]) / (2 * step))
            assert found[name][place].item() == pytest.approx(np.mean(slopes), abs=1e-7)


def test_mas_without_strength_is_naive_bit_for_bit() -> None:
    assert same_weights(learned(MAS, strength=0.0, schedule="step15"), learned(Naive))


def test_an_important_weight_moves_less_as_the_strength_grows() -> None:
    context, stream = setting(epochs=12)
    moved = []
    for strength in (0.0, 10.0, 1e3):
        method = MAS(context, MAS.Settings(strength=strength, patience=99))
        method.learn(stream.tasks[0])
        before = weights(method)
        method.importance = {n: torch.zeros_like(v) for n, v in method.importance.items()}
        name = "encoder.blocks.0.weight"
        method.importance[name][0] = 1.0  # one filter matters, nothing else
        method.learn(stream.tasks[1])
        moved.append((weights(method)[name][0] - before[name][0]).abs().max().item())
    assert moved == sorted(moved, reverse=True)
    assert moved[-1] < 0.3 * moved[0]


@pytest.fixture
def importance_batches(monkeypatch) -> list[torch.Tensor]:
    """The batches that MAS takes importances over, those of the last task."""
    seen: list[torch.Tensor] = []

    def watched(network: nn.Module, batches: Iterable[torch.Tensor]) -> dict[str, torch.Tensor]:
        seen[:] = batches
        return importances(network, seen)

    monkeypatch.setattr(mas, "importances", watched)
    return seen


def test_mas_averages_importances_and_takes_new_rows_as_they_are(importance_batches) -> None:
    context, stream = setting()
    method = MAS(context, MAS.Settings())
    method.learn(stream.tasks[0])
    fresh = importances(method.network, importance_batches)
    torch.testing.assert_close(method.importance["head.weight"], 0.2 * fresh["head.weight"])
    old = method.importance["head.weight"].clone()
    method.learn(stream.tasks[1])
    fresh = importances(method.network, importance_batches)["head.weight"]
    torch.testing.assert_close(method.importance["head.weight"][:2], 0.8 * old + 0.2 * fresh[:2])
    torch.testing.assert_close(method.importance["head.weight"][2:], fresh[2:])


def test_mas_takes_importances_over_mixed_batches_of_the_whole_task(importance_batches) -> None:
    context, stream = setting()
    MAS(context, MAS.Settings(batch=16)).learn(stream.tasks[0])
    train = stream.tasks[0].train
    labels = {x.tobytes(): int(y) for x, y in zip(train.x, train.y, strict=True)}
    found = [[labels.pop(x.numpy().tobytes()) for x in batch] for batch in importance_batches]
    assert not labels, "every sample once"
    assert max(map(len, found)) == 16
    assert all(len(set(batch)) == 2 for batch in found if len(batch) == 16)


def recursion(cost: np.ndarray, gamma: float) -> float:
    """Soft-DTW cell by cell; DTW for γ = 0."""
    n, m = cost.shape
    total = np.full((n + 1, m + 1), np.inf)
    total[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = [total[i - 1, j], total[i, j - 1], total[i - 1, j - 1]]
            low = min(before)
            soft = (
                -gamma * math.log(sum(math.exp((low - b) / gamma) for b in before)) if gamma else 0
            )
            total[i, j] = cost[i - 1, j - 1] + low + soft
    return total[n, m]


SHAPES = [(5, 5), (3, 7), (7, 3), (1, 4), (4, 1), (1, 1), (19, 19)]


@pytest.mark.parametrize(("n", "m"), SHAPES)
@pytest.mark.parametrize("gamma", [1.0, 0.1])
def test_soft_dtw_equals_the_plain_recursion(n: int, m: int, gamma: float) -> None:
    generator = torch.Generator().manual_seed(n + 10 * m)
    a = torch.randn(3, 4, n, generator=generator, dtype=torch.float64)
    b = torch.randn(3, 4, m, generator=generator, dtype=torch.float64)
    values = soft_dtw(a, b, gamma)
    for i in range(3):
        cost = ((a[i].T[:, None] - b[i].T[None]) ** 2).sum(-1).numpy()
        assert values[i].item() == pytest.approx(recursion(cost, gamma), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("n", "m"), [(4, 4), (2, 5), (5, 2), (1, 3), (3, 1), (1, 1)])
def test_soft_dtw_gradient(n: int, m: int) -> None:
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(2, 3, n, generator=generator, dtype=torch.float64, requires_grad=True)
    b = torch.randn(2, 3, m, generator=generator, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: soft_dtw(x, y, 0.7), (a, b))


def test_soft_dtw_tends_to_dtw() -> None:
    generator = torch.Generator().manual_seed(3)
    cost = torch.rand(1, 8, 6, generator=generator, dtype=torch.float64)
    hard = recursion(cost[0].numpy(), 0)
    gaps = [abs(_SoftDTW.apply(cost, g).item() - hard) for g in (1.0, 0.1, 0.01, 0.001)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-3


def test_soft_dtw_equals_tslearn() -> None:
    metrics = pytest.importorskip("tslearn.metrics", reason="tslearn is not installed")
    generator = torch.Generator().manual_seed(3)
    a, b = (torch.randn(1, 3, n, generator=generator, dtype=torch.float64) for n in (9, 6))
    theirs = metrics.soft_dtw(a[0].T.numpy(), b[0].T.numpy(), gamma=1.0)
    assert soft_dtw(a, b).item() == pytest.approx(theirs, rel=1e-9)


def test_squared_distances() -> None:
    a, b = torch.randn(2, 5, 4, dtype=torch.float64), torch.randn(2, 5, 3, dtype=torch.float64)
    expected = torch.cdist(a.transpose(1, 2), b.transpose(1, 2)).square()
    torch.testing.assert_close(squared_distances(a, b), expected)


def test_dt2w_prototypes_and_radius_by_hand() -> None:
    context, stream = setting()
    method = DT2W(context, DT2W.Settings())
    method.learn(stream.tasks[0])
    task = stream.tasks[0]
    with torch.no_grad():
        features = method.network.encoder(torch.from_numpy(task.train.x)).numpy()
    traces = []
    for label in task.labels:
        group = features[task.train.y == label]
        np.testing.assert_allclose(method.prototypes[label], group.mean(axis=0), atol=1e-5)
        if len(group) > 1:
            traces.append(np.trace(np.cov(group.T)))
    expected = math.sqrt(np.mean(traces) / 128)
    assert method.radius == pytest.approx(expected, rel=1e-4)
    method.learn(stream.tasks[1])
    assert method.radius == pytest.approx(expected, rel=1e-4), "fixed after the first task"
    assert method.prototypes.shape == (4, 128)
    assert radius([torch.zeros(1, 8)]) == 0.0


def test_dt2w_loss_is_what_its_docstring_says() -> None:
    context, stream = setting()
    method = DT2W(context, DT2W.Settings(maps=0.1, logits=2.0, prototypes=3.0))
    method.learn(stream.tasks[0])
    before = teacher_of(method.network)
    method.before_task(stream.tasks[1])
    method.network.head = method.network.head.grown(4, context.torch_random("test"))
    x, y = method.tensors(stream.tasks[1].train.x[:6], stream.tasks[1].train.y[:6])
    noise = context.torch_random("prototypes", 1)
    labels = torch.randint(2, (64,), generator=noise)
    points = method.prototypes[labels] + method.radius * torch.randn(64, 128, generator=noise)
    with torch.no_grad():
        with_noise = nn.functional.cross_entropy(method.network.head(points), labels)
        logits, maps = method.network(x), method.network.encoder.maps(x)[-1]
        costs = squared_distances(maps, before.encoder.maps(x)[-1]).numpy()
        warped = np.mean([recursion(cost, 1.0) for cost in costs])
        kd = distillation(logits[:, :2], before(x))
        new = nn.functional.cross_entropy(logits, y)
    expected = 0.5 * new + 0.5 * (0.1 * warped + 2 * kd + 3 * with_noise)
    assert method.loss(x, y, torch.arange(6)).item() == pytest.approx(expected.item(), rel=1e-4)


@pytest.mark.parametrize("kind", [LwF, MAS, DT2W])
def test_exemplar_free_methods_keep_no_sample_and_one_network(kind) -> None:
    method, naive = learned(kind), learned(Naive)
    assert method.kept().raw == method.kept().generator == 0
    assert method.kept().parameters == naive.kept().parameters
    modules = [v for v in vars(method).values() if isinstance(v, nn.Module)]
    assert modules == [method.network]
