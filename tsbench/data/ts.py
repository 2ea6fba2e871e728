"""Reader of ``.ts`` files, the format of the UCR/UEA archive.

A header of ``@tag value`` lines (``#`` begins a comment), ``@data``, then one series per line: its
channels separated by colons, the values of a channel by commas, the class label last. ``?`` is a
missing value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsbench.errors import UserError
from tsbench.schema import shown, whole_number

YES_NO = {"true": True, "false": False}


@dataclass(frozen=True)
class TsFile:
    """The series of a file, in order; they may differ in length."""

    series: list[np.ndarray]  # (C, L) float64 each, NaN where missing
    labels: list[str]


@dataclass(frozen=True)
class _Header:
    labels: frozenset[str]
    channels: int | None
    """If the file declares it."""
    length: int | None


def read_ts(text: bytes, name: str) -> TsFile:
    """Parse a file; errors name the line. ``name`` is what messages call the file."""
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"'{name}' is not a .ts file: not valid UTF-8 ({error.reason})") from error
    start = next((i for i, s in enumerate(lines) if s.strip().lower() == "@data"), None)
    if start is None:
        raise UserError(f"'{name}' is not a .ts file: it has no @data line")
    header = _read_header(lines[:start], name)
    series: list[np.ndarray] = []
    labels: list[str] = []
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            values, label = _read_line(line, header)
            if series and len(values) != len(series[0]):
                raise ValueError(f"{len(values)} channels, {len(series[0])} in the lines before")
        except ValueError as error:
            raise UserError(f"'{name}' line {number}: {error}") from error
        series.append(values)
        labels.append(label)
    if not series:
        raise UserError(f"'{name}' has no series after @data")
    return TsFile(series, labels)


def _read_header(lines: list[str], name: str) -> _Header:
    tags: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if not words[0].startswith("@"):
            raise UserError(f"'{name}' line {number}: neither a @tag nor a # comment before @data")
        tags[words[0][1:].lower()] = words[1:]

    def flag(tag: str, default: bool) -> bool:
        value = (tags.get(tag) or [str(default)])[0].lower()
        if value not in YES_NO:
            raise UserError(f"'{name}': @{tag} must be true or false, not '{value}'")
        return YES_NO[value]

    def count(tag: str) -> int | None:
        if not tags.get(tag):
            return None
        value = tags[tag][0]
        found = whole_number(value)
        if not found:
            raise UserError(f"'{name}': @{tag} must be a number above 0, not '{shown(value)}'")
        return found

    if flag("timestamps", False):
        raise UserError(f"'{name}' has time stamps, which are not read; export plain values")
    if not flag("classlabel", False) or len(tags["classlabel"]) < 2:
        raise UserError(f"'{name}' has no class labels (@classLabel true, then the labels)")
    channels = 1 if flag("univariate", False) else count("dimensions")
    length = count("serieslength") if flag("equallength", False) else None
    return _Header(frozenset(tags["classlabel"][1:]), channels, length)


def _read_line(line: str, header: _Header) -> tuple[np.ndarray, str]:
    """One series (C, L) and its label."""
    *parts, label = line.split(":")
    label = label.strip()
    if not parts:
        raise ValueError("no ':' between values and class label")
    if label not in header.labels:
        raise ValueError(f"class label '{label}' is not among those of @classLabel")
    channels = [[float(v) for v in part.replace("?", "nan").split(",")] for part in parts]
    lengths = {len(channel) for channel in channels}
    if len(lengths) > 1:
        raise ValueError(f"channels of different lengths ({min(lengths)} to {max(lengths)})")
    values = np.array(channels)
    if header.channels not in (None, len(values)):
        raise ValueError(f"{len(values)} channels, the header says {header.channels}")
    if header.length not in (None, values.shape[1]):
        raise ValueError(f"{values.shape[1]} values, the header says {header.length}")
    if np.isinf(values).any():
        raise ValueError("an infinite value")
    return values, label
