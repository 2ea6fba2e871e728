"""Records made by hand, for reports with known answers."""

from __future__ import annotations

from pathlib import Path

from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store

ENVIRONMENT = {"device": "cpu", "gpu": None, "threads": 1, "workers": 2, "cpu": "A", "torch": "2"}


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
    about: dict | None = None,
    **changes: object,
) -> None:
    spec = RunSpec(dataset, "d", method, seed, **(about or {}))
    record = {
        "schema": 1,
        "status": "ok",
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "data": {"digest": "d", "complete": complete, "coverage": "22 of 51 subjects"},
        "class_order": [2, 1, 6, 0],
        "result": {
            "accuracy": [None if f_t is None else [100.0], [a_t - 1, a_t + 1]],
            "A_T": a_t,
            "F_T": f_t,
            "curve": [None if f_t is None else 100.0, a_t],
            "confusion": [[9, 0, 1, 0], [0, 10, 0, 0], [5, 5, 0, 0], [0, 0, 0, 0]],
            "variance_ratio": 0.5,
        },
        "time": {"learn": [seconds / 2, seconds / 2], "evaluate": [1.0], "total": seconds},
        "memory": {
            "kept_bytes": {
                "raw": 0,
                "generator": 0,
                "statistics": statistics,
                "parameters": 500,
            },
            "parameters": 1234,
            "peak_bytes": 400_000_000,
        },
        "environment": {**ENVIRONMENT, **changes},
    }
    Store(root).save(spec, record)


def fail(root: Path, method: str, seed: int, dataset: str = "uwave") -> None:
    spec = RunSpec(dataset, "d", method, seed)
    record = {"schema": 1, "status": "failed", "hash": spec.hash(), "label": spec.label,
              "spec": spec.as_dict(), "error": "no luck"}  # fmt: skip
    Store(root).save(spec, record)
