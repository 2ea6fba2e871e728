"""Records that somebody edited, copied, or wrote with another program: told in a line, no more."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handmade_records import fail, make
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.errors import UserError
from tsbench.report import canvas, figures, rank_figure, run_figures
from tsbench.report.latex import latex
from tsbench.report.layout import terminal
from tsbench.report.page.build import page
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.render import as_csv, as_json, markdown
from tsbench.report.table import Options
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_table, verdicts

AWFUL = "a_b<c>&$x$|[/b]:smile:`~\\{}^%#\x1b[31m\n\té手"


def everything(root: Path) -> list[str]:
    """Every table in every format, the verdict, the page; what could not be made, by name."""
    runs = collect(root)
    told = []
    made = [verdict_table(runs, verdicts(runs, paper()))]
    for name, make_table in TABLES.items() - {("protocols", TABLES["protocols"])}:
        try:
            made.append(make_table(runs, Options(data=root)))
        except UserError:
            told.append(name)
    for each in made:
        for render in (markdown, latex, as_csv, as_json):
            render(each, "ci95", 2)
        terminal(each, "std", 2, 200)
    page([runs], Options(data=root))
    return told


def report(root: Path, *arguments: str):
    return CliRunner().invoke(app, ["report", "--results", str(root), *arguments])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    root = tmp_path / "results"
    for seed in (1, 2):
        make(root, "er", seed, 80.0 + seed, 9.0)
        make(root, "ts-acl", seed, 90.0 + seed, 3.0)
        make(root, "er", seed, 60.0, 9.0, dataset="dsa")
        make(root, "ts-acl", seed, 70.0, 3.0, dataset="dsa")
    return root


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple]:
    if path:
        yield path
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, each in pairs:
            yield from leaves(each, (*path, key))


def changed(record: dict, path: tuple, junk: Any) -> str:
    copy = json.loads(json.dumps(record))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if junk == "gone":
        del place[path[-1]]
    else:
        place[path[-1]] = junk
    return json.dumps(copy)


@pytest.mark.parametrize("junk", ["gone", None, "x", -1.5, [], {"a": []}, float("nan")], ids=str)
def test_any_entry_may_be_anything(results: Path, junk: Any) -> None:
    path = results / "exp-ln-100" / "uwave" / "er" / "seed-1.json"
    record = json.loads(path.read_text())
    for place in leaves(record):
        if place[:2] == ("result", "confusion") and len(place) > 3:
            continue
        path.write_text(changed(record, place, junk))
        runs = collect(results)
        assert len(runs.get("dsa", "er").finished) == 2, "no record hides another"
        if runs.problems:  # it was left out, so all else is as before
            continue
        for make_table in TABLES.values():
            with contextlib.suppress(UserError):
                make_table(runs, Options(data=results))
        for entry in runs.entries.values():
            for each in entry.finished:
                for draw in (run_figures.run_title, run_figures.class_names):
                    draw(each)


def test_one_odd_record_in_everything(results: Path) -> None:
    path = results / "exp-ln-100" / "uwave" / "er" / "seed-1.json"
    record = json.loads(path.read_text())
    for section in ("result", "time", "memory", "data"):
        path.write_text(json.dumps({**record, section: 7}))
        assert everything(results) == []
        assert f"seed-1.json' is not a valid record: {section} is 7" in collect(results).problems[0]


@pytest.mark.parametrize("junk", [None, 7, "x", [], [["a"]], [[1, 2, 3]], [[1], 5], [{"a": 1}]])
def test_a_confusion_matrix_that_is_none(results: Path, tmp_path: Path, junk: Any) -> None:
    path = results / "exp-ln-100" / "uwave" / "er" / "seed-1.json"
    record = json.loads(path.read_text())
    record["result"]["confusion"] = junk
    path.write_text(json.dumps(record))
    options = ["--dataset", "uwave", "--method", "er", "--seed", "1", "--results", str(results)]
    out = str(tmp_path / "x.png")
    told = CliRunner().invoke(app, ["figure", "confusion", *options, "--out", out])
    assert told.exit_code == 2, (junk, told.exception)
    assert "no confusion matrix" in told.stderr or "not a valid record" in told.stderr


def test_files_that_are_not_records(results: Path) -> None:
    folder = results / "exp-ln-100" / "uwave" / "odd"
    folder.mkdir()
    (folder / "a.json").write_text("{")
    (folder / "b.json").write_bytes(b"\xff\xfe\x00")
    (folder / "c.json").write_text("[1, 2]")
    (folder / "d.json").write_text('{"schema": 99, "status": "ok"}')
    (folder / "e.json").write_text("[" * 100_000)
    (folder / "f.json").mkdir()
    (folder / "g.json").write_text('{"schema": true}')
    told = report(results)
    assert told.exit_code == 0, told.output
    notices = [line for line in told.stderr.splitlines() if line.startswith("notice: ")]
    assert len(notices) == 7
    assert sum("newer tsbench" in line for line in notices) == 1
    assert all(line.endswith("; left out") for line in notices)


def test_only_files_that_are_not_records(tmp_path: Path) -> None:
    folder = tmp_path / "r" / "exp-ln-100" / "uwave" / "er"
    folder.mkdir(parents=True)
    (folder / "seed-1.json").write_text('{"schema": 99, "status": "ok"}')
    for command in ("report", "verify"):
        told = CliRunner().invoke(app, [command, "--results", str(tmp_path / "r")])
        assert told.exit_code == 2
        assert "no records in" in told.stderr
        assert "newer tsbench" in told.stderr
        assert len(told.stderr.splitlines()) == 1


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("")
    assert report(tmp_path / "r").exit_code == 2


def test_a_copy_in_another_place_is_left_out(results: Path) -> None:
    folder = results / "exp-ln-100" / "uwave" / "er"
    shutil.copy(folder / "seed-1.json", folder / "seed-7.json")
    runs = collect(results)
    assert len(runs.get("uwave", "er").finished) == 2
    assert "belongs to" in runs.problems[0]


def test_a_name_harms_nothing(results: Path) -> None:
    for seed in (1, 2):
        make(results, "odd", seed, 50.0, 9.0, title=AWFUL)
    make(results, "er", 1, 50.0, 9.0, dataset=AWFUL.replace("/", ""))
    assert everything(results) == ["ranks"]
    runs = collect(results, datasets=["uwave"])
    table = TABLES["main"](runs, Options())
    name = "a_b<c>&$x$|[/b]:smile:`~\\{}^%#?[31m??é手"
    assert table.rows[-1].headers == (name,)
    text = markdown(table, "std", 2)
    shown = r"a\_b&lt;c&gt;&amp;\$x\$\|\[/b\]:smile:\`\~\\\{\}^%#?\[31m??é手"
    assert f"| {shown} |" in re.sub(" +", " ", text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({row.replace(r"\|", "").count("|") for row in rows}) == 1
    tex = latex(table, "std", 2)
    tex = tex.replace(r"\allowbreak{}", "")
    assert r"a\_b\textless{}c\textgreater{}\&\$x\$\textbar{}{[}/b]:smile:`\textasciitilde{}" in tex
    assert "手" not in tex
    with canvas.style():
        for draw in (figures.curves, figures.time, figures.pareto):
            canvas_of = draw(runs)
            canvas_of.draw_without_rendering()
            assert name in " ".join(
                t.get_text() for t in canvas_of.findobj() if hasattr(t, "get_text")
            )


def test_offline_alone_and_a_single_task(tmp_path: Path) -> None:
    make(tmp_path, "offline", 1, 96.0)
    make(tmp_path, "naive", 1, 50.0, result={"curve": [50.0], "accuracy": [[50.0]]})
    assert everything(tmp_path) == ["ranks"]
    runs = collect(tmp_path)
    with canvas.style():
        for draw in (figures.curves, figures.time, figures.pareto):
            draw(runs).draw_without_rendering()
    main = TABLES["main"](runs, Options())
    assert [row.cells[1].text for row in main.rows] == ["N.A.", "N.A."], "no forgetting"


def test_only_failures(tmp_path: Path) -> None:
    fail(tmp_path, "er", 1)
    assert set(everything(tmp_path)) == {"curves", "pairs", "ranks"}
    told = report(tmp_path, "--table", "all", "--format", "latex")
    assert told.exit_code == 0
    assert "failed" in told.stdout


def test_protocols_are_never_mixed_and_the_others_are_named(results: Path) -> None:
    make(results, "er", 3, 10.0, 9.0, about={"norm": "bn"})
    told = report(results, "--format", "csv")
    assert "not shown: exp-bn-100 (--protocol)" in told.stderr
    assert {g.finished[0]["spec"]["norm"] for g in collect(results).entries.values()} == {"ln"}
    assert "not shown: exp-ln-100" in report(results, "--protocol", "exp-bn-100").stderr


def test_runs_of_many_machines_and_lengths(results: Path) -> None:
    for i in range(9):
        make(results, "er", 10 + i, 50.0, 9.0, cpu=f"machine {i}", gpu="G" if i % 2 else None)
    matrix = [[99.0 - t] * (t + 1) for t in range(7)]
    long = {"accuracy": matrix, "curve": [99.0 - t for t in range(7)]}
    make(results, "er", 11, 93.0, 3.5, gpu="G", result=long)
    assert everything(results) == []
    runs = collect(results)
    notes = TABLES["time"](runs, Options()).notes
    assert len(notes) == 7, "A, G and five others"
    with canvas.style():
        for draw in (figures.curves, figures.time, figures.pareto, rank_figure.rank_diagram):
            draw(runs).draw_without_rendering()


def test_nothing_was_learned_and_no_time_passed(tmp_path: Path) -> None:
    for method in ("er", "ts-acl"):
        make(tmp_path, method, 1, 50.0, 0.0, seconds=0.0, statistics=0)
        make(tmp_path, method, 1, 50.0, 0.0, seconds=0.0, statistics=0, dataset="dsa")
    assert everything(tmp_path) == []
    with canvas.style():
        for draw in (figures.time, figures.pareto, rank_figure.rank_diagram):
            draw(collect(tmp_path)).draw_without_rendering()
