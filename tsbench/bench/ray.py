"""Runs on a Ray cluster, one that is running or one started here; no shared disk is needed.

A run is a Ray task of its own: Ray chooses the node and repeats a run that was lost with its node.
Data travel through Ray's object store to nodes that lack them, records come back and are stored
here, by the driver, which holds the lock of each run that it has handed out. Only as many tasks as
keep the cluster busy are in Ray's hands at a time.
"""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsbench import __version__
from tsbench.bench.executor import Event, Where, summary
from tsbench.bench.machine import Machine, code_digest
from tsbench.bench.node import Lacking, Order, do, pack
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.console import say
from tsbench.disk import try_locked
from tsbench.errors import UserError

RETRIES = 3
"""How often Ray repeats a run that was lost with its node."""
POLL = 0.5
BUSY_WAIT = 1.0
NEWS_INTERVAL = 2.0
"""Seconds between words on the progress of a run, and between looks at the cluster."""
PATIENCE = 5.0
"""Seconds for an address to answer, and for cancelled runs to end by themselves."""
PROBE_PATIENCE = 120.0
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or Ray warns that it will be so one day
    "RAY_task_oom_retries": str(RETRIES),  # without an end otherwise
}


@dataclass
class _Flight:
    """A run in Ray's hands, and the lock that is held for it."""

    spec: RunSpec
    lock: ExitStack


class RayExecutor:
    """Does runs on a Ray cluster and tells what happens as events."""

    def __init__(
        self,
        store: Store,
        machine: Machine,
        where: Where,
        timeout: float | None = None,
        again: bool = False,
    ) -> None:
        self.ray = _import_ray()
        self.store = store
        self.machine = replace(machine, data=machine.data.resolve())
        self.where = where
        self.timeout = timeout
        self.again = again
        """Do runs that are done already."""
        self.cpus = where.cpus or float(machine.threads)
        self.room = machine.workers
        self.parcels: dict[str, Any] = {}
        """Data sets in the object store, by name: those that some node lacked."""

    @property
    def workers(self) -> int:
        """Runs at a time."""
        return min(self.room, self.where.jobs or self.room)

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Do all runs; ends when each of them is done or has failed."""
        if not specs:
            return
        with _cluster(self.ray, self.where, self.cpus):
            self._look_at_nodes()
            yield from self._run(deque((0.0, spec) for spec in specs))

    def _run(self, waiting: deque[tuple[float, RunSpec]]) -> Iterator[Event]:
        flying: dict[Any, _Flight] = {}
        board = _Board(self.ray)
        submit = self._submitter(waiting, board)
        looked = time.monotonic()
        try:
            while waiting or flying:
                yield from self._launch(waiting, flying, submit)
                for ref in self._landed(list(flying)):
                    yield from self._land(ref, flying, submit)
                yield from board.news(
                    {flight.spec.hash(): flight.spec for flight in flying.values()}
                )
                if time.monotonic() - looked > NEWS_INTERVAL:
                    looked = time.monotonic()
                    self._measure()
        finally:
            self._cancel(flying)

    def _submitter(
        self, waiting: deque[tuple[float, RunSpec]], board: _Board
    ) -> Callable[[RunSpec], Any]:
        """How a run is handed to Ray."""
        files = {spec.method for _, spec in waiting if spec.code}
        sources = {file: Path(file.rpartition(":")[0]).read_bytes() for file in files}
        digest = code_digest()
        task = self.ray.remote(
            num_cpus=self.cpus,
            num_gpus=self.where.gpus,
            max_retries=RETRIES,
            retry_exceptions=False,
        )(_do_and_tell)

        def submit(spec: RunSpec) -> Any:
            source = sources.get(spec.method, b"")
            order = Order(spec, self.machine, self.timeout, source, __version__, digest)
            parcel = self.parcels.get(spec.dataset)
            box = [] if parcel is None else [parcel]  # what is in a list, Ray fetches on demand
            return task.options(name=spec.title).remote(order, box, board.actor)

        return submit

    def _launch(
        self,
        waiting: deque[tuple[float, RunSpec]],
        flying: dict[Any, _Flight],
        submit: Callable[[RunSpec], Any],
    ) -> Iterator[Event]:
        """Hand runs to Ray until it has enough to be busy."""
        limit = self.where.jobs or self.room + max(2, self.room // 8)
        while waiting and len(flying) < limit and waiting[0][0] <= time.monotonic():
            _, spec = waiting.popleft()
            lock = ExitStack()
            if not lock.enter_context(try_locked(self.store.lock_path(spec))):
                lock.close()
                waiting.append((time.monotonic() + BUSY_WAIT, spec))
                yield Event("waiting", spec)
                continue
            record = None if self.again else self.store.done(spec)
            if record is not None:
                lock.close()
                yield Event("elsewhere", spec, summary(record))
                continue
            flying[submit(spec)] = _Flight(spec, lock)

    def _landed(self, refs: list[Any]) -> list[Any]:
        """Runs that have ended; waits a little for the first of them."""
        if not refs:
            time.sleep(POLL / 10)
            return []
        ready, rest = self.ray.wait(refs, timeout=POLL)
        if ready and rest:
            ready += self.ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        return ready

    def _land(
        self, ref: Any, flying: dict[Any, _Flight], submit: Callable[[RunSpec], Any]
    ) -> Iterator[Event]:
        """Store what came of a run."""
        spec = flying[ref].spec
        answer = self._answer(ref, spec)
        flight = flying.pop(ref)
        if answer is None:
            if spec.dataset not in self.parcels:
                self.parcels[spec.dataset] = self.ray.put(pack(spec.dataset, self.machine.data))
            flying[submit(spec)] = flight
            return
        with flight.lock:
            try:
                self.store.save(spec, answer)
            except OSError as problem:
                say(f"warning: the record of {spec.title} could not be stored: {problem}")
                answer = {"status": "failed", "error": f"its record could not be stored: {problem}"}
        if answer["status"] == "ok":
            yield Event("done", spec, summary(answer))
        else:
            yield Event("failed", spec, {"error": answer["error"]})

    def _answer(self, ref: Any, spec: RunSpec) -> dict[str, Any] | None:
        """The record of a run that has ended; None if the node lacked the data."""
        from tsbench.bench.run import failure

        faults = self.ray.exceptions
        try:
            kind, content = self.ray.get(ref)
        except faults.RayTaskError as error:
            raise UserError(f"a node could not do {spec.title}: {_last_line(error)}") from error
        except faults.RayError as error:
            tries = f"{RETRIES + 1} times" if RETRIES else "once"
            reason = f"lost with its node or process {tries}: {type(error).__name__}"
            return failure(spec, self.machine, reason, str(error), lost=True)
        if kind == "refused":
            raise UserError(content)
        return None if kind == "lacking" else json.loads(zlib.decompress(content))

    def _cancel(self, flying: dict[Any, _Flight]) -> None:
        """Stop what is still running, kindly at first."""
        for force in (False, True):
            for ref in flying:
                with suppress(self.ray.exceptions.RayError, ValueError):
                    self.ray.cancel(ref, force=force)
            if flying:
                with suppress(self.ray.exceptions.RayError):
                    left = self.ray.wait(list(flying), num_returns=len(flying), timeout=PATIENCE)[1]
                    flying = {ref: flying[ref] for ref in left}

    def _measure(self) -> None:
        """How many runs the cluster has room for now."""
        nodes = self.ray.nodes()
        self.room = max(1, sum(self._room(node) for node in nodes if node["Alive"]))

    def _room(self, node: dict[str, Any]) -> int:
        """How many runs a node has room for."""
        has = node["Resources"]
        rooms = [has.get("CPU", 0) / self.cpus]
        if self.where.gpus >= 1:
            rooms.append(has.get("GPU", 0) / self.where.gpus)
        elif self.where.gpus > 0:  # a run's share is of one GPU
            rooms.append(has.get("GPU", 0) * math.floor(1 / self.where.gpus + 1e-9))
        return math.floor(min(rooms) + 1e-9)

    def _look_at_nodes(self) -> None:
        """Refuse a cluster without room for a run, or with a node that would do it otherwise."""
        nodes = [node for node in self.ray.nodes() if node["Alive"] and self._room(node)]
        if not nodes:
            gpus = f" and {self.where.gpus:g} GPU(s)" if self.where.gpus else ""
            raise UserError(
                f"no node of the Ray cluster has {self.cpus:g} CPU(s){gpus} for a run; "
                "see --cpus-per-run, --gpus-per-run"
            )
        self._measure()
        self.machine = replace(self.machine, workers=self.workers)
        pinned = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        probe = self.ray.remote(num_cpus=0, max_retries=0)(_make_probe())
        refs = [
            probe.options(scheduling_strategy=pinned(node["NodeID"], soft=False)).remote()
            for node in nodes
        ]
        try:
            found = self.ray.get(refs, timeout=PROBE_PATIENCE)
        except self.ray.exceptions.RayError as error:
            raise UserError(f"a node of the Ray cluster does not answer: {error}") from error
        for each in found:
            _expect_alike(each)
        say(f"Ray: {len(nodes)} node(s), room for {self.workers} run(s) at a time")


class _Board:
    """Where runs leave word of their progress: an actor that the driver asks now and then."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.actor = ray.remote(num_cpus=0, max_restarts=-1)(_Latest).remote()
        self.asked: Any = None
        self.last = time.monotonic()

    def news(self, running: dict[str, RunSpec]) -> Iterator[Event]:
        """What is new of these runs, by hash."""
        now = time.monotonic()
        if self.asked is None and now - self.last > NEWS_INTERVAL:
            self.last = now
            self.asked = self.actor.take.remote()
        if self.asked is None or not self.ray.wait([self.asked], timeout=0)[0]:
            return
        answer, self.asked = self.asked, None
        try:
            latest = self.ray.get(answer)
        except self.ray.exceptions.RayError:
            return  # progress is not worth stopping for
        for key, details in latest.items():
            if key in running:
                yield Event("progress" if details else "started", running[key], details)


class _Latest:
    """The last word of each run; lives in a process of its own."""

    def __init__(self) -> None:
        self.words: dict[str, dict[str, Any]] = {}

    def tell(self, key: str, details: dict[str, Any]) -> None:
        self.words[key] = details

    def take(self) -> dict[str, dict[str, Any]]:
        words, self.words = self.words, {}
        return words


def _do_and_tell(order: Order, box: list[Any], board: Any) -> tuple[str, Any]:
    """A Ray task: a run on whatever node this is; small answers go straight to the driver."""
    import ray

    key = order.spec.hash()
    last = 0.0

    def tell(event: Event) -> None:
        nonlocal last
        now = time.monotonic()
        if event.kind == "started" or (event.kind == "progress" and now - last > NEWS_INTERVAL):
            last = now
            board.tell.remote(key, event.details)

    try:
        record = do(order, lambda: ray.get(box[0]) if box else None, tell)
    except Lacking:
        return "lacking", None
    except UserError as error:
        return "refused", str(error)
    return "record", zlib.compress(json.dumps(record).encode())


def _make_probe() -> Callable[[], dict[str, str]]:
    """A function that travels by value: the node it looks at may have another tsbench, or none."""

    def look() -> dict[str, str]:
        import importlib.util
        import socket

        found = {"host": socket.gethostname(), "tsbench": "", "digest": "", "torch": ""}
        if importlib.util.find_spec("torch") is not None:
            found["torch"] = "there"
        try:
            import tsbench

            found["tsbench"] = tsbench.__version__
            from tsbench.bench.machine import code_digest

            found["digest"] = code_digest()
        except (ImportError, AttributeError):
            pass
        return found

    return look


def _expect_alike(node: dict[str, str]) -> None:
    here = f"{__version__} is here"
    if not node["tsbench"]:
        problem = "has no tsbench"
    elif node["tsbench"] != __version__:
        problem = f"has tsbench {node['tsbench']}, {here}"
    elif node["digest"] != code_digest():
        problem = f"has tsbench {node['tsbench']} with other code than here"
    elif not node["torch"]:
        problem = "has no torch"
    else:
        return
    raise UserError(f"node {node['host']} {problem}; install the same on all nodes")


def _import_ray() -> Any:
    for name, value in SETTINGS.items():
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
def _cluster(ray: Any, where: Where, cpus: float) -> Iterator[None]:
    """Be part of the cluster at the address, or else of a new one on this machine."""
    address = where.address or os.environ.get("RAY_ADDRESS") or "local"
    new: dict[str, Any] = {}
    if address == "local":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        asked = math.ceil((where.jobs or 1) * cpus)
        new = {"num_cpus": max(cores or 1, asked), "include_dashboard": False}
        say("Ray: starting a cluster on this machine")
    else:
        _expect_answer(address)
    _allow_many_files()
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **new)
    except Exception as error:
        raise UserError(f"cannot join the Ray cluster at {address}: {_last_line(error)}") from error
    finally:
        signal.signal(signal.SIGTERM, before)  # Ray sets its own
    try:
        yield
    finally:
        ray.shutdown()


def _expect_answer(address: str) -> None:
    """Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise UserError(f"--address '{address}' is not host:port")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"no Ray cluster answers at {address} ({error}); start one there with: ray start --head"
        ) from error


def _allow_many_files() -> None:
    """The driver holds a lock and a connection or two for each run that goes on."""
    try:
        import resource
    except ImportError:
        return  # not on Windows, and not needed there
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
