"""``tsbench tune``."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsbench.cli.executors import with_options
from tsbench.cli.options import (
    DEFAULT_DATA,
    DEFAULT_RESULTS,
    SOME_FAILED,
    DataDir,
    Json,
    ResultsDir,
    command,
    print_table,
)
from tsbench.cli.run import Matrix, run_specs
from tsbench.console import say
from tsbench.executors.base import ExecutorOptions

if TYPE_CHECKING:
    from tsbench.tuning.tune import Study


@command
@with_options
def tune(
    matrix: Matrix,
    full: Annotated[
        bool, typer.Option("--full", help="Try the whole grid, not one hyper-parameter at a time.")
    ] = False,
    *,
    executor: ExecutorOptions,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat failed trials.")
    ] = False,
    as_json: Json = False,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Choose hyper-parameters on the validation stream, per seed, for run --tuned.

    tsbench tune --method er,dt2w --dataset uwave --seeds 5
    tsbench run --method er,dt2w --dataset uwave --seeds 5 --tuned
    """
    executor.prepare()
    from tsbench.runs.store import TUNED, Store
    from tsbench.tuning.tune import make_studies
    from tsbench.tuning.tune import tune as search

    found = matrix.plan("val", data)
    studies = make_studies(found.specs, full)
    run_all = partial(
        run_specs, data=data, results=results, executor=executor, retry_failed=retry_failed
    )
    search(studies, Store(results), run_all)
    rows = [_row(study, results) for study in studies]
    if as_json:
        print(json.dumps(rows, indent=1))
    elif rows:
        _print_rows(rows)
    failed = sum(row["failed"] for row in rows)
    trouble = f", {failed} trial(s) FAILED" if failed else ""
    where_to = f" in '{results / TUNED}'; use them with: tsbench run --tuned" if rows else ""
    say(f"{sum(row['file'] is not None for row in rows)} chosen{trouble}{where_to}")
    if failed or found.refused:
        raise typer.Exit(SOME_FAILED)


def _row(study: Study, results: Path) -> dict[str, Any]:
    """The outcome of a search."""
    from tsbench.tuning.chosen import choice_path

    choice = study.choice()
    return {
        "method": study.spec.label,
        "dataset": study.spec.dataset,
        "seed": study.spec.seed,
        "chosen": choice["chosen"] if choice else None,
        "A_T": choice["A_T"] if choice else None,
        "trials": len(study.tried),
        "failed": sum(trial.score is None for trial in study.tried.values()),
        "full": study.full,
        "file": str(choice_path(results, study.spec)) if choice else None,
    }


def _print_rows(rows: list[dict[str, Any]]) -> None:
    shown = []
    for row in rows:
        chosen = "every trial failed"
        if row["chosen"] is not None:
            chosen = ", ".join(f"{name} {value}" for name, value in row["chosen"].items())
        score = "–" if row["A_T"] is None else f"{row['A_T']:.2f}"
        trials = f"{row['trials']} ({row['failed']} failed)" if row["failed"] else row["trials"]
        shown.append([row["dataset"], row["method"], str(row["seed"]), chosen, score, str(trials)])
    columns = ["data set", "method", "seed", "chosen", "validation A_T", "trials"]
    print_table("Chosen on the validation stream", columns, shown)
