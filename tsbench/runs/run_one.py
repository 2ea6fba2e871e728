"""The one place where a run is executed and stored.

Lock, skip if done, execute, validate, save: the commands, the Python API and all executors call
``run_one``, so nothing is run twice and a failure is recorded in the same way everywhere.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tsbench.console import say
from tsbench.disk import locked, try_locked
from tsbench.errors import UserError, describe
from tsbench.registry import line_in
from tsbench.runs.machine import Machine, environment
from tsbench.runs.record import Record
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

if TYPE_CHECKING:
    from tsbench.learn.method import Progress


@dataclass(frozen=True)
class Outcome:
    """What came of a run. A run that failed has its failure stored already."""

    kind: Literal["done", "elsewhere", "failed", "waiting"]
    """``elsewhere``: it was done already; ``waiting``: another process is running it."""
    record: Record | None = None
    error: BaseException | None = None

    def details(self) -> dict[str, Any]:
        """What an executor reports about it."""
        if self.kind == "waiting" or self.record is None:
            return {}
        return {"error": self.record["error"]} if self.kind == "failed" else summary(self.record)


def run_one(
    spec: RunSpec,
    machine: Machine,
    store: Store,
    progress: Progress,
    *,
    began: Callable[[], None] | None = None,
    wait: Callable[[], None] | None = None,
) -> Outcome:
    """Run a spec unless it is done, and store what came of it.

    ``wait`` is that of ``claim``; ``began`` is called when the run has its lock.
    """
    from tsbench.runs.execute import execute  # imports torch, which planning need not wait for

    with claim(spec, store, machine.force, wait) as settled:
        if settled is not None:
            return settled
        if began is not None:
            began()
        try:
            record = execute(spec, machine, progress)
        except KeyboardInterrupt:
            raise  # the user stops it
        except BaseException as error:
            return store_error(spec, machine, store, error)
        return store_record(spec, machine, store, record)


@contextmanager
def claim(
    spec: RunSpec, store: Store, force: bool, wait: Callable[[], None] | None = None
) -> Iterator[Outcome | None]:
    """Hold the lock of a run; yields its outcome if there is nothing to run.

    ``force`` runs it although it is done. If another process has the lock the outcome is
    ``waiting``; with ``wait``, that is called once and the lock waited for.
    """
    with ExitStack() as stack:
        if wait is not None:
            stack.enter_context(locked(store.lock_path(spec), wait))
        elif not stack.enter_context(try_locked(store.lock_path(spec))):
            yield Outcome("waiting")
            return
        done = None if force else store.done(spec)
        yield None if done is None else Outcome("elsewhere", done)


def store_record(spec: RunSpec, machine: Machine, store: Store, record: Record) -> Outcome:
    """Check and store what came of a run; a result that cannot be stored is a failure."""
    finished = record["status"] == "ok"
    try:
        return Outcome("done" if finished else "failed", store.save(spec, record))
    except (OSError, TypeError, ValueError, UserError) as error:
        if finished:
            return store_error(spec, machine, store, error)
        say(f"warning: the failure of {spec.title} could not be stored: {error}")
        return Outcome("failed", record)


def store_error(spec: RunSpec, machine: Machine, store: Store, error: BaseException) -> Outcome:
    """Store that a run ended with an error."""
    reason = describe(error)
    if spec.code:
        reason += line_in(Path(spec.method.rpartition(":")[0]), error)
    details = "".join(traceback.format_exception(error, limit=50))
    return replace(store_failure(spec, machine, store, reason, details), error=error)


def store_failure(
    spec: RunSpec,
    machine: Machine,
    store: Store,
    reason: str,
    details: str = "",
    lost: bool = False,
) -> Outcome:
    """Store that a run failed; ``lost``: it was ended from outside, and may be repeated."""
    from tsbench.runs.execute import heading

    about = {"error": reason, "details": details, "lost": lost}
    record = {**heading(spec, "failed"), **about, "environment": environment(machine)}
    return store_record(spec, machine, store, record)


def summary(record: Record) -> dict[str, Any]:
    """What the end of a run reports from its record."""
    return {
        "A_T": record["result"]["A_T"],
        "F_T": record["result"]["F_T"],
        "seconds": sum(record["time"]["learn"]) + sum(record["time"]["evaluate"]),
        "total": record["time"]["total"],
    }
