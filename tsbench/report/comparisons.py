"""Tables of statistics: each method against one over shared seeds, and average ranks."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np

from tsbench.errors import UserError
from tsbench.report.ranking import rank
from tsbench.report.records import Results
from tsbench.report.statistics import POINT, POWER, Ranks, interval, more_seeds, rank_methods
from tsbench.report.summary import Figure, figure
from tsbench.report.table import Cell, Options, Row, Table

CAVEAT = (
    "a data set counts once, however many seeds it has, so with few data sets this test has little "
    "power; the paired differences say more"
)


def pairs_table(runs: Results, options: Options) -> Table:
    """A_T of every method minus that of the baseline, seed by seed on the same data."""
    baseline = _baseline(runs, options.baseline)
    name = runs.title(baseline)
    table = Table(
        name="pairs",
        caption=f"Average accuracy A_T minus that of {name}, in points, over the seeds that both "
        "have: mean difference, its 95 % t-interval, and how many more seeds are needed to find a "
        f"difference of {POINT:g} point.",
        headers=("Data set", "Method"),
        columns=["seeds", f"A_T − {name}", "from", "to", "differs", "more seeds"],
    )
    for headers, entry in table.entries_of(runs):
        difference = figure(entry.minus(runs.get(entry.dataset, baseline)))
        if difference is not None and entry.method != baseline:
            table.rows.append(Row(headers, _pair_cells(difference, options.digits)))
    if not table.rows:
        raise UserError(f"no method shares a seed with {baseline}; choose another with --baseline")
    table.note(
        "differs:",
        "the interval leaves out 0; every interval is taken alone, so about one in twenty does so "
        "by chance",
    )
    table.note(
        "more seeds:",
        f"until a paired t-test at 5 % finds a true difference of {POINT:g} point "
        f"{100 * POWER:.0f} % of the time, if the spread stays the same; a rough estimate",
    )
    return table.first_header_once()


def ranked_methods(runs: Results, shared_seeds: bool = False) -> tuple[list[str], Ranks]:
    """The methods that are ranked on all data sets by mean A_T, best first, and their ranks."""
    datasets = runs.datasets
    rankings = {d: rank(runs, d, "A_T", shared_seeds) for d in datasets}
    whole = [m for m in runs.methods if all(m in rankings[d].ranks for d in datasets)]
    if len(datasets) < 2 or len(whole) < 2:
        raise UserError(
            "ranks need two methods that have the same seeds on each of two data sets or more; "
            f"here {len(whole)} method(s) have them on all of: {', '.join(datasets)}"
        )
    means = [
        [fmean(runs.get(d, m).values("A_T", rankings[d].seeds)) for m in whole] for d in datasets
    ]
    found = rank_methods(np.array(means))
    order = np.argsort(found.averages, kind="stable")
    ordered = replace(found, ranks=found.ranks[:, order], averages=found.averages[order])
    return [whole[i] for i in order], ordered


def ranks_table(runs: Results, options: Options) -> Table:
    """Ranks by A_T on every data set and on average, and what they can tell."""
    methods, found = ranked_methods(runs, options.shared_seeds)
    table = Table(
        name="ranks",
        caption="Ranks by mean A_T, 1 for the best; equal means share theirs. Bounds are not "
        "ranked.",
        headers=("Method",),
    )
    titles = [table.dataset_of(runs, dataset) for dataset in runs.datasets]
    table.columns = [*titles, "average", "worse than the best"]
    for i, method in enumerate(methods):
        ranks, average = found.ranks[:, i], float(found.averages[i])
        cells = [Cell(text=f"{r:.{1 if r % 1 else 0}f}", value=float(r)) for r in ranks]
        cells.append(Cell(text=f"{average:.2f}", value=average))
        apart = average - found.averages[0] > found.distance
        cells.append(Cell(text="–" if i == 0 else "yes" if apart else "no"))
        table.rows.append(Row((runs.title(method),), cells))
    count = len(methods)
    if count > 2:
        table.note(
            "Friedman:",
            f"χ²({count - 1}) = {found.chi2:.2f}, p = {found.p:.2g}: how often ranks would be this "
            f"uneven if all {count} methods were equal",
        )
    table.note(
        "Nemenyi:",
        f"with {len(runs.datasets)} data sets, average ranks closer than {found.distance:.2f} "
        f"cannot be told apart at 5 %; {CAVEAT}",
    )
    others = [runs.title(m) for m in runs.methods if m not in methods and not runs.is_bound(m)]
    if others:
        table.note("Not ranked:", f"without the same seeds on all data sets: {', '.join(others)}")
    return table


def _pair_cells(difference: Figure, digits: int) -> list[Cell]:
    ends, more = interval(difference), more_seeds(difference)
    differs = ends is not None and not ends[0] <= 0 <= ends[1]
    return [
        Cell(text=str(difference.seeds), value=difference.seeds),
        Cell.signed(difference.mean, digits),
        *(Cell.signed(end, digits) for end in ends or (None, None)),
        Cell(text="–" if ends is None else "yes" if differs else "no"),
        Cell(text=more, value=float(more) if more.isdigit() else None),
    ]


def _baseline(runs: Results, wanted: str) -> str:
    """The method asked for; without TS-ACL, the first that is ranked."""
    if wanted in runs.methods:
        return wanted
    if wanted != Options.baseline:
        raise UserError(f"no runs of --baseline {wanted}; there are: {', '.join(runs.methods)}")
    return next((m for m in runs.methods if not runs.is_bound(m)), runs.methods[0])
