"""Which runs of a plan are done, failed, running, queued or missing: a look-up in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tsbench.runs.estimate import Estimate
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

State = Literal["done", "failed", "running", "queued", "missing"]


@dataclass(frozen=True)
class MatrixStatus:
    """The state of every run of a plan."""

    runs: list[tuple[RunSpec, State]]
    seconds_left: float | None
    """An estimate; None if nothing is known."""
    problems: list[str]
    """Files that are not valid records, one line each."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "protocol": self.runs[0][0].protocol.name if self.runs else None,
            "seconds_left": self.seconds_left,
            "runs": [
                {"dataset": s.dataset, "method": s.label, "seed": s.seed, "state": state}
                for s, state in self.runs
            ],
        }


def matrix_status(
    specs: list[RunSpec], store: Store, elsewhere: Mapping[str, State]
) -> MatrixStatus:
    """Look up every run; ``elsewhere`` has the states of runs that an executor has taken."""
    records, problems = store.records()
    stored: dict[str, State] = {}
    for record in records:
        finished = record["status"] == "ok"
        stored[record["hash"]] = "done" if finished else stored.get(record["hash"], "failed")
    runs: list[tuple[RunSpec, State]] = []
    for spec in specs:
        name = spec.hash()
        state = stored.get(name, "missing")
        runs.append((spec, state if state == "done" else elsewhere.get(name, state)))
    left = Estimate(records).left([spec for spec, state in runs if state != "done"])
    return MatrixStatus(runs, left, problems)
