"""Tuned settings on disk: one YAML file per method, data set and seed, with all trials.

``<results>/tuned/<conditions>/<dataset>/<method>/seed-<n>.yaml``, with the protocol's name without
its stream as conditions. It holds no date and no time: the same search writes the same file.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsbench.disk import write_whole
from tsbench.errors import UserError
from tsbench.runs.spec import RunSpec, method_label
from tsbench.runs.store import TUNED
from tsbench.schema import shown

SCHEMA = 1
HEADER = (
    "# Chosen by tsbench tune on the validation stream; tsbench run --tuned takes it from here.\n"
)
IDENTITY = ("dataset", "data_digest", "seed", "epochs", "norm", "code")
KEYS = {"schema", "method", *IDENTITY, "full", "grid", "chosen", "A_T", "trials", "made_by"}


@dataclass(frozen=True)
class Trial:
    """Values that were tried, and what came of it."""

    values: Mapping[str, Any]
    score: float | None
    """Validation A_T; None if there is none."""
    error: str = ""
    """Why there is none."""

    def as_dict(self) -> dict[str, Any]:
        """For the file."""
        outcome = {"failed": self.error} if self.score is None else {"A_T": self.score}
        return {**outcome, "values": dict(self.values)}


def write_choice(results: Path, spec: RunSpec, choice: Mapping[str, Any], made_by: str) -> None:
    """Store what was chosen for a run, and its evidence: full, grid, chosen, A_T and trials."""
    import yaml

    content = {"schema": SCHEMA, **_identity(spec), **choice, "made_by": made_by}
    text = yaml.safe_dump(
        content, sort_keys=False, default_flow_style=None, allow_unicode=True, width=100
    )
    write_whole(choice_path(results, spec), (HEADER + text).encode())


def choice_path(results: Path, spec: RunSpec) -> Path:
    """Where the settings tuned for a run are."""
    folder = results / TUNED / spec.protocol.conditions / spec.dataset
    return folder / method_label(spec.method) / f"seed-{spec.seed}.yaml"


def read_choice(results: Path, spec: RunSpec) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What was chosen for a run, and where from, for its record; None if it was never tuned."""
    import yaml

    path = choice_path(results, spec)
    if not path.is_file():  # a pipe would wait for ever
        return None
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"'{path}' cannot be read ({error.strerror})") from error
    try:
        content = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"'{path}' is not YAML: {reason}; delete it and tune again") from error
    problem = _problem(content, spec)
    if problem:
        raise UserError(f"'{path}' {problem}; run tsbench tune again")
    provenance = {
        "file": hashlib.sha256(data).hexdigest()[:16],
        "A_T": content["A_T"],
        "trials": len(content["trials"]),
        "full": content["full"],
        "chosen": content["chosen"],
    }
    return content["chosen"], provenance


def _identity(spec: RunSpec) -> dict[str, Any]:
    """What a choice is for: it must not be used for anything else."""
    return {
        "method": method_label(spec.method),
        **{name: spec.as_dict()[name] for name in IDENTITY},
        **spec.protocol.added(),
    }


def _problem(content: Any, spec: RunSpec) -> str:
    """What is wrong with a file of tuned settings, in words; empty if nothing is."""
    if not isinstance(content, dict) or not isinstance(content.get("schema"), int):
        return "is not a file of tuned settings"
    if content["schema"] > SCHEMA:
        return "was written by a newer tsbench"
    if odd := sorted(map(str, content.keys() ^ (KEYS | spec.protocol.added().keys()))):
        return f"has unknown or missing entries: {', '.join(odd)}"
    for name, expected in _identity(spec).items():
        if content[name] != expected:
            return f"was tuned for {name} {shown(content[name])}, not {shown(expected)}"
    return _problem_of_evidence(content)


def _problem_of_evidence(content: dict[str, Any]) -> str:
    chosen, trials = content["chosen"], content["trials"]
    if not isinstance(chosen, dict) or not isinstance(trials, list):
        return "has no chosen settings or no trials"
    if not all(isinstance(t, dict) and isinstance(t.get("values"), dict) for t in trials):
        return "has a trial without values"
    scores = [t["A_T"] for t in trials if "A_T" in t]
    if not scores or not all(isinstance(s, float) and math.isfinite(s) for s in scores):
        return "has a trial whose A_T is not a number"
    if content["A_T"] != max(scores):
        return f"says A_T {shown(content['A_T'])}, but its best trial has {max(scores)}"
    if not any(t["values"] == chosen and t.get("A_T") == content["A_T"] for t in trials):
        return "has chosen settings that are not those of its best trial"
    return ""
