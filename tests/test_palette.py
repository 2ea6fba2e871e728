"""Colours that can be told apart, checked with a model of colour vision."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tsbench.learn.catalogue import INFO
from tsbench.report.palette import COLOURS, DARK_COLOURS, STYLES, styles

# Machado, Oliveira and Fernandes, 2009: what is left of linear RGB, at full severity.
VISION = {
    "full": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear sRGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(to_xyz) @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("colours", [COLOURS, DARK_COLOURS], ids=["paper", "dark"])
def test_no_two_colours_look_alike(colours: tuple[str, ...], vision: str) -> None:
    seen = [lab(np.array(VISION[vision]) @ linear(c)) for c in colours]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 18


def test_colours_stand_out_from_the_background() -> None:
    assert min(contrast(s.colour, "#FFFFFF") for s in STYLES.values()) > 2.5
    assert min(contrast(s.dark, "#16181D") for s in STYLES.values()) > 4


def test_every_method_has_a_look_of_its_own() -> None:
    labels = [*INFO, *(f"mine{i}" for i in range(20)), "er+x"]
    found = styles(labels)
    assert set(INFO) <= set(STYLES)
    assert len(set(found.values())) == len(labels)
    assert len({(s.colour, s.marker) for s in found.values()}) == len(labels)
