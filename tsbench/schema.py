"""What a JSON file must hold, as typed dictionaries; and where one does not.

Used for records of runs and for manifests of data sets.
"""

from __future__ import annotations

import functools
import json
import reprlib
import sys
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypedDict

from typing_extensions import NotRequired

from tsbench.console import printable

LARGEST = sys.float_info.max
DIGITS = 20
"""Of the largest number that can be a seed, a port or a size."""

__all__ = ["NotRequired", "TypedDict", "mismatches", "read_json", "shown", "whole_number"]


def whole_number(text: str) -> int | None:
    """What decimal digits stand for; None for any other text, or for too many of them.

    >>> whole_number("12"), whole_number("-1"), whole_number("²"), whole_number("9" * 5000)
    (12, None, None, None)
    """
    return int(text) if text.isdecimal() and len(text) < DIGITS else None


def read_json(path: Path) -> Any:
    """The content of a JSON file; raises OSError or ValueError, whatever is in it."""
    if path.exists() and not path.is_file():  # a pipe would wait for ever
        raise OSError("it is not a regular file")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError("it is not valid UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not valid JSON, line {error.lineno}") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def shown(value: Any) -> str:
    """A value as it can be put into a message: short, and on one line."""
    text = printable(value if isinstance(value, str) else reprlib.repr(value))
    return text if len(text) <= 40 else f"{text[:37]}..."


def mismatches(value: Any, expected: Any, path: str = "") -> Iterator[str]:
    """Where a value is not of the expected type, in words.

    >>> class Point(TypedDict):
    ...     x: int
    ...     name: NotRequired[str]
    >>> list(mismatches({"x": 1.5}, Point)), list(mismatches({}, Point))
    (['x is 1.5'], ['x is missing'])
    """
    if typing.is_typeddict(expected):
        if not isinstance(value, dict):
            yield f"{path} is {shown(value)}"
            return
        for name, (hint, optional) in _fields(expected).items():
            where = f"{path}.{name}" if path else name
            if name in value:
                yield from mismatches(value[name], hint, where)
            elif not optional:
                yield f"{where} is missing"
    elif not _check(expected)(value):
        yield f"{path} is {shown(value)}"


@functools.cache
def _fields(expected: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a typed dictionary: type, and whether it may be missing."""
    hints = typing.get_type_hints(expected, include_extras=True)
    optional = {name for name, hint in hints.items() if typing.get_origin(hint) is NotRequired}
    return {
        name: (typing.get_args(hint)[0] if name in optional else hint, name in optional)
        for name, hint in hints.items()
    }


@functools.cache
def _check(expected: Any) -> Callable[[Any], bool]:
    """Whether a value is of the expected type, as a function: thousands of records are read."""
    origin, arguments = typing.get_origin(expected), typing.get_args(expected)
    if expected is Any:
        return lambda value: True
    if origin is Literal:
        return lambda value: value in arguments
    if origin in (typing.Union, types.UnionType):
        checks = [_check(each) for each in arguments]
        return lambda value: any(check(value) for check in checks)
    if origin in (list, dict):
        check = _check(arguments[-1])
        if origin is list:
            return lambda value: isinstance(value, list) and all(map(check, value))
        return lambda value: isinstance(value, dict) and all(map(check, value.values()))
    if expected is float:
        return lambda value: type(value) in (int, float) and abs(value) <= LARGEST
    return lambda value: type(value) is expected
