"""Runs on a Ray cluster, one that is running or one started here; no shared disk is needed.

A run is a Ray task of its own: Ray chooses the node and repeats a run that was lost with its node.
Data travel through Ray's object store to nodes that lack them, records come back and are stored
here, by the driver, which holds the lock of each run that it has handed out. Only as many tasks as
keep the cluster busy are in Ray's hands at a time.
"""

from __future__ import annotations

import json
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsbench import __version__
from tsbench.bench.executor import Event, Where, summary
from tsbench.bench.machine import Machine, code_digest
from tsbench.bench.ray.cluster import RETRIES, Nodes, import_ray, joined
from tsbench.bench.ray.node import Lacking, Order, do, pack
from tsbench.bench.ray.progress import Board, Teller
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.console import say
from tsbench.disk import try_locked
from tsbench.errors import UserError

POLL = 0.5
BUSY_WAIT = 1.0
LOOK = 2.0
"""Seconds between looks at the size of the cluster."""


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
        self.ray = import_ray()
        self.store = store
        self.machine = replace(machine, data=machine.data.resolve())
        self.where = where
        self.timeout = timeout
        self.again = again
        """Do runs that are done already."""
        self.cpus = where.cpus or float(machine.threads)
        self.nodes = Nodes(self.ray, self.cpus, where.gpus)
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
        with joined(self.ray, self.where, self.cpus):
            nodes = self.nodes.look()
            self.room = self.nodes.room()
            self.machine = replace(self.machine, workers=self.workers)
            say(f"Ray: {nodes} node(s), room for {self.workers} run(s) at a time")
            yield from self._run(deque((0.0, spec) for spec in specs))

    def _run(self, waiting: deque[tuple[float, RunSpec]]) -> Iterator[Event]:
        flying: dict[Any, _Flight] = {}
        board = Board(self.ray)
        submit = self._submitter(waiting, board)
        looked = time.monotonic()
        try:
            while waiting or flying:
                yield from self._launch(waiting, flying, submit)
                for ref in self._landed(list(flying)):
                    yield from self._land(ref, flying, submit)
                yield from board.news(flight.spec for flight in flying.values())
                if time.monotonic() - looked > LOOK:
                    looked = time.monotonic()
                    self.room = max(1, self.nodes.room())
        finally:  # Ray ends what is still running when the driver leaves
            for flight in flying.values():
                flight.lock.close()

    def _submitter(
        self, waiting: deque[tuple[float, RunSpec]], board: Board
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
            return task.remote(order, box, board.actor)  # Ray would never forget a name of its own

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


def _do_and_tell(order: Order, box: list[Any], board: Any) -> tuple[str, Any]:
    """A Ray task: a run on whatever node this is; small answers go straight to the driver."""
    import ray

    try:
        record = do(order, lambda: ray.get(box[0]) if box else None, Teller(board, order.spec))
    except Lacking:
        return "lacking", None
    except UserError as error:
        return "refused", str(error)
    return "record", zlib.compress(json.dumps(record).encode())


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
