"""The quick look at how GR forgets: it equals a run of GR, as far as it goes."""

from __future__ import annotations

import torch
from generator_schedules import trial
from small_streams import setting
from tsbench.baselines.gr import GR, GRSettings

from tsbench.runs.execute import predict


def test_two_tasks_are_those_of_gr_and_a_given_generator_changes_nothing() -> None:
    context, stream = setting()
    settings = GRSettings()
    taught = trial(context, stream, settings, None)
    given = trial(context, stream, settings, taught.generator)
    assert given.by_epoch == taught.by_epoch and len(given.by_epoch) == 2
    assert all(
        torch.equal(taught.generator[name], given.generator[name]) for name in given.generator
    )

    whole = GR(context, settings)
    whole.learn(stream.tasks[0])
    learned = 100 * (predict(whole, stream.tests[0].x, 2) == stream.tests[0].y).mean()
    whole.learn(stream.tasks[1])
    after = [100 * (predict(whole, t.x, 4) == t.y).mean() for t in stream.tests[:2]]
    assert [taught.learned, taught.first, taught.second] == [learned, *after]
