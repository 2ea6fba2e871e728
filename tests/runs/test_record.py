"""Records: types, ranges, consistency, the hash, earlier schemas, the wrong place."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from handmade_records import failed, finished

from tsbench.runs.record import SCHEMA, BadRecord, place_of, read_record, validate
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

SPEC = RunSpec("demo", "d", "er", 1234, settings={"batch": 32})


def changed(path: str, value: Any, record: dict | None = None) -> dict[str, Any]:
    """A finished record with one value replaced, or removed where it is ``...``."""
    made = copy.deepcopy(record or finished(SPEC))
    *folders, name = path.split(".")
    place: Any = made
    for folder in folders:
        place = place[folder]
    if value is ...:
        del place[name]
    else:
        place[name] = value
    return made


def refused(record: Any) -> str:
    with pytest.raises(BadRecord) as error:
        validate(record)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200
    return str(error.value)


def test_records_of_finished_and_failed_runs_are_valid() -> None:
    assert validate(finished(SPEC)) == finished(SPEC)
    assert validate(finished(SPEC, f_t=None)) == finished(SPEC, f_t=None)
    assert validate(failed(SPEC)) == failed(SPEC)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", "odd"),
        ("status", None),
        ("hash", 7),
        ("label", None),
        ("spec", []),
        ("spec.protocol", [1]),
        ("spec.seed", "1234"),
        ("spec.seed", True),
        ("spec.seed", 1234.0),
        ("spec.epochs", None),
        ("spec.settings", [1]),
        ("method", "ER"),
        ("method.title", None),
        ("data.complete", 1),
        ("result", None),
        ("result.accuracy", [["a"]]),
        ("result.A_T", "50"),
        ("result.A_T", True),
        ("result.curve", 50.0),
        ("result.confusion", [[0.5]]),
        ("memory.kept_bytes", {"raw": "many"}),
        ("memory.peak_bytes", 1.5),
        ("time", {}),
        ("time.total", None),
        ("time.total", "12"),
        ("time.total", float("nan")),
        ("time.total", float("inf")),
        ("time.learn", 3.0),
        ("time.learn", [[1.0]]),
        ("environment", None),
        ("environment.threads", 1.0),
    ],
)
def test_a_wrong_type_is_refused_with_its_place(path: str, value: Any) -> None:
    assert path.split(".")[0] in refused(changed(path, value))


@pytest.mark.parametrize("path", ["hash", "label", "spec", "method", "result", "time.total"])
def test_what_is_missing_is_named(path: str) -> None:
    assert refused(changed(path, ...)) == f"{path} is missing"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("spec.seed", -1, "spec.seed is -1"),
        ("spec.seed", 2**32, "spec.seed is 4294967296"),
        ("spec.epochs", 99, "its rules are exp-ln-99"),
        ("result.accuracy", [], "no last row"),
        ("result.accuracy", [[50.0], None], "no last row"),
        ("result.accuracy", [[50.0, 1.0], [49.0, 51.0]], "not a lower triangle"),
        ("result.accuracy", [[50.0], [49.0]], "not a lower triangle"),
        ("result.accuracy", [[169.0], [49.0, 51.0]], "outside 0 to 100"),
        ("result.accuracy", [[69.0], [-1.0, 51.0]], "outside 0 to 100"),
        ("time.total", -1.0, "negative or too large"),
        ("time.learn", [1e308, 1e308], "negative or too large"),
        ("time.evaluate", [-0.5], "negative or too large"),
        ("time.tuning", -1.0, "negative or too large"),
        ("time.setup", 1e308, "negative or too large"),
        ("memory.kept_bytes", {"raw": -1}, "negative or too large"),
        ("memory.parameters", -1, "negative or too large"),
        ("memory.peak_bytes", -1, "negative or too large"),
        ("environment.threads", 0, "environment.threads is 0"),
    ],
)
def test_values_out_of_range_are_refused(path: str, value: Any, words: str) -> None:
    assert words in refused(changed(path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("result.A_T", 250.0),
        ("result.A_T", 50.001),
        ("result.A_T", None),
        ("result.F_T", 19.0),
        ("result.F_T", None),
        ("result.curve", [69.0, 51.0]),
        ("result.curve", [69.0]),
        ("result.curve", [None, 50.0]),
    ],
)
def test_figures_follow_from_the_accuracy_matrix(path: str, value: Any) -> None:
    assert f"{path} is" in (said := refused(changed(path, value)))
    assert "its accuracy matrix says" in said


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("hash", "0123456789abcdef"),
        ("spec.seed", 1235),
        ("spec.settings", {"batch": 64}),
        ("spec.data_digest", "e"),
    ],
)
def test_the_hash_is_that_of_the_spec(path: str, value: Any) -> None:
    assert "its hash is not that of its spec" in refused(changed(path, value))
    other = changed(path, value, failed(SPEC))
    assert "its hash is not that of its spec" in refused(other)


@pytest.mark.parametrize("content", [None, 7, "text", [], {}, {"schema": "2"}, {"schema": True}])
def test_what_was_not_written_by_tsbench(content: Any) -> None:
    assert refused(content) == "it was not written by tsbench"


def test_a_record_of_a_newer_tsbench_is_named() -> None:
    assert "newer tsbench" in refused({"schema": SCHEMA + 1})


def test_a_record_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    old = {**finished(SPEC), "schema": 1}
    del old["method"]
    record = validate(old)
    assert record["schema"] == SCHEMA
    assert (record["method"]["title"], record["method"]["family"]) == ("ER", "exemplar-based")
    assert record["hash"] == SPEC.hash(), "it stays done"
    path = tmp_path / place_of(old)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(old))
    assert Store(tmp_path).done(SPEC) == record
    assert json.loads(path.read_text()) == old, "the file is left as it is"
    own = RunSpec("demo", "d", "x/mine.py:Mine", 1, code="c")
    of_a_file = {**finished(own), "schema": 1}
    del of_a_file["method"]
    assert validate(of_a_file)["method"]["title"] == "mine-Mine"
    assert validate({**failed(SPEC), "schema": 1})["schema"] == SCHEMA


def damaged(tmp_path: Path, damage: Callable[[Path], object]) -> tuple[list, list[str]]:
    """A store of two records, one of them damaged."""
    store = Store(tmp_path)
    for seed in (1, 2):
        spec = RunSpec("demo", "d", "er", seed)
        store.save(spec, finished(spec))
    path = store.path(RunSpec("demo", "d", "er", 2))
    damage(path)
    with pytest.raises(BadRecord) as error:
        read_record(path)
    assert str(path) in str(error.value)
    return store.records()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(b"\xff\xfe\x00"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text('{"a":' * 100_000),
        lambda path: path.write_text("9" * 10_000),
        lambda path: path.write_text(path.read_text().replace('"total": 10.0', '"total": NaN')),
        lambda path: path.write_text(path.read_text().replace('"total": 10.0', '"total": 1e999')),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.unlink(), path.symlink_to(path)),
        lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    ],
)
def test_a_damaged_file_costs_one_line_and_no_other_record(tmp_path: Path, damage) -> None:
    records, problems = damaged(tmp_path, damage)
    assert [record["spec"]["seed"] for record in records] == [1]
    (problem,) = problems
    assert "seed-2.json" in problem
    assert "\n" not in problem


def test_a_record_in_the_wrong_place_does_not_count(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(SPEC, finished(SPEC))
    path = store.path(SPEC)
    for wrong in (
        path.with_name("seed-9.json"),
        path.with_name("seed-1234.failed.json"),
        path.parent.with_name("naive") / path.name,
        path.parents[1].with_name("uwave") / "er" / path.name,
        path.parents[2].with_name("exp-ln-5") / "demo" / "er" / path.name,
    ):
        wrong.parent.mkdir(parents=True, exist_ok=True)
        wrong.write_bytes(path.read_bytes())
    records, problems = store.records()
    assert len(records) == 1
    assert len(problems) == 5
    assert all(f"belongs to '{place_of(records[0])}'" in problem for problem in problems)
    assert store.failed(SPEC) is None, "a finished record is not a failure"


def test_control_characters_of_a_record_are_not_echoed(tmp_path: Path) -> None:
    said = refused(changed("status", "\x1b[31mred\n"))
    assert said == "status is ?[31mred?"
    store = Store(tmp_path)
    place = tmp_path / "exp-ln-100" / "de\x1b[31mmo" / "e\nr"
    place.mkdir(parents=True)
    (place / "seed-1.json").write_text("{")
    (problem,) = store.records()[1]
    assert problem.isprintable()
