"""What an executor is: its options, which runs it takes, and the events it reports.

To add one: write a module with a class of options and a class that runs specs, and add a line to
``EXECUTORS``. The commands get their options from the class of options, which therefore must be
light to import.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tsbench.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from tsbench.runs.machine import Machine
    from tsbench.runs.run_one import Outcome
    from tsbench.runs.spec import RunSpec
    from tsbench.runs.status import State
    from tsbench.runs.store import Store

EXECUTORS = {
    "local": "tsbench.executors.local:LocalOptions",
    "ray": "tsbench.executors.ray:RayOptions",
    "slurm": "tsbench.executors.slurm:SlurmOptions",
}
"""The options of every executor, by the executor's name."""


@dataclass(frozen=True)
class Event:
    """Something happened to a run.

    ``started`` and ``progress`` may come late, repeatedly or never; each run ends with one of
    ``done``, ``elsewhere`` (another process did it) or ``failed``. While another process is running
    it, it is ``waiting``, and ends later. The record is stored before the end is reported.
    """

    kind: Literal["started", "progress", "done", "elsewhere", "failed", "waiting"]
    spec: RunSpec
    details: dict[str, Any] = field(default_factory=dict)
    """``progress``: task, epoch, loss. ``failed``: error. Otherwise ``run_one.summary``."""


def event_of(spec: RunSpec, outcome: Outcome) -> Event:
    """The event that reports an outcome."""
    return Event(outcome.kind, spec, outcome.details())


class Executor(Protocol):
    """Executes runs. Ends what it started when its generator is closed, unless it says so."""

    @property
    def workers(self) -> int:
        """Runs at a time, as far as is known now."""

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Execute all runs; ends when each of them is done or has failed."""


def option(flag: str, help: str, *, metavar: str | None = None, default: Any = None) -> Any:
    """A field of a class of options: how the commands offer it."""
    return field(default=default, metadata={"flag": flag, "help": help, "metavar": metavar})


@dataclass(frozen=True)
class ExecutorOptions:
    """How runs are executed, as the user asked for it. Each executor adds options of its own."""

    device: str = option("--device", "auto, cpu, cuda or mps.", default="auto")
    jobs: int | None = option(
        "--jobs", "Runs at a time. Default: one per core, or one on a GPU.", metavar="N"
    )
    threads: int = option("--threads", "Torch threads per run.", metavar="N", default=1)
    timeout: float | None = option(
        "--timeout", "Stop a run after this many minutes.", metavar="MIN"
    )

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise UserError("--jobs must be at least 1")
        if self.threads < 1:
            raise UserError("--threads must be at least 1")
        if self.timeout is not None and not self.timeout > 0:
            raise UserError("--timeout must be more than 0 minutes")

    def make(self, store: Store, machine: Machine) -> Executor:
        """The executor."""
        raise NotImplementedError

    def choose_device(self) -> str:
        """The device of the runs."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Start what takes time, before the runs are planned."""

    @classmethod
    def pending(cls, store: Store) -> dict[str, State]:
        """Runs that this executor has taken and not finished, by hash: queued or running."""
        return {}


def options_class(executor: str) -> type[ExecutorOptions]:
    """The options of the executor with this name."""
    module, _, name = EXECUTORS[executor].partition(":")
    found: type[ExecutorOptions] = getattr(importlib.import_module(module), name)
    return found


def make_executor(
    options: ExecutorOptions, store: Store, data: Path, force: bool = False
) -> Executor:
    """The executor that the options describe; ``force`` repeats runs that are done already."""
    from tsbench.runs.machine import Machine, commit

    device = options.choose_device()
    machine = Machine(
        data=data,
        shared=store.shared_folder,
        device=device,
        threads=options.threads,
        workers=options.jobs or (1 if device != "cpu" else max(1, cores() // options.threads)),
        commit=commit(),
        since=time.time() if force else 0.0,
        seconds=None if options.timeout is None else 60 * options.timeout,
        force=force,
    )
    return options.make(store, machine)


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cluster_device(asked: str, with_gpu: bool, hint: str) -> str:
    """The device of runs on a cluster, where ``auto`` is a GPU if one was asked for."""
    from tsbench.runs.execute import DEVICES

    if asked == "auto":
        return "cuda" if with_gpu else "cpu"
    if asked not in DEVICES:
        raise UserError(f"unknown device '{asked}'; known: auto, {', '.join(DEVICES)}")
    if asked == "cuda" and not with_gpu:
        raise UserError(f"--device cuda needs a GPU for each run: add {hint}")
    return asked


def pending_runs(store: Store) -> dict[str, State]:
    """Runs that any executor has taken and not finished, by hash: queued or running."""
    found: dict[str, State] = {}
    for name in EXECUTORS:
        found |= options_class(name).pending(store)
    return found
