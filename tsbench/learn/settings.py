"""Hyper-parameters from text: names and types checked against a method's settings class."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any

from tsbench.errors import UserError
from tsbench.registry import closest

YES = {"true", "yes", "on", "1"}
NO = {"false", "no", "off", "0"}


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
        return settings(**converted)
    except UserError as error:
        raise UserError(f"{method}: {error}") from error
