"""Runs as job arrays: submitted, watched, and left alone when the watching stops.

A file for each job in the results folder says which runs it has, so a run that waits or runs is
never submitted again, and a command that was stopped finds its jobs when it is repeated.
"""

from __future__ import annotations

import shlex
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tsbench.console import say
from tsbench.disk import locked
from tsbench.errors import UserError
from tsbench.executors.base import Event, event_of
from tsbench.executors.slurm import CPUS, PACK, SlurmOptions
from tsbench.executors.slurm.commands import Key, NoAnswer, submit, waiting_or_running
from tsbench.executors.slurm.jobs import FINAL, FOLDER, LOG_LINES, Job, JobState, open_jobs, pack
from tsbench.executors.workers import python_command
from tsbench.runs.estimate import Estimate
from tsbench.runs.machine import Machine, code_digest
from tsbench.runs.run_one import Outcome, store_failure
from tsbench.runs.spec import RunSpec
from tsbench.runs.status import State
from tsbench.runs.store import Store

LOOK = 1.0
"""Seconds between looks at the jobs' files."""
ASK_LAST, ASK_GROWTH = 15.0, 1.3
"""Slurm is asked often at first, and every so many seconds in the long run."""
LARGEST_ARRAY = 1000
"""Jobs per array: Slurm's default limit."""
WORK = 300.0
"""Seconds of work that a job should have: starting one takes about 2 % of it."""


class SlurmExecutor:
    """Executes runs in jobs of a Slurm cluster. Closed early, it leaves the jobs as they are."""

    def __init__(self, options: SlurmOptions, store: Store, machine: Machine) -> None:
        self.options = options
        self.store = Store(store.root.absolute())
        cpus = int(options.sbatch[CPUS])
        workers = 1 if machine.device != "cpu" else max(1, cpus // machine.threads)
        self.machine = replace(
            machine,
            data=machine.data.absolute(),
            shared=self.store.shared_folder,
            workers=min(workers, options.jobs or workers),
            digest=code_digest(),
        )
        self.jobs: dict[Key, Job] = {}
        """Jobs that runs are awaited from."""
        self.running = 0

    @property
    def workers(self) -> int:
        """Runs at a time, now."""
        return max(1, self.running)

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Submit what neither waits nor runs, and watch until each run is done or has failed."""
        lock = self.store.root / FOLDER / "lock"
        try:
            with locked(lock, lambda: say("waiting: another tsbench is submitting jobs")):
                missing = {spec.hash(): spec for spec in specs}
                self._find_jobs(missing)
                self._submit(missing)
            yield from self._watch()
        finally:
            if self.jobs:
                say(f"{self._awaited()} run(s) stay with Slurm")
                say("    see them:    tsbench status, with the same options")
                say("    watch them:  repeat the same command")
                say(f"    cancel them: scancel --name {','.join(self._names())}")

    def _awaited(self) -> int:
        return sum(len(job.awaited) for job in self.jobs.values())

    def _names(self) -> list[str]:
        return sorted({name for name, _ in self.jobs})

    def _find_jobs(self, missing: dict[str, RunSpec]) -> None:
        """Take runs from ``missing`` that jobs of earlier commands have; clear ended jobs away."""
        found = list(open_jobs(self.store.root))
        alive = waiting_or_running(job.folder.name for job in found)
        for job in found:
            state = job.state()
            unfinished = [key for key in job.open_runs(state) if key in missing]
            if job.key not in alive:
                if unfinished and job.log_lines():
                    say(f"{job.ending()[0]}; repeating {len(unfinished)} run(s)")
                job.close(state)
            elif unfinished:
                job.awaited = {key: missing.pop(key) for key in unfinished}
                self.jobs[job.key] = job
        if self.jobs:
            names = ",".join(self._names())
            say(f"{self._awaited()} run(s) wait or run in Slurm already: {names}")

    def _submit(self, missing: dict[str, RunSpec]) -> None:
        """Submit all runs that no job has."""
        specs, sbatch = list(missing.values()), self.options.sbatch
        if PACK in sbatch:
            packs = pack(specs, lambda spec: 1, int(sbatch.pop(PACK)))
        else:
            estimate = Estimate(self.store.records()[0])
            work = self.machine.workers * WORK
            packs = pack(specs, lambda spec: estimate.seconds(spec.kind) or WORK, work)
        for start in range(0, len(packs), LARGEST_ARRAY):
            self._submit_array(packs[start : start + LARGEST_ARRAY], sbatch)

    def _submit_array(self, packs: list[list[RunSpec]], sbatch: Mapping[str, str]) -> None:
        """Write the files of an array and submit it; raises if Slurm refuses it."""
        folder = self.store.root / FOLDER / f"tsbench-{uuid.uuid4().hex[:12]}"
        runs = [{spec.hash(): spec for spec in each} for each in packs]
        jobs = [Job(folder, i, specs, self.machine, specs.copy()) for i, specs in enumerate(runs)]
        for job in jobs:
            job.write()
        indices = f"0-{len(jobs) - 1}"
        if self.options.jobs:
            indices += f"%{max(1, self.options.jobs // self.machine.workers)}"
        command = python_command("tsbench.executors.slurm.node:main", str(folder))
        script = f'#!/bin/sh\nexec {shlex.join(command)} "$SLURM_ARRAY_TASK_ID"\n'
        log = str(folder).replace("%", "%%") + "/%a.log"
        try:
            submit(script, folder.name, indices, log, sbatch)
        except NoAnswer as error:
            if not _was_submitted(folder.name):
                for job in jobs:
                    job.close({})
                raise UserError(f"Slurm refused the jobs: {error}") from error
        self.jobs |= {job.key: job for job in jobs}
        say(f"submitted {sum(map(len, packs))} run(s) in {len(jobs)} job(s) ({folder.name})")

    def _watch(self) -> Iterator[Event]:
        """Look at the jobs' files, and ask Slurm, often at first and seldom in the long run.

        A job that Slurm does not list twice is over: its files have had time to appear.
        """
        pause, ask_at, answers = 1.0, 0.0, True
        unlisted: set[Key] = set()
        gone: set[Key] = set()
        while self.jobs:
            time.sleep(LOOK)
            if time.monotonic() >= ask_at:
                pause = min(ASK_LAST, pause * ASK_GROWTH)
                ask_at = time.monotonic() + pause
                try:
                    now = self.jobs.keys() - waiting_or_running(self._names())
                    gone, unlisted, answers = now & unlisted, now, True
                except NoAnswer as error:
                    if answers:
                        say(f"notice: {error}; trying again")
                    answers = False
            yield from self._look(gone)

    def _look(self, gone: set[Key]) -> Iterator[Event]:
        """Report what is new; reads only files of jobs that have begun, listed once per array."""
        self.running = 0
        folders = {job.folder for job in self.jobs.values()}
        begun = {path for folder in folders for path in folder.glob("*.state")}
        for job in list(self.jobs.values()):
            if job.key in gone or job.file("state") in begun:
                state = job.state()
                yield from self._report(job, state)
                if job.key in gone or not job.open_runs(state):
                    yield from self._end(job, state)
                elif not job.awaited:  # another command awaits the rest
                    del self.jobs[job.key]

    def _report(self, job: Job, state: JobState) -> Iterator[Event]:
        """What a job says about the runs that are awaited from it."""
        for key in [key for key in job.awaited if key in state]:
            spec, details = job.awaited[key], dict(state[key])
            kind: Any = details.pop("kind")
            if kind in FINAL:
                del job.awaited[key]
            else:
                self.running += 1
            if kind == "failed":
                trace = (self.store.failed(spec) or {}).get("details", "").splitlines()
                details |= {"log": str(job.file("log")), "tail": trace[-LOG_LINES:]}
            yield Event(kind, spec, details)

    def _end(self, job: Job, state: JobState) -> Iterator[Event]:
        """A job is over: its runs without a record are lost, or failed at a limit of Slurm."""
        reason, limit = job.ending()
        log = job.log_lines()
        for key, spec in job.awaited.items():
            outcome = self._stored(job, spec) or store_failure(
                spec, self.machine, self.store, reason, "\n".join(log), not (limit and key in state)
            )
            event = event_of(spec, outcome)
            if event.kind == "failed":
                event.details.update(log=str(job.file("log")), tail=log)
                log = []  # once is enough
            yield event
        del self.jobs[job.key]
        job.close(state)

    def _stored(self, job: Job, spec: RunSpec) -> Outcome | None:
        """How a run ended that its job has not reported; another command may have seen to it."""
        seen_to = not job.file("json").exists()
        if (seen_to or not self.machine.force) and (done := self.store.done(spec)):
            return Outcome("done", done)
        if seen_to and (failure := self.store.failed(spec)):
            return Outcome("failed", failure)
        return None


def pending(store: Store) -> dict[str, State]:
    """Runs that wait in Slurm's queue or that one of its jobs is running, by hash."""
    jobs = list(open_jobs(store.root))
    try:
        alive = waiting_or_running(job.folder.name for job in jobs)
    except NoAnswer as error:
        say(f"notice: {error}; the runs of its jobs are shown as queued")
        alive = {job.key for job in jobs}
    found: dict[str, State] = {}
    for job in jobs:
        if job.key in alive:
            state = job.state()
            for key in job.open_runs(state):
                found[key] = "running" if key in state else "queued"
    return found


def _was_submitted(name: str) -> bool:
    """Whether Slurm has an array although its answer was lost."""
    try:
        return bool(waiting_or_running([name]))
    except NoAnswer:
        return False
