"""Runs on a Ray cluster, one that is running or one started here; no shared disk is needed.

Each run is a Ray task: Ray chooses the node, and repeats a run that was lost with its node. The
driver holds the lock of each run that it has handed out, and stores the record that comes back. It
hands out only as many runs as keep the cluster busy.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from tsbench.console import say
from tsbench.errors import UserError
from tsbench.executors.base import Event, event_of
from tsbench.executors.local import RETRY_LOCK
from tsbench.executors.ray import RayOptions
from tsbench.executors.ray.cluster import RETRIES, import_ray, joined, one_line, room
from tsbench.executors.ray.node import DataFiles, Order, execute_order, read_data
from tsbench.runs.machine import Machine, code_digest
from tsbench.runs.record import Record
from tsbench.runs.run_one import Outcome, claim, store_failure, store_record
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

POLL = 0.5
INTERVAL = 2.0
"""Seconds between reports of a run's progress, and between looks at them and at the cluster."""


class RayExecutor:
    """Executes runs on a Ray cluster."""

    def __init__(self, options: RayOptions, store: Store, machine: Machine) -> None:
        self.ray = import_ray(options)
        self.options = options
        self.store = store
        self.machine = replace(machine, data=machine.data.resolve(), digest=code_digest())
        self.room = machine.workers
        self.waiting: deque[tuple[float, RunSpec]] = deque()
        """Runs to hand out, each not before a time."""
        self.running: dict[Any, tuple[RunSpec, ExitStack]] = {}
        """Runs that Ray has, by Ray's reference, each with the lock that is held for it."""

    @property
    def workers(self) -> int:
        """Runs at a time."""
        return min(self.room, self.options.jobs or self.room)

    def run(self, specs: list[RunSpec]) -> Iterator[Event]:
        """Execute all runs; ends when each of them is done or has failed."""
        with joined(self.ray, self.options):
            nodes = room(self.ray, self.options)
            if not nodes:
                gpus = f" and {self.options.gpus:g} GPU(s)" if self.options.gpus else ""
                raise UserError(
                    f"no node of the Ray cluster has {self.options.cpus:g} CPU(s){gpus} for a run; "
                    "see --cpus-per-run, --gpus-per-run"
                )
            self.room = sum(nodes)
            self.machine = replace(self.machine, workers=self.workers)
            say(f"Ray: {len(nodes)} node(s), room for {self.workers} run(s) at a time")
            self.waiting.extend((0.0, spec) for spec in specs)
            helper = self._start_helper()
            submit = self._submitter(specs, helper)
            looked = 0.0
            try:
                while self.waiting or self.running:
                    yield from self._hand_out(submit)
                    yield from self._collect()
                    if time.monotonic() - looked > INTERVAL:
                        looked = time.monotonic()
                        yield from self._progress(helper)
                        self.room = max(1, sum(room(self.ray, self.options)))
            finally:  # Ray ends what is still running when the driver leaves
                for _, lock in self.running.values():
                    lock.close()

    def _start_helper(self) -> Any:
        """The actor on this node that nodes ask for data and report progress to."""
        here = self.ray.get_runtime_context().get_node_id()
        pinned = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        actor = self.ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=RETRIES)(Helper)
        return actor.options(scheduling_strategy=pinned(here, soft=False)).remote(self.machine.data)

    def _submitter(self, specs: list[RunSpec], helper: Any) -> Callable[[RunSpec], Any]:
        """The function that hands a run to Ray."""
        files = {spec.method for spec in specs if spec.code}
        sources = {file: Path(file.rpartition(":")[0]).read_bytes() for file in files}
        task = self.ray.remote(
            num_cpus=self.options.cpus,
            num_gpus=self.options.gpus,
            max_retries=RETRIES,
            retry_exceptions=False,
        )(_execute_and_report)

        def submit(spec: RunSpec) -> Any:
            return task.remote(Order(spec, self.machine, sources.get(spec.method, b"")), helper)

        return submit

    def _hand_out(self, submit: Callable[[RunSpec], Any]) -> Iterator[Event]:
        """Hand runs to Ray until it has enough to be busy."""
        limit = self.options.jobs or self.room + max(2, self.room // 8)
        while self.waiting and len(self.running) < limit and self.waiting[0][0] <= time.monotonic():
            _, spec = self.waiting.popleft()
            lock = ExitStack()
            settled = lock.enter_context(claim(spec, self.store, self.machine.force))
            if settled is None:
                self.running[submit(spec)] = spec, lock
                continue
            lock.close()
            if settled.kind == "waiting":
                self.waiting.append((time.monotonic() + RETRY_LOCK, spec))
            yield event_of(spec, settled)

    def _collect(self) -> Iterator[Event]:
        """Store the records of runs that have ended; waits a little for the first of them."""
        if not self.running:
            time.sleep(POLL / 10)
            return
        refs = list(self.running)
        self.ray.wait(refs, timeout=POLL)
        for ref in self.ray.wait(refs, num_returns=len(refs), timeout=0)[0]:
            spec, lock = self.running.pop(ref)
            with lock:
                outcome = self._store(ref, spec)
            yield event_of(spec, outcome)

    def _store(self, ref: Any, spec: RunSpec) -> Outcome:
        """Store what came of a run."""
        try:
            record = self.ray.get(ref)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, UserError):  # the node refuses it
                raise UserError(str(error.cause)) from error
            raise UserError(f"a node could not execute {spec.title}: {one_line(error)}") from error
        except self.ray.exceptions.RayError as error:
            reason = f"lost with its node or process {RETRIES + 1} times: {type(error).__name__}"
            return store_failure(spec, self.machine, self.store, reason, str(error), lost=True)
        return store_record(spec, self.machine, self.store, record)

    def _progress(self, helper: Any) -> Iterator[Event]:
        """What the helper knows of the runs that Ray has."""
        try:
            latest = self.ray.get(helper.take.remote(), timeout=POLL)
        except self.ray.exceptions.RayError:
            return  # progress is not worth stopping for
        for spec, _ in self.running.values():
            details = latest.get(spec.hash())
            if details is not None:
                yield Event("progress" if details else "started", spec, details)


class Helper:
    """On the driver's node: has the latest progress of each run, and the data for other nodes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.latest: dict[str, dict[str, Any]] = {}
        self.stored: dict[str, Any] = {}

    def report(self, key: str, details: dict[str, Any]) -> None:
        """A run has started or progressed."""
        self.latest[key] = details

    def take(self) -> dict[str, dict[str, Any]]:
        """What was reported since the last call."""
        taken, self.latest = self.latest, {}
        return taken

    def data(self, name: str) -> Any:
        """A reference to the files of a data set, which are put into Ray's object store once."""
        import ray

        if name not in self.stored:
            self.stored[name] = ray.put(read_data(name, self.root))
        return self.stored[name]


def _execute_and_report(order: Order, helper: Any) -> Record:
    """A Ray task: a run on whatever node this is."""
    import ray

    key, last = order.spec.hash(), 0.0

    def report(event: Event) -> None:
        nonlocal last
        now = time.monotonic()
        if event.kind == "started" or (event.kind == "progress" and now - last > INTERVAL):
            last = now
            helper.report.remote(key, event.details)

    def fetch() -> DataFiles:
        files: DataFiles = ray.get(ray.get(helper.data.remote(order.spec.dataset)))
        return files

    return execute_order(order, fetch, report)
