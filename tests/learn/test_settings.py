from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.catalogue import DATASETS
from tsbench.errors import UserError
from tsbench.learn.gradient import GradientSettings
from tsbench.learn.registry import (
    METHODS,
    _per_dataset,
    effective_settings,
    expand,
    load_method,
)
from tsbench.learn.settings import build, field_types, parse_assignments


@dataclass(frozen=True)
class Example(GradientSettings):
    weight: float = 1.0
    adaptive: bool = True


def test_values_take_the_type_of_their_field() -> None:
    built = build("m", Example, {"weight": "1e-3", "adaptive": "no", "batch": "32"})
    assert built == Example(weight=1e-3, adaptive=False, batch=32)
    assert build("m", Example, {"schedule": "onecycle"}).schedule == "onecycle"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"wieght": "1"}, "did you mean 'weight'"),
        ({"weight": "much"}, "weight must be of type float, not 'much'"),
        ({"batch": "1.5"}, "batch must be of type int"),
        ({"adaptive": "maybe"}, "adaptive must be of type bool"),
        ({"schedule": "step12"}, "one of onecycle, step10, step15"),
    ],
)
def test_wrong_names_and_types_are_told(values, message) -> None:
    with pytest.raises(UserError, match=message):
        build("m", Example, values)


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("naive", {"batch": "0"}),
        ("naive", {"learning_rate": "-1"}),
        ("naive", {"patience": "0"}),
        ("ts-acl", {"gamma": "-5"}),
        ("ts-acl", {"gamma": "nan"}),
        ("ts-acl", {"width": "0"}),
        ("ts-acl-deep", {"width": "100"}),
    ],
)
def test_values_that_make_no_sense_are_told(method, change) -> None:
    with pytest.raises(UserError, match=next(iter(change))):
        effective_settings(method, "demo", change)


def test_assignments() -> None:
    assert parse_assignments(["a=1", " b = x=y "]) == {"a": "1", "b": "x=y"}
    with pytest.raises(UserError, match="key=value"):
        parse_assignments(["gamma"])


def test_names_families_and_all() -> None:
    paper = expand(["all"])
    assert {"naive", "offline", "ts-acl", "ts-acl-e"} <= set(paper)
    assert "ts-acl-deep" not in paper
    assert expand(["analytic", "ts-acl"]) == [
        name for name in METHODS.names() if load_method(name).family == "analytic"
    ]
    with pytest.raises(UserError, match="did you mean 'ts-acl'"):
        expand(["tsacl"])


@pytest.mark.parametrize("name", METHODS.builtin)
def test_every_hyper_parameter_says_what_it_means(name: str) -> None:
    for field in dataclasses.fields(load_method(name).Settings):
        assert field.metadata.get("meaning"), field.name


def test_the_settings_of_single_data_sets_fit_their_methods() -> None:
    for method, by_dataset in _per_dataset().items():
        for dataset, by_source in by_dataset.items():
            assert dataset in DATASETS.names()
            assert set(by_source) <= {"published", "grid", "tuned", "rule", "short"}
            used = dataclasses.asdict(effective_settings(method, dataset))
            default = dataclasses.asdict(load_method(method).Settings())
            changed = {k: v for part in by_source.values() for k, v in part.items()}
            assert {k: v for k, v in used.items() if v != default[k]} == changed


def numeric_settings() -> list[tuple[str, str, type]]:
    return [
        (method, name, kind)
        for method in METHODS.builtin
        for name, kind in field_types(load_method(method).Settings).items()
        if kind in (int, float)
    ]


@pytest.mark.parametrize(("method", "name", "kind"), numeric_settings())
def test_every_number_has_a_range(method: str, name: str, kind: type) -> None:
    for value in ("-1000000000", "-1", "nan", "inf", "-inf", "1e999", ""):
        with pytest.raises(UserError, match=name) as error:
            effective_settings(method, "demo", {name: value})
        assert str(error.value).startswith(f"{method}: ") or "of type" in str(error.value)
    default = getattr(load_method(method).Settings(), name)
    assert getattr(effective_settings(method, "demo", {name: str(default)}), name) == default


@pytest.mark.parametrize(
    ("method", "change"),
    [
        ("er", "replay=-1"),
        ("er", "replay=0"),
        ("mas", "strength=-1"),
        ("lwf", "strength=-1"),
        ("aser", "neighbours=0"),
        ("naive", "learning_rate=0"),
    ],
)
def test_values_that_used_to_run_are_refused(tmp_path: Path, method: str, change: str) -> None:
    matrix = ["--method", method, "--dataset", "demo", "--seed", "1", "--set", change]
    result = CliRunner().invoke(app, ["run", *matrix, "--results", str(tmp_path / "r")])
    assert result.exit_code == 2
    assert change.partition("=")[0] in result.stderr
