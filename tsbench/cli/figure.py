"""``tsbench figure``: figures from the records of a results folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tsbench.cli.options import (
    DEFAULT_DATA,
    DEFAULT_RESULTS,
    DataDir,
    ResultsDir,
    command,
    split_names,
)
from tsbench.cli.report import Datasets, Methods, ProtocolName, Split
from tsbench.console import say

Kind = Literal["curves", "time", "pareto", "ranks", "matrix", "confusion", "features", "protocols"]


@command
def figure(
    kind: Annotated[Kind, typer.Argument(help="Which figure; see docs/reports.md.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Ends in .svg, .pdf or .png.")],
    dataset: Datasets = None,
    method: Methods = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="For figures of one run. Default: the first.")
    ] = None,
    against: Annotated[
        Literal["time", "bytes"] | None,
        typer.Option("--against", help="For pareto: one cost. Default: both."),
    ] = None,
    projection: Annotated[
        Literal["pca", "tsne"],
        typer.Option("--projection", help="For features; tsne needs tsbench[figures]."),
    ] = "pca",
    shared_seeds: Annotated[
        bool, typer.Option("--shared-seeds", help="For ranks: use the seeds that all methods have.")
    ] = False,
    protocol: ProtocolName = None,
    split: Split = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Draw a figure of finished runs.

    tsbench figure curves --out curves.pdf
    tsbench figure confusion --dataset uwave --method ts-acl --out confusion.png

    'features' repeats the run, since records hold no features.
    """
    from tsbench.report import canvas, python

    canvas.ending(out)
    drawing = python.figure(
        kind,
        results,
        dataset=split_names(dataset or []),
        method=split_names(method or []),
        seed=seed,
        protocol=protocol,
        split=split,
        against=against,
        projection=projection,
        shared_seeds=shared_seeds,
        data=data,
        verbose=True,
    )
    canvas.write(drawing, out)
    say(f"written to '{out}'")
