"""A table as such: what stands where, which cell is best, what the footnotes are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tsbench.report.summary import Figure, SpreadName

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
