"""Options of executors: offered by the commands, refused for other executors, easy to add."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tsbench.cli.executors import choose_options, with_options
from tsbench.cli.main import app
from tsbench.errors import UserError
from tsbench.executors.base import EXECUTORS, ExecutorOptions, pending_runs
from tsbench.executors.local import LocalOptions
from tsbench.executors.ray import RayOptions
from tsbench.runs.store import Store

NEW = '''
from dataclasses import dataclass
from tsbench.executors.base import Event, ExecutorOptions, option

@dataclass(frozen=True)
class PaperOptions(ExecutorOptions):
    """Runs on paper."""

    sheets: int = option("--sheets", "Paper: sheets per run.", metavar="N", default=1)

    def choose_device(self):
        return "cpu"

    def make(self, store, machine):
        return Paper()

    @classmethod
    def pending(cls, store):
        return {"0123": "queued"}

class Paper:
    workers = 1

    def run(self, specs):
        for spec in specs:
            yield Event("failed", spec, {"error": "out of ink"})
'''


@pytest.fixture
def paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new executor: one module, one line of registration."""
    (tmp_path / "paper_executor.py").write_text(NEW)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(EXECUTORS, "paper", "paper_executor:PaperOptions")


def test_a_new_executor_needs_no_change_elsewhere(paper: None, tmp_path: Path) -> None:
    from tsbench.cli.run import run

    given = []
    command = typer.Typer()

    @command.command()
    @with_options
    def show(*, executor: ExecutorOptions) -> None:
        given.append(executor)

    runner = CliRunner()
    assert "--sheets" in runner.invoke(command, ["--help"], env={"COLUMNS": "200"}).stdout
    assert runner.invoke(command, ["--executor", "paper", "--sheets", "3"]).exit_code == 0
    assert given[0].sheets == 3
    with pytest.raises(UserError, match="--sheets is for --executor paper, not local"):
        choose_options("local", sheets=2)
    assert pending_runs(Store(tmp_path)) == {"0123": "queued"}

    rebuilt = typer.Typer()
    rebuilt.command()(with_options(run.__wrapped__.__wrapped__))
    arguments = ["--method", "naive", "--dataset", "demo", "--seed", "1", "--executor", "paper"]
    ended = runner.invoke(rebuilt, [*arguments, "--results", str(tmp_path / "r")])
    assert ended.exit_code == 1
    assert "naive demo seed 1: FAILED: out of ink" in ended.stderr


@pytest.mark.parametrize("verb", ["run", "tune"])
def test_commands_offer_the_options_of_all_executors(verb: str) -> None:
    shown = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "200"}).stdout
    for flag in (
        *("--executor", "--device", "--jobs", "--threads", "--timeout"),
        *("--address", "--cpus-per-run", "--gpus-per-run", "--slurm"),
    ):
        assert flag in shown


def test_options_reach_the_executor() -> None:
    chosen = choose_options("ray", address="h:1", gpus_per_run=0.5, jobs=3, threads=2)
    assert chosen == RayOptions(address="h:1", gpus_per_run=0.5, jobs=3, threads=2)
    assert (chosen.cpus, chosen.gpus) == (2, 0.5)
    assert chosen.choose_device() == "cuda"
    assert isinstance(choose_options("local", slurm=None, address=None), LocalOptions)


def test_help_imports_neither_torch_nor_ray_nor_numpy() -> None:
    code = (
        "import sys; from tsbench.cli.main import app; from typer.main import get_command;"
        "get_command(app); print([m for m in ('torch', 'ray', 'numpy') if m in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
