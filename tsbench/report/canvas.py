"""Figures as such: size, type, and how one gets to disk with the same bytes every time."""

from __future__ import annotations

import contextlib
import io
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsbench.disk import write_whole
from tsbench.errors import UserError
from tsbench.report.palette import Style
from tsbench.report.records import method_title

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

WIDTH = 7.0
"""Inches between the margins of a paper; a single panel takes half of them."""
PANELS_A_ROW = 3
LINE = 0.15
"""Inches of a line in a legend."""
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
    "lines.linewidth": 1.1,
    "lines.markersize": 4.0,
    "figure.dpi": 100,
    "savefig.dpi": 300,
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
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(LOOK)
        yield


def blank(width: float, height: float) -> Drawing:
    """An empty figure in inches, whose parts make room for one another."""
    from matplotlib.figure import Figure as Drawing

    return Drawing(figsize=(width, height), layout="constrained")


def panels(
    count: int, height: float, columns: int = PANELS_A_ROW, share_rows: bool = False
) -> tuple[Drawing, list[Axes], Axes | None]:
    """Panels in rows, and what is left of the last row as one more, for the legend."""
    columns = min(count, columns)
    rows = -(-count // columns)
    drawing = blank(WIDTH if columns > 1 else WIDTH / 2, height * rows)
    cells = drawing.add_gridspec(rows, columns)
    made: list[Axes] = []
    for i in range(count):
        beside = made[-1] if share_rows and i % columns else None
        made.append(drawing.add_subplot(cells[i // columns, i % columns], sharey=beside))
        if beside is not None:
            made[-1].tick_params(labelleft=False)
    used = count % columns
    return drawing, made, drawing.add_subplot(cells[-1, used:]) if used else None


def line(look: Style, points: int) -> dict[str, Any]:
    """How a method's line is drawn; a point alone is larger, and a star on top."""
    alone, star = points == 1, look.marker == "*"
    return {
        "color": look.colour,
        "marker": look.marker,
        "markersize": 9 if star else 5 if alone else 4,
        "markeredgecolor": INK if star else "white",
        "markeredgewidth": 0.4,
        "linestyle": "none" if alone else (0, look.dash) if look.dash else "solid",
        "zorder": 4 if star else 3,
    }


def log_axis(panel: Axes, text: str | Callable[[float, float], str]) -> None:
    """A logarithmic x axis with plain numbers on it, two at least."""
    from matplotlib.ticker import LogLocator, NullFormatter

    panel.set_xscale("log")
    panel.margins(x=0.12)
    low, high = panel.get_xlim()
    decades = math.log10(high / low)
    steps = (1.0,) if decades > 2 else (1.0, 3.0) if decades > 1 else (1.0, 2.0, 5.0)
    panel.xaxis.set_major_locator(LogLocator(subs=steps, numticks=3 if decades > 3 else 4))
    panel.xaxis.set_major_formatter(text)
    panel.xaxis.set_minor_formatter(NullFormatter())


def wrapped(notes: list[str], inches: float) -> str:
    """Notes in small type, a paragraph each, no wider than that."""
    letters = int(18 * inches)
    return "\n".join(textwrap.fill(note, letters) for note in notes)


def legend(
    drawing: Drawing, spare: Axes | None, looks: Mapping[str, Style], notes: list[str]
) -> None:
    """All methods by name, in the spare panel or below, and notes."""
    from matplotlib.lines import Line2D

    handles: list[Artist] = [
        Line2D([], [], **line(look, 1 if look.marker == "*" else 2)) for look in looks.values()
    ]
    labels = [_shown(method_title(method)) for method in looks]
    if spare is not None:
        spare.axis("off")
        place = spare.get_subplotspec()
        assert place is not None
        cells = place.get_gridspec()
        room = len(place.colspan) / cells.ncols * drawing.get_figwidth()
        columns = min(3, int(room / _column(labels)))
        title = wrapped(notes, room)
        if columns > 1 and _lines(labels, columns, title) * LINE < (
            drawing.get_figheight() / cells.nrows
        ):
            spare.legend(
                handles, labels, loc="center", ncols=columns, **_about(title)
            ).set_in_layout(False)
            return
    legend_below(drawing, handles, labels, notes)


def legend_below(
    drawing: Drawing, handles: Sequence[Artist], labels: Sequence[str], notes: list[str]
) -> None:
    """A legend under all panels, for which the figure grows."""
    title = wrapped(notes, drawing.get_figwidth())
    most = max(1, min(6, int(drawing.get_figwidth() / _column(labels))))
    rows = -(-len(labels) // most)
    columns = -(-len(labels) // rows)
    height = LINE * _lines(labels, columns, title) + 0.1
    drawing.set_figheight(drawing.get_figheight() + height)
    drawing.legend(handles, labels, loc="outside lower center", ncols=columns, **_about(title))


def _shown(label: str) -> str:
    """matplotlib leaves out what starts with an underscore."""
    return f" {label}" if label.startswith("_") else label


def _lines(labels: Sequence[str], columns: int, title: str) -> float:
    """Lines of a legend with its title."""
    return -(-len(labels) // columns) + 0.9 * len(title.split("\n"))


def _column(labels: Sequence[str]) -> float:
    """Inches that a column of a legend takes."""
    return 0.55 + 0.06 * max(map(len, labels))


def _about(title: str) -> dict[str, Any]:
    return {"title": title, "title_fontsize": 6, "alignment": "left", "handlelength": 3}


def write(drawing: Drawing, out: Path) -> None:
    """Write a figure whole, in the format of the file's ending, without a date."""
    kind = ending(out)
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a letter that the font lacks: a box
        drawing.savefig(buffer, format=kind, metadata=UNDATED[kind])
    try:
        write_whole(out, buffer.getvalue())
    except OSError as error:
        raise UserError(f"cannot write '{out}': {error.strerror}") from error
