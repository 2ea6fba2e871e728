"""What a person sees while runs go on: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tsbench.bench.executor import Event
from tsbench.bench.spec import RunSpec
from tsbench.console import duration, say

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live


class Estimate:
    """Time left, learned from finished runs of the same kind."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self.seen: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for record in records:
            if record["status"] == "ok":
                spec = record["spec"]
                kind = (spec["protocol"], spec["dataset"], record["label"])
                self.add(kind, record["time"]["total"])

    def add(self, kind: tuple[str, str, str], seconds: float) -> None:
        """A run of this kind (protocol, data set, method) took so long."""
        for length in (3, 2, 1):
            self.seen[kind[:length]].append(seconds)

    def of(self, spec: RunSpec) -> float | None:
        """How long a run will probably take: like its own kind, or else its data set's."""
        kind = (spec.protocol, spec.dataset, spec.label)
        for length in (3, 2, 1):
            if times := self.seen[kind[:length]]:
                return sum(times) / len(times)
        return None

    def left(self, specs: list[RunSpec], workers: int) -> str:
        """For people; empty when nothing is known yet."""
        guesses = [self.of(spec) for spec in specs]
        if not specs or any(g is None for g in guesses):
            return ""
        return f"about {duration(sum(g for g in guesses if g is not None) / workers)} left"


class Display:
    """Shows events of an executor."""

    def __init__(self, specs: list[RunSpec], estimate: Estimate, workers: int) -> None:
        self.total = len(specs)
        self.open = {spec.hash(): spec for spec in specs}
        self.estimate = estimate
        self.workers = workers
        self.failed = 0
        self.rows: dict[str, dict[str, Any]] = {}
        self.started = time.monotonic()
        self.live: Live | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Display:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            self.live = self._stack.enter_context(
                Live(get_renderable=self._render, console=console, refresh_per_second=4)
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.rows.clear()
        self._stack.close()

    def show(self, event: Event) -> None:
        """Take note of an event and tell it."""
        key = event.spec.hash()
        if event.kind in ("started", "progress"):
            row = self.rows.setdefault(key, {"spec": event.spec, "since": time.monotonic()})
            row.update(event.details)
        else:
            self.rows.pop(key, None)
        if event.kind in ("done", "elsewhere", "failed"):
            self.open.pop(key, None)
            self.failed += event.kind == "failed"
            if event.kind != "failed":
                spec = event.spec
                kind = (spec.protocol, spec.dataset, spec.label)
                self.estimate.add(kind, event.details["total"])
            self._say(self._line(event))
            for line in event.details.get("tail", []):
                self._say(f"    {line}")
            if "log" in event.details:
                self._say(f"    log: {event.details['log']}")

    def _line(self, event: Event) -> str:
        count = f"[{self.total - len(self.open)}/{self.total}] {event.spec.title}: "
        if event.kind == "failed":
            return count + f"FAILED: {event.details['error']}"
        forgetting = event.details["F_T"]
        shown = "" if forgetting is None else f", F_T {forgetting:.2f}"
        text = f"A_T {event.details['A_T']:.2f}{shown}, {duration(event.details['seconds'])}"
        if event.kind == "elsewhere":
            text += " (done by another process)"
        left = self.estimate.left(list(self.open.values()), self.workers)
        return count + text + (f"; {left}" if left else "")

    def _say(self, line: str) -> None:
        if self.live is None:
            say(line)
        else:
            self.live.console.print(line, markup=False, highlight=False)

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        done = self.total - len(self.open)
        head = Table.grid(padding=(0, 1))
        elapsed = duration(time.monotonic() - self.started)
        left = self.estimate.left(list(self.open.values()), self.workers)
        failed = f", {self.failed} failed" if self.failed else ""
        head.add_row(
            ProgressBar(total=self.total, completed=done, width=40),
            f"{done}/{self.total} runs{failed}, {elapsed}{', ' + left if left else ''}",
        )
        table = Table.grid(padding=(0, 2))
        for row in list(self.rows.values()):
            spec = row["spec"]
            where = f"task {row['task'] + 1}, epoch {row['epoch']}" if "task" in row else "starting"
            loss = f"loss {row['loss']:.4f}" if "loss" in row else ""
            since = duration(time.monotonic() - row["since"])
            table.add_row(spec.label, spec.dataset, f"seed {spec.seed}", where, loss, since)
        return Group(head, table)
