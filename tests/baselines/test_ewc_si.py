"""EWC's Fisher information and SI's path integral against gradients and closed forms."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from small_streams import learned, same_weights, setting, weights
from torch import nn
from tsbench.baselines.ewc import EWC, fisher
from tsbench.baselines.naive import Naive
from tsbench.baselines.si import SI, PathIntegral


def test_fisher_of_a_softmax_regression_in_closed_form() -> None:
    random = torch.Generator().manual_seed(0)
    net = nn.Linear(5, 3).double()
    x = torch.randn(11, 5, generator=random, dtype=torch.float64)
    y = torch.randint(3, (11,), generator=random)
    off = net(x).softmax(1).detach() - F.one_hot(y, 3)  # gradient by the logits, (11, 3)
    found = fisher(net, x, y)
    torch.testing.assert_close(found["bias"], off.square().mean(0))
    expected = (off[:, :, None] * x[:, None]).square().mean(0)
    torch.testing.assert_close(found["weight"], expected)


def test_fisher_of_the_network_equals_one_backward_pass_per_sample() -> None:
    context, stream = setting(dropout=0.3)
    method = EWC(context, EWC.Settings(decay=0.5))
    totals: dict[str, torch.Tensor] = {}
    for task in stream.tasks[:2]:
        method.learn(task)
        method.network.eval()
        fresh = {n: torch.zeros_like(p) for n, p in method.network.named_parameters()}
        for sample, label in zip(task.train.x, task.train.y, strict=True):
            method.network.zero_grad()
            logits = method.network(torch.from_numpy(sample)[None])
            logits.log_softmax(1)[0, int(label)].backward()
            for name, parameter in method.network.named_parameters():
                fresh[name] += parameter.grad.square() / len(task.train)
        for name, new in fresh.items():
            old = totals.get(name, torch.zeros_like(new))
            merged = new.clone()
            merged[: len(old)] += 0.5 * old
            totals[name] = merged
    assert totals.keys() == method.importance.keys()
    for name, expected in totals.items():
        torch.testing.assert_close(method.importance[name], expected, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("kind", [EWC, SI])
def test_without_strength_it_is_naive_bit_for_bit(kind) -> None:
    assert same_weights(learned(kind, strength=0.0), learned(Naive))
    assert not same_weights(learned(kind, strength=1e3), learned(Naive))


@pytest.mark.parametrize("kind", [EWC, SI])
def test_loss_is_what_the_docstring_says(kind) -> None:
    context, stream = setting()
    method = kind(context, kind.Settings(strength=7.0))
    method.learn(stream.tasks[0])
    before = weights(method)
    method.before_task(stream.tasks[1])
    method.network.head = method.network.head.grown(4, context.torch_random("test"))
    with torch.no_grad():
        for parameter in method.network.parameters():
            parameter += 0.01
    x, y = method.tensors(stream.tasks[1].train.x[:7], stream.tasks[1].train.y[:7])
    penalty = 0.0
    for name, old in before.items():
        moved = weights(method)[name][: len(old)] - old
        penalty += float((method.importance[name] * moved**2).sum())
    assert penalty > 0
    plain = F.cross_entropy(method.network(x), y).item()
    value = method.loss(x, y, torch.arange(7))
    assert value.item() == pytest.approx(plain + 7.0 * penalty, rel=1e-5)


def test_the_gradient_of_si_is_that_of_its_loss() -> None:
    context, stream = setting()
    method = SI(context, SI.Settings(strength=3.0))
    method.learn(stream.tasks[0])
    method.before_task(stream.tasks[1])
    method.network.head = method.network.head.grown(4, context.torch_random("test"))
    with torch.no_grad():
        for parameter in method.network.parameters():
            parameter += 0.01
    x, y = method.tensors(stream.tasks[1].train.x[:7], stream.tasks[1].train.y[:7])
    method.network.zero_grad()
    method.loss(x, y, torch.arange(7)).backward()
    found = [p.grad.clone() for p in method.network.parameters()]
    method.network.zero_grad()
    (F.cross_entropy(method.network(x), y) + 3.0 * method.penalty()).backward()
    for slope, parameter in zip(found, method.network.parameters(), strict=True):
        torch.testing.assert_close(slope, parameter.grad)


def descend(steps: int, rate: float) -> tuple[PathIntegral, torch.Tensor, torch.Tensor]:
    """Gradient descent on ½ Σ a θ², followed by a path integral; marked at the end."""
    steepness = torch.tensor([0.5, 1.0, 4.0], dtype=torch.float64)
    theta = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    path = PathIntegral()
    for _ in range(steps):
        slope = steepness * theta
        path.step({"theta": theta}, (slope,))
        theta = theta - rate * slope
    path.mark({"theta": theta})
    return path, steepness, theta


def test_path_integral_of_a_quadratic_in_closed_form() -> None:
    steps, rate = 40, 0.05
    path, steepness, theta = descend(steps, rate)
    start = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    shrink = (1 - rate * steepness) ** 2  # of θ² in a step: the sum of −gΔθ is a geometric series
    exact = rate * steepness**2 * start**2 * (1 - shrink**steps) / (1 - shrink)
    torch.testing.assert_close(path.marked["theta"], exact)
    importance = path.importances(0.1)["theta"]
    torch.testing.assert_close(importance, exact / ((theta - start) ** 2 + 0.1))
    # With ever smaller steps it becomes the drop of each weight's own part of the loss.
    fine, steepness, theta = descend(40_000, 5e-5)
    drop = 0.5 * steepness * (start**2 - theta**2)
    torch.testing.assert_close(fine.marked["theta"], drop, rtol=1e-3, atol=0)


def test_steps_after_the_mark_do_not_count() -> None:
    path, _, theta = descend(10, 0.05)
    marked = path.marked["theta"].clone()
    path.step({"theta": theta}, (torch.ones(3, dtype=torch.float64),))
    path.step({"theta": theta - 1}, (torch.ones(3, dtype=torch.float64),))
    assert torch.equal(path.marked["theta"], marked)
    path.mark({"theta": theta - 1})
    torch.testing.assert_close(path.marked["theta"], marked + 1)


def test_the_path_of_a_task_adds_up_to_the_drop_of_its_loss() -> None:
    """∫ g dθ over all weights is the change of the loss, for full batches and small steps."""
    context, stream = setting(epochs=40)
    task = stream.tasks[0]
    seen: dict[str, float] = {}

    class Watched(SI):
        name = ""

        def after_task(self, task, x, y) -> None:
            with torch.no_grad():
                seen["end"] = F.cross_entropy(self.network(x), y).item()
                for name, parameter in self.network.named_parameters():
                    assert torch.equal(self.path.end[name], parameter), "ends at the checkpoint"
                    parameter.copy_(self.path.start[name])
                seen["start"] = F.cross_entropy(self.network(x), y).item()
            seen["work"] = sum(float(total.sum()) for total in self.path.marked.values())
            super().after_task(task, x, y)

    Watched(context, SI.Settings(batch=999, learning_rate=2e-6, patience=99)).learn(task)
    assert seen["start"] - seen["end"] > 0.05
    assert seen["work"] == pytest.approx(seen["start"] - seen["end"], rel=0.03)
