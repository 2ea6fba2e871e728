"""Runs in processes on this machine: one process a run, several at a time.

A fresh process a run, forked from a server that has torch imported already: nothing that ran
before can touch a result, a crash takes down one run only, and starting costs milliseconds. The
process holds the run's lock while it works and stores the record itself; it ends with its parent.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsbench.bench.executor import Event, summary
from tsbench.bench.forks import end_with_parent, process_context, start
from tsbench.bench.machine import Machine
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.console import say
from tsbench.disk import try_locked
from tsbench.registry import line_in

if TYPE_CHECKING:
    from tsbench.learn.method import Progress

POLL = 0.5
BUSY_WAIT = 1.0
PROGRESS_INTERVAL = 0.2
LINGER = 5.0
LAST_MOMENT = 0.3
"""Whoever killed a worker may be about to kill us too: then it is no failure of the run."""


@dataclass
class _Running:
    spec: RunSpec
    process: BaseProcess
    pipe: Connection
    since: float


class LocalExecutor:
    """Does runs in worker processes and tells what happens as events."""

    def __init__(
        self,
        store: Store,
        machine: Machine,
        timeout: float | None = None,
        again: bool = False,
    ) -> None:
        self.store = store
        self.machine = machine
        self.timeout = timeout
        self.again = again
        """Do runs that are done already."""
        self.processes = process_context()

    @property
    def workers(self) -> int:
        """Processes at a time."""
        return self.machine.workers

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Do all runs; ends when each of them is done or has failed."""
        waiting: deque[tuple[float, RunSpec]] = deque((0.0, spec) for spec in specs)
        running: list[_Running] = []
        try:
            while waiting or running:
                while waiting and len(running) < self.workers and _due(waiting):
                    _, spec = waiting.popleft()
                    running.append(self._start(spec))
                    yield Event("started", spec)
                for event in self._collect(running):
                    if event.kind == "waiting":
                        waiting.append((time.monotonic() + BUSY_WAIT, event.spec))
                    yield event
        finally:
            for job in running:
                job.process.kill()
            for job in running:
                job.process.join()

    def _start(self, spec: RunSpec) -> _Running:
        ours, theirs = self.processes.Pipe(duplex=False)
        process = self.processes.Process(
            target=_work, args=(theirs, spec, self.machine, self.store.root, self.again)
        )
        start(process)
        theirs.close()
        return _Running(spec, process, ours, time.monotonic())

    def _collect(self, running: list[_Running]) -> Iterator[Event]:
        """What the workers have to say; ended ones are taken out of ``running``."""
        if not running:
            time.sleep(POLL / 10)
            return
        watched = [w for job in running for w in (job.pipe, job.process.sentinel)]
        ready = wait(watched, timeout=POLL)
        for job in list(running):
            message = None
            if job.pipe in ready:
                try:
                    message = job.pipe.recv()
                except (EOFError, OSError):
                    message = self._died(job)
            elif job.process.sentinel in ready:
                message = self._died(job)
            elif self.timeout is not None and time.monotonic() - job.since > self.timeout:
                job.process.kill()
                message = ("failed", {"error": f"timed out after {self.timeout / 60:g} min"})
            if message is None:
                continue
            kind, details = message
            if kind == "began":  # importing and waiting for a core do not count
                job.since = time.monotonic()
                continue
            if kind != "progress":
                self._end(job)
                running.remove(job)
            if kind == "failed" and not details.get("stored"):
                self._store_failure(job.spec, details["error"])
            yield Event(kind, job.spec, details)

    def _end(self, job: _Running) -> None:
        """A worker that has said its last word may linger (a thread of its own): not for long."""
        job.process.join(LINGER)
        if job.process.is_alive():
            job.process.kill()
            job.process.join()
        job.pipe.close()

    def _store_failure(self, spec: RunSpec, error: str) -> None:
        from tsbench.bench.run import failure

        try:
            self.store.save(spec, failure(spec, self.machine, error))
        except OSError as problem:
            say(f"warning: the failure of {spec.title} could not be stored: {problem}")

    def _died(self, job: _Running) -> tuple[str, dict[str, Any]]:
        job.process.join(LINGER)
        code = job.process.exitcode or 0
        if code < 0:
            time.sleep(LAST_MOMENT)
            name = signal.Signals(-code).name
            hint = " (out of memory?)" if name == "SIGKILL" else ""
            return "failed", {"error": f"killed by {name}{hint}"}
        return "failed", {"error": f"the worker ended with exit code {code}"}


def _due(waiting: deque[tuple[float, RunSpec]]) -> bool:
    return waiting[0][0] <= time.monotonic()


def _work(pipe: Connection, spec: RunSpec, machine: Machine, root: Any, again: bool) -> None:
    """Body of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    os.dup2(2, 1)  # what a method prints is no data
    sys.stdout = _Diverted(spec.label)
    end_with_parent()
    store = Store(root)
    last = 0.0

    def progress(task: int, epoch: int, loss: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_INTERVAL:
            last = now
            pipe.send(("progress", {"task": task, "epoch": epoch, "loss": loss}))

    try:
        with try_locked(store.lock_path(spec)) as held:
            if not held:
                pipe.send(("waiting", {}))
                return
            pipe.send(("began", {}))
            pipe.send(_do(spec, machine, store, again, progress))
    except BrokenPipeError:
        os._exit(1)  # the parent is gone


class _Diverted(io.TextIOWrapper):
    """The stdout of a worker, which is its stderr, and says so once."""

    def __init__(self, who: str) -> None:
        super().__init__(
            open(1, "wb", buffering=0, closefd=False),  # noqa: SIM115
            encoding="utf-8",
            errors="replace",
            write_through=True,
        )
        self.who = who
        self.told = False

    def write(self, text: str) -> int:
        if not self.told:
            self.told = True
            say(f"notice: {self.who} prints to stdout, which is for results; here it is on stderr")
        return super().write(text)


def _do(
    spec: RunSpec, machine: Machine, store: Store, again: bool, progress: Progress
) -> tuple[str, dict[str, Any]]:
    """A run and its record, with the lock held; what came of it."""
    from tsbench.bench.run import execute, failure

    record = None if again else store.done(spec)
    if record is not None:
        return "elsewhere", summary(record)
    try:
        record = execute(spec, machine, progress)
        store.save(spec, record)
        return "done", summary(record)
    except BrokenPipeError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        if spec.code:
            reason += line_in(Path(spec.method.rpartition(":")[0]), error)
        try:
            store.save(spec, failure(spec, machine, reason, traceback.format_exc()))
            stored = True
        except OSError:
            stored = False
        return "failed", {"error": reason, "stored": stored}
