"""``tsbench tune``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tsbench.cli.executors import (
    Address,
    CpusPerRun,
    Device,
    ExecutorChoice,
    ExecutorOption,
    GpusPerRun,
    Jobs,
    Running,
    SlurmOptions,
    Threads,
    Timeout,
    choose_executor,
)
from tsbench.cli.options import (
    DEFAULT_DATA,
    DEFAULT_RESULTS,
    SOME_FAILED,
    DataDir,
    Json,
    ResultsDir,
    command,
    print_table,
    split_names,
)
from tsbench.cli.run import Datasets, Epochs, Methods, Norm, NormOption, SeedCount, Seeds
from tsbench.console import say
from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.bench.tune import Study


@command
def tune(
    method: Methods = None,
    dataset: Datasets = None,
    seeds: SeedCount = None,
    seed: Seeds = None,
    epochs: Epochs = 100,
    norm: NormOption = Norm.ln,
    full: Annotated[
        bool, typer.Option("--full", help="All of the grid, not one hyper-parameter at a time.")
    ] = False,
    device: Device = "auto",
    jobs: Jobs = None,
    threads: Threads = 1,
    executor: ExecutorOption = ExecutorChoice.local,
    address: Address = None,
    cpus_per_run: CpusPerRun = None,
    gpus_per_run: GpusPerRun = None,
    slurm: SlurmOptions = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed trials again.")
    ] = False,
    timeout: Timeout = None,
    as_json: Json = False,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Choose hyper-parameters on the validation stream, per seed, for ``tsbench run --tuned``.

    tsbench tune --method er,dt2w --dataset uwave --seeds 5
    tsbench run --method er,dt2w --dataset uwave --seeds 5 --tuned
    """
    from tsbench.bench.names import choose_datasets, choose_seeds
    from tsbench.learn.catalogue import expand

    if epochs < 1:
        raise UserError("--epochs must be at least 1")
    where = choose_executor(executor, jobs, address, cpus_per_run, gpus_per_run, slurm)
    running = Running(data, results, where, device, threads, timeout, retry_failed=retry_failed)
    methods = expand(split_names(method or ["all"]))
    datasets = choose_datasets(split_names(dataset or []), data)
    running.warm_up()
    from tsbench.bench.choice import FOLDER
    from tsbench.bench.plan import Request, loadable, make_specs
    from tsbench.bench.store import Store
    from tsbench.bench.tune import make_studies
    from tsbench.bench.tune import tune as search

    chosen_seeds = choose_seeds(seeds, seed or [])
    usable = loadable(methods)
    request = Request(usable, datasets, chosen_seeds, stream="val", epochs=epochs, norm=norm.value)
    studies = make_studies(make_specs(request, data), full)
    store = Store(results)
    search(studies, store, running.drive)
    rows = [_row(study, results) for study in studies]
    if as_json:
        print(json.dumps(rows, indent=1))
    elif rows:
        _print_rows(rows)
    failed = sum(row["failed"] for row in rows)
    trouble = f", {failed} trial(s) FAILED" if failed else ""
    where_to = f" in '{results / FOLDER}'; use them with: tsbench run --tuned" if rows else ""
    say(f"{sum(row['file'] is not None for row in rows)} chosen{trouble}{where_to}")
    if failed or usable != methods:
        raise typer.Exit(SOME_FAILED)


def _row(study: Study, results: Path) -> dict[str, Any]:
    """What came of a search."""
    from tsbench.bench.choice import choice_path

    choice = study.choice()
    return {
        "method": study.spec.label,
        "dataset": study.spec.dataset,
        "seed": study.spec.seed,
        "chosen": dict(choice.best.values) if choice else None,
        "A_T": choice.best.score if choice else None,
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
