"""matplotlib's markers as SVG, so that a method looks the same in figures and on the page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from matplotlib.markers import MarkerStyle

from tsbench.report.page.markup import Html, tag

COMMANDS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
"""SVG's letters for matplotlib's codes of parts of a path."""


@cache
def _outline(letter: str) -> str:
    """The path of a marker within -0.5 … 0.5."""
    style = MarkerStyle(letter)
    path = style.get_path().transformed(style.get_transform())
    parts = []
    for numbers, code in path.iter_segments():
        upward = numbers.reshape(-1, 2) * (1, -1)
        parts.append(COMMANDS[int(code)] + " ".join(f"{n:.3g}" for n in upward.ravel()))
    return "".join(re.sub("Z.*", "Z", part) for part in parts)


def symbol_id(letter: str) -> str:
    """The id of a marker's symbol in the page."""
    return f"marker-{ord(letter)}"


def symbols(letters: Iterable[str]) -> Html:
    """The shapes of markers, for ``<use>``."""
    made = []
    for letter in sorted(set(letters)):
        frame = "-0.6 -0.6 1.2 1.2" if letter == "*" else "-1 -1 2 2"  # a star's arms are thin
        path = tag("path", d=_outline(letter))
        made.append(tag("symbol", path, id=symbol_id(letter), viewBox=frame))
    return tag("svg", *made, class_="unseen", aria_hidden="true")
