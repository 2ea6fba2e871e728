"""The training loop: schedules, early stopping, best weights, failure on NaN."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from tsbench.learn.loop import Fit, batches, fit, make_schedule, mean_loss


def how(**changes) -> Fit:
    values = {"epochs": 20, "schedule": "step10", "learning_rate": 1e-3, "batch": 4, "patience": 5}
    return Fit(**{**values, **changes})


def rates(schedule: str, epochs: int, steps: int) -> list[float]:
    parameter = nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.Adam([parameter], lr=1e-3)
    scheduler = make_schedule(optimiser, how(schedule=schedule, epochs=epochs), steps)
    seen = []
    for _ in range(epochs):
        for _ in range(steps):
            seen.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            if schedule == "onecycle":
                scheduler.step()
        if schedule != "onecycle":
            scheduler.step()
    return seen


@pytest.mark.parametrize("last", [10, 15])
def test_step_schedules_drop_after_that_epoch(last: int) -> None:
    seen = rates(f"step{last}", 20, 3)
    assert seen[: 3 * last] == pytest.approx([1e-3] * 3 * last)
    assert seen[3 * last :] == pytest.approx([1e-4] * 3 * (20 - last))


def test_onecycle_peaks_at_thirty_percent() -> None:
    seen = rates("onecycle", 100, 3)
    assert seen[0] == pytest.approx(4e-5)
    assert max(seen) == pytest.approx(1e-3)
    assert seen.index(max(seen)) == pytest.approx(0.3 * 300, abs=2)
    assert seen[-1] < 1e-8


class Scripted:
    """A network of one weight, and a validation loss that follows a script."""

    def __init__(self, losses: list[float]) -> None:
        self.network = nn.Linear(1, 1)
        self.losses = iter(losses)
        self.weights: list[float] = []

    def validate(self) -> float:
        self.weights.append(self.network.weight.item())
        return next(self.losses)

    def fit(self, **changes) -> int:
        def loss(rows):
            return (
                self.network(torch.ones(len(rows), 1)).square().mean() + self.network.weight.sum()
            )

        order = torch.Generator().manual_seed(0)
        settings = how(**changes)
        return fit(self.network, 10, settings, order, loss, self.validate, lambda e, v: None)


def test_stops_after_patience_and_restores_the_best() -> None:
    run = Scripted([5, 4, 3, 4, 4, 4, 4, 4, 1, 1])
    assert run.fit() == 8
    assert run.network.weight.item() == run.weights[2]
    assert not run.network.training


def test_an_equal_loss_counts_as_better() -> None:
    run = Scripted([2, 2, 2] + [3] * 9)
    assert run.fit(patience=2) == 5
    assert run.network.weight.item() == run.weights[2]


def test_runs_to_the_end_while_it_improves() -> None:
    run = Scripted([1 / n for n in range(1, 30)])
    assert run.fit(epochs=7) == 7


def test_a_loss_that_is_no_number_is_a_failure() -> None:
    with pytest.raises(FloatingPointError, match="epoch 2"):
        Scripted([1, math.nan, 1]).fit()


def test_batches_are_a_permutation_with_an_odd_last_one() -> None:
    order = torch.Generator().manual_seed(0)
    parts = list(batches(10, 4, order, torch.device("cpu")))
    assert [len(p) for p in parts] == [4, 4, 2]
    assert sorted(torch.cat(parts).tolist()) == list(range(10))
    again = list(batches(10, 4, order, torch.device("cpu")))
    assert not torch.equal(torch.cat(parts), torch.cat(again))


def test_mean_loss_weighs_samples_not_batches() -> None:
    x = torch.arange(300.0)
    value = mean_loss(lambda v: v, lambda v, y: (v * y).mean(), x, torch.ones(300))
    assert value == pytest.approx(x.mean().item())
