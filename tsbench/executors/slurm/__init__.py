"""Runs as jobs of a Slurm cluster: its options; the executor is imported when it is used.

No accounting is needed: states are read from ``squeue`` and from files in the results folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tsbench.errors import UserError
from tsbench.executors.base import Executor, ExecutorOptions, cluster_device, option
from tsbench.schema import shown, whole_number

if TYPE_CHECKING:
    from tsbench.runs.machine import Machine
    from tsbench.runs.status import State
    from tsbench.runs.store import Store

CPUS, PACK = "cpus-per-task", "pack"
RESERVED = {
    "array", "chdir", "cluster", "clusters", "error", "input",
    "job-name", "open-mode", "output", "parsable", "wrap",
}  # fmt: skip
"""Options of ``sbatch`` that we set, or with which we could not find the jobs again."""


@dataclass(frozen=True)
class SlurmOptions(ExecutorOptions):
    """What the jobs ask for."""

    slurm: list[str] | None = option(
        "--slurm", "Slurm: an option of sbatch, like partition=gpu.", metavar="KEY=VALUE"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (CPUS, PACK):
            value = self.sbatch.get(name, "1")
            if not whole_number(value):
                raise UserError(
                    f"--slurm {name} must be a whole number from 1, not '{shown(value)}'"
                )

    @property
    def sbatch(self) -> dict[str, str]:
        """The options of ``sbatch``, and ``pack``, which is ours."""
        from tsbench.learn.settings import parse_assignments

        found = {CPUS: str(self.threads)}
        for key, value in parse_assignments(self.slurm or [], "--slurm").items():
            name = key.replace("_", "-")
            if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
                raise UserError(f"--slurm '{key}' is not the name of an option of sbatch")
            if name in RESERVED:
                raise UserError(f"--slurm {key} is set by tsbench; leave it out")
            found[name] = value
        return found

    def make(self, store: Store, machine: Machine) -> Executor:
        """The executor."""
        from tsbench.executors.slurm.commands import check_installed
        from tsbench.executors.slurm.executor import SlurmExecutor

        check_installed()
        return SlurmExecutor(self, store, machine)

    def choose_device(self) -> str:
        """A GPU if the jobs ask for one, unless another device was asked for."""
        return cluster_device(self.device, asks_for_gpu(self.sbatch), "--slurm gres=gpu:1")

    @classmethod
    def pending(cls, store: Store) -> dict[str, State]:
        """Runs that wait in Slurm's queue or that one of its jobs is running, by hash."""
        from tsbench.executors.slurm.executor import pending

        return pending(store)


def asks_for_gpu(options: Mapping[str, str]) -> bool:
    """Whether options of ``sbatch`` ask for a GPU or a share of one.

    >>> asks_for_gpu({"gres": "gpu:1"}), asks_for_gpu({"gpus-per-node": "a100:2"})
    (True, True)
    >>> asks_for_gpu({"partition": "nogpu"}), asks_for_gpu({"gres": "disk:1,gpu:0"})
    (False, False)
    """
    for key, value in options.items():
        items = value.split(",")
        if key == "gres" or key.startswith("tres-per-"):
            items = [item for item in items if re.match(r"(gres[:/])?(gpu|mps|shard)\b", item)]
        elif not re.fullmatch(r"gpus(-per-\w+)?", key):
            continue
        if any(re.split("[:=]", item)[-1] != "0" for item in items):
            return True
    return False
