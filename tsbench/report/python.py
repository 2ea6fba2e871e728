"""Tables and figures for Python users: ``tsbench.report`` and ``tsbench.figure``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tsbench.console import quiet, say
from tsbench.errors import UserError
from tsbench.protocol.rules import SplitName
from tsbench.report.published import comparison
from tsbench.report.records import Results, collect
from tsbench.report.render import as_frame
from tsbench.report.summary import SpreadName
from tsbench.report.table import Options
from tsbench.report.tables import TABLES

if TYPE_CHECKING:
    import pandas as pd

    from tsbench.report.canvas import Drawing

DATA, RESULTS = Path("datasets"), Path("results")
Names = str | Sequence[str]
"""A name, or several."""
FigureName = Literal[
    "curves", "time", "pareto", "ranks", "protocols", "matrix", "confusion", "features"
]


@quiet
def report(
    table: str = "main",
    results: Path | str = RESULTS,
    *,
    dataset: Names = (),
    method: Names = (),
    protocol: str | None = None,
    split: SplitName | None = None,
    compare: Literal["paper", "reference"] | None = None,
    baseline: str = "ts-acl",
    spread: SpreadName = "std",
    shared_seeds: bool = False,
    data: Path | str = DATA,
    verbose: bool = False,
) -> pd.DataFrame:
    """A table of ``tsbench report`` as a data frame, not rounded; a notebook shows it.

    Beside every mean is a column ``±`` with its spread. Words such as "not run" are missing values.
    The frame's ``attrs`` hold the caption, the footnotes and what had to be left out.
    """
    if table not in TABLES:
        raise UserError(f"there is no table '{table}'; there are: {', '.join(TABLES)}")
    runs = _collect(results, dataset, method, protocol, split)
    options = Options(
        compare=comparison(compare, runs),
        data=Path(data),
        baseline=baseline,
        spread=spread,
        shared_seeds=shared_seeds,
    )
    frame = as_frame(TABLES[table](runs, options), spread)
    frame.attrs["left_out"] = runs.problems
    return frame


@quiet
def figure(
    kind: FigureName = "curves",
    results: Path | str = RESULTS,
    *,
    dataset: Names = (),
    method: Names = (),
    seed: int | None = None,
    protocol: str | None = None,
    split: SplitName | None = None,
    against: Literal["time", "bytes"] | None = None,
    projection: Literal["pca", "tsne"] = "pca",
    shared_seeds: bool = False,
    data: Path | str = DATA,
    verbose: bool = False,
) -> Drawing:
    """A figure of ``tsbench figure``, which is a matplotlib figure; a notebook shows it."""
    from tsbench.report import figures, rank_figure, run_figures
    from tsbench.report.canvas import style

    runs = _collect(results, dataset, method, protocol, split)
    of_runs = {"curves": figures.curves, "time": figures.time, "protocols": figures.protocols}
    of_a_run = {"matrix": run_figures.accuracy_matrix, "confusion": run_figures.confusion_matrix}
    with style():
        if kind in of_runs:
            return of_runs[kind](runs)
        if kind == "pareto":
            return figures.pareto(runs, [against] if against else [*figures.COSTS])
        if kind == "ranks":
            say("methods under one bar do not differ clearly; see tsbench report --table ranks")
            return rank_figure.rank_diagram(runs, shared_seeds)
        if kind not in (*of_a_run, "features"):
            raise UserError(f"there is no figure '{kind}'; see docs/reports.md")
        record = run_figures.choose_run(runs, seed)
        say(f"run: {run_figures.run_title(record)}")
        if kind in of_a_run:
            return of_a_run[kind](record)
        from tsbench.report.features import features_of  # imports torch

        features = features_of(record, Path(data), Path(results))
        return run_figures.feature_map(record, features, projection)


def _collect(
    results: Path | str,
    dataset: Names,
    method: Names,
    protocol: str | None,
    split: SplitName | None,
) -> Results:
    runs = collect(Path(results), protocol, _names(dataset), _names(method), split)
    runs.say_problems()
    return runs


def _names(given: Names) -> list[str]:
    return [given] if isinstance(given, str) else list(given)
