"""Tables of statistics: each method against one over shared seeds, and average ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tsbench.errors import UserError
from tsbench.report.records import Collection, Group, dataset_title, in_contest, method_title
from tsbench.report.statistics import POINT, POWER, Pair, Ranks, paired, rank_methods
from tsbench.report.summary import figure
from tsbench.report.table import Cell, Options, Row, Table

CAVEAT = (
    "a rank is one number a data set, however many seeds stand behind it: with five data sets the "
    "ranks can hardly speak, and the paired differences say more"
)


def pairs_table(runs: Collection, options: Options) -> Table:
    """A_T of every method minus that of the baseline, seed by seed on the same data."""
    baseline = _baseline(runs, options.baseline)
    name = method_title(baseline)
    table = Table(
        name="pairs",
        caption=f"Average accuracy A_T minus that of {name}, in points, over the seeds that both "
        "have on the same data: mean difference, its 95 % t-interval, and how many more seeds it "
        f"takes to tell a difference of {POINT:g} point.",
        headers=("Data set", "Method"),
        columns=["shared seeds", f"A_T − {name}", "from", "to", "told apart", "more seeds"],
        rows=[],
    )
    for dataset in runs.datasets:
        first = True
        title = table.data_set(dataset_title(dataset), runs.coverage(dataset))
        for method in runs.methods:
            pair = paired(_differences(runs.get(dataset, method), runs.get(dataset, baseline)))
            if pair is None or method == baseline:
                continue
            headers = (title if first else "", method_title(method))
            table.rows.append(Row(headers, _pair_cells(pair, options.digits), rule=first))
            first = False
    if not table.rows:
        raise UserError(f"no method shares a seed with {baseline}; choose another with --baseline")
    table.notes["told apart:"] = (
        "the interval leaves out 0; each interval by itself, so about one in twenty does so by luck"
    )
    table.notes["more seeds:"] = (
        f"until a paired t-test at 5 % finds a true difference of {POINT:g} point "
        f"{100 * POWER:.0f} % of the time, if the spread stays what it is; a rough guess from few"
    )
    return table


@dataclass(frozen=True)
class RankedMethods:
    """Who was ranked on what, best average rank first."""

    methods: list[str]
    datasets: list[str]
    left_out: list[str]
    found: Ranks


def ranked_methods(runs: Collection) -> RankedMethods:
    """Ranks by mean A_T of the methods in the contest that have runs on all data sets."""
    datasets = runs.datasets
    means = {
        method: [figure(runs.get(d, method).values("A_T")) for d in datasets]
        for method in runs.methods
        if in_contest(method)
    }
    whole = [m for m, row in means.items() if all(row)]
    if len(datasets) < 2 or len(whole) < 2:
        raise UserError(
            f"ranks need two methods with runs on each of two data sets or more; here "
            f"{len(whole)} method(s) have runs on all of: {', '.join(datasets)}"
        )
    accuracy = np.array([[f.mean for f in means[m] if f] for m in whole]).T
    found = rank_methods(accuracy)
    order = np.argsort(found.averages, kind="stable")
    ordered = Ranks(
        found.ranks[:, order], found.averages[order], found.chi2, found.p, found.distance
    )
    left_out = [m for m in means if m not in whole]
    return RankedMethods([whole[i] for i in order], datasets, left_out, ordered)


def ranks_table(runs: Collection, options: Options) -> Table:
    """Ranks by A_T on every data set and on average, and what they can tell."""
    ranked = ranked_methods(runs)
    found = ranked.found
    table = Table(
        name="ranks",
        caption="Ranks by mean A_T, 1 for the best, equal means sharing theirs; Naive and Offline "
        "out of contest.",
        headers=("Method",),
        columns=[],
        rows=[],
    )
    titles = [table.data_set(dataset_title(d), runs.coverage(d)) for d in ranked.datasets]
    table.columns = [*titles, "average rank", "told apart from the best"]
    for i, method in enumerate(ranked.methods):
        ranks = [*found.ranks[:, i], found.averages[i]]
        cells = [Cell(text=f"{r:.{1 if r % 1 else 0}f}", value=float(r)) for r in ranks[:-1]]
        cells.append(Cell(text=f"{ranks[-1]:.2f}", value=float(ranks[-1])))
        apart = ranks[-1] - found.averages[0] > found.distance
        cells.append(Cell(text="best" if i == 0 else "yes" if apart else "no"))
        table.rows.append(Row((method_title(method),), cells))
    table.notes["Friedman:"] = friedman_note(ranked)
    table.notes["Nemenyi:"] = nemenyi_note(ranked)
    if ranked.left_out:
        names = ", ".join(method_title(m) for m in ranked.left_out)
        table.notes["Left out:"] = f"no runs on some of the data sets: {names}"
    return table


def friedman_note(ranked: RankedMethods) -> str:
    """The test of all methods at once."""
    found, count = ranked.found, len(ranked.methods)
    return (
        f"χ²({count - 1}) = {found.chi2:.2f}, p = {found.p:.2g}: how often ranks would be this "
        f"uneven if all {count} methods were alike"
    )


def nemenyi_note(ranked: RankedMethods) -> str:
    """How far apart ranks have to be, and the caveat."""
    return (
        f"with {len(ranked.datasets)} data sets, average ranks closer than "
        f"{ranked.found.distance:.2f} are not told apart at 5 %; {CAVEAT}"
    )


def _pair_cells(pair: Pair, digits: int) -> list[Cell]:
    def signed(value: float) -> Cell:
        return Cell(text=f"{value:+.{digits}f}", value=value)

    more = pair.more_seeds
    unknown = pair.interval is None
    return [
        Cell(text=str(pair.seeds), value=pair.seeds),
        signed(pair.mean),
        *(signed(end) for end in pair.interval or ()),
        *([Cell()] * (2 if unknown else 0)),
        Cell(text="–" if unknown else "yes" if pair.told_apart else "no"),
        Cell(text=more, value=float(more) if more.isdigit() else None),
    ]


def _baseline(runs: Collection, wanted: str) -> str:
    """The method asked for, or where TS-ACL was not, the first in the contest."""
    if wanted in runs.methods:
        return wanted
    if wanted != Options.baseline:
        raise UserError(f"no runs of --baseline {wanted}; there are: {', '.join(runs.methods)}")
    return next((m for m in runs.methods if in_contest(m)), runs.methods[0])


def _differences(group: Group, baseline: Group) -> list[float]:
    """A_T minus that of the baseline, for every seed that both ran on the same data."""

    def by_seed(of: Group) -> dict[tuple[int, str], float]:
        return {
            (r["spec"]["seed"], r["data"]["digest"]): r["result"]["A_T"]
            for r in of.finished
            if r["result"].get("A_T") is not None
        }

    one, other = by_seed(group), by_seed(baseline)
    return [one[key] - other[key] for key in sorted(one.keys() & other.keys())]
