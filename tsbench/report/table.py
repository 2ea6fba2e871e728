"""A table as such: what stands where, which cell is best, what the footnotes are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tsbench.report.records import FULL_SEEDS, PARTIAL
from tsbench.report.summary import Figure, SpreadName

if TYPE_CHECKING:
    from tsbench.report.published import Published

Mark = Literal["", "best", "second"]


@dataclass
class Cell:
    """A figure, or a word in its place."""

    figure: Figure | None = None
    text: str = "–"
    mark: Mark = ""
    notes: tuple[str, ...] = ()
    """Signs of footnotes."""
    value: float | None = None
    """The number that the word stands for, to sort by."""


@dataclass
class Row:
    """Headers on the left, then cells; ``rule`` draws a line above."""

    headers: tuple[str, ...]
    cells: list[Cell]
    rule: bool = False


@dataclass
class Table:
    """Everything that a format needs to show it."""

    name: str
    caption: str
    headers: tuple[str, ...]
    columns: list[str]
    rows: list[Row]
    groups: list[tuple[str, int]] = field(default_factory=list)
    """Titles over runs of columns."""
    notes: dict[str, str] = field(default_factory=dict)
    """Footnotes by sign."""

    def note(self, sign: str, text: str) -> None:
        """Add to a footnote, once."""
        known = self.notes.get(sign)
        if known is None:
            self.notes[sign] = text
        elif text not in known:
            self.notes[sign] = f"{known}; {text}"

    def data_set(self, name: str, coverage: str) -> str:
        """A data set's title, marked and explained below where its data is partial."""
        if not coverage:
            return name
        known = PARTIAL in self.notes
        self.note(PARTIAL, f"{name} {coverage}" if known else f"partial data: {name} {coverage}")
        return name + PARTIAL

    def seeds(self, found: Figure) -> tuple[str, ...]:
        """How many seeds there were, as a footnote's sign, where it is not the full number."""
        if found.seeds == FULL_SEEDS:
            return ()
        self.note("(n):", f"n seeds where it is not {FULL_SEEDS}")
        return (f"({found.seeds})",)


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    digits: int = 2
    compare: Published | None = None
    data: Path = Path("datasets")
    baseline: str = "ts-acl"
    """The method that the table of pairs sets the others against."""
    spread: SpreadName = "std"
    """What stands behind ±."""

    @property
    def mean(self) -> str:
        """What a figure with its spread is, in words."""
        behind = {
            "std": "mean ± standard deviation over seeds",
            "ci95": "mean over seeds ± half the width of its 95 % t-interval",
            "none": "mean over seeds",
        }
        return behind[self.spread]


def rank(cells: list[Cell], contest: list[bool], lower_is_better: bool, digits: int) -> None:
    """Mark the best and the second among those in the contest; equals as shown are equal."""
    shown = {
        i: round(cell.figure.mean, digits)
        for i, (cell, taking_part) in enumerate(zip(cells, contest, strict=True))
        if taking_part and cell.figure is not None
    }
    order = sorted(set(shown.values()), reverse=not lower_is_better)
    marks: tuple[Mark, Mark] = ("best", "second")
    for value, mark in zip(order, marks, strict=False):
        for i, own in shown.items():
            if own == value:
                cells[i].mark = mark


def number(value: float, digits: int) -> str:
    """A number with a true minus sign left to the format."""
    return f"{value:.{digits}f}"


def parts(cell: Cell, spread: SpreadName, digits: int) -> tuple[str, str]:
    """Mean and spread as text, either of them possibly empty."""
    if cell.figure is None:
        return cell.text, ""
    width = cell.figure.spread(spread)
    return number(cell.figure.mean, digits), "" if width is None else number(width, digits)
