"""``tsbench run``: plan what is missing, do it, tell how it went."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from types import FrameType
from typing import Any

from tsbench.bench.display import Display, Estimate
from tsbench.bench.executor import Executor
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.console import say


@dataclass(frozen=True)
class Tally:
    """How a matrix of runs ended."""

    done: int
    failed: int
    skipped: int


def drive(
    specs: list[RunSpec],
    store: Store,
    executor: Executor,
    force: bool = False,
    retry_failed: bool = False,
) -> Tally:
    """Do all runs that are missing; every finished one is kept, whatever happens to the others."""
    store.check_writable()
    records, problems = store.records()
    for problem in problems:
        say(f"notice: {problem}; left alone")
    missing = specs if force else [spec for spec in specs if store.done(spec) is None]
    earlier = [] if force or retry_failed else [s for s in missing if _gave_up(store, s)]
    todo = [spec for spec in missing if spec not in earlier]
    skipped = len(specs) - len(missing)
    if skipped:
        say(f"{skipped} of {len(specs)} runs are done already")
    for spec in earlier:
        error = (store.failed(spec) or {}).get("error", "")
        say(f"{spec.title}: failed before ({error}); --retry-failed tries it again")
    done = failed = 0
    with terminable(), Display(todo, Estimate(records), executor.workers) as display:
        for event in executor.run(todo):
            display.workers = executor.workers  # a cluster may grow
            display.show(event)
            done += event.kind in ("done", "elsewhere")
            failed += event.kind == "failed"
    return Tally(done, failed + len(earlier), skipped)


def _gave_up(store: Store, spec: RunSpec) -> bool:
    """Whether a run failed by itself; one that was ended from outside is tried again."""
    record = store.failed(spec)
    return record is not None and not record.get("lost")


class terminable:  # noqa: N801
    """Inside, SIGTERM stops as Ctrl-C does."""

    def __enter__(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        self.before: Any = signal.signal(signal.SIGTERM, stop)

    def __exit__(self, *error: object) -> None:
        signal.signal(signal.SIGTERM, self.before)
