"""Fetching files over HTTP: several sources, resume, retries, digests.

A file is written to ``NAME.part`` with a note of where it comes from, and gets its name when it is
whole and verified. A broken download goes on where it stopped if the server allows it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import json
import socket
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from tsbench import __version__
from tsbench.console import Meter, amount, say
from tsbench.data.card import RemoteFile
from tsbench.data.raw import ZIP_FAULTS
from tsbench.errors import UserError

CHUNK = 1 << 18
FINAL = {400, 401, 403, 404, 405, 410, 451}
"""HTTP answers that asking again does not change."""


class SourceFailed(Exception):
    """One source did not give the file; ``again`` tells whether to ask it once more."""

    def __init__(self, reason: str, again: bool) -> None:
        super().__init__(reason)
        self.again = again


@dataclass(frozen=True)
class Fetched:
    """A file that is whole on this disk."""

    name: str
    size: int
    sha256: str
    expected: bool | None
    """Whether the digest is the published one; None where none is published."""


@dataclass(frozen=True)
class Fetcher:
    """How patiently to download."""

    tries: int = 4
    backoff: float = 1.0
    timeout: float = 30.0
    parallel: int = 8
    fresh: bool = False
    """Fetch anew what is there, unless a strict digest says that it is right."""
    stop: threading.Event = field(default_factory=threading.Event, init=False, compare=False)
    """Set to make all downloads end soon."""

    def fetch_all(self, files: list[RemoteFile], folder: Path, meter: Meter) -> list[Fetched]:
        """Every file, several at a time; the first failure or Ctrl-C ends them all."""
        if len(files) == 1:
            return [self.fetch(files[0], folder, meter)]
        with ThreadPoolExecutor(min(self.parallel, len(files))) as pool:
            jobs = [pool.submit(self.fetch, file, folder, meter) for file in files]
            try:
                done = [job.result() for job in as_completed(jobs)]
                return sorted(done, key=lambda fetched: fetched.name)
            except BaseException:
                self.stop.set()
                pool.shutdown(cancel_futures=True)
                raise

    def fetch(self, file: RemoteFile, folder: Path, meter: Meter) -> Fetched:
        """One file (or an alternative to it) from the first source that has it."""
        reasons = ["it has no address"]
        for candidate in (file, *file.alternatives):
            target = folder / candidate.name
            if target.exists():
                have = _finished(candidate, target)
                if have.expected or not (candidate.strict or self.fresh):
                    meter.correct_total(have.size - candidate.size)
                    meter.advance(have.size, fresh=False)
                    return have
            for url in candidate.urls:
                try:
                    return self._from_source(candidate, url, target, meter)
                except SourceFailed as failure:
                    reasons.append(f"{url}: {failure}")
                if self.stop.is_set():
                    break
        raise UserError(f"no source has {file.name}; last: {reasons[-1]}")

    def _from_source(self, file: RemoteFile, url: str, target: Path, meter: Meter) -> Fetched:
        for attempt in range(1, self.tries + 1):
            try:
                size = self._download(url, target, meter)
                meter.correct_total(size - file.size)
                try:
                    return _accept(file, target)
                except SourceFailed:
                    meter.correct_total(file.size - size)
                    meter.advance(-size)
                    raise
            except SourceFailed as failure:
                if not failure.again or attempt == self.tries or self.stop.is_set():
                    raise
                self.stop.wait(self.backoff * 2 ** (attempt - 1))
        raise AssertionError

    def _download(self, url: str, target: Path, meter: Meter) -> int:
        """Bring ``target``.part to its full length, and return that."""
        part, note = _part(target), _note(target)
        with _disk(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        have, validator, known_total = _resumable(part, note, url)
        headers = {"User-Agent": f"tsbench/{__version__}", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
            if validator:
                headers["If-Range"] = validator
        try:
            request = urllib.request.Request(url, headers=headers)  # noqa: S310
            with urllib.request.urlopen(request, timeout=self.timeout) as answer:  # noqa: S310
                return self._receive(answer, url, part, note, (have, known_total), meter)
        except urllib.error.HTTPError as error:
            if error.code == 416:
                if (error.headers.get("Content-Range") or "") == f"bytes */{have}":
                    meter.advance(have, fresh=False)
                    return have  # nothing was missing
                part.unlink(missing_ok=True)  # longer than the file: start anew
            reason = f"HTTP {error.code} {error.reason}"
            raise SourceFailed(reason, again=error.code not in FINAL) from error
        except urllib.error.URLError as error:
            unknown_host = isinstance(error.reason, socket.gaierror)
            raise SourceFailed(str(error.reason), again=not unknown_host) from error
        except (http.client.HTTPException, OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise SourceFailed(f"connection lost ({reason})", again=True) from error

    def _receive(
        self,
        answer: http.client.HTTPResponse,
        url: str,
        part: Path,
        note: Path,
        at_hand: tuple[int, int | None],
        meter: Meter,
    ) -> int:
        have, known_total = at_hand
        if "html" in (answer.headers.get("Content-Type") or "").lower():
            raise SourceFailed("the server sent a web page, not the file", again=False)
        resumed = answer.status == 206
        span = answer.headers.get("Content-Range") or ""
        if resumed and not (span.startswith(f"bytes {have}-") and span.endswith(f"/{known_total}")):
            part.unlink(missing_ok=True)
            raise SourceFailed("the server resumed another file or another place", again=True)
        validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        if not resumed:
            have = 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else None
        origin = {"url": url, "validator": validator, "total": total}
        counted = fresh = 0
        try:
            with _disk(part), part.open("ab" if resumed else "wb") as out:
                if not resumed:
                    note.write_text(json.dumps(origin))
                meter.advance(have, fresh=False)
                counted += have
                while chunk := _read(answer):
                    out.write(chunk)
                    meter.advance(len(chunk))
                    fresh += len(chunk)
                    counted += len(chunk)
                    if self.stop.is_set():
                        raise SourceFailed("stopped", again=False)
            if total is not None and counted < total:
                raise SourceFailed(f"connection lost at {counted} of {total} bytes", again=True)
            return counted
        except BaseException:
            meter.advance(-fresh)  # the next try counts what is kept
            meter.advance(fresh - counted, fresh=False)
            raise


def _part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _note(target: Path) -> Path:
    return target.with_name(target.name + ".part.json")


def _resumable(part: Path, note: Path, url: str) -> tuple[int, str, int | None]:
    """Bytes at hand from this very source, its word for that version of the file, its length."""
    try:
        origin = json.loads(note.read_text())
        if origin["url"] == url and isinstance(origin["total"], int):
            return part.stat().st_size, str(origin["validator"]), origin["total"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return 0, "", None


def _accept(file: RemoteFile, target: Path) -> Fetched:
    """Verify a complete part and give it its name."""
    part = _part(target)
    fetched = _finished(file, part)
    if file.name.endswith(".zip") and not fetched.expected:
        problem = _zip_problem(part)
        if problem:
            _discard(target)
            raise SourceFailed(problem, again=True)
    if fetched.expected is False and file.strict:
        _discard(target)
        raise SourceFailed(
            f"wrong SHA-256 {fetched.sha256}, expected {file.sha256}: damaged on the way?",
            again=True,
        )
    part.replace(target)
    _note(target).unlink(missing_ok=True)
    if fetched.expected is False:
        say(
            f"warning: {file.name} has SHA-256 {fetched.sha256}, known is {file.sha256}: "
            "re-packed by the publisher? The digest of the prepared arrays decides."
        )
    return fetched


def _zip_problem(path: Path) -> str | None:
    """What is wrong with an archive that no digest vouches for."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except ZIP_FAULTS as error:
        return f"the server sent something that is not a zip ({error})"
    return f"'{damaged}' in it is damaged" if damaged else None


def _discard(target: Path) -> None:
    _part(target).unlink(missing_ok=True)
    _note(target).unlink(missing_ok=True)


def _finished(file: RemoteFile, path: Path) -> Fetched:
    digest, size = hash_file(path)
    expected = None if file.sha256 is None else digest == file.sha256
    return Fetched(file.name, size, digest, expected)


def hash_file(path: Path) -> tuple[str, int]:
    """SHA-256 and size of a file."""
    h, size = hashlib.sha256(), 0
    with path.open("rb") as f:
        while chunk := f.read(1 << 20):
            h.update(chunk)
            size += len(chunk)
    return h.hexdigest(), size


def _read(answer: http.client.HTTPResponse) -> bytes:
    try:
        return answer.read1(CHUNK)  # what is there, without waiting for more
    except (http.client.HTTPException, OSError) as error:
        reason = str(error) or type(error).__name__
        raise SourceFailed(f"connection lost ({reason})", again=True) from error


@contextlib.contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Faults of the disk are the user's to mend, and no reason to ask another source."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"the disk is full while writing '{path}'; free some space and run the same "
                "command again: it goes on where it stopped"
            ) from error
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from error


def expect_space(folder: Path, needed: int, free: int) -> None:
    """Raise before starting if ``needed`` bytes do not fit."""
    if free < needed:
        raise UserError(
            f"'{folder}' has {amount(free)} free, {amount(needed)} needed; "
            "free some space or choose another place with --data"
        )
