"""Records made by hand, for reports with known answers."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from tsbench.protocol.rules import PAPER_METHODS, Protocol
from tsbench.report.defaults import default_settings
from tsbench.runs.record import SCHEMA
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

RULES = [field.name for field in fields(Protocol)]
ENVIRONMENT = {"device": "cpu", "gpu": None, "threads": 1, "workers": 2, "cpu": "A", "torch": "2"}
TITLES = {
    "ts-acl-deep": "Deep",
    "ts-acl-deep-rhl": "Deep+RHL",
    "ts-acl-r": "TS-ACL-R",
    "ewc": "EWC",
}


def about_method(spec: RunSpec, **changes: str) -> dict[str, str]:
    name = spec.label.partition("+")[0]
    title, family = PAPER_METHODS.get(name, (TITLES.get(name, name), "other"))
    family = "analytic" if name.startswith("ts-acl") else family
    about = {"title": title, "family": family, "keeps": "", "colour": "", "marker": ""}
    return {**about, **changes}


def accuracy_matrix(a_t: float, f_t: float | None) -> list[list[float] | None]:
    """Two tasks with this average accuracy and forgetting; without the latter, joint training."""
    if f_t is None:
        return [None, [a_t, a_t]]
    first = min(a_t, 100 - f_t)  # on the first task at the end
    last = 2 * a_t - first
    assert 0 <= first + f_t <= 100, "no accuracy matrix has these"
    assert 0 <= first <= 100, "no accuracy matrix has these"
    assert 0 <= last <= 100, "no accuracy matrix has these"
    return [[first + f_t], [first, last]]


def heading(spec: RunSpec, status: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": status,
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "method": about_method(spec),
    }


def finished(
    spec: RunSpec, a_t: float = 50.0, f_t: float | None = 20.0, seconds: float = 10.0
) -> dict[str, Any]:
    """The record of a finished run of two tasks."""
    matrix = accuracy_matrix(a_t, f_t)
    return {
        **heading(spec, "ok"),
        "data": {"digest": "d", "complete": True, "coverage": "22 of 51 subjects"},
        "class_order": [2, 1, 6, 0],
        "result": {
            "accuracy": matrix,
            "A_T": a_t,
            "F_T": f_t,
            "curve": [None if row is None else sum(row) / len(row) for row in matrix],
            "confusion": [[9, 0, 1, 0], [0, 10, 0, 0], [5, 5, 0, 0], [0, 0, 0, 0]],
            "variance_ratio": 0.5,
        },
        "time": {"learn": [seconds / 2, seconds / 2], "evaluate": [1.0], "total": seconds},
        "memory": {
            "kept_bytes": {"raw": 0, "generator": 0, "statistics": 2_000_000, "parameters": 500},
            "parameters": 1234,
            "peak_bytes": 400_000_000,
        },
        "environment": dict(ENVIRONMENT),
    }


def failed(spec: RunSpec, error: str = "no luck") -> dict[str, Any]:
    """The record of a run that failed."""
    return {**heading(spec, "failed"), "error": error}


def make(
    root: Path,
    method: str,
    seed: int,
    a_t: float,
    f_t: float | None = None,
    dataset: str = "uwave",
    complete: bool = True,
    seconds: float = 10.0,
    statistics: int = 2_000_000,
    about: dict[str, Any] | None = None,
    result: dict[str, Any] | None = None,
    title: str = "",
    **changes: object,
) -> Path:
    """Store a finished run. ``about`` changes its spec, ``result`` its result, and all that is
    not named here its environment.
    """
    given = dict(about or {})
    rules = {k: given.pop(k) for k in RULES if k in given}
    digest = given.pop("data_digest", "d")
    given["settings"] = {
        **(default_settings(method, dataset) or {}), **given.get("changed", {}),
        **given.get("settings", {}),
    }  # fmt: skip
    spec = RunSpec(dataset, digest, method, seed, protocol=Protocol(**rules), **given)
    record = finished(spec, a_t, f_t, seconds)
    record["method"] |= {"title": title} if title else {}
    record["data"] |= {"digest": digest, "complete": complete}
    record["result"] |= result or {}
    record["memory"]["kept_bytes"]["statistics"] = statistics
    record["environment"] |= changes
    Store(root).save(spec, record)
    return Store(root).path(spec)


def fail(root: Path, method: str, seed: int, dataset: str = "uwave") -> None:
    """Store a failed run."""
    spec = RunSpec(dataset, "d", method, seed)
    Store(root).save(spec, failed(spec))
