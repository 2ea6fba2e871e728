"""``tsbench figure``: figures from the records of a results folder."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tsbench.cli.options import (
    DEFAULT_DATA,
    DEFAULT_RESULTS,
    DataDir,
    ResultsDir,
    command,
    split_names,
)
from tsbench.console import say


class Kind(str, Enum):
    """Which figure."""

    curves = "curves"
    time = "time"
    pareto = "pareto"
    ranks = "ranks"
    matrix = "matrix"
    confusion = "confusion"
    features = "features"


class Against(str, Enum):
    """What accuracy is set against."""

    time = "time"
    bytes = "bytes"


class Projection(str, Enum):
    """How features get into the plane."""

    pca = "pca"
    tsne = "tsne"


@command
def figure(
    kind: Annotated[Kind, typer.Argument(help="Which figure; see docs/reports.md.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Ends in .svg, .pdf or .png.")],
    dataset: Annotated[list[str] | None, typer.Option("--dataset", metavar="NAME")] = None,
    method: Annotated[list[str] | None, typer.Option("--method", metavar="NAME")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of a figure of one run; by default the first.")
    ] = None,
    against: Annotated[
        Against | None, typer.Option("--against", help="Of pareto: only this, not both.")
    ] = None,
    projection: Annotated[
        Projection, typer.Option("--projection", help="Of features.")
    ] = Projection.pca,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="Such as exp-ln-100 or exp-bn-100.")
    ] = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Draw a figure of what was run.

    tsbench figure curves --out curves.pdf
    tsbench figure confusion --dataset uwave --method ts-acl --out confusion.png

    'features' trains the run again, since records hold none.
    """
    from tsbench.report import canvas, figures, rank_figure, run_figures
    from tsbench.report.records import collect

    canvas.ending(out)
    runs = collect(results, protocol, split_names(dataset or []), split_names(method or []))
    for problem in runs.problems:
        say(f"notice: {problem}; left out")
    with canvas.style():
        if kind is Kind.curves:
            drawing = figures.curves(runs)
        elif kind is Kind.time:
            drawing = figures.time(runs)
        elif kind is Kind.pareto:
            costs = [against.value] if against else list(figures.COSTS)
            drawing = figures.pareto(runs, costs)
        elif kind is Kind.ranks:
            drawing = rank_figure.rank_diagram(runs)
        else:
            record = run_figures.choose_run(runs, seed)
            say(f"run: {run_figures.run_title(record)}")
            if kind is Kind.features:
                from tsbench.report.features import features_of

                found = features_of(record, data, results)
                drawing = run_figures.feature_map(record, found, projection.value)
            else:
                drawing = run_figures.OF_A_RUN[kind.value](record)
        canvas.write(drawing, out)
    say(f"written to '{out}'")
