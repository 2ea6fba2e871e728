from __future__ import annotations

from dataclasses import dataclass

import pytest

from tsbench.errors import UserError
from tsbench.learn.catalogue import INFO, expand, hyper_parameter_file, hyper_parameters
from tsbench.learn.gradient import GradientSettings
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
    from tsbench.bench.run import load_method

    with pytest.raises(UserError, match=next(iter(change))):
        build(method, load_method(method).Settings, change)


def test_assignments() -> None:
    assert parse_assignments(["a=1", " b = x=y "]) == {"a": "1", "b": "x=y"}
    with pytest.raises(UserError, match="key=value"):
        parse_assignments(["gamma"])


def test_names_families_and_all() -> None:
    paper = expand(["all"])
    assert {"naive", "offline", "ts-acl", "ts-acl-e"} <= set(paper)
    assert "ts-acl-deep" not in paper
    assert expand(["analytic", "ts-acl"]) == [
        i.name for i in INFO.values() if i.family == "analytic"
    ]
    with pytest.raises(UserError, match="did you mean 'ts-acl'"):
        expand(["tsacl"])


def test_hyper_parameters_read_from_source_equal_the_classes() -> None:
    from tsbench.bench.run import load_method

    for info in INFO.values():
        settings = load_method(info.name).Settings
        listed = {h.name: h for h in hyper_parameters(info.target)}
        assert list(listed) == list(field_types(settings))
        for name, hyper in listed.items():
            assert hyper.meaning, f"{info.name}: {name} has no meaning"
            assert str(getattr(settings(), name)) == hyper.default.strip("'\"")


def test_the_yaml_file_fits_the_methods() -> None:
    from tsbench.bench.run import load_method
    from tsbench.data.catalogue import DATASETS

    for method, entry in hyper_parameter_file("defaults.yaml").items():
        for dataset, values in entry.items():
            assert dataset in ("default", *DATASETS.names())
            assert build(method, load_method(method).Settings, values)
