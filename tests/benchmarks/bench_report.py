"""A report with all its tables from many records, the whole process, in every format.

    python tests/benchmarks/bench_report.py

Target: under 2 s for 1,000 records and under 10 s for 10,000, without torch. Records are shaped as
those of a run of six tasks. Printed beside it: the user and system time of the process, which says
more on a busy machine.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tsbench.bench.spec import RunSpec
from tsbench.data.catalogue import PAPER
from tsbench.learn.catalogue import INFO

TASKS = 6
LIMITS = {1_000: 2.0, 10_000: 10.0}
FORMATS = ("markdown", "latex", "csv", "json", "html")
PROGRAM = Path(sys.executable).with_name("tsbench")


def record(spec: RunSpec, place: int) -> dict[str, object]:
    accuracy = [[90.0 - t + i + place % 7 / 3 for i in range(t + 1)] for t in range(TASKS)]
    curve = [sum(row) / len(row) for row in accuracy]
    classes = 2 * TASKS
    return {
        "schema": 1,
        "status": "ok",
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "data": {"digest": "d" * 64, "complete": True, "coverage": "8 of 8 subjects"},
        "class_order": list(range(classes)),
        "chosen": {"gamma": 1.0, "validation A_T": {"1": 96.7, "10": 95.3, "100": 92.3}},
        "result": {
            "accuracy": accuracy,
            "A_T": curve[-1],
            "F_T": 3.25 + place % 5,
            "curve": curve,
            "learning_accuracy": 97.25,
            "backward_transfer": -2.35,
            "pooled": 95.5,
            "confusion": [[7 * i + j for j in range(classes)] for i in range(classes)],
            "variance_ratio": 0.4,
        },
        "memory": {
            "kept_bytes": {"raw": 1, "generator": 0, "statistics": 2, "parameters": 3},
            "budget_samples": 40,
            "parameters": 435586,
            "peak_bytes": 641880064,
        },
        "time": {
            "learn": [33.0 + place % 9] * TASKS,
            "evaluate": [0.7] * TASKS,
            "charged": 32.0,
            "tuning": 35.0,
            "total": 47.0,
        },
        "environment": {
            "device": "cpu", "gpu": None, "threads": 1, "workers": 1, "cpu": "some processor",
            "system": "Linux", "python": "3.11", "torch": "2.9", "numpy": "2.3",
            "tsbench": "0.1.0", "commit": "9a9f515e3fb9",
        },
    }  # fmt: skip


def fill(root: Path, count: int) -> None:
    kinds = [(d, m) for d in PAPER for m in INFO]
    settings = {"schedule": "step15", "learning_rate": 0.001, "batch": 64, "patience": 5}
    for place in range(count):
        dataset, method = kinds[place % len(kinds)]
        spec = RunSpec(dataset, "d" * 64, method, 1234 + place // len(kinds), settings=settings)
        folder = root / spec.protocol / dataset / method
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record(spec, place), indent=1)
        (folder / f"seed-{spec.seed}.json").write_text(text)


def measure(root: Path, kind: str) -> tuple[float, float]:
    """Wall and processor seconds of a whole report."""
    out = root.parent / f"report-{kind}"
    command = [PROGRAM, "report", "--table", "all", "--format", kind, "--compare", "paper"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run([*command, "--results", root, "--out", out], check=True, capture_output=True)
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    ok = True
    for count, limit in LIMITS.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "results"
            fill(root, count)
            for kind in FORMATS:
                wall, busy = measure(root, kind)
                print(f"{count:,} records, {kind}: {wall:.2f} s, {busy:.2f} s busy (< {limit:g} s)")
                ok &= wall < limit
    sys.exit(not ok)
