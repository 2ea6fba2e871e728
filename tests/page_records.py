"""Records that a page has to cope with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tsbench.protocol import metrics
from tsbench.protocol.rules import PAPER_METHODS, Protocol
from tsbench.report.records import Entry, Results
from tsbench.report.table import Options
from tsbench.runs.record import SCHEMA, validate
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

AWFUL = "a_b<c>&$\"'</script><img src=x onerror=alert(1)>"
OPTIONS = Options(data=Path("nowhere"))
SEEDS = range(1234, 1239)
MACHINE = {"device": "cpu", "gpu": None, "threads": 1, "workers": 2, "cpu": "A", "torch": "2"}


def about(method: str) -> dict[str, str]:
    """What a record says of its method."""
    title, family = PAPER_METHODS.get(method, (method, "other"))
    return {"title": title, "family": family, "keeps": "", "colour": "", "marker": ""}


def record_of(spec: RunSpec, matrix: list[Any], seconds: float = 10.0, **changes: Any) -> Any:
    """A finished run with this accuracy matrix; ``changes`` go to the top of the record."""
    tasks = len(matrix)
    classes = 2 * tasks
    confusion = [[10 if i == j else 0 for j in range(classes)] for i in range(classes)]
    confusion[0][:2] = [9, 1]
    record = {
        "schema": SCHEMA,
        "status": "ok",
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "method": about(spec.method),
        "data": {"digest": "d", "complete": True, "coverage": "all of it"},
        "class_order": [2, 1, 6, 0][:classes] if tasks == 2 else list(range(classes)),
        "result": {
            "accuracy": matrix,
            "A_T": metrics.average_accuracy(matrix),
            "F_T": metrics.forgetting(matrix),
            "curve": metrics.curve(matrix),
            "confusion": confusion,
        },
        "time": {"learn": [seconds / tasks] * tasks, "evaluate": [0.5] * tasks, "total": seconds},
        "memory": {
            "kept_bytes": {"raw": 0, "generator": 0, "statistics": 2_000_000, "parameters": 500},
            "parameters": 1234,
            "peak_bytes": 400_000_000,
        },
        "environment": {**MACHINE, "commit": "0123456789ab"},
    }
    return {**record, **changes}


def matrix_of(a_t: float, f_t: float | None) -> list[Any]:
    """Two tasks with this average accuracy and forgetting; only the last row without forgetting."""
    if f_t is None:
        return [None, [a_t - 1, a_t + 1]]
    first = min(100.0, a_t + f_t)
    return [[first], [first - f_t, 2 * a_t - first + f_t]]


def make(
    root: Path,
    name: str,
    seed: int,
    a_t: float,
    f_t: float | None = None,
    dataset: str = "uwave",
    spec: dict[str, Any] | None = None,
    environment: dict[str, Any] | None = None,
    **changes: Any,
) -> None:
    """Store a finished run."""
    made = RunSpec(dataset, "d", name, seed, **(spec or {}))
    changes["environment"] = {**MACHINE, "commit": "0123456789ab", **(environment or {})}
    Store(root).save(made, record_of(made, matrix_of(a_t, f_t), **changes))


def fail(root: Path, method: str, seed: int) -> None:
    """Store a failed run."""
    spec = RunSpec("uwave", "d", method, seed)
    record = {"schema": SCHEMA, "status": "failed", "hash": spec.hash(), "label": spec.label,
              "spec": spec.as_dict(), "method": about(method), "error": "no luck"}  # fmt: skip
    Store(root).save(spec, record)


PARTIAL = {"digest": "d", "complete": False, "coverage": "22 of 51 subjects"}


def fill(root: Path) -> Path:
    """Ranked methods with ties, bounds, few seeds, failures, partial data, two machines, a busy
    machine, a submission, two protocols, and a plugin with an awful name.
    """
    for i, seed in enumerate(SEEDS):
        make(root, "naive", seed, 40.0 + i / 10, 80.0)
        make(root, "offline", seed, 96.0)
        make(root, "er", seed, 80.0 + i, 20.0 - i)
        make(root, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0)
        make(root, "ts-acl-e", seed, 90.001 + i, 2.0)
        seconds, load = (90.0, 0.5) if seed == 1234 else (30.0, 0.0)
        make(root, "aser", seed, 70.0 + i, 30.0, seconds=seconds, environment={"load": load})
    make(root, "der", 1234, 85.5, 11.25, environment={"cpu": "B"})
    by_hand = {"strength": 7}
    make(root, "mas", 1234, 50.0, 30.0, spec={"settings": by_hand, "changed": by_hand})
    fail(root, "der", 1235)
    fail(root, "lwf", 1234)
    make(root, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", data=PARTIAL)
    make(root, "ts-acl", 1234, 87.0, 4.0, dataset="wisdm", data=PARTIAL,
         spec={"tuned": {"stream": "val"}})  # fmt: skip
    sender = {"by": "Somebody", "url": "https://example.org/pull/7"}
    odd = {**about("odd"), "title": AWFUL, "colour": "</style>"}
    make(root, "odd", 1234, 10.0, 90.0, submitted=sender, method=odd)
    make(root, "er", 1234, 77.0, 9.0, spec={"protocol": Protocol(norm="bn")})
    make(root, "er", 1234, 1.0, 9.0, spec={"protocol": Protocol(stream="val")})
    return root


def many(count: int) -> Results:
    """Runs of 16 methods on six data sets, in memory."""
    entries: dict[tuple[str, str], Entry] = {}
    for i in range(count):
        dataset, method = f"data{i % 6}", f"method{i // 6 % 16}"
        spec = RunSpec(dataset, "d", method, i, settings={"rate": 0.001, "batch": 64})
        matrix = [[50 + (i * 7 + j) % 50 + 1 / 3 for j in range(t + 1)] for t in range(6)]
        record = validate(record_of(spec, matrix, 60 + i % 9 / 7))
        entries.setdefault((dataset, method), Entry(dataset, method)).finished.append(record)
    return Results("exp-ln-100", entries, [])
