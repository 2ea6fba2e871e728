"""What a person sees during runs: a live display in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tsbench.console import duration, say
from tsbench.executors.base import Event
from tsbench.runs.estimate import Estimate
from tsbench.runs.spec import RunSpec

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live


LINE_INTERVAL = 60.0
"""Seconds between two progress lines in a log."""
SHOWN = 4
"""How many runs a progress line names."""


class Display:
    """Shows events of an executor."""

    def __init__(self, specs: list[RunSpec], estimate: Estimate, workers: int) -> None:
        self.total = len(specs)
        self.open = {spec.hash(): spec for spec in specs}
        self.estimate = estimate
        self.workers = workers
        self.failed = 0
        self.rows: dict[str, dict[str, Any]] = {}
        self.started = self._last_line = time.monotonic()
        self.live: Live | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Callable[[Event, int], None]:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True)
            self.live = self._stack.enter_context(
                Live(get_renderable=self._render, console=console, refresh_per_second=4)
            )
        return self.show

    def __exit__(self, *error: object) -> None:
        self.rows.clear()
        self._stack.close()

    def show(self, event: Event, workers: int) -> None:
        """Take note of an event and print it."""
        self.workers = workers  # a cluster may grow
        key = event.spec.hash()
        if event.kind in ("started", "progress"):
            row = self.rows.setdefault(key, {"spec": event.spec, "since": time.monotonic()})
            row.update(event.details)
            self._say_where()
        else:
            self.rows.pop(key, None)
        if event.kind in ("done", "elsewhere", "failed"):
            self.open.pop(key, None)
            self.failed += event.kind == "failed"
            if event.kind != "failed":
                self.estimate.add(event.spec.kind, event.details["total"])
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
        return count + text + self._left("; ")

    def _say_where(self) -> None:
        """Now and then a line about the runs under way, so that a log shows that they advance."""
        now = time.monotonic()
        if self.live is not None or now - self._last_line < LINE_INTERVAL:
            return
        self._last_line = now
        rows = list(self.rows.values())
        runs = [f"{row['spec'].title} ({_where(row)})" for row in rows[:SHOWN]]
        if len(rows) > SHOWN:
            runs.append(f"{len(rows) - SHOWN} more")
        say(f"[{self.total - len(self.open)}/{self.total}] running: {', '.join(runs)}")

    def _left(self, before: str) -> str:
        left = self.estimate.left(self.open.values(), self.workers) if self.open else None
        return "" if left is None else f"{before}about {duration(left)} left (estimate)"

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
        failed = f", {self.failed} failed" if self.failed else ""
        head.add_row(
            ProgressBar(total=self.total, completed=done, width=40),
            f"{done}/{self.total} runs{failed}, {elapsed}{self._left(', ')}",
        )
        table = Table.grid(padding=(0, 2))
        for row in list(self.rows.values()):
            spec = row["spec"]
            loss = f"loss {row['loss']:.4f}" if "loss" in row else ""
            since = duration(time.monotonic() - row["since"])
            table.add_row(spec.label, spec.dataset, f"seed {spec.seed}", _where(row), loss, since)
        return Group(head, table)


def _where(row: dict[str, Any]) -> str:
    return f"task {row['task'] + 1}, epoch {row['epoch']}" if "task" in row else "starting"
