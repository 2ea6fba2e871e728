"""Colours that can be told apart, checked with a model of colour vision."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from handmade_records import make

from tsbench.report.palette import HUES, Look, looks_of, styles
from tsbench.report.records import collect

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


FAMILIES = [f for f in HUES if f != "bounds"]


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("side", [0, 1], ids=["paper", "dark"])
def test_families_do_not_look_alike(side: int, vision: str) -> None:
    """The first shades of all families; further shades differ by marker and label, too."""
    seen = [lab(np.array(VISION[vision]) @ linear(HUES[f][0][side])) for f in FAMILIES]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 18


@pytest.mark.parametrize("side", [0, 1], ids=["paper", "dark"])
@pytest.mark.parametrize("family", FAMILIES)
def test_shades_of_a_family_do_not_look_alike(family: str, side: int) -> None:
    seen = [lab(linear(shade[side])) for shade in HUES[family]]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 18


def test_colours_stand_out_from_the_background() -> None:
    shades = [shade for family in HUES.values() for shade in family]
    assert min(contrast(light, "#FFFFFF") for light, _ in shades) > 2.5
    assert min(contrast(dark, "#16181D") for _, dark in shades) > 4


def test_every_method_has_a_look_of_its_own() -> None:
    looks = [Look(f"{family}{i}", family) for family in HUES for i in range(12)]
    found = styles([*looks, *(Look(f"odd{i}", "unheard of") for i in range(5))])
    assert len({(s.colour, s.marker) for s in found.values()}) == len(found) == 65


def test_what_a_methods_author_fixed_is_kept() -> None:
    mine = Look("mine", "analytic", colour="#123456", marker="8")
    found = styles([Look("a", "analytic"), mine, Look("b", "analytic", marker="o")])
    assert (found["mine"].colour, found["mine"].marker) == ("#123456", "8")
    assert found["b"].marker == "o"
    odd = Look("odd", "analytic", colour="</style>", marker="oo")
    assert styles([odd])["odd"] == styles([Look("odd", "analytic")])["odd"], "neither is a style"
    assert found["b"].colour != found["a"].colour, "its marker is taken"


def test_the_papers_methods_look_the_same_everywhere(tmp_path: Path) -> None:
    for method in ("er", "ts-acl", "ewc"):
        make(tmp_path, method, 1, 50.0, 9.0)
    make(tmp_path, "der", 1, 50.0, 9.0, about={"tuned": {"file": "f"}})
    runs = collect(tmp_path)
    everyone = looks_of(runs, runs.methods)
    some = collect(tmp_path, methods=["ts-acl", "der+tuned"])
    found = looks_of(some, some.methods)
    assert found["ts-acl"] == everyone["ts-acl"]
    make(tmp_path, "der", 1, 50.0, 9.0)
    runs = collect(tmp_path, methods=["der"])
    assert looks_of(runs, runs.methods)["der"] == found["der+tuned"], "its method was away"
    assert everyone["ewc"].marker != ""
