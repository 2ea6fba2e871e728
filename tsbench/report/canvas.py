"""Figures as such: size, type, labels that do not overlap, and files with the same bytes always."""

from __future__ import annotations

import contextlib
import io
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from tsbench.disk import save
from tsbench.errors import UserError
from tsbench.report.palette import Style

WIDTH = 7.0
"""Inches between the margins of a paper; a single panel takes half of them."""
LABEL_SIZE = 6.0
"""Points."""
GRID = "#D9DCE1"
INK = "#22252B"
UNDATED: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}
LOOK: Any = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine has it
    "font.size": 7.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 7.0,
    "axes.edgecolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.fontsize": LABEL_SIZE,
    "lines.linewidth": 1.1,
    "lines.markersize": 4.0,
    "figure.dpi": 100,
    "savefig.dpi": 300,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.03,
    "text.parse_math": False,  # a $ in somebody's name is a $
    "svg.hashsalt": "tsbench",
    "pdf.fonttype": 42,  # publishers refuse Type 3
}


def ending(out: Path) -> str:
    """The format that a file's name asks for."""
    found = out.suffix.lower().lstrip(".")
    if found not in UNDATED:
        raise UserError(f"--out '{out}' must end in .svg, .pdf or .png")
    return found


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Our look, whatever the user's own matplotlib settings are."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a letter that the font lacks: a box
        mpl.rcdefaults()
        mpl.rcParams.update(LOOK)
        yield


class Drawing(Figure):
    """A figure; a notebook shows it when it is the value of a cell."""

    def as_file(self, kind: str) -> bytes:
        """The content of a file, without a date."""
        buffer = io.BytesIO()
        self.savefig(buffer, format=kind, metadata=UNDATED[kind])
        return buffer.getvalue()

    def _repr_png_(self) -> bytes:
        with style(), mpl.rc_context({"savefig.dpi": 130}):
            return self.as_file("png")


def blank(width: float, height: float) -> Drawing:
    """An empty figure in inches, whose parts make room for one another."""
    return Drawing(figsize=(width, height), layout="constrained")


def panels(
    count: int, height: float, columns: int, share_rows: bool = False
) -> tuple[Drawing, list[Axes]]:
    """Panels in rows."""
    columns = min(count, columns)
    rows = -(-count // columns)
    drawing = blank(WIDTH if columns > 1 else WIDTH / 2, height * rows)
    shared: Literal["row", "none"] = "row" if share_rows else "none"
    made = drawing.subplots(rows, columns, sharey=shared, squeeze=False).ravel()
    for unused in made[count:]:
        unused.remove()
    return drawing, list(made[:count])


def point(look: Style) -> dict[str, Any]:
    """How a method's marker is drawn; a star, for what is joint training, is larger and on top."""
    star = look.marker == "*"
    return {
        "color": look.colour,
        "marker": look.marker,
        "markersize": 9 if star else 4.5,
        "markeredgecolor": INK if star else "white",
        "markeredgewidth": 0.4,
        "linestyle": "none",
        "zorder": 4 if star else 3,
    }


def line(look: Style) -> dict[str, Any]:
    """How a method's line is drawn."""
    return {**point(look), "linestyle": (0, look.dash) if look.dash else "solid"}


def log_axis(panel: Axes, text: str | Callable[[float, float], str]) -> None:
    """A logarithmic x axis with plain numbers on it, two at least."""
    panel.set_xscale("log")
    panel.margins(x=0.12)
    low, high = panel.get_xlim()
    decades = math.log10(high / low)
    steps = (1.0,) if decades > 2 else (1.0, 3.0) if decades > 1 else (1.0, 2.0, 5.0)
    panel.xaxis.set_major_locator(LogLocator(subs=steps, numticks=3 if decades > 3 else 4))
    panel.xaxis.set_major_formatter(text)
    panel.xaxis.set_minor_formatter(NullFormatter())


def spread_out(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near as possible to the wanted ones, in their order, a gap apart, within limits.

    The pool-adjacent-violators algorithm: neighbours that are too close move as one block.

    >>> spread_out([1.0, 5.0, 5.0], 1.0, 0.0, 10.0)
    [1.0, 4.5, 5.5]
    >>> spread_out([9.9, 9.9], 1.0, 0.0, 10.0)
    [9.0, 10.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    blocks: list[list[float]] = []  # mean of (wanted − place · gap), and how many
    for place, i in enumerate(order):
        blocks.append([wanted[i] - place * gap, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, n), (b, m) = blocks[-2:]
            blocks[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    top = high - gap * (len(wanted) - 1)
    offsets = [max(low, min(top, mean)) for mean, count in blocks for _ in range(int(count))]
    found = [0.0] * len(wanted)
    for place, i in enumerate(order):
        found[i] = offsets[place] + place * gap
    return found


def label_ends(
    panel: Axes, ends: Sequence[tuple[float, float]], names: Sequence[str],
    colours: Sequence[str], at: float,
) -> None:  # fmt: skip
    """Names in a column at ``at``, to the right of the ends of lines; none overlaps another.

    Call it when the layout is final.
    """
    (low, high), gap = panel.get_ylim(), _line_height(panel)
    places = spread_out([y for _, y in ends], gap, low + gap / 2, high - gap / 2)
    for end, place, name, colour in zip(ends, places, names, colours, strict=True):
        _label(panel, end, (at, place), name, colour, "left")


def label_front(
    panel: Axes, points: Sequence[tuple[float, float]], names: Sequence[str], colours: Sequence[str]
) -> None:
    """Names above and to the left of points on a front, where no point is; log x axis.

    The axes grow until there is room. Call it when the layout is final.
    """
    width, _ = _inches(panel)
    low, high = (math.log(x) for x in panel.get_xlim())
    starts = [low]
    for (x, _), name in zip(points, names, strict=True):
        share = min(0.8, 0.03 + 0.75 * LABEL_SIZE / 72 * len(name) / width)
        starts.append((math.log(x) - share * high) / (1 - share))
    panel.set_xlim(math.exp(min(starts)), math.exp(high))
    order = sorted(range(len(points)), key=lambda i: points[i][1])
    for _ in range(20):  # a longer axis makes letters taller in its units
        gap, places = 1.1 * _line_height(panel), [-math.inf]
        for i in order:
            places.append(max(points[i][1] + 0.6 * gap, places[-1] + gap))
        bottom, top = panel.get_ylim()
        if places[-1] + gap / 2 <= top:
            break
        panel.set_ylim(bottom, places[-1] + gap / 2)
    for i, place in zip(order, places[1:], strict=True):
        beside = math.exp(math.log(points[i][0]) - 0.02 * (high - min(starts)))
        _label(panel, points[i], (beside, place), names[i], colours[i], "right")


def _line_height(panel: Axes) -> float:
    """Of a label, in units of the y axis."""
    low, high = panel.get_ylim()
    _, height = _inches(panel)
    return 1.25 * LABEL_SIZE / 72 / height * (high - low)


def _inches(panel: Axes) -> tuple[float, float]:
    """Width and height."""
    drawing = panel.get_figure(root=True)
    assert drawing is not None
    box = panel.get_position()
    return box.width * drawing.get_figwidth(), box.height * drawing.get_figheight()


def _label(
    panel: Axes, point: tuple[float, float], at: tuple[float, float], name: str, colour: str,
    side: Literal["left", "right"],
) -> None:  # fmt: skip
    panel.annotate(
        name, point, xytext=at, color=colour, fontsize=LABEL_SIZE, ha=side, va="center", zorder=5,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-", "color": colour, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 2,
            "relpos": (0.0 if side == "left" else 1.0, 0.5),
        },
    )  # fmt: skip


def wrapped(notes: Sequence[str], inches: float) -> str:
    """Notes in small type, one paragraph each, no wider than that."""
    return "\n".join(textwrap.fill(note, int(18 * inches)) for note in notes)


def notes_below(drawing: Drawing, notes: Sequence[str]) -> None:
    """Small type under all panels."""
    if notes:
        drawing.supxlabel(wrapped(notes, drawing.get_figwidth()), fontsize=LABEL_SIZE)


def legend(drawing: Drawing, looks: Mapping[str, Style], notes: Sequence[str]) -> None:
    """All methods by name and marker under all panels, for which the figure grows, and notes."""
    title = wrapped(notes, drawing.get_figwidth())
    longest = 0.35 + 0.055 * max(map(len, looks))
    columns = max(1, min(8, int(drawing.get_figwidth() / longest)))
    rows = -(-len(looks) // columns)
    lines = rows + title.count("\n") + 1
    drawing.set_figheight(drawing.get_figheight() + 0.14 * lines + 0.1)
    drawing.legend(
        [Line2D([], [], **point(look)) for look in looks.values()],
        [shown_label(name) for name in looks],
        loc="outside lower center", ncols=-(-len(looks) // rows), title=title,
        title_fontsize=LABEL_SIZE, alignment="left", handletextpad=0.3, columnspacing=1.2,
    )  # fmt: skip


def shown_label(text: str) -> str:
    """A label for a legend: matplotlib leaves out what starts with an underscore."""
    return f" {text}" if text.startswith("_") else text


def write(drawing: Drawing, out: Path) -> None:
    """Write a figure whole, in the format of the file's ending."""
    with style():
        save(out, drawing.as_file(ending(out)))
