"""The critical-difference diagram: average ranks on a line, bars under those that are tied."""

from __future__ import annotations

from matplotlib.axes import Axes

from tsbench.report.canvas import INK, WIDTH, Drawing, blank
from tsbench.report.comparisons import ranked_methods
from tsbench.report.palette import looks_of
from tsbench.report.records import Results
from tsbench.report.statistics import cliques

BAR, ROW = 0.35, 0.75
"""Heights of a bar and of a name, in units of the vertical axis."""


def rank_diagram(runs: Results, shared_seeds: bool = False) -> Drawing:
    """Average ranks by A_T; a bar joins methods whose ranks cannot be told apart (Nemenyi)."""
    names, found = ranked_methods(runs, shared_seeds)
    bars = cliques(list(found.averages), found.distance)
    half = -(-len(names) // 2)
    depth = BAR * (len(bars) + 1) + ROW * half
    drawing = blank(WIDTH, 0.2 * (depth + 2.2))
    panel = drawing.add_subplot()
    panel.axis("off")
    low, high = 1.0, float(len(names))
    margin = 0.3 * (high - low)
    right = max(high + margin, low + 1.05 * found.distance)
    panel.set(xlim=(low - margin, right), ylim=(-depth, 2.2))
    panel.plot([low, high], [0, 0], color=INK, linewidth=0.8)
    for rank in range(1, len(names) + 1):
        panel.plot([rank, rank], [0, 0.2], color=INK, linewidth=0.8)
        panel.text(rank, 0.3, str(rank), ha="center", va="bottom")
    _distance(panel, low, found.distance)
    for i, (first, last) in enumerate(bars, start=1):
        ends = [found.averages[first] - 0.05, found.averages[last] + 0.05]
        panel.plot(ends, [-i * BAR] * 2, color=INK, linewidth=2.5, solid_capstyle="butt",
                   label="tied")  # fmt: skip
    looks = looks_of(runs, names)
    for place, (name, rank) in enumerate(zip(names, found.averages, strict=True)):
        left = place < half
        row = place if left else len(names) - 1 - place
        height = -BAR * (len(bars) + 1) - ROW * row
        end = low - 0.05 * (high - low) if left else high + 0.05 * (high - low)
        look, title = looks[name], runs.title(name)
        panel.plot([rank, rank, end], [0, height, height], color=look.colour, linewidth=0.8,
                   label=name)  # fmt: skip
        panel.plot(rank, 0, look.marker, color=look.colour, zorder=4)
        text = f"{title}  {rank:.2f}" if left else f"{rank:.2f}  {title}"
        panel.text(end, height, f" {text} ", ha="right" if left else "left", va="center")
    return drawing


def _distance(panel: Axes, start: float, distance: float) -> None:
    """The critical difference as a ruler above the axis."""
    end = start + distance
    panel.plot([start, start, start, end, end, end], [1.25, 1.55, 1.4, 1.4, 1.55, 1.25],
               color=INK, linewidth=0.8, label="critical difference")  # fmt: skip
    panel.text((start + end) / 2, 1.6, f"critical difference {distance:.2f}", ha="center",
               va="bottom")  # fmt: skip
