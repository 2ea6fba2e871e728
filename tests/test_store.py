from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.errors import UserError


def spec(**changes) -> RunSpec:
    values = {"dataset": "demo", "data_digest": "d", "method": "naive", "seed": 1234}
    return RunSpec(**{**values, **changes})


def record(of: RunSpec, status: str = "ok") -> dict:
    sections = ("data", "result", "time", "memory", "environment")
    return {
        "schema": 1,
        "status": status,
        "hash": of.hash(),
        "label": of.label,
        "spec": of.as_dict(),
        "error": "",
        **{name: {} for name in sections},
    }


def test_everything_that_may_change_a_result_changes_the_hash() -> None:
    variants = [
        spec(),
        spec(seed=1235),
        spec(dataset="uwave"),
        spec(data_digest="e"),
        spec(method="offline"),
        spec(stream="val"),
        spec(epochs=5),
        spec(norm="bn"),
        spec(settings={"batch": 32}),
        spec(code="f"),
    ]
    assert len({v.hash() for v in variants}) == len(variants)
    assert spec(settings={"a": 1, "b": 2}).hash() == spec(settings={"b": 2, "a": 1}).hash()


def test_runs_that_differ_do_not_share_a_file() -> None:
    store = Store(Path("r"))
    assert store.path(spec()) == Path("r/exp-ln-100/demo/naive/seed-1234.json")
    assert store.path(spec(epochs=5)) != store.path(spec())
    by_hand = spec(settings={"gamma": 1.0}, changed={"gamma": 1.0})
    assert store.path(by_hand).parent.name == "naive+gamma=1.0"
    plugin = spec(method="some where/mi ne.py:Mine")
    assert plugin.label == "mi_ne-Mine"


def test_a_failure_never_hides_a_finished_run(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(spec(), record(spec()))
    store.save(spec(), record(spec(), "failed"))
    assert store.done(spec())["status"] == "ok"
    assert store.failed(spec())["status"] == "failed"
    store.save(spec(), record(spec()))
    assert store.failed(spec()) is None


def test_another_spec_is_not_done(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(spec(data_digest="old"), record(spec(data_digest="old")))
    assert store.done(spec()) is None


def test_foreign_and_truncated_files_are_told_and_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(spec(), record(spec()))
    whole = store.path(spec()).read_text()
    folder = store.path(spec()).parent
    texts = {
        "seed-1.json": whole[: len(whole) // 2],
        "seed-2.json": "[1, 2]",
        "seed-3.json": json.dumps({"schema": 99}),
        "seed-4.json": json.dumps({"schema": 1, "status": "odd"}),
        "seed-5.json": json.dumps({"schema": 1, "status": "ok", "spec": {}}),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    for outside in ("published", "reference"):
        (tmp_path / outside / "a" / "b").mkdir(parents=True)
        (tmp_path / outside / "a" / "b" / "seed-1.json").write_text("{")
    records, problems = store.records()
    assert len(records) == 1
    assert len(problems) == 5
    assert any("newer tsbench" in p for p in problems)
    for name, text in texts.items():
        assert (folder / name).read_text() == text


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        Store(tmp_path / "file").check_writable()


def test_a_foreign_file_in_the_place_of_a_record_is_kept(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.path(spec())
    path.parent.mkdir(parents=True)
    path.write_text('{"schema": 9}')
    store.save(spec(), record(spec()))
    assert store.done(spec())
    (kept,) = path.parent.glob("*.foreign-*")
    assert kept.read_text() == '{"schema": 9}'


def test_records_are_plain_json(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(spec(), {**record(spec()), "result": {"A_T": np.float32(1.5), "n": np.int64(3)}})
    assert store.done(spec())["result"] == {"A_T": 1.5, "n": 3}
    with pytest.raises(ValueError, match="JSON compliant"):
        store.save(spec(seed=2), {**record(spec(seed=2)), "result": float("nan")})
    assert not store.path(spec(seed=2)).exists()


def test_a_plugin_is_known_by_its_code_wherever_it_lies() -> None:
    here, there = spec(method="./mine.py:A", code="c"), spec(method="/x/mine.py:A", code="c")
    assert here.hash() == there.hash()
    assert here.hash() != spec(method="./mine.py:A", code="d").hash()
