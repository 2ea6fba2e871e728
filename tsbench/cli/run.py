"""``tsbench run``, ``tsbench demo`` and ``tsbench status``."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    stdout_width,
)
from tsbench.console import duration, say
from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.bench.drive import Tally
    from tsbench.bench.spec import RunSpec
    from tsbench.bench.store import Store

DEMO_SEEDS, DEMO_EPOCHS = 3, 8


class StreamChoice(str, Enum):
    """Which stream."""

    exp = "exp"
    val = "val"


class Norm(str, Enum):
    """Encoder norm."""

    ln = "ln"
    bn = "bn"


Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Names, comma lists, a family, 'all', or file.py:Class. Default: all of the paper's.",
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", metavar="NAME", help="Default: all that are prepared."),
]
SeedCount = Annotated[
    int | None, typer.Option("--seeds", metavar="N", help="The first N published seeds [5].")
]
Seeds = Annotated[list[int] | None, typer.Option("--seed", metavar="S", help="These seeds.")]
Stream = Annotated[StreamChoice, typer.Option("--stream", help="Experiment or validation stream.")]
Epochs = Annotated[int, typer.Option("--epochs", help="Epochs a task at most.")]
NormOption = Annotated[Norm, typer.Option("--norm", help="Norm inside the encoder.")]
Jobs = Annotated[
    int | None, typer.Option("--jobs", help="Runs at a time. Default: one a core, one on a GPU.")
]
Threads = Annotated[int, typer.Option("--threads", help="Torch threads a run.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]


@command
def run(
    method: Methods = None,
    dataset: Datasets = None,
    seeds: SeedCount = None,
    seed: Seeds = None,
    stream: Stream = StreamChoice.exp,
    epochs: Epochs = 100,
    norm: NormOption = Norm.ln,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A hyper-parameter.")
    ] = None,
    device: Device = "auto",
    jobs: Jobs = None,
    threads: Threads = 1,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Only part I of N.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Do finished runs again.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed runs again.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="MIN", help="Minutes a run at most.")
    ] = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Run methods on data sets over seeded class orders; skips what is done.

    tsbench run --method all --seeds 5
    tsbench run --method ts-acl,er --dataset uwave --set schedule=step10
    """
    from tsbench.bench.forks import start_early
    from tsbench.bench.names import choose_datasets, choose_seeds
    from tsbench.bench.names import shard as part
    from tsbench.learn.catalogue import expand
    from tsbench.learn.settings import parse_assignments

    if epochs < 1:
        raise UserError("--epochs must be at least 1")
    if timeout is not None and not timeout > 0:
        raise UserError("--timeout must be more than 0 minutes")
    methods = expand(split_names(method or ["all"]))
    datasets = choose_datasets(split_names(dataset or []), data)
    start_early()
    from tsbench.bench.plan import Request, make_specs

    request = Request(
        methods=methods,
        datasets=datasets,
        seeds=choose_seeds(seeds, seed or []),
        stream=stream.value,
        epochs=epochs,
        norm=norm.value,
        changes=parse_assignments(set_ or []),
    )
    specs = make_specs(request, data)
    if shard is not None:
        specs = part(specs, shard)
    tally, store = _drive(specs, data, results, device, jobs, threads, timeout, force, retry_failed)
    _print_summary(specs, store)
    _finish(tally, store)


@command
def demo(
    jobs: Jobs = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Every method on the built-in stream, three seeds, short training; then the tables."""
    from tsbench.bench.forks import start_early
    from tsbench.bench.names import choose_seeds
    from tsbench.learn.catalogue import METHODS

    start_early()
    from tsbench.bench.plan import Request, make_specs

    request = Request(
        methods=list(METHODS.builtin),
        datasets=["demo"],
        seeds=choose_seeds(DEMO_SEEDS, []),
        epochs=DEMO_EPOCHS,
    )
    specs = make_specs(request, data)
    tally, store = _drive(specs, data, results, "cpu", jobs, 1, None, False, True)
    _print_summary(specs, store)
    _finish(tally, store)


@command
def status(
    method: Methods = None,
    dataset: Datasets = None,
    seeds: SeedCount = None,
    seed: Seeds = None,
    stream: Stream = StreamChoice.exp,
    epochs: Epochs = 100,
    norm: NormOption = Norm.ln,
    as_json: Json = False,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """What of a matrix of runs is done, failed, missing, and how long the rest will take."""
    from tsbench.bench.status import matrix_status

    found = matrix_status(
        methods=split_names(method or ["all"]),
        datasets=split_names(dataset or []),
        count=seeds,
        seeds=seed or [],
        protocol=f"{stream.value}-{norm.value}-{epochs}",
        data=data,
        results=results,
    )
    for problem in found.problems:
        say(f"notice: {problem}")
    if as_json:
        print(json.dumps(found.as_dict(), indent=1))
        return
    symbols = {"done": "✓", "failed": "✗", "missing": "·"}
    rows: dict[tuple[str, str], list[str]] = {}
    for run_ in found.runs:
        rows.setdefault((run_["dataset"], run_["method"]), []).append(symbols[run_["state"]])
    print_table(
        f"Runs in '{results}' ({found.protocol}), a column a seed: ✓ done, ✗ failed, · missing",
        ["data set", "method", "seeds"],
        [[d, m, " ".join(marks)] for (d, m), marks in rows.items()],
    )
    counts = Counter(run_["state"] for run_ in found.runs)
    left = f"; about {duration(found.seconds_left)} of work left" if found.seconds_left else ""
    print(f"{counts['done']} done, {counts['failed']} failed, {counts['missing']} missing{left}")


def _drive(
    specs: list[RunSpec],
    data: Path,
    results: Path,
    device: str,
    jobs: int | None,
    threads: int,
    timeout: float | None,
    force: bool,
    retry_failed: bool,
) -> tuple[Tally, Store]:
    from tsbench.bench.drive import drive
    from tsbench.bench.machine import commit
    from tsbench.bench.run import Machine, choose_device
    from tsbench.bench.store import Store

    chosen = choose_device(device)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    default_jobs = 1 if chosen != "cpu" else max(1, (cores or 1) // max(1, threads))
    workers = default_jobs if jobs is None else jobs
    if workers < 1:
        raise UserError("--jobs must be at least 1")
    if threads < 1:
        raise UserError("--threads must be at least 1")
    store = Store(results)
    machine = Machine(
        data=data,
        shared=store.shared_folder,
        device=chosen,
        threads=threads,
        workers=workers,
        commit=commit(),
        since=time.time() if force else 0.0,
    )
    minutes = None if timeout is None else 60 * timeout
    return drive(specs, store, machine, minutes, force, retry_failed), store


def _print_summary(specs: list[RunSpec], store: Store) -> None:
    from tsbench.report import render
    from tsbench.report.records import collect
    from tsbench.report.tables import overview_table

    chosen = {(spec.dataset, spec.label) for spec in specs}
    try:
        runs = collect(store.root, specs[0].protocol)
    except UserError:
        return  # nothing was finished, and nothing failed
    runs = replace(runs, groups={key: g for key, g in runs.groups.items() if key in chosen})
    render.terminal(overview_table(runs), "std", 2, stdout_width())


def _finish(tally: Tally, store: Store) -> None:
    parts = [f"{tally.done} run(s) done"]
    if tally.skipped:
        parts.append(f"{tally.skipped} were done before")
    if tally.failed:
        parts.append(f"{tally.failed} FAILED")
    say(f"{', '.join(parts)}; records in '{store.root}'")
    if tally.failed:
        raise typer.Exit(SOME_FAILED)
