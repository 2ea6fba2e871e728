"""A matrix of runs: skip what is done, execute the rest, count how it ended."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tsbench.console import say
from tsbench.executors.base import Event, ExecutorOptions, make_executor
from tsbench.runs.estimate import Estimate
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store


@dataclass(frozen=True)
class Tally:
    """How a matrix of runs ended."""

    done: int
    failed: int
    skipped: int


Show = Callable[[Event, int], None]
"""Something happened; the number is how many runs are done at a time now."""
Observe = Callable[[list[RunSpec], Estimate, int], AbstractContextManager[Show]]
"""From the runs to do, what is known about their time, and the number of workers."""


def run_matrix(
    specs: list[RunSpec],
    store: Store,
    data: Path,
    options: ExecutorOptions,
    observe: Observe,
    *,
    force: bool = False,
    retry_failed: bool = False,
) -> Tally:
    """Execute all runs that are missing; every finished one is kept, whatever else happens."""
    store.check_writable()
    store.remove_leftovers()
    executor = make_executor(options, store, data, force)
    records, problems = store.records()
    for problem in problems:
        say(f"notice: {problem}; ignored")
    finished = {record["hash"] for record in records if record["status"] == "ok"}
    given_up = {r["hash"]: r["error"] for r in records if r["status"] != "ok" and not r.get("lost")}
    todo, failed_before = [], 0
    for spec in specs:
        name = spec.hash()
        if name in finished and not force:
            continue
        if name in given_up and not force and not retry_failed:
            say(f"{spec.title}: failed before ({given_up[name]}); --retry-failed repeats it")
            failed_before += 1
        else:
            todo.append(spec)
    skipped = len(specs) - len(todo) - failed_before
    if skipped:
        say(f"{skipped} of {len(specs)} runs are done already")
    done = failed = 0
    with terminable(), observe(todo, Estimate(records), executor.workers) as show:
        for event in executor.run(todo) if todo else ():
            show(event, executor.workers)
            done += event.kind in ("done", "elsewhere")
            failed += event.kind == "failed"
    return Tally(done, failed + failed_before, skipped)


@contextmanager
def terminable() -> Iterator[None]:
    """Inside, SIGTERM stops as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
