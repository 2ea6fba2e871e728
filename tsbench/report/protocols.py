"""The same methods under different splits: what a score on random windows does not show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from tsbench.errors import UserError
from tsbench.protocol.rules import SPLITS, SplitName
from tsbench.report.records import Entry, Results
from tsbench.report.summary import figure
from tsbench.report.table import Cell, Options, Row, Table
from tsbench.report.titles import dataset_title

TITLES: dict[SplitName, str] = {
    "published": "published split",
    "subject": "unseen subjects",
    "recording": "unseen recordings",
}


@dataclass(frozen=True)
class BySplit:
    """Results that differ in their split only."""

    results: dict[SplitName, Results]
    """In the order of ``SPLITS``."""

    @cached_property
    def datasets(self) -> dict[str, str]:
        """Data sets that have runs under two splits or more, and how much data there was."""
        each = list(self.results.values())
        everything = dict.fromkeys(d for runs in each for d in runs.datasets)
        several = [d for d in everything if sum(d in runs.datasets for runs in each) > 1]
        if not several:
            raise UserError("no data set has runs under two splits")
        return {d: ", ".join(sorted({runs.coverage(d) for runs in each} - {""})) for d in several}

    def methods(self, dataset: str) -> list[str]:
        """Methods with finished runs on a data set, in the order of the main table."""
        each = list(self.results.values())
        merged = replace(each[0], entries={k: e for runs in each for k, e in runs.entries.items()})
        return [m for m in merged.methods if any(r.get(dataset, m).finished for r in each)]

    def of(self, method: str) -> Results:
        """The first results that have runs of a method."""
        return next(runs for runs in self.results.values() if method in runs.methods)


def compare_splits(runs: Results) -> BySplit:
    """The results that differ from ``runs`` in the split only."""
    named = {each.protocol: each for each in (*runs.others, runs)}
    names = {split: replace(runs.rules, split=split).name for split in SPLITS}
    found = {split: named[name] for split, name in names.items() if name in named}
    if len(found) < 2:
        raise UserError(
            f"of {runs.protocol} there are runs with --split {runs.rules.split} only; run the same "
            "with another --split"
        )
    return BySplit(found)


def protocols_table(runs: Results, options: Options) -> Table:
    """A_T of every method under each split, and how it differs from that under the first one."""
    found = compare_splits(runs)
    first, *rest = found.results
    table = Table(
        name="protocols",
        caption=f"Average accuracy A_T in % under each split, {options.mean}. Δ: difference to the "
        f"{TITLES[first]} over the seeds that both have.",
        headers=("Data set", "Method"),
        columns=[TITLES[first], *(w for s in rest for w in (TITLES[s], f"Δ {TITLES[s]}"))],
    )
    for dataset, coverage in found.datasets.items():
        title = table.data_set(dataset_title(dataset), coverage)
        for method in found.methods(dataset):
            entries = [each.get(dataset, method) for each in found.results.values()]
            cells = _cells(table, entries, options)
            table.rows.append(Row((title, found.of(method).title(method)), cells))
    return table.first_header_once()


def _cells(table: Table, entries: Sequence[Entry], options: Options) -> list[Cell]:
    cells: list[Cell] = []
    for entry in entries:
        value = figure(entry.values("A_T"))
        cells.append(Cell(value, notes=table.seeds(value) if value else ()))
        if entry is not entries[0]:
            gaps = entry.minus(entries[0])
            cells.append(Cell.signed(fmean(gaps) if gaps else None, options.digits))
    return cells
