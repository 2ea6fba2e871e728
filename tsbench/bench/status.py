"""What of a matrix of runs is done, failed, running, queued or missing, without importing torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tsbench.bench.choice import read_choice
from tsbench.bench.names import choose_datasets, choose_seeds
from tsbench.bench.slurm.jobs import open_jobs
from tsbench.bench.slurm.programs import JobState, Silent
from tsbench.bench.slurm.programs import states as queue_states
from tsbench.bench.spec import RunSpec, file_code, method_label
from tsbench.bench.store import Store
from tsbench.console import say
from tsbench.data.catalogue import card
from tsbench.data.prepared import read_manifest
from tsbench.learn.catalogue import expand, known_settings, tunable


@dataclass(frozen=True)
class MatrixStatus:
    """State of every run of a matrix."""

    protocol: str
    runs: list[dict[str, Any]]
    seconds_left: float | None
    problems: list[str]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"protocol": self.protocol, "seconds_left": self.seconds_left, "runs": self.runs}


def matrix_status(
    methods: list[str],
    datasets: list[str],
    count: int | None,
    seeds: list[int],
    protocol: str,
    data: Path,
    results: Path,
    tuned: bool = False,
) -> MatrixStatus:
    """Look up every run of methods × data sets × seeds."""
    records, problems = Store(results).records()
    chosen = choose_datasets(datasets, data)
    names = {method_label(n, tuned=tuned and tunable(n)): n for n in expand(methods)}
    digests = {n: (read_manifest(card(n, data), data) or {}).get("digest") for n in chosen}
    states: dict[tuple[str, str, int], str] = {}
    seconds: dict[tuple[str, str], list[float]] = {}
    for record in records:
        spec = record["spec"]
        if spec["protocol"] != protocol:
            continue
        key = (spec["dataset"], record["label"], spec["seed"])
        current = digests.get(spec["dataset"])
        if current is not None and spec.get("data_digest") != current:
            continue  # of data that has been prepared anew since
        if record["label"] in names and not _as_now(spec, names[record["label"]], results):
            continue  # of other settings, or of another version of somebody's file
        if record["status"] == "ok":
            states[key] = "done"
            seconds.setdefault(key[:2], []).append(record["time"]["total"])
        else:
            states.setdefault(key, "failed")
    for key, state in _in_slurm(results, protocol, digests).items():
        if states.get(key) != "done":
            states[key] = state
    runs: list[dict[str, Any]] = [
        {"dataset": d, "method": m, "seed": s, "state": states.get((d, m, s), "missing")}
        for d in chosen
        for m in names
        for s in choose_seeds(count, seeds)
    ]
    known = [t for times in seconds.values() for t in times]
    left = None
    if known:
        average = sum(known) / len(known)
        left = 0.0
        for run in runs:
            if run["state"] != "done":
                times = seconds.get((run["dataset"], run["method"]), [average])
                left += sum(times) / len(times)
    return MatrixStatus(protocol, runs, left, problems)


def _as_now(spec: dict[str, Any], method: str, results: Path) -> bool:
    """Whether ``run`` would take a record of this spec for the run that is asked for today."""
    settings = known_settings(method, spec["dataset"])
    if settings is None:
        try:
            return bool(spec.get("code", "") == file_code(method))
        except OSError:
            return True  # the file is gone, what it did is not
    if spec.get("tuned") and (found := read_choice(results, RunSpec.from_dict(spec))):
        settings |= found[0]
    return bool(spec.get("settings") == settings)


def _in_slurm(
    results: Path, protocol: str, digests: dict[str, str | None]
) -> dict[tuple[str, str, int], str]:
    """Runs that wait in Slurm's queue, and those that a job is at."""
    jobs = list(open_jobs(results))
    try:
        known = queue_states({job.name for job in jobs})
    except Silent as error:
        say(f"notice: Slurm does not answer ({error}); runs with it are shown as queued")
        known = {job.key: JobState("PENDING") for job in jobs}
    found = {}
    for job in jobs:
        if job.key not in known or known[job.key].over:
            continue
        said = job.state().get("runs", {})
        for spec in job.specs:
            current = digests.get(spec.dataset)
            if spec.protocol != protocol or current not in (None, spec.data_digest):
                continue
            kind = said.get(spec.hash(), {}).get("kind", "queued")
            if kind not in ("done", "elsewhere", "failed"):
                running = "queued" if kind == "queued" else "running"
                found[spec.dataset, spec.label, spec.seed] = running
    return found
