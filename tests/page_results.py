"""Records that a page has to cope with."""

from __future__ import annotations

import json
from pathlib import Path

from handmade import ENVIRONMENT, fail, make

from tsbench.bench.spec import RunSpec
from tsbench.report.records import Collection, Group
from tsbench.report.table import Options

AWFUL = "a_b<c>&$\"'</script><img src=x onerror=alert(1)>"
OPTIONS = Options(data=Path("nowhere"))


def fill(root: Path) -> Path:
    """Ties, a failure, one seed, partial data, two machines, and a plugin with an awful name."""
    for i, seed in enumerate(range(1234, 1239)):
        make(root, "naive", seed, 99.0 + i / 10, 98.0)
        make(root, "offline", seed, 96.0)
        make(root, "er", seed, 80.0 + i, 20.0 - i)
        make(root, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0)
        make(root, "ts-acl-e", seed, 90.001 + i, 2.0)
    make(root, "der", 1234, 85.5, 11.25, cpu="B")
    make(root, "mas", 1234, 50.0, 30.0, about={"settings": {"strength": 7}})
    make(root, "ts-acl-deep", 1234, 60.0, 12.0)
    fail(root, "mas", 1235)
    fail(root, "lwf", 1234)
    make(root, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", complete=False)
    tuned = {"tuned": {"stream": "val"}}
    make(root, "ts-acl", 1234, 87.0, 4.0, dataset="wisdm", complete=False, about=tuned)
    make(root, "odd", 1234, 10.0, 90.0)
    path = next(root.rglob("odd/*.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "label": AWFUL}))
    return root


def many(count: int) -> Collection:
    """Runs of 16 methods on six data sets, in memory."""
    groups: dict[tuple[str, str], Group] = {}
    for i in range(count):
        dataset, method = f"data{i % 6}", f"method{i // 6 % 16}"
        spec = RunSpec(dataset, "d", method, i, settings={"rate": 0.001, "batch": 64})
        matrix = [[50 + (i * 7 + j) % 50 + 1 / 3 for j in range(t + 1)] for t in range(6)]
        record = {
            "status": "ok", "hash": f"{i:016x}", "label": method, "spec": spec.as_dict(),
            "data": {"digest": "d", "complete": True, "coverage": "all"},
            "class_order": list(range(12)),
            "result": {"accuracy": matrix, "A_T": 60 + i % 7 / 3, "F_T": 5 + i % 5 / 3,
                       "curve": [90 - t / 3 for t in range(6)]},
            "time": {"learn": [10 + i % 9 / 7] * 6, "evaluate": [0.123456] * 6, "total": 61.2345},
            "memory": {"kept_bytes": {"raw": 1, "generator": 2, "statistics": 3, "parameters": 4},
                       "parameters": 123456, "peak_bytes": 400_000_000 + i},
            "environment": {**ENVIRONMENT, "commit": "abc"},
        }  # fmt: skip
        groups.setdefault((dataset, method), Group(dataset, method)).finished.append(record)
    return Collection("exp-ln-100", groups, [])
