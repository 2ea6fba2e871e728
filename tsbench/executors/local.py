"""Runs on this machine: one worker process per run, several at a time."""

from __future__ import annotations

import contextlib
import io
import math
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsbench.console import say
from tsbench.executors.base import Event, ExecutorOptions, event_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

    from tsbench.executors.workers import Worker
    from tsbench.runs.machine import Machine
    from tsbench.runs.record import Record
    from tsbench.runs.spec import RunSpec
    from tsbench.runs.store import Store

POLL = 0.5
RETRY_LOCK = 1.0
"""Seconds until a run that another process is running is looked at again."""
PROGRESS_INTERVAL = 0.2
LAST_MOMENT = 0.3
"""Whoever killed a worker may be about to kill us too: then the run has not failed."""
ENDED_FROM_OUTSIDE = {"SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"}


@dataclass(frozen=True)
class LocalOptions(ExecutorOptions):
    """This machine has no options of its own."""

    def make(self, store: Store, machine: Machine) -> LocalExecutor:
        """The executor."""
        return LocalExecutor(store, machine)

    def choose_device(self) -> str:
        """A GPU if there is one, unless another device was asked for."""
        from tsbench.runs.execute import choose_device

        return choose_device(self.device)

    def prepare(self) -> None:
        """Let the worker server import torch while this process still reads and plans."""
        if sys.platform != "win32":
            from tsbench.executors.workers import worker_server

            worker_server()


@dataclass
class _Running:
    """A run in a worker."""

    spec: RunSpec
    before: Record | None
    """What was stored when it started, if ``--force`` repeats it."""
    worker: Worker
    began: float = math.inf
    """When the run began: importing torch and waiting for a worker do not count."""
    silent: bool = False
    """The worker has closed its connection."""

    def watched(self) -> list[Any]:
        """What to wait for."""
        return [self.worker.reports] + ([] if self.silent else [self.worker.connection])

    def messages(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What the worker has sent."""
        try:
            while not self.silent and self.worker.connection.poll():
                yield self.worker.connection.recv()
        except (EOFError, OSError):
            self.silent = True


class LocalExecutor:
    """Executes runs in worker processes."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self.store = store
        self.machine = machine

    @property
    def workers(self) -> int:
        """Processes at a time."""
        return self.machine.workers

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Execute all runs; ends when each of them is done or has failed."""
        from multiprocessing.connection import wait

        from tsbench.executors.workers import start_worker

        waiting = deque((0.0, spec) for spec in specs)
        running: list[_Running] = []
        try:
            while waiting or running:
                while waiting and len(running) < self.workers and waiting[0][0] <= time.monotonic():
                    _, spec = waiting.popleft()
                    before = self.store.done(spec) if self.machine.force else None
                    worker = start_worker(work, spec, self.machine, self.store.root)
                    running.append(_Running(spec, before, worker))
                    yield Event("started", spec)
                wait([each for job in running for each in job.watched()], timeout=POLL)
                for job in list(running):
                    for event in self._events(job):
                        if event.kind == "waiting":
                            waiting.append((time.monotonic() + RETRY_LOCK, event.spec))
                        if event.kind != "progress":
                            job.worker.end()
                            running.remove(job)
                        yield event
        finally:
            for job in running:
                job.worker.end()

    def _events(self, job: _Running) -> Iterator[Event]:
        """What is new about a run; nothing follows its end."""
        ended = self._ending(job)  # asked first: what it sent before its end is here by now
        for kind, details in job.messages():
            if kind == "began":
                job.began = time.monotonic()
                continue
            yield Event(kind, job.spec, details)  # type: ignore[arg-type]
            if kind != "progress":
                return
        limit = self.machine.seconds
        if ended is None and limit and time.monotonic() - job.began > limit:
            ended = f"timed out after {limit / 60:g} min", False
        if ended is not None:
            job.worker.end()  # before its failure is stored, so that nothing is stored after it
            yield self._fail(job, *ended)

    def _ending(self, job: _Running) -> tuple[str, bool] | None:
        """Why a worker ended, and whether from outside; None while it runs."""
        from tsbench.executors.workers import ServerLost

        try:
            code = job.worker.exit_code()
        except ServerLost:
            time.sleep(LAST_MOMENT)
            return "the worker processes were ended from outside", True
        if code is None:
            return None
        if code >= 0:
            return f"the method ended its process with exit code {code}", False
        time.sleep(LAST_MOMENT)
        name = signal.Signals(-code).name
        if name in ENDED_FROM_OUTSIDE:
            return f"ended from outside by {name}", True
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"killed by {name}{hint}", False

    def _fail(self, job: _Running, reason: str, lost: bool) -> Event:
        from tsbench.runs.run_one import Outcome, store_failure

        stored = self.store.done(job.spec)
        if stored is not None and stored != job.before:
            # By the worker, or by another process before it began.
            outcome = Outcome("done" if math.isfinite(job.began) else "elsewhere", stored)
        else:
            outcome = store_failure(job.spec, self.machine, self.store, reason, lost=lost)
        return event_of(job.spec, outcome)


def import_torch() -> None:
    """Import all that a run needs."""
    with contextlib.suppress(ImportError):  # the run that lacks it fails, and says why
        from tsbench.learn.registry import METHODS
        from tsbench.runs.execute import import_torch_fully

        import_torch_fully()
        METHODS.names()


def work(connection: Connection, spec: RunSpec, machine: Machine, results: Path) -> None:
    """Body of a worker: execute a run, and send what happens."""
    from tsbench.runs.run_one import run_one, store_error
    from tsbench.runs.store import Store

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    os.dup2(2, 1)  # stdout is for results; what a method prints is not one
    sys.stdout = _Stderr(spec.label)
    store = Store(results)
    last = 0.0

    def send(kind: str, details: dict[str, Any]) -> None:
        try:
            connection.send((kind, details))
        except OSError:
            os._exit(1)  # the parent is gone

    def progress(task: int, epoch: int, loss: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PROGRESS_INTERVAL:
            last = now
            send("progress", {"task": task, "epoch": epoch, "loss": loss})

    try:
        began = lambda: send("began", {})  # noqa: E731
        outcome = run_one(spec, machine, store, progress, began=began)
    except KeyboardInterrupt as error:  # raised by the method: SIGINT is ignored
        outcome = store_error(spec, machine, store, error)
    send(outcome.kind, outcome.details())


class _Stderr(io.TextIOWrapper):
    """The stdout of a worker, which is its stderr, and says so once."""

    def __init__(self, label: str) -> None:
        super().__init__(
            open(1, "wb", buffering=0, closefd=False),  # noqa: SIM115
            encoding="utf-8",
            errors="replace",
            write_through=True,
        )
        self.label = label
        self.noticed = False

    def write(self, text: str) -> int:
        if not self.noticed:
            self.noticed = True
            say(f"notice: {self.label} prints to stdout, which is for results; shown on stderr")
        return super().write(text)
