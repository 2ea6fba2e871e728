"""Commands that the page shows: to print a table, and to repeat a run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from tsbench.protocol.rules import Protocol
from tsbench.report.defaults import stale_settings
from tsbench.runs.record import Record

DEFAULT_RESULTS = Path("results")
VERDICT = "verdict"
"""The table that ``tsbench verify`` prints."""


def report_command(table: str, protocol: str, results: Path) -> str:
    """The command that prints a table, to which the page adds what the filters leave.

    >>> report_command("main", "exp-ln-100", Path("my runs"))
    "tsbench report --table main --protocol exp-ln-100 --results 'my runs'"
    """
    name = ["verify"] if table == VERDICT else ["report", "--table", table]
    words = ["tsbench", *name, "--protocol", protocol]
    if results != DEFAULT_RESULTS:
        words += ["--results", str(results)]
    return shlex.join(words)


def run_command(record: Record, seeds: list[int]) -> str:
    """The commands that repeat runs: the code as it was, then the run.

    Settings are named where they differ from the current defaults: set by hand, or because the
    defaults changed.
    """
    spec = record["spec"]
    commit = str(record["environment"].get("commit") or "").partition("+")[0]
    words = ["tsbench", "run", "--method", spec["method"], "--dataset", spec["dataset"]]
    for seed in seeds:
        words += ["--seed", str(seed)]
    words += ["--stream", spec["stream"], "--epochs", str(spec["epochs"]), "--norm", spec["norm"]]
    words += Protocol.from_dict(spec).flags()
    if spec.get("tuned"):
        words.append("--tuned")
    stale = {name: then for name, (then, _) in stale_settings(record).items() if then is not None}
    for name, value in sorted((stale | spec["changed"]).items()):
        words += ["--set", f"{name}={as_text(value)}"]
    run = shlex.join(str(word) for word in words)
    return f"git checkout {shlex.quote(commit)}\n{run}" if commit else run


def as_text(value: Any) -> str:
    """A setting as one would type it.

    >>> as_text("step15"), as_text(True), as_text(0.001)
    ('step15', 'true', '0.001')
    """
    return value if isinstance(value, str) else json.dumps(value, default=str)
