"""``tsbench run``, ``status`` and ``demo``: bad input, display, what they print."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from misbehaving_methods import PLUGINS
from tsbench_process import run_here
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.runs.store import Store


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "naiv"], ["unknown method 'naiv'", "did you mean 'naive'"]),
        (["--method", "naive", "--dataset", "dmo"], ["did you mean 'demo'"]),
        (["--dataset", "demo", "--seeds", "0"], ["--seeds must be at least 1"]),
        (["--dataset", "demo", "--seed", "-1"], ["--seed"]),
        (["--dataset", "demo", "--jobs", "0"], ["--jobs must be at least 1"]),
        (["--dataset", "demo", "--threads", "0"], ["--threads must be at least 1"]),
        (["--dataset", "demo", "--epochs", "0"], ["--epochs must be at least 1"]),
        (["--dataset", "demo", "--timeout", "0"], ["--timeout"]),
        (["--dataset", "demo", "--shard", "3/2"], ["--shard"]),
        (["--dataset", "demo", "--address", "x:1"], ["--address is for --executor ray, not local"]),
        (["--dataset", "demo", "--slurm", "mem=1G", "--executor", "ray"], ["--executor slurm"]),
        (["--dataset", "demo", "--executor", "slurm", "--slurm", "mem"], ["--slurm", "key=value"]),
        (["--dataset", "demo", "--executor", "ray", "--cpus-per-run", "0"], ["at least 0.0001"]),
        (["--dataset", "demo", "--executor", "ray", "--gpus-per-run", "-1"], ["0 or more"]),
        (["--dataset", "demo", "--executor", "ray", "--gpus-per-run", "1.5"], ["whole number"]),
        (["--dataset", "demo", "--executor", "ray", "--device", "cuda"], ["--gpus-per-run 1"]),
        (["--dataset", "demo", "--executor", "ray", "--device", "abacus"], ["unknown device"]),
        (["--dataset", "demo", "--device", "cuda"], ["--device cuda", "--device cpu"]),
        (["--dataset", "demo", "--device", "abacus"], ["unknown device"]),
        (["--dataset", "demo", "--set", "schedul=step10"], ["did you mean 'schedule'"]),
        (["--dataset", "demo", "--set", "batch=big"], ["batch must be of type int"]),
        (["--dataset", "demo", "--set", "batch"], ["key=value"]),
        (["--method", "naive", "--dataset", "uwave"], ["not prepared", "tsbench download uwave"]),
        (["--method", "naive"], ["no data set is prepared", "--dataset demo"]),
        (["--method", "PLUGIN:NoVerb", "--dataset", "demo"], ["lacks kept, predict"]),
        (["--method", "PLUGIN:NoMethod", "--dataset", "demo"], ["does not derive"]),
        (["--method", "PLUGIN:BadSettings", "--dataset", "demo"], ["must be a dataclass"]),
        (["--method", "PLUGIN:Good,COPY:Good", "--dataset", "demo"], ["rename one"]),
        (["--method", "QUITS:X", "--dataset", "demo"], ["failed to import", "SystemExit"]),
        (["--dataset", "demo", "--timeout", "nan"], ["--timeout"]),
        (["--method", "ts-acl", "--dataset", "demo", "--set", "gamma=-1"], ["gamma must be"]),
        (["--method", "PLUGIN:Nobody", "--dataset", "demo"], ["has no 'Nobody'"]),
        (["--method", "./gone.py:X", "--dataset", "demo"], ["does not exist"]),
        (["--method", "BROKEN:X", "--dataset", "demo"], ["failed to import", "ZeroDivisionError"]),
        (["--method", "naive", "--dataset", "demo", "--results", "FILE"], ["cannot be written"]),
    ],
)
def test_bad_input_is_told_in_a_line_or_two(tmp_path: Path, plugins, arguments, words) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "file").write_text("")
    (tmp_path / "quits.py").write_text("import sys; sys.exit(0)")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / plugins.name).write_text(PLUGINS + "# changed")
    names = {
        "PLUGIN": plugins,
        "COPY": tmp_path / "copy" / plugins.name,
        "BROKEN": tmp_path / "broken.py",
        "QUITS": tmp_path / "quits.py",
        "FILE": tmp_path / "file",
    }
    for name, path in names.items():
        arguments = [a.replace(name, str(path)) for a in arguments]
    if "--results" not in arguments:
        arguments = [*arguments, "--results", str(tmp_path / "r")]
    result = CliRunner().invoke(app, ["run", *arguments, "--data", str(tmp_path / "none")])
    assert result.exit_code == 2, result.output
    told = [line for line in result.stderr.splitlines() if not line.startswith("demo: ")]
    assert len(told) <= 2, told
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.output


def test_the_live_display_shows_every_worker() -> None:
    from rich.console import Console

    from tsbench.cli.display import Display
    from tsbench.executors.base import Event
    from tsbench.runs.estimate import Estimate
    from tsbench.runs.spec import RunSpec

    specs = [RunSpec("demo", "d", "naive", seed) for seed in (1, 2, 3)]
    display = Display(specs, Estimate([]), workers=2)
    display.live = type("Live", (), {"console": Console(record=True, width=100)})()
    display.show(Event("started", specs[0]), 2)
    display.show(Event("started", specs[1]), 2)
    display.show(Event("progress", specs[1], {"task": 2, "epoch": 7, "loss": 0.125}), 2)
    details = {"A_T": 50.0, "F_T": 12.5, "seconds": 61.0, "total": 62.0}
    display.show(Event("done", specs[0], details), 2)
    console = Console(record=True, width=100)
    console.print(display._render())
    shown = console.export_text()
    assert "1/3 runs" in shown
    assert "about 1 min 2 s left" in shown
    assert "seed 2" in shown
    assert "task 3, epoch 7" in shown
    assert "loss 0.1250" in shown
    assert "seed 1" not in shown
    told = display.live.console.export_text()
    assert "[1/3] naive demo seed 1: A_T 50.00, F_T 12.50, 1 min 1 s" in told


def test_a_log_has_a_line_about_the_runs_under_way_now_and_then(monkeypatch, capsys) -> None:
    from tsbench.cli import display as module
    from tsbench.executors.base import Event
    from tsbench.runs.estimate import Estimate
    from tsbench.runs.spec import RunSpec

    seconds = 100.0
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: seconds))
    specs = [RunSpec("demo", "d", "naive", seed) for seed in range(1, 8)]
    display = module.Display(specs, Estimate([]), workers=6)
    for spec in specs[:6]:
        display.show(Event("started", spec), 6)
    seconds += module.LINE_INTERVAL
    for epoch in (7, 8):
        display.show(Event("progress", specs[0], {"task": 2, "epoch": epoch, "loss": 0.1}), 6)
    assert capsys.readouterr().err == (
        "[0/7] running: naive demo seed 1 (task 3, epoch 7), naive demo seed 2 (starting), "
        "naive demo seed 3 (starting), naive demo seed 4 (starting), 2 more\n"
    )


@pytest.mark.slow
def test_demo_runs_the_methods_and_ends_with_the_table(tmp_path: Path, monkeypatch) -> None:
    from tsbench.learn.registry import METHODS

    some = ("naive", "gr", "ts-acl", "ts-acl-r")  # all of them would take a minute
    monkeypatch.setattr(METHODS, "builtin", {name: METHODS.builtin[name] for name in some})
    shown = CliRunner().invoke(app, ["demo", "--results", str(tmp_path)])
    assert shown.exit_code == 0, shown.stderr
    for kind in METHODS.builtin.values():
        assert f" {kind.title} " in shown.stdout
    assert (tmp_path / "page" / "index.html").is_file()
    records, _ = Store(tmp_path).records()
    assert len(records) == 2 * len(some)
    accuracy = {r["label"]: r["result"]["A_T"] for r in records if r["spec"]["seed"] == 1234}
    assert accuracy["naive"] < 30, "it forgets nearly everything"
    assert 80 < accuracy["ts-acl"] < 100


def test_shards_are_disjoint_and_complete() -> None:
    from tsbench.runs.plan import shard

    parts = [shard(list(range(10)), f"{i}/3") for i in (1, 2, 3)]
    assert sorted(n for part in parts for n in part) == list(range(10))


def test_force_does_finished_runs_again(tmp_path: Path) -> None:
    matrix = ["--method", "naive", "--dataset", "demo", "--seed", "1234", "--epochs", "1"]
    run_here(tmp_path, *matrix)
    (path,) = tmp_path.glob("*/*/*/*.json")
    before = path.stat().st_mtime_ns
    assert run_here(tmp_path, *matrix, "--force")[0] == 0
    assert path.stat().st_mtime_ns > before


def test_status_counts_and_estimates(tmp_path: Path) -> None:
    run_here(tmp_path, "--method", "naive", "--dataset", "demo", "--seeds", "2", "--epochs", "1")
    command = ["status", "--method", "naive,ts-acl", "--dataset", "demo", "--seeds", "3",
               "--epochs", "1", "--results", str(tmp_path)]  # fmt: skip
    shown = CliRunner().invoke(app, command).stdout
    assert "2 done, 0 failed, 4 missing; about" in shown
    told = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert [r["state"] for r in told["runs"]] == ["done", "done"] + ["missing"] * 4
    assert told["seconds_left"] > 0


def test_status_counts_what_run_would_skip(tmp_path: Path) -> None:
    """A record of other settings, or of another version of a file, is not the run asked for."""
    plugin = tmp_path / "plug.py"
    plugin.write_text(PLUGINS)
    results = tmp_path / "r"
    matrix = ["--method", f"naive,{plugin}:Good", "--dataset", "demo", "--seed", "1234",
              "--epochs", "1"]  # fmt: skip
    assert run_here(results, *matrix)[0] == 0

    def states() -> list[str]:
        told = CliRunner().invoke(app, ["status", *matrix, "--results", str(results), "--json"])
        return [each["state"] for each in json.loads(told.stdout)["runs"]]

    assert states() == ["done", "done"]
    path = results / "exp-ln-1" / "demo" / "naive" / "seed-1234.json"
    path.write_text(path.read_text().replace('"patience": 5', '"patience": 6'))
    assert states() == ["missing", "done"]
    plugin.write_text(PLUGINS + "# a new version\n")
    assert states() == ["missing", "missing"]
    plugin.unlink()
    assert states() == ["missing"], "a file that is gone cannot be planned"
