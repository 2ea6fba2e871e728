"""What is tuned: the published grids, those of one's own methods, and what has none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from tsbench.data.catalogue import DATASETS
from tsbench.learn.registry import METHODS, effective_settings, grid, load_method
from tsbench.learn.settings import build
from tsbench.protocol.rules import PAPER_DATASETS, Protocol
from tsbench.runs.plan import Request, plan
from tsbench.runs.spec import RunSpec
from tsbench.tuning.tune import make_studies
from tsbench.tuning.tuned import with_tuned


def specs(*methods: str) -> list[RunSpec]:
    protocol = Protocol(stream="val", epochs=1)
    return plan(Request(list(methods), ["demo"], [1234], protocol), Path()).specs


PUBLISHED_TRAININGS = {
    # method: validation-stream trainings per data set, each trial trained twice (GR once)
    **dict.fromkeys(("naive", "offline", "er", "der", "herding", "fasticarl"), (6, 6, 6, 6, 6)),
    "lwf": (30, 30, 30, 30, 30),
    "mas": (18, 18, 18, 24, 18),
    "dt2w": (48, 72, 72, 72, 72),
    "aser": (12, 12, 12, 18, 48),
    "clops": (48, 48, 48, 48, 48),
    "gr": (60, 60, 60, 60, 60),
    **dict.fromkeys(("ts-acl", "ts-acl-e"), (6, 6, 6, 6, 6)),
}


@pytest.mark.parametrize("method", PUBLISHED_TRAININGS)
def test_grids_are_as_large_as_the_published_ones(method: str) -> None:
    sizes = [
        2 * np.prod([len(v) for v in grid(method, dataset).values()]) for dataset in PAPER_DATASETS
    ]
    assert tuple(sizes) == PUBLISHED_TRAININGS[method]


@pytest.mark.parametrize("method", METHODS.builtin)
def test_every_grid_fits_its_method_and_begins_with_the_default(method: str) -> None:
    settings = load_method(method).Settings
    for field in dataclasses.fields(settings):
        assert set(field.metadata["grids"]) <= set(DATASETS.names())
    for dataset in DATASETS.builtin:
        default = effective_settings(method, dataset)
        for name, choices in grid(method, dataset).items():
            typed = [build(method, settings, {name: value}) for value in choices]
            assert [getattr(s, name) for s in typed] == choices
            assert [type(getattr(s, name)) for s in typed] == [type(c) for c in choices]
            assert len(set(choices)) == len(choices)
            assert choices[0] == getattr(default, name), f"{method} {dataset} {name}"


def test_the_default_of_a_data_set_comes_first() -> None:
    assert grid("mas", "uci-har")["strength"] == [1000.0, 100.0, 10000.0]
    assert grid("mas", "uwave")["strength"] == [10000.0, 1000.0, 100.0]


OWN = """
from dataclasses import dataclass
import numpy as np
from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.loop import SCHEDULES, Schedule
from tsbench.learn.method import Kept, Method
from tsbench.learn.settings import setting

@dataclass(frozen=True)
class Late(GradientSettings):
    schedule: Schedule = setting("onecycle", "late", grid=SCHEDULES)

class Mine(GradientMethod):
    Settings = Late

class Fixed(Method):
    def learn(self, task):
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen))
    def kept(self):
        return Kept()
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_a_method_of_ones_own_tunes_its_schedule_from_its_own_default(own: Path) -> None:
    assert grid(f"{own}:Mine", "demo") == {"schedule": ["onecycle", "step15", "step10"]}


def test_a_method_with_nothing_to_tune_is_named_and_runs_with_its_defaults(
    own: Path, capsys
) -> None:
    fixed = specs(f"{own}:Fixed", "ts-acl-r")
    assert make_studies(fixed, full=False) == []
    said = capsys.readouterr().err
    assert "own-Fixed: nothing to tune" in said
    assert "ts-acl-r: nothing to tune" in said
    assert with_tuned(fixed, own.parent) == fixed
