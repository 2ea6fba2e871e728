"""Runs under different splits: never in one cell, and side by side where they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from handmade_records import make
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.errors import UserError
from tsbench.protocol.rules import Protocol
from tsbench.report.page.build import page
from tsbench.report.protocols import protocols_table
from tsbench.report.records import collect
from tsbench.report.table import Options
from tsbench.runs.record import BadRecord, validate
from tsbench.runs.store import Store

SUBJECT, BY_FOUR = {"split": "subject"}, {"classes_per_task": 4}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two methods; under the published split they score 10 points more per seed, and 1 by seed."""
    for seed in range(1234, 1239):
        for method, base in (("er", 60.0), ("ts-acl", 80.0)):
            make(tmp_path, method, seed, base + seed - 1234, 5.0, dataset="dsa")
            make(tmp_path, method, seed, base - 20, 9.0, dataset="dsa", about=SUBJECT)
    make(tmp_path, "er", 1234, 30.0, 5.0, dataset="dsa", about=BY_FOUR)
    make(tmp_path, "er", 1234, 33.0, 5.0, dataset="uwave")
    return tmp_path


def command(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.stdout, done.stderr


def test_records_of_different_splits_are_in_different_places(results: Path) -> None:
    records, problems = Store(results).records()
    assert not problems
    names = {r["spec"]["protocol"] for r in records}
    assert names == {"exp-ln-100", "exp-ln-100-subject", "exp-ln-100-tasks-of-4"}
    assert len({r["hash"] for r in records}) == len(records)


def test_a_cell_holds_runs_of_one_split_only(results: Path) -> None:
    for protocol, value in ((None, 62.0), ("exp-ln-100-subject", 40.0)):
        runs = collect(results, protocol)
        entry = runs.get("dsa", "er")
        assert {Protocol.from_dict(r["spec"]) for r in entry.finished} == {runs.rules}
        assert sum(entry.values("A_T")) / 5 == value
    assert collect(results, split="subject").protocol == "exp-ln-100-subject"
    assert collect(results, split="published").protocol == "exp-ln-100"
    with pytest.raises(UserError, match="no runs with --split recording"):
        collect(results, split="recording")
    with pytest.raises(UserError, match="no runs of protocol 'exp-ln-100' with --split subject"):
        collect(results, "exp-ln-100", split="subject")


def test_a_record_that_was_moved_to_another_split_is_refused(results: Path) -> None:
    stored = results / "exp-ln-100-subject" / "dsa" / "er" / "seed-1234.json"
    record = json.loads(stored.read_text())
    record["spec"]["protocol"] = "exp-ln-100"
    with pytest.raises(BadRecord, match="its rules are exp-ln-100-subject"):
        validate(record)
    del record["spec"]["split"]
    with pytest.raises(BadRecord, match="its hash is not that of its spec"):
        validate(record)
    (results / "exp-ln-100" / "dsa" / "er" / "seed-1234.json").write_text(stored.read_text())
    runs = collect(results)
    assert len(runs.get("dsa", "er").finished) == 4
    assert "holds the record that belongs to" in runs.problems[0]
    for key, value, words in (
        ("split", "people", "spec.split is people"),
        ("classes_per_task", 0, "spec.classes_per_task is 0"),
        ("classes_per_task", "two", "spec.classes_per_task is two"),
    ):
        record["spec"][key] = value
        with pytest.raises(BadRecord, match=words):
            validate(record)
        del record["spec"][key]


def test_the_table_has_each_split_and_the_difference(results: Path) -> None:
    runs = collect(results)
    table = protocols_table(runs, Options())
    assert table.columns == ["published split", "unseen subjects", "Δ unseen subjects"]
    assert [row.headers for row in table.rows] == [("DSA", "ER"), ("", "TS-ACL")]
    cells = table.rows[0].cells
    assert (cells[0].figure.mean, cells[1].figure.mean) == (62.0, 40.0)
    assert cells[2].text == "-22.00"
    from_subject = protocols_table(collect(results, split="subject"), Options())
    assert [r.cells[0].figure for r in from_subject.rows] == [r.cells[0].figure for r in table.rows]


def test_differences_are_over_shared_seeds(results: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    make(other, "er", 1236, 10.0, dataset="dsa")
    make(other, "er", 99, 90.0, dataset="dsa")
    published = collect(results).get("dsa", "er")
    assert collect(other).get("dsa", "er").minus(published) == [10.0 - 62.0]
    make(other / "x", "er", 99, 90.0, dataset="dsa")
    assert collect(other / "x").get("dsa", "er").minus(published) == []


def test_the_commands(results: Path, tmp_path: Path) -> None:
    where = ["--results", str(results)]
    code, out, _ = command("report", "--table", "protocols", "--format", "csv", *where)
    assert code == 0
    assert "unseen subjects" in out
    code, out, said = command("report", "--split", "subject", "--format", "csv", *where)
    assert code == 0
    assert "exp-ln-100-subject" in said
    assert "62" not in out
    picture = tmp_path / "protocols.svg"
    assert command("figure", "protocols", "--out", str(picture), *where)[0] == 0
    assert "TS-ACL" in picture.read_text() or picture.stat().st_size > 1000
    code, _, said = command("report", "--split", "subject", "--compare", "paper", *where)
    assert code == 2
    assert "the paper has no runs of protocol exp-ln-100-subject" in said
    code, _, said = command("verify", "--protocol", "exp-ln-100-subject", *where)
    assert code == 2
    code, _, said = command("report", "--table", "protocols", "--protocol",
                            "exp-ln-100-tasks-of-4", *where)  # fmt: skip
    assert code == 2
    assert "--split published only" in said


def test_the_page_has_the_table(results: Path) -> None:
    runs = collect(results)
    text = page([runs, *runs.others], Options(), results)
    assert "Δ unseen subjects" in text
    assert "unseen subjects, layer norm" in text
    assert "--split subject" in text, "the command that repeats a run"
    assert "12 classes in 3 tasks" in text


def test_committed_records_keep_their_names_and_hashes() -> None:
    records, problems = Store(ROOT / "results" / "reference").records()
    assert records
    assert not problems
    for record in records:
        rules = Protocol.from_dict(record["spec"])
        assert rules.name == record["spec"]["protocol"]
        if not rules.added():
            assert rules.name == f"{rules.stream}-{rules.norm}-{rules.epochs}"
            assert not {"split", "classes_per_task"} & record["spec"].keys()
