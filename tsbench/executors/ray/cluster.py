"""A Ray cluster: joining or starting one, and how many runs it has room for."""

from __future__ import annotations

import math
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tsbench.console import say
from tsbench.errors import UserError
from tsbench.executors.base import cores
from tsbench.executors.ray import RayOptions
from tsbench.schema import shown, whole_number

RETRIES = 3
"""How often Ray repeats a run that was lost with its node."""
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # otherwise Ray warns about a future change
    "RAY_task_oom_retries": str(RETRIES),  # unlimited otherwise
}
JOINING = {"RAY_NUM_REDIS_GET_RETRIES": "1"}  # 40 seconds instead of 14 minutes
ANSWER_TIMEOUT = 5.0


def import_ray(options: RayOptions) -> Any:
    """Ray, configured, or an error that says how to install it."""
    for name, value in (SETTINGS | (JOINING if options.address else {})).items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise UserError(
            f"--executor ray needs Ray ({error}); install it: pip install 'tsbench[ray]'"
        ) from error
    return ray


@contextmanager
def joined(ray: Any, options: RayOptions) -> Iterator[None]:
    """Be part of the cluster at the address, or of a new one on this machine."""
    address = options.address or os.environ.get("RAY_ADDRESS") or "local"
    new: dict[str, Any] = {}
    if address == "local":
        wanted = math.ceil((options.jobs or 1) * options.cpus)
        new = {"num_cpus": max(cores(), wanted), "include_dashboard": False}
        say("Ray: starting a cluster on this machine")
    elif address != "auto":
        _check_address(address)
    on_term, folder = signal.getsignal(signal.SIGTERM), Path.cwd()
    os.chdir(sys.prefix)  # Ray puts the working directory first on the import path of its workers
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **new)
    except Exception as error:
        action = "start a Ray cluster" if new else f"join the Ray cluster at {address}"
        raise UserError(f"cannot {action}: {one_line(error)}") from error
    finally:
        os.chdir(folder)
        signal.signal(signal.SIGTERM, on_term)  # Ray sets its own
    try:
        yield
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Refuse an address where nobody listens: Ray would keep trying."""
    host, _, last = address.removeprefix("ray://").rpartition(":")
    port = whole_number(last)
    if not host or port is None:
        raise UserError(f"--address '{shown(address)}' is not host:port")
    try:
        socket.create_connection((host.strip("[]"), port), timeout=ANSWER_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"no Ray cluster answers at {address} ({error}); start one there with: ray start --head"
        ) from error


def room(ray: Any, options: RayOptions) -> list[int]:
    """How many runs each node has room for; nodes without room are left out."""
    rooms = []
    for node in ray.nodes():
        has = node["Resources"] if node["Alive"] else {}
        runs = has.get("CPU", 0) / options.cpus
        if options.gpus >= 1:
            runs = min(runs, has.get("GPU", 0) / options.gpus)
        elif options.gpus > 0:  # a run's share is of one GPU
            runs = min(runs, has.get("GPU", 0) * math.floor(1 / options.gpus + 1e-9))
        rooms.append(math.floor(runs + 1e-9))
    return [runs for runs in rooms if runs]


def one_line(error: Exception) -> str:
    """The end of a message of Ray, which may be long."""
    return " ".join(str(error).split())[-300:]
