"""Runs as job arrays: submitted, watched, and left alone when the watching stops.

A file for each job in the results folder tells which runs it has, so a run that waits or runs is
never submitted again, and a command that was stopped finds its jobs when it is repeated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tsbench import __version__
from tsbench.bench.display import Estimate
from tsbench.bench.executor import Event, summary
from tsbench.bench.machine import Machine, code_digest
from tsbench.bench.run import failure
from tsbench.bench.slurm.endings import ending_of
from tsbench.bench.slurm.jobs import FOLDER, Array, Job, number, open_jobs
from tsbench.bench.slurm.packing import arrange, by_number, by_time
from tsbench.bench.slurm.programs import (
    CPUS,
    JobState,
    Silent,
    expect_slurm,
    largest_array,
    sbatch_options,
    states,
    time_limit,
)
from tsbench.bench.slurm.submission import send
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.console import say
from tsbench.disk import locked
from tsbench.errors import UserError

LOOK = 1.0
"""Seconds between looks at the jobs' files."""
ASK_FIRST, ASK_LAST, ASK_GROWTH = 1.0, 15.0, 1.3
"""Seconds between questions to Slurm: often at first, seldom in the long run."""
GRACE = 3.0
"""Seconds after a job's end in which its files may still show up."""
FINAL = ("done", "elsewhere", "failed")


class SlurmExecutor:
    """Does runs in jobs of a Slurm cluster. Closed early, it leaves the jobs as they are."""

    def __init__(
        self,
        store: Store,
        machine: Machine,
        options: Mapping[str, str],
        at_once: int | None = None,
        timeout: float | None = None,
        again: bool = False,
    ) -> None:
        expect_slurm()
        self.store = Store(store.root.absolute())
        self.timeout = timeout
        self.again = again
        self.options = {CPUS: str(machine.threads), **sbatch_options(options)}
        self.pack = _positive("pack", self.options.pop("pack", None))
        cpus = _positive(CPUS, self.options[CPUS]) or 1
        workers = 1 if machine.device != "cpu" else max(1, cpus // machine.threads)
        self.at_once = at_once
        self.machine = replace(machine, workers=min(workers, at_once or workers))
        self.open: dict[str, RunSpec] = {}
        """Runs that have not ended."""
        self.awaited: dict[str, tuple[str, int]] = {}
        """Which job each of them is awaited from."""
        self.jobs: dict[tuple[str, int], Job] = {}
        self.running = 0

    @property
    def workers(self) -> int:
        """Runs at a time, now."""
        return max(1, self.running)

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Submit what neither waits nor runs, and watch until each run is done or has failed."""
        self.open = {spec.hash(): spec for spec in specs}
        self.before = {key: self._times(spec) for key, spec in self.open.items()}
        lock = self.store.root / FOLDER / "lock"
        try:
            with locked(lock, lambda: say("waiting for another tsbench that submits jobs")):
                yield from self._find()
                self._submit()
            yield from self._watch()
        finally:
            if self.open and self.jobs:
                self._tell_how_to_go_on()

    def _find(self) -> Iterator[Event]:
        """Jobs of an earlier command: watch those that live, take note of the end of others."""
        found = list(open_jobs(self.store.root))
        try:
            known = states({job.name for job in found})
        except Silent as error:
            raise UserError(f"Slurm does not answer: {error}") from error
        for job in found:
            state = job.state()
            wanted = self._await(job, state)
            yield from self._news(job, state)
            alive = job.key in known and not known[job.key].over
            if _is_over(job, state) or (wanted and not alive):
                yield from self._end(job, state, known.get(job.key), watched=False)
            elif wanted:
                self.jobs[job.key] = job
        if self.awaited:
            say(
                f"{len(self.awaited)} run(s) wait or run in Slurm already (array {self._numbers()})"
            )

    def _await(self, job: Job, state: dict[str, Any]) -> bool:
        """Wait for the runs of a job, those apart that failed and are to be tried again."""
        runs = state.get("runs", {})
        wanted = {
            key: job.key
            for key in map(RunSpec.hash, job.specs)
            if key in self.open and runs.get(key, {}).get("kind") != "failed"
        }
        self.awaited = wanted | self.awaited
        return bool(wanted)

    def _submit(self) -> None:
        """Send everything that is in no job yet."""
        specs = arrange(spec for key, spec in self.open.items() if key not in self.awaited)
        if not specs:
            return
        if self.pack:
            packs = by_number(specs, self.pack)
        else:
            estimate = Estimate(self.store.records()[0])
            limit = time_limit(self.options.get("time", ""))
            packs = by_time(specs, estimate, self.machine.workers, limit)
        size = largest_array()
        for start in range(0, len(packs), size):
            self._submit_array(packs[start : start + size])

    def _submit_array(self, packs: list[list[RunSpec]]) -> None:
        machine = self.machine
        array = Array(
            version=__version__,
            digest=code_digest(),
            commit=machine.commit,
            results=str(self.store.root),
            data=str(machine.data.absolute()),
            device=machine.device,
            threads=machine.threads,
            workers=machine.workers,
            since=machine.since,
            timeout=self.timeout,
            again=self.again,
        )
        jobs = send(array, packs, self.options, self.at_once)
        for job in jobs:
            self.jobs[job.key] = job
            self._await(job, {})
        runs, array_number = sum(map(len, packs)), number(jobs[0].folder)
        say(f"submitted {runs} run(s) in {len(jobs)} job(s) (array {array_number})")

    def _watch(self) -> Iterator[Event]:
        """Look at the jobs' files, and ask Slurm now and then whether the jobs live."""
        pause, due = ASK_FIRST, 0.0
        gone: dict[tuple[str, int], float] = {}
        known: dict[tuple[str, int], JobState] = {}
        told = ""
        while self.open:
            time.sleep(LOOK)
            now = time.monotonic()
            if now >= due:
                try:
                    known, trouble = states({job.name for job in self.jobs.values()}), ""
                    gone = {k: gone.get(k, now) for k in self.jobs if _gone(known.get(k))}
                except Silent as error:
                    trouble = f"Slurm does not answer ({error}); asking again"
                pause = min(ASK_LAST, pause * ASK_GROWTH)
                due = now + pause
                if (line := trouble or _waiting_line(known)) != told:
                    told = line
                    if line:
                        say(f"notice: {line}")
            begun = _begun({job.folder for job in self.jobs.values()})
            self.running = 0
            for key in sorted((begun | gone.keys()) & self.jobs.keys()):
                job = self.jobs[key]
                state = job.state()
                yield from self._news(job, state)
                if _is_over(job, state) or now - gone.get(key, now) > GRACE:
                    yield from self._end(job, state, known.get(key), watched=True)
                    del self.jobs[key]

    def _news(self, job: Job, state: dict[str, Any]) -> Iterator[Event]:
        """What a job says of the runs that are waited for."""
        runs = state.get("runs", {})
        for spec in job.specs:
            key = spec.hash()
            if key not in runs or self.awaited.get(key) != job.key:
                continue
            details = dict(runs[key])
            kind = details.pop("kind")
            if kind in FINAL:
                self._close(spec)
            else:
                self.running += 1
            if kind == "failed":
                details |= {"log": str(job.log), "tail": job.tail(spec)}
            yield Event(kind, spec, details)

    def _end(
        self, job: Job, state: dict[str, Any], told: JobState | None, watched: bool
    ) -> Iterator[Event]:
        """A job is over: its runs that have no record are lost, or failed at a limit.

        Lost runs of a job that nobody watched are left open, to be submitted again.
        """
        runs = state.get("runs", {})
        ending = ending_of(job, state, told)
        failed = any(run["kind"] == "failed" for run in runs.values())
        lost = 0
        for spec in job.specs:
            key = spec.hash()
            if self.awaited.get(key) != job.key:
                continue
            event = self._by_record(spec)
            if event is None:
                hit = ending.limit and key in runs
                if not (hit or watched):
                    del self.awaited[key]
                    lost += 1
                    continue
                unbegun = " (before this run began)" if runs and key not in runs else ""
                show_log = not failed and "refused" not in state
                event = self._fail(job, spec, ending.reason + unbegun, not hit, show_log)
            failed |= event.kind == "failed"
            self._close(spec)
            yield event
        if lost and (state or job.log.exists()):
            say(f"job {number(job.folder)}_{job.index}: {ending.reason}; {lost} run(s) go again")
        job.close(keep_log=failed)

    def _close(self, spec: RunSpec) -> None:
        del self.open[spec.hash()], self.awaited[spec.hash()]

    def _by_record(self, spec: RunSpec) -> Event | None:
        """How a run ended according to its record, if it has one that is new."""
        before, now = self.before[spec.hash()], self._times(spec)
        record = self.store.done(spec) if now[0] != before[0] or not self.again else None
        if record is not None:
            return Event("done", spec, summary(record))
        if now[1] != before[1]:
            return Event(
                "failed", spec, {"error": (self.store.failed(spec) or {}).get("error", "")}
            )
        return None

    def _fail(self, job: Job, spec: RunSpec, reason: str, lost: bool, show_log: bool) -> Event:
        tail = job.tail(spec)
        record = failure(spec, self.machine, reason, "\n".join(tail), lost)
        try:
            self.store.save(spec, record)
        except OSError as problem:
            say(f"warning: the failure of {spec.title} could not be stored: {problem}")
        log = {"log": str(job.log), "tail": tail} if show_log and tail else {}
        return Event("failed", spec, {"error": reason, **log})

    def _times(self, spec: RunSpec) -> list[int]:
        """When the record of its end and that of its failure were written."""
        return [_time(self.store.path(spec)), _time(self.store.failed_path(spec))]

    def _numbers(self) -> str:
        folders = dict.fromkeys(job.folder for job in self.jobs.values())
        return ", ".join(map(number, folders))

    def _tell_how_to_go_on(self) -> None:
        names = ",".join(sorted({name for name, _ in self.jobs}))
        say(f"{len(self.open)} run(s) stay with Slurm")
        say("    see them:    tsbench status, with the same options")
        say("    watch them:  the same command again")
        say(f"    cancel them: scancel --name {names}")


def _is_over(job: Job, state: dict[str, Any]) -> bool:
    """Whether a job is over by its own word."""
    runs = state.get("runs", {})
    return "refused" in state or all(
        runs.get(spec.hash(), {}).get("kind") in FINAL for spec in job.specs
    )


def _gone(state: JobState | None) -> bool:
    return state is None or state.over


def _waiting_line(known: Mapping[tuple[str, int], JobState]) -> str:
    """Why jobs wait, where it is not for others to finish."""
    usual = ("", "Priority", "Resources", "JobArrayTaskLimit", "BeginTime")
    odd = {s.reason for s in known.values() if s.state == "PENDING" and s.reason not in usual}
    return f"jobs wait because of {', '.join(sorted(odd))}" if odd else ""


def _begun(folders: set[Path]) -> set[tuple[str, int]]:
    """Jobs that have said something, by a listing a folder instead of a look a job."""
    paths = (path for folder in folders for path in folder.glob("*.state"))
    return {(path.parent.name, int(path.stem)) for path in paths}


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _positive(key: str, value: str | None) -> int | None:
    if value is None:
        return None
    if not value.isdigit() or int(value) < 1:
        raise UserError(f"--slurm {key} must be a whole number of at least 1, not '{value}'")
    return int(value)
