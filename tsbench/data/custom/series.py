"""Labelled series from files: ``.ts``, ``.npz``, ``.npy``; one file, or many by a pattern.

Arrays are never unpickled: an array of Python objects is refused.
"""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from tsbench.console import printable
from tsbench.data.custom.recipe import Axes, Files
from tsbench.data.raw import MAX_UNPACKED, ZIP_FAULTS
from tsbench.data.ts import read_ts
from tsbench.errors import UserError

ENDINGS = (".ts", ".npz", ".npy")
NAMES = ("x", "y", "subject")
NUMBERS = "biuf"
LARGEST = float(np.finfo(np.float32).max)
PREPARED = "arrays-"
"""Folders of prepared arrays, in case they are next to the raw files."""


@dataclass(frozen=True)
class Labelled:
    """Series of any lengths, each with its class, and its subject where known."""

    series: list[np.ndarray]  # (C, L) each, NaN where missing
    labels: list[str]
    subjects: list[str] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def without(self, classes: tuple[str, ...]) -> Labelled:
        """What is not of these classes."""
        rows = [i for i, label in enumerate(self.labels) if label not in classes]
        subjects = None if self.subjects is None else [self.subjects[i] for i in rows]
        return Labelled([self.series[i] for i in rows], [self.labels[i] for i in rows], subjects)


def together(parts: list[Labelled]) -> Labelled:
    """Parts as one; subjects only if all parts have them."""
    subjects = None
    if all(part.subjects is not None for part in parts):
        subjects = [s for part in parts for s in part.subjects or []]
    return Labelled(
        [s for part in parts for s in part.series],
        [label for part in parts for label in part.labels],
        subjects,
    )


def files_of(folder: Path, files: Files) -> list[Path]:
    """The files that hold series; several for a pattern."""
    if "*" not in files.x:
        return [_existing(folder, files.x)]
    try:
        found = sorted(folder.glob(files.x))
    except (ValueError, NotImplementedError) as error:
        raise UserError(f"'{files.x}' is not a pattern of files in the folder: {error}") from error
    chosen = [
        path
        for path in found
        if path.suffix.lower() in ENDINGS and PREPARED not in path.parent.name and path.is_file()
    ]
    if not chosen:
        raise UserError(f"nothing in '{folder}' matches '{files.x}' and ends in .ts, .npz or .npy")
    return chosen


def beside_of(folder: Path, files: Files) -> list[Path]:
    """The files that hold labels and subjects."""
    return [_existing(folder, name) for name in (files.y, files.subject) if name]


def read_series(folder: Path, files: Files, axes: Axes) -> Labelled:
    """All series that ``files`` names, checked for shape."""
    paths = files_of(folder, files)
    read = [_read(path, axes, alone="*" not in files.x) for path in paths]
    for path, part in zip(paths, read, strict=True):
        for number, series in enumerate(part.series, 1):
            _check(path, number, series, len(read[0].series[0]))
    whole = together(read)
    labels, subjects = whole.labels, whole.subjects
    if files.y:
        labels = _words(folder / files.y, _load(_existing(folder, files.y)), len(whole.series))
    if files.subject:
        path = _existing(folder, files.subject)
        subjects = _words(path, _load(path), len(whole.series))
    if not labels:
        raise UserError(f"'{paths[0].name}' holds no labels; name their file: {{x: …, y: …}}")
    return Labelled(whole.series, labels, subjects)


def _existing(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise UserError(f"'{name}' is not in '{folder}'")
    return path


def _check(path: Path, number: int, series: np.ndarray, channels: int) -> None:
    which = f"'{path.name}', series {number}"
    if len(series) != channels:
        raise UserError(f"{which}: {len(series)} channels where others have {channels}")
    if not series.shape[1]:
        raise UserError(f"{which} is empty")
    if np.isinf(series).any():
        raise UserError(f"{which} has an infinite value")
    if (np.abs(series) > LARGEST).any():
        raise UserError(f"{which} has a value beyond ±{LARGEST:.1e}; scale the series down")


def _read(path: Path, axes: Axes, alone: bool) -> Labelled:
    """One file; in a pattern a ``.npy`` is one series, and its folder's name the class."""
    ending = path.suffix.lower()
    if ending == ".ts":
        try:
            read = read_ts(path.read_bytes(), path.name)
        except OSError as error:
            raise UserError(f"cannot read '{path}': {error.strerror}") from error
        return Labelled(read.series, read.labels)
    if ending == ".npz":
        return _read_npz(path, axes)
    if ending != ".npy":
        raise UserError(f"'{path.name}' is not a .ts, .npz or .npy file")
    array = _load(path)
    if alone:
        return Labelled(_split_up(path, array, axes), [])
    if array.ndim not in (1, 2):
        raise UserError(f"'{path.name}' has shape {array.shape}; one series has one or two axes")
    one = array[None, None] if array.ndim == 1 else array[None]
    return Labelled(_split_up(path, one, axes), [path.parent.name])


def _read_npz(path: Path, axes: Axes) -> Labelled:
    arrays = _load_npz(path)
    series = _split_up(path, arrays.pop("x"), axes)
    words = {name: _words(path, array, len(series)) for name, array in arrays.items()}
    return Labelled(series, words["y"], words.get("subject"))


def _load_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays x, y and subject, by name; nothing is unpacked before their headers make sense."""
    with _readable(path), zipfile.ZipFile(path) as archive:
        members = {m.filename.removesuffix(".npy").lower(): m for m in archive.infolist()}
        wanted = {name: members[name] for name in NAMES if name in members}
        if not {"x", "y"} <= wanted.keys():
            names = printable(", ".join(members))
            raise UserError(f"'{path.name}' needs the arrays x and y; it has: {names}")
        count: int | None = None
        for name, member in wanted.items():
            with archive.open(member) as file:
                shape, dtype = _header(file)
            count = shape[0] if count is None and shape else count
            if problem := _implausible(name, shape, dtype, count):
                raise UserError(f"'{path.name}': {problem}")
            if math.prod(shape) * dtype.itemsize > member.file_size:
                raise ValueError(f"{name} is cut off")
        with np.load(path, allow_pickle=False) as loaded:
            return {name: loaded[m.filename.removesuffix(".npy")] for name, m in wanted.items()}


def _implausible(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], count: int | None) -> str:
    """What an array cannot be, by its header; empty if it may be good."""
    if name == "x" and (len(shape) not in (2, 3) or dtype.kind not in NUMBERS):
        return (
            f"x has shape {shape} and type {dtype}; expected numbers as (series, channels, steps) "
            "or (series, steps)"
        )
    if math.prod(shape) * dtype.itemsize > MAX_UNPACKED:
        return f"{name} has shape {shape}, which is too large for this program"
    if name != "x" and math.prod(shape) != count:
        return f"{name} has shape {shape} for {count} series"
    return ""


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array, from the beginning of its ``.npy`` file."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"unknown version {version} of the format")
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("allow_pickle")
    return shape, dtype


def _load(path: Path) -> np.ndarray:
    """The array of a ``.npy`` file."""
    with _readable(path):
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.ndarray):
            raise ValueError("it holds several arrays")
        return loaded


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Whatever goes wrong inside, the file is damaged."""
    try:
        yield
    except ZIP_FAULTS as error:
        if "allow_pickle" in str(error):
            raise UserError(
                f"'{path.name}' holds Python objects, which are not read: put series of different "
                "lengths into a file each or pad them with NaN; labels as numbers or .astype(str)"
            ) from error
        raise UserError(f"'{path.name}' is not a readable array: {error}") from error


def _split_up(path: Path, array: np.ndarray, axes: Axes) -> list[np.ndarray]:
    """Series (C, L) from an array of them; a tail of NaN in all channels is the end of a series."""
    if problem := _implausible("x", array.shape, array.dtype, None):
        raise UserError(f"'{path.name}': {problem}")
    if array.ndim == 2:
        array = array[:, None]
    elif axes == "nlc":
        array = array.transpose(0, 2, 1)
    if 0 in array.shape:
        raise UserError(f"'{path.name}' has shape {array.shape}: there is nothing in it")
    if array.dtype.kind != "f":
        return list(array.astype(np.float32))
    there = ~np.isnan(array).all(axis=1)  # (N, L)
    ends = np.where(there.any(axis=1), array.shape[2] - there[:, ::-1].argmax(axis=1), 0)
    return [series[:, :end] for series, end in zip(array, ends, strict=True)]


def _words(path: Path, array: np.ndarray, count: int) -> list[str]:
    """Labels or subjects, one per series, as text."""
    array = np.asarray(array)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (count,):
        raise UserError(f"'{path.name}': labels of shape {array.shape} for {count} series")
    if array.dtype.kind == "f":
        if not (np.isfinite(array).all() and (array == np.floor(array)).all()):
            raise UserError(f"'{path.name}' has a label that is not a whole number")
        array = array.astype(np.int64)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    if array.dtype.kind not in "biuU":
        raise UserError(f"'{path.name}': labels of type {array.dtype}; use numbers or text")
    words = [str(word).strip() for word in array]
    if "" in words:
        raise UserError(f"'{path.name}' has an empty label")
    return words


def numbered(words: list[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """The different words, sorted (as numbers if all are), and the place of each word in them.

    >>> numbered(["10", "9", "10"])
    (('9', '10'), array([1, 0, 1]))
    """
    names = sorted(set(words))
    try:
        names.sort(key=float)
    except ValueError:
        names.sort()
    places = {name: i for i, name in enumerate(names)}
    return tuple(names), np.array([places[word] for word in words], np.int64)
