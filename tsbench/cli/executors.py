"""Where runs are done: options that every command with runs has, and what follows from them."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.bench.drive import Tally
    from tsbench.bench.executor import Where
    from tsbench.bench.spec import RunSpec
    from tsbench.bench.store import Store


SMALLEST_SHARE = 0.0001
"""Of a CPU or GPU, for Ray."""


class ExecutorChoice(str, Enum):
    """Which executor."""

    local = "local"
    ray = "ray"
    slurm = "slurm"


ExecutorOption = Annotated[
    ExecutorChoice, typer.Option("--executor", help="This machine, a Ray cluster, or Slurm.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Ray: the cluster to join. Default: a new one on this machine.",
    ),
]
CpusPerRun = Annotated[
    float | None,
    typer.Option(
        "--cpus-per-run", metavar="N", help="Ray: CPUs a run takes. Default: its threads."
    ),
]
GpusPerRun = Annotated[
    float | None,
    typer.Option("--gpus-per-run", metavar="N", help="Ray: GPUs a run takes, maybe a fraction."),
]
SlurmOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm", metavar="KEY=VALUE", help="Slurm: an option of the jobs, like partition=gpu."
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", help="Runs at a time. Default: one a core, one on a GPU.")
]
Threads = Annotated[int, typer.Option("--threads", help="Torch threads a run.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="MIN", help="Minutes a run at most.")
]


def choose_executor(
    executor: ExecutorChoice,
    jobs: int | None,
    address: str | None,
    cpus_per_run: float | None,
    gpus_per_run: float | None,
    slurm: list[str] | None,
) -> Where:
    """What the options say; refuses those that mean nothing to the executor."""
    from tsbench.bench.executor import Where
    from tsbench.learn.settings import parse_assignments

    belongs: dict[str, tuple[str, Any]] = {
        "--address": ("ray", address),
        "--cpus-per-run": ("ray", cpus_per_run),
        "--gpus-per-run": ("ray", gpus_per_run),
        "--slurm": ("slurm", slurm),
    }
    for option, (owner, value) in belongs.items():
        if value not in (None, []) and owner != executor.value:
            raise UserError(f"{option} is for --executor {owner}, not {executor.value}")
    if jobs is not None and jobs < 1:
        raise UserError("--jobs must be at least 1")
    if cpus_per_run is not None and not SMALLEST_SHARE <= cpus_per_run < math.inf:
        raise UserError(f"--cpus-per-run must be at least {SMALLEST_SHARE}")
    if gpus_per_run and not (SMALLEST_SHARE <= gpus_per_run < 1 or gpus_per_run % 1 == 0):
        raise UserError("--gpus-per-run must be a share of one GPU, or a whole number")
    if gpus_per_run is not None and gpus_per_run < 0:
        raise UserError("--gpus-per-run must be 0 or more")
    return Where(
        executor=executor.value,
        jobs=jobs,
        address=address,
        cpus=cpus_per_run,
        gpus=gpus_per_run or 0,
        slurm=parse_assignments(slurm or [], "--slurm"),
    )


@dataclass(frozen=True)
class Running:
    """How runs are done: folders, machine, limits."""

    data: Path
    results: Path
    where: Where
    device: str = "auto"
    threads: int = 1
    timeout: float | None = None
    """Minutes a run at most."""
    force: bool = False
    retry_failed: bool = False

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise UserError("--threads must be at least 1")
        if self.timeout is not None and not self.timeout > 0:
            raise UserError("--timeout must be more than 0 minutes")

    def warm_up(self) -> None:
        """Let workers on this machine import torch while this process still reads and plans."""
        if self.where.executor == "local":
            from tsbench.bench.forks import start_early

            start_early()

    def drive(self, specs: list[RunSpec]) -> tuple[Tally, Store]:
        """Do the runs that are missing."""
        from tsbench.bench.drive import drive
        from tsbench.bench.executor import make_executor
        from tsbench.bench.machine import Machine, commit
        from tsbench.bench.store import Store

        device = self.where.device(self.device)
        store = Store(self.results)
        machine = Machine(
            data=self.data,
            shared=store.shared_folder,
            device=device,
            threads=self.threads,
            workers=self.where.jobs or _one_a_core(device, self.threads),
            commit=commit(),
            since=time.time() if self.force else 0.0,
        )
        seconds = None if self.timeout is None else 60 * self.timeout
        executor = make_executor(self.where, store, machine, seconds, again=self.force)
        return drive(specs, store, executor, self.force, self.retry_failed), store


def _one_a_core(device: str, threads: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 1 if device != "cpu" else max(1, (cores or 1) // threads)
