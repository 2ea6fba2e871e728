"""What is tuned: the published grids, those of one's own methods, and what has none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tsbench.bench.grid import grid_of
from tsbench.bench.plan import Request, make_specs
from tsbench.bench.run import load_method
from tsbench.bench.spec import RunSpec
from tsbench.bench.tune import make_studies
from tsbench.bench.tuned import with_tuned
from tsbench.data.catalogue import DATASETS, PAPER
from tsbench.learn.catalogue import (
    INFO,
    default_settings,
    hyper_parameter_file,
    known_settings,
    published_grid,
    tunable,
)
from tsbench.learn.settings import build


def specs(*methods: str) -> list[RunSpec]:
    return make_specs(Request(list(methods), ["demo"], [1234], "val", epochs=1), Path())


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
        2 * np.prod([len(v) for v in published_grid(method, dataset, trains=True).values()])
        for dataset in PAPER
    ]
    assert tuple(sizes) == PUBLISHED_TRAININGS[method]


def test_every_grid_fits_its_method_and_holds_the_default() -> None:
    for method, entry in hyper_parameter_file("grids.yaml").items():
        assert method == "training" or method in INFO
        assert set(entry) <= {"default", *DATASETS.names()}
    for method in INFO:
        settings = load_method(method).Settings
        for dataset in DATASETS.builtin:
            default = build(method, settings, default_settings(method, dataset))
            trains = hasattr(default, "schedule")
            for name, choices in published_grid(method, dataset, trains).items():
                typed = [build(method, settings, {name: value}) for value in choices]
                assert [getattr(s, name) for s in typed] == choices
                assert [type(getattr(s, name)) for s in typed] == [type(c) for c in choices]
                assert len(set(choices)) == len(choices)
                assert getattr(default, name) in choices, f"{method} {dataset} {name}"


def test_the_default_comes_first() -> None:
    (spec,) = specs("mas")
    for default in (1000.0, 100.0, 10000.0):
        first, *others = grid_of(replace(spec, settings={**spec.settings, "strength": default}))[
            "strength"
        ]
        assert first == default
        assert sorted([first, *others]) == [100.0, 1000.0, 10000.0]


OWN = """
from dataclasses import dataclass
import numpy as np
from tsbench.learn.gradient import GradientMethod, GradientSettings
from tsbench.learn.method import Kept, Method

@dataclass(frozen=True)
class Late(GradientSettings):
    schedule: str = "onecycle"

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
    (spec,) = specs(f"{own}:Mine")
    assert grid_of(spec) == {"schedule": ["onecycle", "step15", "step10"]}


def test_a_method_with_nothing_to_tune_is_told_and_runs_as_ever(own: Path, capsys) -> None:
    fixed = specs(f"{own}:Fixed", "ts-acl-r")
    assert make_studies(fixed, full=False) == []
    said = capsys.readouterr().err
    assert "own-Fixed: nothing to tune" in said
    assert "ts-acl-r: nothing to tune" in said
    assert with_tuned(fixed, own.parent) == fixed


def test_what_is_tunable_and_the_defaults_are_known_without_importing() -> None:
    for method, spec in zip(INFO, specs(*INFO), strict=True):
        assert tunable(method) == bool(grid_of(spec)), method
        assert known_settings(method, "demo") == spec.settings, method
    assert not tunable("ts-acl-r")
    assert tunable("./own.py:Mine")
