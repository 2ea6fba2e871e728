"""What a record says that cannot be true: ranges, the hash, figures that contradict each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from tsbench.protocol import metrics
from tsbench.protocol.rules import LARGEST_SEED
from tsbench.runs.spec import RunSpec
from tsbench.schema import shown

TOLERANCE = 1e-6
"""Between a stored figure and the same figure from the accuracy matrix, in percentage points."""
TIME_TOLERANCE = 0.02
"""Share of the total that the parts of a run's time may miss, beside ``TIME_SLACK`` seconds."""
TIME_SLACK = 0.1
LONGEST = 1e10
"""Seconds: three centuries."""


def inconsistencies(record: Mapping[str, Any]) -> Iterator[str]:
    """Everything that is wrong with a record whose types are right, in words."""
    spec = record["spec"]
    if not 0 <= spec["seed"] <= LARGEST_SEED:
        yield f"spec.seed is {spec['seed']}"
    if spec.get("classes_per_task", 1) < 1:
        yield f"spec.classes_per_task is {spec['classes_per_task']}"
        return
    run = RunSpec.from_dict(spec)
    if spec["protocol"] != run.protocol.name:
        yield f"spec.protocol is {shown(spec['protocol'])}, its rules are {run.protocol.name}"
    if record["hash"] != run.hash():
        yield "its hash is not that of its spec; was it edited by hand?"
    if record["status"] == "ok":
        yield from _of_result(record["result"])
        yield from _of_numbers(record)
        yield from _of_time(record["time"])


def _of_result(result: Mapping[str, Any]) -> Iterator[str]:
    matrix = result["accuracy"]
    if not matrix or matrix[-1] is None:
        yield "result.accuracy has no last row"
        return
    if any(row is not None and len(row) != t + 1 for t, row in enumerate(matrix)):
        yield "result.accuracy is not a lower triangle"
        return
    if not all(0 <= a <= 100 for row in matrix if row for a in row if a is not None):
        yield "result.accuracy has a value outside 0 to 100"
    derived = {
        "A_T": metrics.average_accuracy(matrix),
        "F_T": metrics.forgetting(matrix),
        "curve": metrics.curve(matrix),
    }
    for name, expected in derived.items():
        if not _close(result[name], expected):
            yield f"result.{name} is {shown(result[name])}, its accuracy matrix says {expected}"


def _of_numbers(record: Mapping[str, Any]) -> Iterator[str]:
    for section in ("time", "memory"):
        for name, value in record[section].items():
            inner = value.values() if isinstance(value, dict) else value
            numbers = [value] if isinstance(value, (int, float)) else list(inner or ())
            least = -LONGEST if name == "reused" else 0  # waiting may outweigh what was reused
            most = LONGEST if section == "time" else math.inf
            if not all(least <= number <= most for number in numbers):
                yield f"{section}.{name} has a value that is negative or too large"
    for name in ("threads", "workers"):
        if record["environment"][name] < 1:
            yield f"environment.{name} is {record['environment'][name]}"


def _of_time(time: Mapping[str, Any]) -> Iterator[str]:
    """The parts add up; records from before version 0.2 lack some of them."""
    if "reused" not in time or "setup" not in time:
        return
    parts = time["setup"] + time.get("tuning", 0.0) + time.get("analysis", 0.0)
    parts += sum(time["learn"]) + sum(time["evaluate"]) - time["reused"]
    if abs(parts - time["total"]) > TIME_TOLERANCE * time["total"] + TIME_SLACK:
        yield f"the parts of its time are {parts:.1f} s together, its total is {time['total']:.1f}"


def _close(stored: Any, derived: Any) -> bool:
    if isinstance(derived, list):
        return len(stored) == len(derived) and all(map(_close, stored, derived))
    if stored is None or derived is None:
        return stored is derived
    return bool(abs(stored - derived) <= TOLERANCE)
