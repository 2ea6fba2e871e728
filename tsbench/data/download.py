"""Downloads files over HTTP: several sources, resume, retries, digests.

A file is written to ``NAME.part`` with a note of where it comes from, and gets its name when it is
whole and verified. A broken download resumes if the server allows it.
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
from typing import Any

from tsbench import __version__
from tsbench.console import Meter, say
from tsbench.data.card import RemoteFile
from tsbench.data.raw import ZIP_FAULTS
from tsbench.errors import UserError

CHUNK = 1 << 18
FINAL = {400, 401, 403, 404, 405, 410, 451}
"""HTTP errors for which trying again does not help."""


class SourceFailed(Exception):
    """One source did not deliver the file; ``again`` says whether to try it once more."""

    def __init__(self, reason: str, again: bool) -> None:
        super().__init__(reason)
        self.again = again


@dataclass(frozen=True)
class Fetched:
    """A complete file on this disk."""

    name: str
    size: int
    sha256: str
    expected: bool | None
    """Whether the digest is the published one; None if none is published."""

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        about = {"name": self.name, "sha256": self.sha256, "bytes": self.size}
        return {**about, "as_published": self.expected}


@dataclass(frozen=True)
class Fetcher:
    """Downloads, with limits on retries and waiting."""

    tries: int = 4
    backoff: float = 1.0
    timeout: float = 30.0
    parallel: int = 8
    fresh: bool = False
    """Download again what is there, unless a strict digest confirms it."""
    stop: threading.Event = field(default_factory=threading.Event, init=False, compare=False)
    """Set it to make all downloads stop soon."""

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
                have = identify(candidate, target)
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
                try:
                    fetched = _accept(file, target)
                except SourceFailed:
                    meter.advance(-size)
                    raise
                meter.correct_total(size - file.size)
                return fetched
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
                part.unlink(missing_ok=True)  # longer than the file: start again
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
            raise SourceFailed("the server resumed another file or position", again=True)
        validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        if not resumed:
            have = 0
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else None
        origin = {"url": url, "validator": validator, "total": total}
        received = 0
        meter.advance(have, fresh=False)
        try:
            with _disk(part), part.open("ab" if resumed else "wb") as out:
                if not resumed:
                    note.write_text(json.dumps(origin))
                while chunk := _read(answer):
                    out.write(chunk)
                    received += len(chunk)
                    meter.advance(len(chunk))
                    if self.stop.is_set():
                        raise SourceFailed("stopped", again=False)
            size = have + received
            if total is not None and size < total:
                raise SourceFailed(f"connection lost at {size} of {total} bytes", again=True)
            return size
        except BaseException:
            meter.advance(-received)  # the next try counts what is kept
            meter.advance(-have, fresh=False)
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
    part, note = _part(target), _note(target)
    fetched = identify(file, part)
    problem = None
    if file.name.endswith(".zip") and not fetched.expected:
        problem = _zip_problem(part)
    if problem is None and file.strict and fetched.expected is False:
        known = f"expected {file.sha256}: damaged during the download?"
        problem = f"wrong SHA-256 {fetched.sha256}, {known}"
    if problem is not None:
        part.unlink(missing_ok=True)
        note.unlink(missing_ok=True)
        raise SourceFailed(problem, again=True)
    part.replace(target)
    note.unlink(missing_ok=True)
    if fetched.expected is False:
        say(
            f"warning: {file.name} has SHA-256 {fetched.sha256}, known is {file.sha256}: "
            "re-packed by the publisher? The digest of the prepared arrays decides."
        )
    return fetched


def _zip_problem(path: Path) -> str | None:
    """What is wrong with an archive that has no known digest."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except ZIP_FAULTS as error:
        return f"the server sent something that is not a zip ({error})"
    return f"'{damaged}' in it is damaged" if damaged else None


def identify(file: RemoteFile, path: Path) -> Fetched:
    """A complete file, compared with what is published about it."""
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
    """Errors of the disk are for the user to fix; another source would not help."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(
                f"the disk is full while writing '{path}'; free some space and run the same "
                "command again: it resumes"
            ) from error
        raise UserError(f"cannot write '{path}': {error.strerror or error}") from error
