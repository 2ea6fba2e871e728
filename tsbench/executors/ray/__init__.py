"""Runs on a Ray cluster: its options; the executor is imported when it is used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tsbench.errors import UserError
from tsbench.executors.base import Executor, ExecutorOptions, cluster_device, option

if TYPE_CHECKING:
    from tsbench.runs.machine import Machine
    from tsbench.runs.store import Store

SMALLEST_SHARE = 0.0001
"""Of a CPU or GPU, for Ray."""


@dataclass(frozen=True)
class RayOptions(ExecutorOptions):
    """Which cluster, and what a run takes of it."""

    address: str | None = option(
        "--address",
        "Ray: the cluster to join. Default: a new one on this machine.",
        metavar="HOST:PORT",
    )
    cpus_per_run: float | None = option(
        "--cpus-per-run", "Ray: CPUs per run. Default: its threads.", metavar="N"
    )
    gpus_per_run: float | None = option(
        "--gpus-per-run", "Ray: GPUs per run; may be a fraction.", metavar="N"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cpus_per_run is not None and not SMALLEST_SHARE <= self.cpus_per_run < math.inf:
            raise UserError(f"--cpus-per-run must be at least {SMALLEST_SHARE}")
        if not self.gpus >= 0:
            raise UserError("--gpus-per-run must be 0 or more")
        if self.gpus and not (SMALLEST_SHARE <= self.gpus < 1 or self.gpus % 1 == 0):
            raise UserError("--gpus-per-run must be a share of one GPU, or a whole number")

    @property
    def cpus(self) -> float:
        """CPUs that a run takes."""
        return self.cpus_per_run or float(self.threads)

    @property
    def gpus(self) -> float:
        """GPUs that a run takes."""
        return self.gpus_per_run or 0

    def make(self, store: Store, machine: Machine) -> Executor:
        """The executor."""
        from tsbench.executors.ray.executor import RayExecutor

        return RayExecutor(self, store, machine)

    def choose_device(self) -> str:
        """A GPU if runs take one, unless another device was asked for."""
        return cluster_device(self.device, self.gpus > 0, "--gpus-per-run 1")
