"""Files that are written whole or not at all, and locks that end with their process."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from tsbench.errors import UserError

LEFTOVER_AGE = 24 * 3600.0
"""Seconds after which nobody is writing a file any more."""

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            # A file system without locks has none to wait for: renames keep files whole there.
            return error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
        return True


@contextlib.contextmanager
def try_locked(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path`` if nobody else does; yields whether it is held.

    The system releases the lock when the process ends, however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield _try_lock(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], None], poll: float = 0.2) -> Iterator[None]:
    """Hold the lock file ``path``; calls ``waiting`` once if another process holds it first."""
    announced = False
    while True:
        with try_locked(path) as held:
            if held:
                yield
                return
        if not announced:
            waiting()
            announced = True
        time.sleep(poll)


def write_whole(path: Path, data: bytes) -> None:
    """Write ``data`` aside, sync, rename: a reader sees the old file or the new one, whole.

    Devices, like ``/dev/stdout``, are written to as they are.
    """
    if str(path).startswith("/dev/") and path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    target = path.resolve() if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name[:20]}.{uuid.uuid4().hex}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def save(path: Path, data: bytes) -> None:
    """Write a file that the user asked for; says why if that is not possible."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from error


def remove_leftovers(folder: Path, pattern: str) -> None:
    """Remove what ``write_whole`` left aside when its process was killed, if older than a day."""
    for path in folder.glob(f"{pattern}/.*.tmp"):
        with contextlib.suppress(OSError):  # another process was faster
            ours = re.fullmatch(r"\..*\.[0-9a-f]{32}\.tmp", path.name)
            if ours and time.time() - path.stat().st_mtime > LEFTOVER_AGE:
                path.unlink()
