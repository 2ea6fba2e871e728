"""The leaderboard: every method on every data set of a protocol, ranked where that is fair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tsbench.console import amount
from tsbench.report.defaults import stale_sign, stale_words
from tsbench.report.ranking import HOLM, Rank, rank
from tsbench.report.records import Entry, Results
from tsbench.report.summary import Figure, figure, figures_of
from tsbench.report.table import Cell, Mark, Options, Row, Table

SUBMITTED = "submitted, not reproduced by us"
SUBMITTED_SIGN = "¶"


@dataclass(frozen=True)
class Standing:
    """A method on a data set."""

    entry: Entry
    title: str
    rank: Rank | None
    """None for a bound, and for a method with other seeds than the ranked ones."""
    full: bool
    """Whether it has all the seeds that ranked methods have."""
    accuracy: Figure | None
    forgetting: Figure | None
    kept: Figure | None
    """Bytes kept between tasks."""
    seconds: dict[str, Figure]
    """Seconds of learning, by machine."""

    @property
    def stale(self) -> str:
        """What differs from the current default settings, in words; empty if nothing."""
        return stale_words(self.entry.finished)

    @property
    def submitted(self) -> bool:
        """Whether some of its records were sent in by others."""
        return any(r.get("submitted") for r in self.entry.finished)

    @property
    def coverage(self) -> str:
        """How much of the data there was: all, or for instance 22 of 51 subjects."""
        return self.entry.coverage or "all"

    @property
    def seeds(self) -> str:
        """How many seeds it has; in parentheses where that is not the complete set."""
        count = len(self.entry.finished)
        return str(count) if self.full else f"({count})"


Board = dict[str, list[Standing]]
"""Data set → standings."""


def board(runs: Results, shared_seeds: bool = False) -> Board:
    """All standings: on each data set ranked methods first, best first; then the others."""
    costs: Costs = {key: ({}, found) for key, found in _figures(runs, "kept")}
    for (dataset, method, machine), found in _figures(runs, "seconds", "machine"):
        costs[dataset, method][0][machine] = found
    return {dataset: _standings(runs, dataset, shared_seeds, costs) for dataset in runs.datasets}


Costs = dict[tuple[str, ...], tuple[dict[str, Figure], Figure | None]]
"""Data set and method → seconds of learning by machine, bytes kept."""


def _figures(runs: Results, column: str, *more: str) -> Iterable[tuple[tuple[str, ...], Figure]]:
    return figures_of(runs.frame, column, ("dataset", "method", *more)).items()


def _standings(runs: Results, dataset: str, shared_seeds: bool, costs: Costs) -> list[Standing]:
    ranking = rank(runs, dataset, shared=shared_seeds)
    found = []
    for method in runs.methods:
        entry = runs.get(dataset, method)
        if not (entry.finished or entry.failed):
            continue
        full = bool(ranking.seeds) and entry.by_seed("A_T").keys() >= set(ranking.seeds)
        seeds = ranking.seeds if full else None
        seconds, kept = costs.get((dataset, method), ({}, None))
        found.append(
            Standing(
                entry=entry,
                title=runs.title(method),
                rank=ranking.ranks.get(method),
                full=full,
                accuracy=figure(entry.values("A_T", seeds)),
                forgetting=figure(entry.values("F_T", seeds)),
                kept=kept,
                seconds=seconds,
            )
        )
    return sorted(found, key=_order)


def _order(each: Standing) -> tuple[bool, bool, float]:
    return each.rank is None, not each.full, -each.accuracy.mean if each.accuracy else 1.0


def machines(standings: Board) -> list[str]:
    """The machines that times were measured on, the one with most runs first."""
    counts: Counter[str] = Counter()
    for each in (s for found in standings.values() for s in found):
        counts.update({machine: seconds.seeds for machine, seconds in each.seconds.items()})
    return sorted(counts, key=lambda m: (-counts[m], m))


def brief_seconds(value: float) -> str:
    """Seconds with the digits that count.

    >>> [brief_seconds(s) for s in (0.0312, 4.567, 61.7, 12345.6)]
    ['0.031', '4.6', '62', '12,346']
    """
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def leaderboard_table(runs: Results, options: Options) -> Table:
    """The leaderboard as ``tsbench report`` prints it; times are those of one machine."""
    standings = board(runs, options.shared_seeds)
    machine = next(iter(machines(standings)), "")
    table = Table(
        name="leaderboard",
        caption="Leaderboard: rank by average accuracy A_T; A_T and forgetting F_T in %, "
        f"{options.mean}; seconds of learning; memory kept between tasks.",
        headers=("Data set", "Method"),
        columns=["rank", "A_T ↑", "F_T ↓", "seconds ↓", "memory ↓", "seeds", "data"],
    )
    for dataset, found in standings.items():
        title = table.dataset_of(runs, dataset)
        for each in found:
            cells = _cells(each, machine)
            cells[0].notes = stale_sign(table, each.entry)
            if each.submitted:
                cells[0].notes += (SUBMITTED_SIGN,)
                table.note(SUBMITTED_SIGN, SUBMITTED)
            table.rows.append(Row((title, each.title), cells))
    table.note("rank:", HOLM)
    if machine:
        table.note("seconds:", f"on {machine}")
    return table.first_header_once()


def _cells(each: Standing, machine: str) -> list[Cell]:
    seconds, kept = each.seconds.get(machine), each.kept
    word = "N.A." if each.entry.finished else "failed"
    mark: Mark = "" if each.full else "unranked"
    return [
        Cell(text=str(each.rank or "–"), value=float(each.rank.first) if each.rank else None),
        Cell(each.accuracy, text=word, mark=mark),
        Cell(each.forgetting, text=word, mark=mark),
        Cell(text=brief_seconds(seconds.mean), value=seconds.mean) if seconds else Cell(),
        Cell(text=amount(kept.mean), value=kept.mean) if kept else Cell(),
        Cell(text=each.seeds, value=float(len(each.entry.finished))),
        Cell(text=each.coverage),
    ]
