"""Reports from many records, the whole process.

    python tests/benchmarks/bench_report.py

Target: `tsbench report` under 2 s for 1,000 records and under 10 s for 10,000, without torch.
Records are shaped as those of a run of six tasks. Printed beside it: the user and system time of
the process, which says more on a busy machine.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tsbench.protocol import metrics
from tsbench.protocol.rules import PAPER_DATASETS, PAPER_METHODS
from tsbench.report.defaults import default_settings
from tsbench.runs.record import SCHEMA
from tsbench.runs.spec import RunSpec

TASKS = 6
LIMITS = {1_000: 2.0, 10_000: 10.0}
COMMANDS = (
    [],
    ["--format", "latex"],
    ["--table", "all", "--format", "markdown", "--compare", "paper"],
    ["--format", "html"],
)
PROGRAM = Path(sys.executable).with_name("tsbench")


def record(spec: RunSpec, place: int) -> dict[str, object]:
    accuracy = [[90.0 - t + i + place % 7 / 3 for i in range(t + 1)] for t in range(TASKS)]
    classes = 2 * TASKS
    title, family = PAPER_METHODS[spec.method]
    return {
        "schema": SCHEMA,
        "status": "ok",
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "method": {"title": title, "family": family, "keeps": "", "colour": "", "marker": ""},
        "data": {"digest": "d" * 64, "complete": True, "coverage": "8 of 8 subjects"},
        "class_order": list(range(classes)),
        "chosen": {"gamma": 1.0, "validation A_T": {"1": 96.7, "10": 95.3, "100": 92.3}},
        "result": {
            "accuracy": accuracy,
            "A_T": metrics.average_accuracy(accuracy),
            "F_T": metrics.forgetting(accuracy),
            "curve": metrics.curve(accuracy),
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
            "system": "Linux", "python": "3.11", "torch": "2.9", "numpy": "2.3", "load": 0.0,
            "tsbench": "0.1.0", "commit": "9a9f515e3fb9",
        },
    }  # fmt: skip


def fill(root: Path, count: int) -> None:
    kinds = [(d, m) for d in PAPER_DATASETS for m in PAPER_METHODS]
    for place in range(count):
        dataset, method = kinds[place % len(kinds)]
        settings = default_settings(method, dataset) or {}
        spec = RunSpec(dataset, "d" * 64, method, 1234 + place // len(kinds), settings=settings)
        folder = root / spec.protocol.name / dataset / method
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record(spec, place), indent=1)
        (folder / f"seed-{spec.seed}.json").write_text(text)


def measure(root: Path, *options: str) -> tuple[float, float]:
    """Wall and processor seconds of a whole report."""
    out = ["--out", root.parent / "report"] if "--format" in options else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    command = [PROGRAM, "report", *options, "--results", root, *out]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall = time.perf_counter() - started
    assert "left out" not in done.stderr, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    ok = True
    for count, limit in LIMITS.items():
        for options in COMMANDS:
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder) / "results"
                fill(root, count)
                wall, busy = measure(root, *options)
            name = " ".join(["report", *options])
            print(f"{count:,} records, {name}: {wall:.2f} s, {busy:.2f} s busy (< {limit:g} s)")
            ok &= bool(options) or wall < limit
    sys.exit(not ok)
