from __future__ import annotations

import numpy as np
import pytest

from tsbench.data.window import fourier_resample, published_window_count, published_windows


@pytest.mark.parametrize(
    ("rows", "windows"),
    [(0, 1), (1, 1), (200, 1), (201, 1), (202, 2), (399, 2), (400, 2), (401, 2), (1280, 7)],
)
def test_window_count_follows_the_published_rule(rows: int, windows: int) -> None:
    assert published_window_count(rows, 200) == windows


def test_windows_keep_order_pad_with_zeros_and_drop_a_lone_row() -> None:
    recording = np.arange(1, 2 * 403 + 1, dtype=float).reshape(403, 2)
    windows = published_windows(recording, 200)
    assert windows.shape == (3, 200, 2)
    np.testing.assert_array_equal(windows.reshape(-1, 2)[:403], recording)
    assert not windows.reshape(-1, 2)[403:].any()
    np.testing.assert_array_equal(published_windows(recording[:401], 200)[-1], recording[200:400])
    assert not published_windows(recording[:0], 200).any()


def test_resampling_keeps_a_tone_and_equals_the_definition() -> None:
    steps = np.arange(10240) / 10240
    tone = np.stack([np.sin(2 * np.pi * 30 * steps), np.cos(2 * np.pi * 5 * steps)], axis=1)
    fewer = fourier_resample(tone, 1280)
    np.testing.assert_allclose(fewer, tone[::8], atol=1e-9)
    noise = np.random.default_rng(0).normal(size=(64, 3))
    spectrum = np.fft.rfft(noise, axis=0)[:9]
    spectrum[8] = spectrum[8].real * 2  # the new Nyquist bin folds both signs
    by_hand = np.fft.irfft(spectrum, 16, axis=0) * 16 / 64
    np.testing.assert_allclose(fourier_resample(noise, 16), by_hand, atol=1e-12)
