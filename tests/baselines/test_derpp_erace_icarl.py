"""DER++, ER-ACE and iCaRL: equal to their simpler relatives where they should be, and by hand."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from small_streams import learned, same_weights, setting
from tsbench.baselines.der import DER
from tsbench.baselines.derpp import DERPP
from tsbench.baselines.er import ER
from tsbench.baselines.er_ace import ERACE
from tsbench.baselines.herding import Herding
from tsbench.baselines.icarl import ICaRL

from tsbench.learn.distillation import teacher_of


def in_second_task(kind, **settings):
    """A method in the middle of the second task, and a batch of it."""
    context, stream = setting()
    method = kind(context, kind.Settings(**settings))
    method.learn(stream.tasks[0])
    method.before_task(stream.tasks[1])
    method.network.head = method.network.head.grown(4, context.torch_random("test"))
    x, y = method.tensors(stream.tasks[1].train.x, stream.tasks[1].train.y)
    return method, context, x, y


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_derpp_without_beta_is_der_bit_for_bit(dropout: float) -> None:
    context, _ = setting(dropout=dropout)
    plain = learned(DER, context=context)
    assert same_weights(learned(DERPP, context=context, beta=0.0), plain)
    assert not same_weights(learned(DERPP, context=context, beta=0.5), plain)


def test_derpp_loss_is_what_its_docstring_says() -> None:
    method, context, x, y = in_second_task(DERPP, alpha=0.3, beta=2.0)
    first = method.memory.draw(32, context.torch_random("replay", 1))
    second = method.memory.draw(32, context.torch_random("replay labels", 1))
    assert first.tolist() != second.tolist()
    with torch.no_grad():
        stored = method.memory.extras["logits"][first, :4]
        dark = ((method.network(method.memory.x[first]) - stored) ** 2).mean()
        labelled = F.cross_entropy(method.network(method.memory.x[second]), method.memory.y[second])
        expected = F.cross_entropy(method.network(x[:9]), y[:9]) + 0.3 * dark + 2.0 * labelled
    found = method.loss(x[:9], y[:9], torch.arange(9))
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_er_ace_is_er_when_all_classes_are_in_the_batch() -> None:
    method, context, x, y = in_second_task(ERACE)
    old, labels = method.memory.x[method.memory.y < 2], method.memory.y[method.memory.y < 2]
    assert sorted(labels.unique().tolist()) == [0, 1]
    x, y = torch.cat([x, old]), torch.cat([y, labels])
    assert sorted(y.unique().tolist()) == [0, 1, 2, 3]
    rows = torch.arange(len(y))
    found = method.loss(x, y, rows)
    method.draws = context.torch_random("replay", 1)  # the same replayed samples again
    assert torch.equal(found, ER.loss(method, x, y, rows))


def test_er_ace_leaves_absent_classes_out_for_new_samples_only() -> None:
    method, context, x, y = in_second_task(ERACE)
    chosen = method.memory.draw(32, context.torch_random("replay", 1))
    with torch.no_grad():
        new = F.cross_entropy(method.network(x)[:, 2:], y - 2)  # of the two new classes alone
        replay = F.cross_entropy(method.network(method.memory.x[chosen]), method.memory.y[chosen])
    found = method.loss(x, y, torch.arange(len(y)))
    assert found.item() == pytest.approx((new + replay).item(), rel=1e-5)
    one_class = method.loss(x[y == 2], y[y == 2], torch.arange(int((y == 2).sum())))
    one_class.backward()
    assert all(p.grad.isfinite().all() for p in method.network.parameters())


def test_er_ace_replays_the_new_classes_too_within_the_budget() -> None:
    method, context, _, y = in_second_task(ERACE)
    assert len(method.memory) <= context.budget
    assert set(y.tolist()) <= set(method.memory.y.tolist())
    before = method.memory.x.clone()
    method.after_task(setting()[1].tasks[1], method.memory.x, method.memory.y)
    assert torch.equal(method.memory.x, before), "a task enters the memory once"
    assert learned(ERACE).reservoir.seen == sum(len(t.train) for t in setting()[1].tasks)


def test_icarl_loss_by_hand() -> None:
    method, context, x, y = in_second_task(ICaRL)
    assert method.teacher is not None
    x, y = x[:5], y[:5]
    chosen = method.memory.draw(32, context.torch_random("replay", 1))
    found = method.loss(x, y, torch.arange(5)).item()
    total, entries = 0.0, 0
    everything = [*zip(x, y, strict=True)]
    everything += [*zip(method.memory.x[chosen], method.memory.y[chosen], strict=True)]
    with torch.no_grad():
        for sample, label in everything:
            p = method.network(sample[None])[0].sigmoid()
            old = method.teacher(sample[None])[0].sigmoid()
            for k in range(4):
                target = float(old[k]) if k < 2 else float(label == k)
                total -= float(target * p[k].log() + (1 - target) * (1 - p[k]).log())
                entries += 1
    assert found == pytest.approx(total / entries, rel=1e-4)


def test_the_teacher_of_icarl_is_the_network_before_the_task() -> None:
    context, stream = setting()
    method = ICaRL(context, ICaRL.Settings())
    method.learn(stream.tasks[0])
    before = teacher_of(method.network)
    assert method.teacher is None, "no second network is kept"
    method.before_task(stream.tasks[1])
    x = torch.from_numpy(stream.tasks[1].train.x[:4])
    assert torch.equal(method.teacher(x), before(x))


def test_icarl_chooses_the_exemplars_that_herding_chooses() -> None:
    context, stream = setting()
    icarl, herding = ICaRL(context, ICaRL.Settings()), Herding(context, Herding.Settings())
    icarl.learn(stream.tasks[0])
    herding.network = icarl.network  # the same features
    x, y = herding.tensors(stream.tasks[0].train.x, stream.tasks[0].train.y)
    herding.after_task(stream.tasks[0], x, y)
    assert torch.equal(icarl.memory.x, herding.memory.x)
    assert torch.equal(icarl.memory.y, herding.memory.y)


def test_icarl_predicts_by_the_nearest_mean_of_its_exemplars() -> None:
    context, stream = setting()
    method = ICaRL(context, ICaRL.Settings())
    for task in stream.tasks:
        method.learn(task)
        x = stream.tests[0].x
        with torch.no_grad():
            stored = F.normalize(method.network.encoder(method.memory.x), dim=1)
            features = F.normalize(method.network.encoder(torch.from_numpy(x)), dim=1)
        means = [stored[method.memory.y == k].mean(0) for k in range(2 * task.index + 2)]
        gaps = torch.stack([(features - m / m.norm()).norm(dim=1) for m in means], dim=1)
        assert method.predict(x).argmax(1).tolist() == gaps.argmin(1).tolist()
