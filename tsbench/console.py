"""What a person sees during long work: lines and progress on stderr, never on stdout."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from rich.progress import Progress

PLAIN_INTERVAL = 5.0
"""Seconds between progress lines where there is no terminal."""
Function = TypeVar("Function", bound=Callable[..., Any])
_shown = True


@contextlib.contextmanager
def notices(shown: bool) -> Iterator[None]:
    """Whether lines and progress are shown: the commands show them, Python users have to ask."""
    global _shown
    before, _shown = _shown, shown
    try:
        yield
    finally:
        _shown = before


def quiet(function: Function) -> Function:
    """A function for Python users: its notices are shown only with ``verbose=True``."""

    @functools.wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        with notices(options.get("verbose", False)):
            return function(*args, **options)

    return cast(Function, wrapper)


def say(message: str) -> None:
    """A line to stderr; control characters, which names of files may hold, are not repeated.

    Where stderr is closed or its disk full the line is lost, and nothing else.
    """
    if not _shown:
        return
    with contextlib.suppress(OSError, ValueError):
        print(printable(message), file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """A text without characters that would move a terminal's cursor or break a line.

    >>> printable("a\\tb\\x1b[31m")
    'a?b?[31m'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def amount(n: float) -> str:
    """A number of bytes for people.

    >>> amount(532), amount(61_005_872), amount(3.2e9)
    ('532 B', '61.0 MB', '3.2 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            return f"{n:.0f} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    raise AssertionError


def duration(seconds: float) -> str:
    """A time span for people.

    >>> duration(7.4), duration(130), duration(7400)
    ('7 s', '2 min 10 s', '2 h 3 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


class Meter:
    """Progress of one long thing: a bar in a terminal, else a line now and then.

    Counts bytes (with speed) or anything else. May be advanced from several threads.
    """

    def __init__(self, label: str, total: int, in_bytes: bool = False) -> None:
        self.label, self.total, self.in_bytes = label, total, in_bytes
        self.done = 0
        self._fresh = 0  # done in this session: what speed is measured by
        self._lock = threading.Lock()
        self._started = self._last_line = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Meter:
        self._started = self._last_line = time.monotonic()
        if _shown and sys.stderr.isatty():
            self._bar = self._make_bar()
            self._bar.start()
            self._bar.add_task(self.label, total=self.total)
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, n: int, fresh: bool = True) -> None:
        """Count ``n`` more; ``fresh=False`` for what an earlier session had done already."""
        with self._lock:
            self.done += n
            self._fresh += n if fresh else 0
            self._show()

    def correct_total(self, by: int) -> None:
        """The total turned out to be larger or smaller than thought."""
        with self._lock:
            self.total += by

    def to(self, done: int, total: int) -> None:
        """Set how far it is."""
        with self._lock:
            self._fresh += done - self.done
            self.done, self.total = done, total
            self._show()

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.done, total=self.total)
            return
        now = time.monotonic()
        if now - self._last_line >= PLAIN_INTERVAL:
            self._last_line = now
            say(self._line(now - self._started))

    def _line(self, elapsed: float) -> str:
        rate = self._fresh / elapsed if elapsed > 0 else 0.0
        rest = max(0, self.total - self.done)
        left = f", {duration(rest / rate)} left" if rate > 0 else ""
        if self.in_bytes:
            return (
                f"{self.label}: {amount(self.done)} of {amount(self.total)}, {amount(rate)}/s{left}"
            )
        return f"{self.label}: {self.done} of {self.total}{left}"

    def _make_bar(self) -> Progress:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        counts = [DownloadColumn(), TransferSpeedColumn()] if self.in_bytes else []
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *(counts or [MofNCompleteColumn()]),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
