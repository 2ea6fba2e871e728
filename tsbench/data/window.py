"""Cutting recordings into windows, and Fourier resampling."""

from __future__ import annotations

import math

import numpy as np


def published_window_count(rows: int, width: int) -> int:
    """Windows that the published preprocessing makes of a recording of ``rows`` steps.

    Its routine kept a forecast horizon of one step and always returned at least one window, so
    a last row that would start a window alone is dropped, a partial window is padded with zeros,
    and a recording of no rows becomes one window of zeros.

    >>> [published_window_count(n, 200) for n in (0, 1, 200, 201, 202, 400, 401, 402)]
    [1, 1, 1, 1, 2, 2, 2, 3]
    """
    return max(1, math.ceil((rows - 1) / width))


def published_windows(recording: np.ndarray, width: int) -> np.ndarray:
    """A recording (rows, C) as windows (n, width, C), padded or cut as published."""
    n = published_window_count(len(recording), width)
    windows = np.zeros((n * width, recording.shape[1]), recording.dtype)
    kept = min(len(recording), n * width)
    windows[:kept] = recording[:kept]
    return windows.reshape(n, width, recording.shape[1])


def fourier_resample(recording: np.ndarray, steps: int) -> np.ndarray:
    """A recording (rows, C) resampled to ``steps`` rows through its Fourier transform."""
    from scipy.signal import resample

    return np.asarray(resample(recording, steps, axis=0))
