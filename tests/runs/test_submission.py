"""Submitted records: marked, and checked against what else is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.runs.record import read_record
from tsbench.runs.submission import check_submission, mark

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path("exp-ln-100", "uwave", "ts-acl", "seed-1234.json")
URL = "https://example.org/pull/7"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A results folder with one of our own runs, as somebody might send it."""
    path = tmp_path / PLACE
    path.parent.mkdir(parents=True)
    path.write_bytes((ROOT / "results" / "reference" / PLACE).read_bytes())
    return tmp_path


def edit(folder: Path, change: Callable[[dict[str, Any]], Any]) -> list[str]:
    """The problems after a change."""
    mark(folder, "Somebody", URL)
    record = json.loads((folder / PLACE).read_text())
    change(record)
    (folder / PLACE).write_text(json.dumps(record))
    return check_submission(folder)


def test_a_marked_record_of_a_real_run_passes(folder: Path) -> None:
    assert [p.split(": ")[1][:12] for p in check_submission(folder)] == ["submitted.by"]
    assert mark(folder, "Somebody", URL) == 1
    assert check_submission(folder) == []
    assert read_record(folder / PLACE)["submitted"] == {"by": "Somebody", "url": URL}


def swap_classes(record: dict[str, Any]) -> None:
    record["class_order"].reverse()


def drop_confusion(record: dict[str, Any]) -> None:
    del record["result"]["confusion"]


def move_sample(record: dict[str, Any]) -> None:
    record["result"]["confusion"][0][0] -= 1
    record["result"]["confusion"][0][1] += 1


def other_data(record: dict[str, Any]) -> None:
    record["data"]["digest"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda r: r.pop("submitted"), "submitted.by and submitted.url"),
        (lambda r: r["submitted"].update(url="javascript:alert(1)"), "submitted.by and"),
        (lambda r: r["environment"].update(commit="80b80d1bc98a+changes"), "environment.commit is"),
        (lambda r: r["environment"].pop("commit"), "environment.commit is"),
        (swap_classes, "class_order is not that of seed 1234"),
        (drop_confusion, "result.confusion is missing"),
        (move_sample, "accuracy on task 1 is"),
    ],
)
def test_one_line_says_what_is_wrong(folder: Path, change, expected: str) -> None:
    (problem,) = edit(folder, change)
    assert problem.startswith("ts-acl on uwave, seed 1234: ") and expected in problem


def test_data_is_compared_with_the_official_data(folder: Path) -> None:
    problems = edit(folder, other_data)
    assert [p.split(": ")[1] for p in problems] == [
        "spec.data_digest and data.digest differ",
        "the data differs from the official data",
    ]


def test_a_record_that_does_not_add_up_is_refused(folder: Path) -> None:
    def improve(record: dict[str, Any]) -> None:
        record["result"]["A_T"] = 99.9

    (problem,) = edit(folder, improve)
    assert "result.A_T is 99.9, its accuracy matrix says" in problem


def test_a_record_in_the_wrong_place_is_refused(folder: Path) -> None:
    (folder / PLACE).rename(folder / PLACE.with_name("seed-1235.json"))
    (problem,) = check_submission(folder)
    assert "belongs to" in problem


def test_the_command(folder: Path, tmp_path: Path) -> None:
    def merge(*words: str):
        return CliRunner().invoke(app, ["merge", str(folder), *words])

    refused = merge("--check")
    assert refused.exit_code == 1 and refused.stdout == ""
    assert refused.stderr.count("problem: ") == 1
    assert merge("--by", "Somebody", "--url", "nowhere").exit_code == 2
    assert merge("--by", "Somebody", "--url", URL, "--check").exit_code == 0
    assert merge("--check").stderr.strip() == "the records can be submitted"
    assert CliRunner().invoke(app, ["merge", str(tmp_path / "empty"), "--check"]).exit_code == 2


def test_our_own_run_replaces_a_submitted_one(folder: Path, tmp_path: Path) -> None:
    """Merged first, ours stays; the submitted one is the same run, not a conflict."""
    mark(folder, "Somebody", URL)
    both = tmp_path / "both"
    reference = ROOT / "results" / "reference"
    words = ["merge", str(reference), str(folder), "--results", str(both)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert "submitted" not in read_record(both / PLACE)


def test_committed_submissions_pass() -> None:
    submitted = ROOT / "results" / "submitted"
    if submitted.exists():
        assert check_submission(submitted) == []
