"""The runs one by one, in few bytes: what many runs have in common is stored once."""

from __future__ import annotations

import json
import math
from typing import Any

from tsbench.report.records import Collection, Record

ERROR_LENGTH = 600
SPEC = ("method", "stream", "epochs", "norm")
FIELDS = (
    "dataset", "method", "seed", "hash", "spec", "settings", "changed", "tuned", "environment",
    "error", "data", "order", "chosen", "A_T", "F_T", "accuracy", "learn", "evaluate", "charged",
    "tuning", "total", "kept", "parameters", "peak",
)  # fmt: skip


class Pool:
    """Values by number, each stored once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """The number of a value; the same for equal values."""
        key = json.dumps(value, sort_keys=True, default=str)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def run_details(runs: Collection) -> dict[str, Any]:
    """``runs``, finished and failed, as rows under ``fields``; numbers of what they share lead
    into ``pool``.
    """
    pool = Pool()
    rows = []
    for d, dataset in enumerate(runs.datasets):
        for m, method in enumerate(runs.methods):
            group = runs.get(dataset, method)
            for record in sorted([*group.finished, *group.failed], key=_seed):
                about = {"dataset": d, "method": m, **_details(record, pool)}
                rows.append([about.get(field) for field in FIELDS])
    return {"fields": FIELDS, "runs": rows, "pool": pool.values}


def _seed(record: Record) -> tuple[int, str]:
    return int(record["spec"]["seed"]), str(record["hash"])


def _details(record: Record, pool: Pool) -> dict[str, Any]:
    spec = record["spec"]
    shown = {
        "seed": spec["seed"],
        "hash": record["hash"],
        "spec": pool.number(_words({key: spec.get(key) for key in SPEC})),
        "settings": pool.number(_words(spec.get("settings"))),
        "changed": pool.number(_words(spec.get("changed"))),
        "tuned": pool.number(_words(spec.get("tuned"))),
        "environment": pool.number(_words(record.get("environment"))),
    }
    if record["status"] != "ok":
        return {**shown, "error": pool.number(str(record["error"])[:ERROR_LENGTH])}
    result, time, memory = record["result"], record["time"], record["memory"]
    return {
        **shown,
        "data": pool.number(_words(record["data"])),
        "order": pool.number(record.get("class_order")),
        "chosen": pool.number(_words(record.get("chosen"))),
        "A_T": brief(result.get("A_T"), 6),
        "F_T": brief(result.get("F_T"), 6),
        "accuracy": brief(result.get("accuracy")),
        "learn": brief(time["learn"]),
        "evaluate": brief(time.get("evaluate")),
        "charged": brief(time.get("charged")),
        "tuning": brief(time.get("tuning")),
        "total": brief(time.get("total")),
        "kept": brief(memory["kept_bytes"]),
        "parameters": memory.get("parameters"),
        "peak": brief(memory.get("peak_bytes")),
    }


def brief(value: Any, digits: int = 4) -> Any:
    """Numbers with the digits that count, in lists and dictionaries too; none where it is none.

    >>> brief([95.84736, 100.0, None, float("nan"), {"raw": 61005872}])
    [95.85, 100, None, None, {'raw': 61010000}]
    """
    if isinstance(value, dict):
        return {str(key): brief(each, digits) for key, each in value.items()}
    if isinstance(value, list):
        return [brief(each, digits) for each in value]
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded


def _words(values: Any) -> dict[str, str]:
    """Names and values as text."""
    if not isinstance(values, dict):
        return {}
    return {
        str(name): value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in values.items()
        if value is not None and value != ""
    }
