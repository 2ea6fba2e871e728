"""``tsbench run``, ``tsbench demo`` and ``tsbench status``."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated

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
    stdout_width,
)
from tsbench.console import duration, say
from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.bench.drive import Tally
    from tsbench.bench.spec import RunSpec
    from tsbench.bench.store import Store

DEMO_SEEDS, DEMO_EPOCHS = 3, 5
MARKS = {"done": "✓", "failed": "✗", "running": "▸", "queued": "…", "missing": "·"}
ALWAYS_SHOWN = ("done", "failed", "missing")


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
Tuned = Annotated[bool, typer.Option("--tuned", help="With the settings that tsbench tune chose.")]


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
    tuned: Tuned = False,
    device: Device = "auto",
    jobs: Jobs = None,
    threads: Threads = 1,
    executor: ExecutorOption = ExecutorChoice.local,
    address: Address = None,
    cpus_per_run: CpusPerRun = None,
    gpus_per_run: GpusPerRun = None,
    slurm: SlurmOptions = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Only part I of N.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Do finished runs again.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed runs again.")
    ] = False,
    timeout: Timeout = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Run methods on data sets over seeded class orders; skips what is done.

    tsbench run --method all --seeds 5
    tsbench run --method ts-acl,er --dataset uwave --set schedule=step10
    """
    from tsbench.bench.names import choose_datasets, choose_seeds
    from tsbench.bench.names import shard as part
    from tsbench.learn.catalogue import expand
    from tsbench.learn.settings import parse_assignments

    if epochs < 1:
        raise UserError("--epochs must be at least 1")
    where = choose_executor(executor, jobs, address, cpus_per_run, gpus_per_run, slurm)
    running = Running(data, results, where, device, threads, timeout, force, retry_failed)
    methods = expand(split_names(method or ["all"]))
    datasets = choose_datasets(split_names(dataset or []), data)
    running.warm_up()
    from tsbench.bench.plan import Request, loadable, make_specs

    request = Request(
        methods=loadable(methods),
        datasets=datasets,
        seeds=choose_seeds(seeds, seed or []),
        stream=stream.value,
        epochs=epochs,
        norm=norm.value,
        changes=parse_assignments(set_ or []),
    )
    specs = make_specs(request, data)
    if tuned:
        from tsbench.bench.tuned import with_tuned

        specs = with_tuned(specs, results)
    if shard is not None:
        specs = part(specs, shard)
    tally, store = running.drive(specs)
    _print_summary(specs, store)
    _finish(tally, store, broken=len(methods) - len(request.methods))


@command
def demo(
    jobs: Jobs = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Every method on the built-in stream, three seeds, short training; then the tables."""
    from tsbench.bench.names import choose_seeds
    from tsbench.learn.catalogue import METHODS

    where = choose_executor(ExecutorChoice.local, jobs, None, None, None, None)
    running = Running(data, results, where, device="cpu", retry_failed=True)
    running.warm_up()
    from tsbench.bench.plan import Request, make_specs

    request = Request(
        methods=list(METHODS.builtin),
        datasets=["demo"],
        seeds=choose_seeds(DEMO_SEEDS, []),
        epochs=DEMO_EPOCHS,
    )
    specs = make_specs(request, data)
    tally, store = running.drive(specs)
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
    tuned: Tuned = False,
    as_json: Json = False,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """What of a matrix of runs is done, failed, queued, missing; how long the rest will take."""
    from tsbench.bench.status import matrix_status

    found = matrix_status(
        methods=split_names(method or ["all"]),
        datasets=split_names(dataset or []),
        count=seeds,
        seeds=seed or [],
        protocol=f"{stream.value}-{norm.value}-{epochs}",
        data=data,
        results=results,
        tuned=tuned,
    )
    for problem in found.problems:
        say(f"notice: {problem}")
    if as_json:
        print(json.dumps(found.as_dict(), indent=1))
        return
    counts = Counter(run_["state"] for run_ in found.runs)
    shown = {key: mark for key, mark in MARKS.items() if key in counts or key in ALWAYS_SHOWN}
    rows: dict[tuple[str, str], list[str]] = {}
    for run_ in found.runs:
        rows.setdefault((run_["dataset"], run_["method"]), []).append(MARKS[run_["state"]])
    legend = ", ".join(f"{mark} {key}" for key, mark in shown.items())
    print_table(
        f"Runs in '{results}' ({found.protocol}), a column a seed: {legend}",
        ["data set", "method", "seeds"],
        [[d, m, " ".join(marks)] for (d, m), marks in rows.items()],
    )
    left = f"; about {duration(found.seconds_left)} of work left" if found.seconds_left else ""
    print(", ".join(f"{counts[key]} {key}" for key in shown) + left)


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


def _finish(tally: Tally, store: Store, broken: int = 0) -> None:
    parts = [f"{tally.done} run(s) done"]
    if tally.skipped:
        parts.append(f"{tally.skipped} were done before")
    if tally.failed:
        parts.append(f"{tally.failed} FAILED")
    if broken:
        parts.append(f"{broken} method(s) could not be used")
    say(f"{', '.join(parts)}; records in '{store.root}'")
    if tally.failed or broken:
        raise typer.Exit(SOME_FAILED)
