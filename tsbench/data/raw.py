"""A read-only view of raw files, wherever they are: a folder, archives in it, archives in those.

Nothing is ever unpacked to disk, so no archive can write anywhere; members are read into memory
one at a time, up to a size that is plausible for a data file.
"""

from __future__ import annotations

import fnmatch
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tsbench.console import printable
from tsbench.errors import NotHere, UserError

MAX_MEMBER = 1 << 30  # the largest member of the five official archives is a 300 MB inner zip
MAX_UNPACKED = 16 << 30  # GRABMyo's archive of three sessions unpacks to about 10 GB
JUNK = ("__MACOSX", ".DS_Store")

PIECE = 1 << 12
"""Bytes read at a time: limits how far a member can exceed its announced size."""

ZIP_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    OSError,  # damaged bzip2, bad offsets
    EOFError,
    RuntimeError,  # encrypted member, unknown compression
    ValueError,
    IndexError,
    MemoryError,
    OverflowError,
)


@dataclass(frozen=True)
class RawFile:
    """One file of the view."""

    path: str
    size: int
    read: Callable[[], bytes]
    origin: Path | None = None
    """The archive on disk that it is in."""


class RawFiles:
    """Files under a path, found by the end of their path, through archives one level deep."""

    def __init__(self, path: Path, inner_archive: str = "") -> None:
        self.path = path
        self.problems: list[str] = []
        self.archives_read: set[Path] = set()
        """Archives from which something was read."""
        self._by_name: dict[str, list[RawFile]] = defaultdict(list)
        self._inner: list[RawFile] = []
        if path.is_dir():
            self._add_folder(path)
        elif path.is_file():
            self._add_archive(str(path), path, path)
            if self.problems:
                raise UserError(self.problems[0])
        else:
            raise UserError(f"'{path}' does not exist; give an archive or a folder")
        self._inner.sort(key=lambda f: PurePosixPath(f.path).name != inner_archive)

    def find(self, end: str) -> RawFile:
        """The file whose path ends with ``end``; the shallowest if there are several."""
        while True:
            found = [f for f in self._by_name[PurePosixPath(end).name] if _ends(f.path, end)]
            if found:
                return min(found, key=lambda f: (f.path.count("/"), f.path))
            if not self._open_next_inner():
                raise self.missing(end)

    def glob(self, pattern: str) -> list[RawFile]:
        """All files whose path ends in something like ``pattern``, sorted by path."""
        while True:
            found = [
                f
                for files in self._by_name.values()
                for f in files
                if fnmatch.fnmatchcase("/" + f.path, "*/" + pattern)
            ]
            if found or not self._open_next_inner():
                return sorted(found, key=lambda f: f.path)

    def missing(self, what: str) -> UserError:
        """The error for a file that is not there, with what else is wrong."""
        if self.problems:
            return UserError(f"'{what}' is not in '{self.path}' ({'; '.join(self.problems)})")
        return NotHere(f"'{what}' is not in '{self.path}'")

    def _add_folder(self, folder: Path) -> None:
        def refuse(error: OSError) -> None:
            raise UserError(f"cannot read '{error.filename}': {error.strerror}")

        visited = set()
        for root, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
            visited.add(os.path.realpath(root))
            folders[:] = sorted(
                d
                for d in folders
                if d not in JUNK and os.path.realpath(Path(root) / d) not in visited
            )
            for name in sorted(names):
                path = Path(root) / name
                if name in JUNK or not path.is_file():  # a dead link, a socket
                    continue
                if name.lower().endswith(".zip"):
                    self._add_archive(name, path, path)
                else:
                    self._add(path.relative_to(folder).as_posix(), path.stat().st_size, path)

    def _add(self, name: str, size: int, path: Path) -> None:
        def read() -> bytes:
            if size > MAX_MEMBER:
                raise UserError(f"'{path}' is too large for a data file ({size} bytes)")
            try:
                return path.read_bytes()
            except OSError as error:
                raise UserError(f"cannot read '{path}': {error.strerror}") from error

        self._by_name[PurePosixPath(name).name].append(RawFile(name, size, read))

    def _add_archive(self, label: str, source: Path | io.BytesIO, origin: Path) -> None:
        try:
            archive = zipfile.ZipFile(source)
            members = [m for m in archive.infolist() if not m.is_dir()]
            problem = _unsafe(label, members)
        except PermissionError as error:
            problem = f"cannot read '{label}': {error.strerror}"
        except ZIP_FAULTS as error:
            problem = f"'{label}' is not a readable zip archive ({error})"
        if problem:
            self.problems.append(printable(problem))
            return
        for member in members:
            parts = PurePosixPath(member.filename).parts
            if not parts or any(junk in parts for junk in JUNK):
                continue
            read = self._member_reader(archive, member, origin)
            file = RawFile(member.filename, member.file_size, read, origin)
            nested = member.filename.lower().endswith(".zip") and isinstance(source, Path)
            (self._inner if nested else self._by_name[parts[-1]]).append(file)

    def _member_reader(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, origin: Path
    ) -> Callable[[], bytes]:
        where = printable(f"'{member.filename}' in '{origin.name}'")

        def read() -> bytes:
            if member.file_size > MAX_MEMBER:
                raise UserError(
                    f"{where} claims {member.file_size} bytes: too large for a data file"
                )
            self.archives_read.add(origin)
            try:
                with archive.open(member) as file:  # checks the CRC at the end
                    return b"".join(iter(lambda: file.read(PIECE), b""))
            except ZIP_FAULTS as error:
                raise UserError(f"{where} is damaged ({error})") from error

        return read

    def _open_next_inner(self) -> bool:
        if not self._inner:
            return False
        inner = self._inner.pop(0)
        try:
            origin = inner.origin or self.path
            self._add_archive(inner.path, io.BytesIO(inner.read()), origin)
        except UserError as error:
            self.problems.append(str(error))
        return True


def _ends(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end)


def _unsafe(label: str, members: list[zipfile.ZipInfo]) -> str | None:
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in path.as_posix().split("/")[0]:
            return f"'{label}' refused: its member '{member.filename}' points outside the archive"
    total = sum(m.file_size for m in members)
    if total > MAX_UNPACKED:
        return f"'{label}' refused: it would unpack to {total / 1e9:.0f} GB"
    return None
