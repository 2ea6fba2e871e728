"""What an executor is: it does runs somewhere, and tells what happens to them as events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from tsbench.bench.spec import RunSpec
from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.bench.machine import Machine
    from tsbench.bench.store import Store


@dataclass(frozen=True)
class Event:
    """Something happened to a run.

    ``started`` and ``progress`` may come late, again or never; each run ends with one of ``done``,
    ``elsewhere`` (another process did it) or ``failed``. A run that another process is at is
    ``waiting``, and ends later. The record is stored before its end is told.
    """

    kind: Literal["started", "progress", "done", "elsewhere", "failed", "waiting"]
    spec: RunSpec
    details: dict[str, Any] = field(default_factory=dict)
    """``progress``: task, epoch, loss. ``done``, ``elsewhere``: see ``summary``. ``failed``: error.
    """


class Executor(Protocol):
    """Does runs. Ends what it started when its generator is closed."""

    @property
    def workers(self) -> int:
        """Runs at a time, as far as is known now."""

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Do all runs; ends when each of them is done or has failed."""


@dataclass(frozen=True)
class Where:
    """Where runs are to be done, as the user asked for it."""

    executor: Literal["local", "ray", "slurm"] = "local"
    jobs: int | None = None
    """Runs at a time at most."""
    address: str | None = None
    """Of a running Ray cluster."""
    cpus: float | None = None
    """CPUs that a run takes of a Ray cluster; as many as it has threads by default."""
    gpus: float = 0
    slurm: Mapping[str, str] = field(default_factory=dict)
    """Options of a Slurm job."""

    def device(self, name: str) -> str:
        """The device ``--device`` means: elsewhere ``auto`` is a GPU if one was asked for."""
        from tsbench.bench.run import DEVICES, choose_device

        if self.executor == "local":
            return choose_device(name)
        with_gpu = self.gpus > 0 or any("gpu" in f"{k}={v}" for k, v in self.slurm.items())
        if name == "auto":
            return "cuda" if with_gpu else "cpu"
        if name not in DEVICES:
            raise UserError(f"unknown device '{name}'; known: auto, {', '.join(DEVICES)}")
        if name == "cuda" and not with_gpu:
            how = "--gpus-per-run 1" if self.executor == "ray" else "--slurm gres=gpu:1"
            raise UserError(f"--device cuda needs a GPU for each run: add {how}")
        return name


def make_executor(
    where: Where,
    store: Store,
    machine: Machine,
    timeout: float | None = None,
    again: bool = False,
) -> Executor:
    """The executor that was asked for; ``again`` does runs that are done already."""
    if where.executor == "local":
        from tsbench.bench.local import LocalExecutor

        return LocalExecutor(store, machine, timeout, again)
    if where.executor == "slurm":
        from tsbench.bench.slurm.executor import SlurmExecutor

        return SlurmExecutor(store, machine, where.slurm, where.jobs, timeout, again)
    from tsbench.bench.ray.executor import RayExecutor

    return RayExecutor(store, machine, where, timeout, again)


def summary(record: dict[str, Any]) -> dict[str, Any]:
    """What the end of a run tells of its record."""
    return {
        "A_T": record["result"]["A_T"],
        "F_T": record["result"]["F_T"],
        "seconds": sum(record["time"]["learn"]) + sum(record["time"]["evaluate"]),
        "total": record["time"]["total"],
    }
