"""How a method looks in figures: a hue by its family, and a marker that no other of them has.

A method's own file may fix its colour and marker. They are in its records, so anything that is not
one is ignored. All others get theirs here, by their place in their family.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tsbench.protocol.rules import PAPER_METHODS
from tsbench.report.records import Results
from tsbench.report.titles import base_name

MARKERS = "osD^vP<>phXd8"
"""Thirteen, so that with two or three shades no pair comes twice for long."""
FILLED = frozenset("ov^<>8sp*hHDdPX")
"""The markers of matplotlib that have an inside."""
SOLID, DASHED, DOTTED = (), (5.0, 2.5), (1.5, 2.0)
DASHES = {"analytic": SOLID, "exemplar-free": DASHED, "exemplar-based": DOTTED}
HUES = {
    "bounds": (("#6B7078", "#9AA0A9"),),
    "exemplar-free": (("#0E8956", "#25D59F"), ("#7FA800", "#B6DF3A"), ("#0A5C5C", "#49B8B8")),
    "exemplar-based": (("#A52F00", "#F17E51"), ("#C39C00", "#EAC145"), ("#742550", "#C4648F")),
    "analytic": (("#004DB4", "#4190E8"), ("#42A6FA", "#9BD8FF"), ("#5A3FC0", "#A79BFF")),
    "other": (("#C35B9F", "#F087C4"), ("#6E4A7E", "#C3A3D6")),
}
"""By family: shades on white and on black."""


@dataclass(frozen=True)
class Style:
    """Colours on white and on black, a marker by matplotlib's letter, dash lengths in points."""

    colour: str
    dark: str
    marker: str
    dash: tuple[float, ...]


@dataclass(frozen=True)
class Look:
    """What is known of a method before it gets its style."""

    method: str
    family: str
    colour: str = ""
    marker: str = ""
    joint: bool = False
    """It learns all tasks at once, and is drawn as a star."""


def styles(looks: Iterable[Look]) -> dict[str, Style]:
    """A style for each method: no two methods have both colour and marker in common.

    >>> found = styles([Look("er", "exemplar-based"), Look("der", "exemplar-based")])
    >>> found["er"].marker, found["der"].marker, found["er"] == found["der"]
    ('o', 's', False)
    """
    found: dict[str, Style] = {}
    used: set[tuple[str, str]] = set()
    places: dict[str, int] = {}
    for look in looks:
        shades = HUES.get(look.family, HUES["other"])
        first = places.get(look.family, 0)
        for place in range(first, first + len(MARKERS) * len(shades)):
            colour, dark = shades[place % len(shades)]
            if re.fullmatch("#[0-9a-fA-F]{6}", look.colour):
                colour = dark = look.colour
            marker = "*" if look.joint else MARKERS[place % len(MARKERS)]
            if look.marker in FILLED:
                marker = look.marker
            if (colour, marker) not in used:
                break
        places[look.family] = place + 1
        used.add((colour, marker))
        found[look.method] = Style(colour, dark, marker, DASHES.get(look.family, DASHED))
    return found


def looks_of(runs: Results, methods: Iterable[str]) -> dict[str, Style]:
    """The style of every method, from its family and what its author fixed.

    The paper's methods look the same in all figures, and so does a variant whose method is away.
    """
    everyone = dict.fromkeys((*PAPER_METHODS, *runs.methods))
    found = styles(Look(m, runs.family(m), *runs.look(m), joint=runs.is_joint(m)) for m in everyone)
    away = found.keys() - set(runs.methods)
    return {m: found[base_name(m) if base_name(m) in away else m] for m in methods}


CATEGORIES = (
    "#004DB4", "#C2410C", "#0B7A4B", "#A63A9C", "#9A6B00", "#2F95E0", "#742550", "#57A300",
    "#6B7078", "#0A5C5C",
)  # fmt: skip
"""For things without an order, such as tasks or subjects."""
