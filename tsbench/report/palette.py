"""How a method looks in figures: a colour, a marker and a dash, the same everywhere.

Seven colours that people who see fewer colours can tell apart, for paper and for a dark screen;
within a family no colour comes twice, and the marker tells families apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BLUE, RUST, GREEN, PINK, AMBER, SKY, WINE = range(7)
COLOURS = ("#004DB4", "#A52F00", "#0E8956", "#C35B9F", "#C39C00", "#42A6FA", "#742550")
DARK_COLOURS = ("#4190E8", "#F17E51", "#25D59F", "#F087C4", "#EAC145", "#9BD8FF", "#B85A83")
GREY, DARK_GREY = "#6B7078", "#9AA0A9"
SOLID, DASHED, DOTTED = (), (5.0, 2.5), (1.5, 2.0)
STRANGER_MARKERS = "X>d"


@dataclass(frozen=True)
class Style:
    """Colours on white and on black, a marker by matplotlib's letter, dash lengths in points."""

    colour: str
    dark: str
    marker: str
    dash: tuple[float, ...]


def _style(colour: int, marker: str, dash: tuple[float, ...]) -> Style:
    return Style(COLOURS[colour], DARK_COLOURS[colour], marker, dash)


STYLES = {
    "naive": Style(GREY, DARK_GREY, "X", DOTTED),
    "offline": Style(GREY, DARK_GREY, "*", DOTTED),
    "lwf": _style(GREEN, "^", DASHED),
    "mas": _style(WINE, "v", DASHED),
    "dt2w": _style(SKY, "<", DASHED),
    "gr": _style(WINE, "p", DOTTED),
    "er": _style(GREEN, "s", DOTTED),
    "der": _style(AMBER, "s", DOTTED),
    "herding": _style(PINK, "D", DOTTED),
    "aser": _style(SKY, "D", DOTTED),
    "clops": _style(RUST, "P", DOTTED),
    "fasticarl": _style(BLUE, "P", DOTTED),
    "ts-acl": _style(BLUE, "o", SOLID),
    "ts-acl-e": _style(RUST, "o", SOLID),
    "ts-acl-r": _style(PINK, "o", SOLID),
    "ts-acl-deep": _style(AMBER, "h", SOLID),
    "ts-acl-deep-rhl": _style(GREEN, "h", SOLID),
}


def styles(labels: Sequence[str]) -> dict[str, Style]:
    """A style for each label: a method's own, and a variant's too if the method itself is away.

    What has none gets a free one by its place.

    >>> found = styles(["er", "er+x", "der+tuned", "mine"])
    >>> found["er"] == STYLES["er"], found["der+tuned"] == STYLES["der"], len(set(found.values()))
    (True, True, 4)
    """
    found: dict[str, Style] = {}
    strangers = 0
    for label in labels:
        method = label.partition("+")[0]
        own = STYLES.get(method)
        if own and own not in found.values() and (label == method or method not in labels):
            found[label] = own
            continue
        marker = STRANGER_MARKERS[strangers % len(STRANGER_MARKERS)]
        found[label] = _style(strangers % len(COLOURS), marker, DASHED)
        strangers += 1
    return found
