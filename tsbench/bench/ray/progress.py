"""Word of how runs are going, from the nodes to the driver, now and then."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from tsbench.bench.executor import Event
from tsbench.bench.spec import RunSpec

INTERVAL = 2.0
"""Seconds between words on a run, and between the driver's looks at them."""


class Board:
    """Where runs leave word of their progress: an actor that the driver asks now and then."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self.actor = ray.remote(num_cpus=0, max_restarts=-1)(_Latest).remote()
        self.asked: Any = None
        self.last = time.monotonic()

    def news(self, running: Iterable[RunSpec]) -> Iterator[Event]:
        """What is new of these runs."""
        now = time.monotonic()
        if self.asked is None and now - self.last > INTERVAL:
            self.last = now
            self.asked = self.actor.take.remote()
        if self.asked is None or not self.ray.wait([self.asked], timeout=0)[0]:
            return
        answer, self.asked = self.asked, None
        try:
            latest = self.ray.get(answer)
        except self.ray.exceptions.RayError:
            return  # progress is not worth stopping for
        for spec in running:
            details = latest.get(spec.hash())
            if details is not None:
                yield Event("progress" if details else "started", spec, details)


class _Latest:
    """The last word of each run; lives in a process of its own."""

    def __init__(self) -> None:
        self.words: dict[str, dict[str, Any]] = {}

    def tell(self, key: str, details: dict[str, Any]) -> None:
        self.words[key] = details

    def take(self) -> dict[str, dict[str, Any]]:
        words, self.words = self.words, {}
        return words


class Teller:
    """A node's side: passes on that a run has started, and then not every word of it."""

    def __init__(self, board: Any, spec: RunSpec) -> None:
        self.board = board
        self.key = spec.hash()
        self.last = 0.0

    def __call__(self, event: Event) -> None:
        """Pass on what happened, if it is time."""
        now = time.monotonic()
        if event.kind == "started" or (event.kind == "progress" and now - self.last > INTERVAL):
            self.last = now
            self.board.tell.remote(self.key, event.details)
