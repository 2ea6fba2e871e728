"""``tsbench run``, ``tsbench demo`` and ``tsbench status``."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tsbench.cli.executors import with_options
from tsbench.cli.options import (
    DEFAULT_DATA,
    DEFAULT_RESULTS,
    SOME_FAILED,
    DataDir,
    Json,
    ResultsDir,
    SplitChoice,
    command,
    is_styled,
    print_table,
    split_names,
    stdout_width,
)
from tsbench.console import duration, say
from tsbench.errors import UserError
from tsbench.executors.base import ExecutorOptions, option
from tsbench.executors.local import LocalOptions

if TYPE_CHECKING:
    from pathlib import Path

    from tsbench.executors.matrix import Tally
    from tsbench.protocol.rules import Protocol, StreamName
    from tsbench.runs.plan import Plan
    from tsbench.runs.spec import RunSpec

DEMO_SEEDS, DEMO_EPOCHS = 2, 2
MOST_EPOCHS = 1_000_000
MARKS = {"done": "✓", "failed": "✗", "running": "▸", "queued": "…", "missing": "·"}
ALWAYS_SHOWN = ("done", "failed", "missing")


@dataclass(frozen=True)
class Matrix:
    """Which runs, as ``run``, ``tune`` and ``status`` are asked for them."""

    method: list[str] | None = option(
        "--method",
        "Names, comma lists, a family, 'all', or file.py:Class. Default: all of the paper's.",
        metavar="NAME",
    )
    dataset: list[str] | None = option(
        "--dataset", "Default: all that are prepared.", metavar="NAME"
    )
    seeds: int | None = option(
        "--seeds", "The first N seeds of the benchmark. Default: 5.", metavar="N"
    )
    seed: list[int] | None = option("--seed", "A seed; may be repeated.", metavar="S")
    epochs: int = option("--epochs", "At most so many epochs per task.", default=100)
    norm: Literal["ln", "bn"] = option("--norm", "Norm inside the encoder.", default="ln")
    split: SplitChoice = option(
        "--split",
        "Test on the published windows, on people who are not in the training data (subject), "
        "or on other recordings of the same people (recording).",
        default="published",
    )
    classes_per_task: int | None = option(
        "--classes-per-task", "New classes in each task. Default: 2.", metavar="K"
    )

    def protocol(self, stream: StreamName) -> Protocol:
        """The protocol that the options describe."""
        from tsbench.protocol.rules import CLASSES_PER_TASK, Protocol

        if self.epochs < 1:
            raise UserError("--epochs must be at least 1")
        if self.epochs > MOST_EPOCHS:
            raise UserError(f"--epochs must be at most {MOST_EPOCHS:,}")
        per_task = CLASSES_PER_TASK if self.classes_per_task is None else self.classes_per_task
        return Protocol(stream, self.norm, self.epochs, self.split, per_task)

    def plan(
        self,
        stream: StreamName,
        data: Path,
        tuned: Path | None = None,
        changes: list[str] | None = None,
        shard: str | None = None,
        check_data: bool = True,
    ) -> Plan:
        """The runs, with settings tuned in a results folder; prints which methods are left out."""
        from tsbench.learn.settings import parse_assignments
        from tsbench.runs.plan import Request, choose_seeds, plan
        from tsbench.tuning.tuned import with_tuned

        request = Request(
            methods=split_names(self.method or ["all"]),
            datasets=split_names(self.dataset or []),
            seeds=choose_seeds(self.seeds, self.seed or []),
            protocol=self.protocol(stream),
            changes=parse_assignments(changes or []),
            shard=shard,
        )
        adjust = partial(with_tuned, results=tuned) if tuned else None
        found = plan(request, data, adjust, check_data)
        for reason in found.refused.values():
            say(f"error: {reason}; continuing with the other methods")
        return found


Stream = Annotated[
    Literal["exp", "val"], typer.Option("--stream", help="Experiment or validation stream.")
]
Tuned = Annotated[bool, typer.Option("--tuned", help="Use the settings that tsbench tune chose.")]


@command
@with_options
def run(
    matrix: Matrix,
    stream: Stream = "exp",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a hyper-parameter.")
    ] = None,
    tuned: Tuned = False,
    *,
    executor: ExecutorOptions,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="Only part I of N.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Repeat finished runs.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Repeat failed runs.")
    ] = False,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Run methods on data sets over seeded class orders; finished runs are skipped.

    tsbench run --method all --seeds 5
    tsbench run --method ts-acl,er --dataset uwave --set schedule=step10
    """
    executor.prepare()
    found = matrix.plan(stream, data, results if tuned else None, set_, shard)
    if not found.specs:
        say("nothing to do: this part of the runs is empty")
        return
    tally = run_specs(found.specs, data, results, executor, force, retry_failed)
    _print_summary(found.specs, results)
    _finish(tally, results, len(found.refused))


@command
def demo(
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", help="Runs at a time. Default: one per core."),
    ] = None,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Run every method on the built-in data set, print a table and write the page.

    Two seeds and short training: it shows what tsbench does, not how good the methods are.
    """
    executor = LocalOptions(device="cpu", jobs=jobs)
    executor.prepare()
    matrix = Matrix(method=["every"], dataset=["demo"], seeds=DEMO_SEEDS, epochs=DEMO_EPOCHS)
    found = matrix.plan("exp", data)
    tally = run_specs(found.specs, data, results, executor, retry_failed=True)
    _print_summary(found.specs, results)
    page = _write_page(results, matrix.protocol("exp"))
    say(f"The page of these runs: {page}")
    say("What to try next:")
    say("  tsbench download uwave")
    say("  tsbench run --method er,ts-acl,ts-acl-r --dataset uwave --seeds 2")
    say("  tsbench new-method mine.py")
    _finish(tally, results)


def _write_page(results: Path, protocol: Protocol) -> Path:
    from tsbench.report.page.build import page, write_page
    from tsbench.report.records import collect
    from tsbench.report.table import Options

    text = page([collect(results, protocol.name)], Options(), results, "tsbench demo")
    return write_page(text, results / "page")


@command
@with_options
def status(
    matrix: Matrix,
    stream: Stream = "exp",
    tuned: Tuned = False,
    as_json: Json = False,
    data: DataDir = DEFAULT_DATA,
    results: ResultsDir = DEFAULT_RESULTS,
) -> None:
    """Show which runs are done, failed, queued or missing, and how long the rest will take."""
    from tsbench.executors.base import pending_runs
    from tsbench.runs.status import matrix_status
    from tsbench.runs.store import Store

    found = matrix.plan(stream, data, results if tuned else None, check_data=False)
    store = Store(results)
    state = matrix_status(found.specs, store, pending_runs(store))
    for problem in state.problems:
        say(f"notice: {problem}; ignored")
    if as_json:
        print(json.dumps(state.as_dict(), indent=1))
        return
    counts: Counter[str] = Counter(each for _, each in state.runs)
    shown = {key: mark for key, mark in MARKS.items() if key in counts or key in ALWAYS_SHOWN}
    rows: dict[tuple[str, str], list[str]] = {}
    for spec, each in state.runs:
        rows.setdefault((spec.dataset, spec.label), []).append(MARKS[each])
    legend = ", ".join(f"{mark} {key}" for key, mark in shown.items())
    print_table(
        f"Runs in '{results}' ({matrix.protocol(stream).name}), one column per seed: {legend}",
        ["data set", "method", "seeds"],
        [[d, m, " ".join(marks)] for (d, m), marks in rows.items()],
    )
    left = f"; about {duration(state.seconds_left)} of work left" if state.seconds_left else ""
    print(", ".join(f"{counts[key]} {key}" for key in shown) + left)


def run_specs(
    specs: list[RunSpec],
    data: Path,
    results: Path,
    executor: ExecutorOptions,
    force: bool = False,
    retry_failed: bool = False,
) -> Tally:
    """Execute the runs that are missing, and show what happens to them."""
    from tsbench.cli.display import Display
    from tsbench.executors.matrix import run_matrix
    from tsbench.runs.store import Store

    return run_matrix(
        specs, Store(results), data, executor, Display, force=force, retry_failed=retry_failed
    )


def _print_summary(specs: list[RunSpec], results: Path) -> None:
    from tsbench.report.layout import terminal
    from tsbench.report.leaderboard import leaderboard_table
    from tsbench.report.records import collect
    from tsbench.report.table import Options

    chosen = {(spec.dataset, spec.label) for spec in specs}
    try:
        runs = collect(results, specs[0].protocol.name)
    except UserError:
        return  # nothing was finished, and nothing failed
    runs = replace(runs, entries={key: e for key, e in runs.entries.items() if key in chosen})
    print(terminal(leaderboard_table(runs, Options()), "std", 2, stdout_width(), is_styled()))


def _finish(tally: Tally, results: Path, refused: int = 0) -> None:
    parts = [f"{tally.done} run(s) done"]
    if tally.skipped:
        parts.append(f"{tally.skipped} were done before")
    if tally.failed:
        parts.append(f"{tally.failed} FAILED")
    if refused:
        parts.append(f"{refused} method(s) could not be used")
    say(f"{', '.join(parts)}; records in '{results}'")
    if tally.failed or refused:
        raise typer.Exit(SOME_FAILED)
