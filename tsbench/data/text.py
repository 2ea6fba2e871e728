"""Number tables in text files, read by numpy's C parser and checked for shape and finiteness."""

from __future__ import annotations

import io

import numpy as np

from tsbench.data.raw import RawFile
from tsbench.errors import UserError


def read_table(
    file: RawFile, columns: int, separator: str | None = None, data: bytes | None = None
) -> np.ndarray:
    """A table with ``columns`` numbers per row as float64; ``data`` if it was read before.

    Raises when a row has another width, or a value that is not a finite number.
    """
    text = file.read() if data is None else data
    if not text.strip():
        raise UserError(f"'{file.path}' is empty")
    try:
        table = np.loadtxt(io.BytesIO(text), delimiter=separator, comments=None, ndmin=2)
    except ValueError as error:
        reason = str(error).split(";")[0]
        raise UserError(f"'{file.path}' is not a table of numbers: {reason}") from error
    if table.shape[1] != columns:
        raise UserError(f"'{file.path}' has {table.shape[1]} columns, expected {columns}")
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0]) + 1
        raise UserError(f"'{file.path}' row {row} has a missing or infinite value")
    return table


def read_column(file: RawFile) -> np.ndarray:
    """A file with one integer per line."""
    return integers(file, read_table(file, 1)[:, 0])


def integers(file: RawFile, values: np.ndarray) -> np.ndarray:
    """Whole numbers as such."""
    whole = values.astype(np.int64)
    if (whole != values).any():
        raise UserError(f"'{file.path}' has a label that is not a whole number")
    return whole


def expect_rows(file: RawFile, rows: int, expected: int) -> None:
    """Raise unless the file has as many rows as its companions."""
    if rows != expected:
        raise UserError(f"'{file.path}' has {rows} rows, expected {expected}")
