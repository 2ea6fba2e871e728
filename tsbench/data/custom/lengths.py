"""Series of different lengths, with missing values, as one array."""

from __future__ import annotations

import numpy as np

from tsbench.data.custom.recipe import Missing, Unequal
from tsbench.errors import UserError


def fit(
    series: list[np.ndarray],
    length: int | None = None,
    unequal: Unequal | None = None,
    missing: Missing | None = None,
) -> tuple[np.ndarray, dict[str, int]]:
    """Series (C, L_i) as (N, C, L) float32, and counts of what was changed.

    Nothing is changed unless the card says how.
    """
    lengths = [s.shape[1] for s in series]
    target = max(lengths) if length is None else length
    holes = sum(int(np.isnan(s).sum()) for s in series)
    if holes and missing is None:
        raise UserError(
            f"{holes} values are missing; say what to do in the card: 'missing: interpolate' "
            "or 'missing: zero'"
        )
    other = [n for n in lengths if n != target]
    if other and unequal is None:
        spread = f"{min(lengths)} to {max(lengths)}" if len(set(lengths)) > 1 else str(lengths[0])
        raise UserError(
            f"series have {spread} steps, not {target}; say in the card what to do: 'unequal: pad' "
            "(zeros at the end) or 'unequal: resample'"
        )
    x = np.zeros((len(series), len(series[0]), target), np.float32)
    for row, values in zip(x, series, strict=True):
        whole = _filled(values, missing) if holes else values
        if unequal == "resample" and whole.shape[1] != target:
            whole = resampled(whole, target)
        kept = min(target, whole.shape[1])
        row[:, :kept] = whole[:, :kept]
    notes = {f"missing_values_{missing}": holes}
    if unequal == "resample":
        notes[f"series_resampled_to_{target}_steps"] = len(other)
    elif unequal == "pad":
        notes[f"series_padded_to_{target}_steps"] = sum(n < target for n in lengths)
        notes[f"series_cut_to_{target}_steps"] = sum(n > target for n in lengths)
    return x, {note: count for note, count in notes.items() if count}


def resampled(values: np.ndarray, steps: int) -> np.ndarray:
    """(C, L) → (C, steps) by linear interpolation, first and last step kept.

    >>> resampled(np.array([[0.0, 2.0, 4.0]]), 5)
    array([[0., 1., 2., 3., 4.]])
    """
    old = np.arange(values.shape[1])
    new = np.linspace(0, values.shape[1] - 1, steps)
    return np.stack([np.interp(new, old, channel) for channel in values])


def _filled(values: np.ndarray, missing: Missing | None) -> np.ndarray:
    """Fill missing values; a channel without any value becomes zeros."""
    hole = np.isnan(values)
    filled = np.where(hole, 0.0, values)
    if missing == "interpolate":
        time = np.arange(values.shape[1])
        for channel, gone in zip(filled, hole, strict=True):
            if gone.any() and not gone.all():
                channel[gone] = np.interp(time[gone], time[~gone], channel[~gone])
    return filled
