"""What all parts of the page need to know: methods in order with their looks, and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tsbench.report.page.markers import symbol_id
from tsbench.report.page.markup import Html, tag
from tsbench.report.palette import Style, looks_of
from tsbench.report.records import Results
from tsbench.report.summary import Figure
from tsbench.report.table import Cell, Options, parts


@dataclass(frozen=True)
class Context:
    """Everything that is the same for all protocols of a page."""

    titles: dict[str, str]
    """Methods in their order, with their names in tables."""
    datasets: list[str]
    looks: dict[str, Style]
    options: Options
    results: Path

    def number(self, method: str) -> int:
        """A method's number, by which the style sheet knows its colours."""
        return list(self.titles).index(method)

    def swatch(self, method: str) -> Html:
        """A method's marker in its colour, to stand beside its name."""
        use = tag("use", href=f"#{symbol_id(self.looks[method].marker)}", width=14, height=14)
        return tag("svg", use, class_=f"swatch own m{self.number(method)}", aria_hidden="true")

    def words(self, found: Figure) -> str:
        """A figure with its spread, which a single seed does not have."""
        mean, width = self.parts(Cell(found))
        return f"{mean} ± {width}" if width else mean

    def parts(self, cell: Cell) -> tuple[str, str]:
        """Mean and spread, with a true minus sign."""
        mean, width = parts(cell, self.options.spread, self.options.digits)
        return mean.replace("-", "−"), width


def make_context(protocols: Sequence[Results], options: Options, results: Path) -> Context:
    """Methods and data sets of all protocols, those of the first one first."""
    titles: dict[str, str] = {}
    looks: dict[str, Style] = {}
    for runs in protocols:
        for method, look in looks_of(runs, runs.methods).items():
            titles.setdefault(method, runs.title(method))
            looks.setdefault(method, look)
    datasets = dict.fromkeys(d for runs in protocols for d in runs.datasets)
    return Context(titles, [*datasets], looks, options, results)
