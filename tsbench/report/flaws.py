"""Whether a record holds what reports are made of: somebody may have edited it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _perhaps(value: Any) -> bool:
    return value is None or _number(value)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_number, value))


ALWAYS: dict[str, Check] = {
    "label": _text,
    "spec.dataset": _text,
    "spec.method": _text,
    "spec.protocol": _text,
    "spec.data_digest": _text,
    "spec.seed": lambda value: isinstance(value, int),
}
FINISHED: dict[str, Check] = {
    "data.digest": _text,
    "data.complete": lambda value: isinstance(value, bool),
    "data.coverage": _text,
    "result.A_T": _perhaps,
    "result.F_T": _perhaps,
    "result.curve": lambda value: isinstance(value, list) and all(map(_perhaps, value)),
    "time.learn": _numbers,
    "memory.kept_bytes": lambda value: isinstance(value, dict) and _numbers([*value.values()]),
    "memory.parameters": _number,
    "memory.peak_bytes": _perhaps,
    **{
        f"environment.{name}": lambda value: value is None or isinstance(value, str | int)
        for name in ("device", "gpu", "cpu", "threads", "workers", "torch")
    },
}


OPTIONAL: dict[str, Check] = {"spec.code": _text, "result.variance_ratio": _perhaps}


def flaw(record: dict[str, Any]) -> str:
    """What is wrong with a record, or nothing.

    >>> flaw({"status": "failed", "label": "er", "spec": {"dataset": 7}})
    'spec.dataset is 7'
    """
    for path, sound in (ALWAYS | FINISHED if record["status"] == "ok" else ALWAYS).items():
        found, value = _at(record, path)
        if not found:
            return f"it has no {path}"
        if not sound(value):
            return f"{path} is {str(value)[:40]}"
    for path, sound in OPTIONAL.items():
        found, value = _at(record, path)
        if found and not sound(value):
            return f"{path} is {str(value)[:40]}"
    return ""


def _at(record: dict[str, Any], path: str) -> tuple[bool, Any]:
    """Whether a record has such an entry, and what it is."""
    value: Any = record
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return False, None
        value = value[name]
    return True, value


def record_title(record: dict[str, Any]) -> str:
    """A record in words, whatever it holds."""
    spec = record["spec"]
    return f"the record of {record['label']} on {spec['dataset']}, seed {spec['seed']}"
