"""A table before it has a format: rows, columns, which cell is best, what the footnotes are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tsbench.protocol.rules import SEEDS
from tsbench.report.records import Entry, Results
from tsbench.report.summary import Figure, SpreadName
from tsbench.report.titles import dataset_title

if TYPE_CHECKING:
    from tsbench.report.published import Published

Mark = Literal["", "best", "second", "unranked"]
PARTIAL = "†"
"""Stands beside the name of a data set that is not complete."""
STALE = "*"
"""Stands beside what was made with settings that are no longer the defaults."""
PREFIXES = {PARTIAL: "partial data: ", STALE: "settings that are no longer the defaults: "}


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

    @property
    def number(self) -> float | None:
        """What it says as a number, not rounded; None for a word that stands for none."""
        return self.figure.mean if self.figure else self.value

    @classmethod
    def signed(cls, value: float | None, digits: int = 2) -> Cell:
        """A difference with its sign."""
        return cls() if value is None else cls(text=f"{value:+.{digits}f}", value=value)


@dataclass
class Row:
    """Headers on the left, then cells; a line above (``rule``), a title above (``section``)."""

    headers: tuple[str, ...]
    cells: list[Cell]
    rule: bool = False
    section: str = ""


@dataclass(frozen=True)
class Note:
    """A footnote; with ``header`` it concerns only tables in which that header is shown."""

    sign: str
    text: str
    header: str = ""


@dataclass
class Table:
    """Everything that a format needs to show it."""

    name: str
    caption: str
    headers: tuple[str, ...]
    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    groups: list[tuple[str, int]] = field(default_factory=list)
    """Titles over neighbouring columns, and how many columns each of them spans."""
    notes: list[Note] = field(default_factory=list)

    def note(self, sign: str, text: str, header: str = "") -> None:
        """Add a footnote, once."""
        if (new := Note(sign, text, header)) not in self.notes:
            self.notes.append(new)

    def data_set(self, name: str, coverage: str) -> str:
        """A data set's title, marked and explained below where its data is partial."""
        if not coverage:
            return name
        self.note(PARTIAL, f"{name} {coverage}", name)
        return name + PARTIAL

    def dataset_of(self, runs: Results, dataset: str) -> str:
        """The title of a data set of the runs."""
        return self.data_set(dataset_title(dataset), runs.coverage(dataset))

    def entries_of(self, runs: Results) -> Iterator[tuple[tuple[str, str], Entry]]:
        """All entries of the runs, each with the titles of its data set and method as headers."""
        for dataset in runs.datasets:
            title = self.dataset_of(runs, dataset)
            for method in runs.methods:
                if (dataset, method) in runs.entries:
                    yield (title, runs.title(method)), runs.get(dataset, method)

    def seeds(self, found: Figure) -> tuple[str, ...]:
        """The number of seeds as a footnote's sign, where it is not the published five."""
        if found.seeds == SEEDS:
            return ()
        self.note("(n)", f"n seeds where it is not {SEEDS}")
        return (f"({found.seeds})",)

    def footnotes(self) -> list[tuple[str, str]]:
        """Signs and texts of the notes that concern what this table shows."""
        titles = {title for title, _ in self.groups} | set(self.columns)
        titles |= {title for row in self.rows for title in (*row.headers, *row.section.split(", "))}
        shown = {title.removesuffix(PARTIAL) for title in titles}
        signs = {s for row in self.rows for cell in row.cells for s in cell.notes}
        signs |= {"(n)" for sign in signs if sign.startswith("(")}
        texts: dict[str, list[str]] = {}
        for note in self.notes:
            if note.header in shown if note.header else note.sign in signs or note.sign[-1] == ":":
                texts.setdefault(note.sign, []).append(note.text)
        return [(sign, PREFIXES.get(sign, "") + "; ".join(t)) for sign, t in texts.items()]

    def spans(self) -> list[tuple[str, range]]:
        """Titles of the groups, and the places of their columns."""
        ends = accumulate(count for _, count in self.groups)
        pairs = zip(self.groups, ends, strict=True)
        return [(title, range(end - count, end)) for (title, count), end in pairs]

    def grouped_columns(self) -> list[tuple[str, str]]:
        """Title of the group, possibly empty, and of the column, for every column."""
        owners = [title for title, count in self.groups for _ in range(count)]
        return list(zip(owners or [""] * len(self.columns), self.columns, strict=True))

    def add_column(self, title: str, cells: Sequence[Cell]) -> None:
        """One more cell for every row."""
        self.columns.append(title)
        for row, cell in zip(self.rows, cells, strict=True):
            row.cells.append(cell)

    def first_header_once(self) -> Table:
        """Keep the first header only where it changes, with a line above."""
        above = None
        for row in self.rows:
            first = row.headers[0]
            row.rule = first != above
            row.headers = (first if row.rule else "", *row.headers[1:])
            above = first
        return self

    def filled_headers(self) -> list[tuple[str, ...]]:
        """The headers of every row; an empty one is that of the row above."""
        made = [("",) * len(self.headers)]
        for row in self.rows:
            made.append(tuple(own or old for own, old in zip(row.headers, made[-1], strict=True)))
        return made[1:]

    def part(self, columns: Iterable[int]) -> Table:
        """The same rows with some of the columns."""
        chosen = list(columns)
        titles = self.grouped_columns()
        owners = [titles[i][0] for i in chosen] if self.groups else []
        groups = [(title, len(list(same))) for title, same in groupby(owners)]
        rows = [replace(row, cells=[row.cells[i] for i in chosen]) for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in chosen], rows=rows, groups=groups)


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    digits: int = 2
    compare: Published | None = None
    data: Path = Path("datasets")
    baseline: str = "ts-acl"
    """The method that the table of pairs compares the others with."""
    spread: SpreadName = "std"
    """What ± shows."""
    shared_seeds: bool = False
    """Rank over the seeds that all methods have, not over the complete set."""
    ranks: bool = False
    """Show ranks with ties in the main table."""

    @property
    def mean(self) -> str:
        """What a figure with its spread is, in words."""
        words = {
            "std": "mean ± standard deviation over seeds",
            "ci95": "mean over seeds ± half the width of its 95 % t-interval",
            "none": "mean over seeds",
        }
        return words[self.spread]


def mark_best(cells: Iterable[Cell], lower: bool, digits: int) -> None:
    """Mark the best and the second best of the cells; equal as shown means equal."""
    shown = [(cell, round(cell.figure.mean, digits)) for cell in cells if cell.figure]
    order = sorted({value for _, value in shown}, reverse=not lower)
    marks: dict[float, Mark] = dict(zip(order, ("best", "second"), strict=False))
    for cell, value in shown:
        cell.mark = marks.get(value, "")


def parts(cell: Cell, spread: SpreadName, digits: int) -> tuple[str, str]:
    """Mean and spread as text, either of them possibly empty."""
    if cell.figure is None:
        return cell.text, ""
    width = cell.figure.spread(spread)
    return f"{cell.figure.mean:.{digits}f}", "" if width is None else f"{width:.{digits}f}"
