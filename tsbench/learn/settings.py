"""Hyper-parameters: how a method declares them, and how text becomes one of them."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tsbench.console import printable
from tsbench.errors import UserError, describe
from tsbench.registry import closest

YES = {"true", "yes", "on", "1"}
NO = {"false", "no", "off", "0"}

T = TypeVar("T")


def setting(
    default: T,
    meaning: str,
    *,
    grid: Sequence[T] = (),
    grids: Mapping[str, Sequence[T]] | None = None,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
) -> T:
    """A field of a settings class: default, meaning, allowed range, and what tuning tries.

    ``grids`` has the grids of single data sets where they differ from ``grid``.
    """
    about = {
        "meaning": meaning,
        "grid": tuple(grid),
        "grids": dict(grids or {}),
        "least": least,
        "above": above,
        "most": most,
    }
    made: T = field(default=default, metadata=about)
    return made


@dataclass(frozen=True)
class Settings:
    """Hyper-parameters of a method: a frozen dataclass, one ``setting`` each.

    Numbers must be finite and within the range that their ``setting`` gives.
    """

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            expect_in_range(each.name, getattr(self, each.name), each.metadata)


def expect_in_range(name: str, value: Any, about: Mapping[str, Any]) -> None:
    """Raise unless a value is one that makes sense and that a record can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} must be a finite number, not {value}")
    least, above, most = (about.get(limit) for limit in ("least", "above", "most"))
    if least is not None and value < least:
        raise UserError(f"{name} must be at least {least:g}, not {value}")
    if above is not None and value <= above:
        raise UserError(f"{name} must be more than {above:g}, not {value}")
    if most is not None and value > most:
        raise UserError(f"{name} must be at most {most:g}, not {value}")


def field_types(settings: type) -> dict[str, Any]:
    """Types of the hyper-parameters, by name."""
    hints = typing.get_type_hints(settings)
    return {field.name: hints[field.name] for field in dataclasses.fields(settings)}


def parse_assignments(assignments: list[str], option: str = "--set") -> dict[str, str]:
    """``key=value`` pairs."""
    pairs = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise UserError(f"{option} '{assignment}' is not of the form key=value")
        pairs[key.strip()] = value.strip()
    return pairs


def convert(method: str, name: str, value: Any, types: dict[str, Any]) -> Any:
    """A value of the type that the hyper-parameter has."""
    if name not in types:
        raise UserError(
            f"{method} has no hyper-parameter '{name}'{closest(name, types)}; "
            f"it has: {', '.join(types)}"
        )
    kind = types[name]
    text = str(value)
    try:
        if typing.get_origin(kind) is typing.Literal:
            choices = {str(choice): choice for choice in typing.get_args(kind)}
            if text not in choices:
                raise UserError(f"{name} must be one of {', '.join(choices)}, not '{text}'")
            return choices[text]
        if kind is bool:
            if text.lower() not in YES | NO:
                raise ValueError
            return text.lower() in YES
        if kind not in (int, float, str):
            raise UserError(f"{name} cannot be set from text: it is of type {kind}")
        return kind(text)
    except ValueError:
        raise UserError(f"{name} must be of type {kind.__name__}, not '{text}'") from None


def build(method: str, settings: type, values: dict[str, Any]) -> Any:
    """An instance of the settings class with some values, given as text or YAML, changed."""
    types = field_types(settings)
    converted = {name: convert(method, name, v, types) for name, v in values.items()}
    try:
        made = settings(**converted)
        as_stored(made)
    except UserError as error:
        raise UserError(f"{method}: {error}") from error
    except (Exception, SystemExit) as error:  # the code of somebody's own settings
        raise UserError(f"{method}: {describe(error)}") from error
    return made


def as_stored(settings: Any) -> dict[str, Any]:
    """Settings as a record can hold them; raises where it cannot."""
    return {name: _plain(name, value) for name, value in dataclasses.asdict(settings).items()}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} must be a finite number, not {value}")
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(name, each) for each in value)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(name, each) for key, each in value.items()}
    if value is None or type(value) in (bool, int, float):
        return value
    if type(value) is str and value.isprintable():
        return value
    raise UserError(f"{name} cannot be stored in a record: it is {_short(value)}")


def _short(value: Any) -> str:
    text = printable(repr(value))
    return text if len(text) < 50 else f"of type {type(value).__name__}"
