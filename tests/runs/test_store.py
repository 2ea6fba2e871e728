from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from handmade_records import failed, finished

from tsbench.errors import UserError
from tsbench.protocol.rules import Protocol
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store


def spec(**changes) -> RunSpec:
    values = {"dataset": "demo", "data_digest": "d", "method": "naive", "seed": 1234}
    return RunSpec(**{**values, **changes})


def test_everything_that_may_change_a_result_changes_the_hash() -> None:
    variants = [
        spec(),
        spec(seed=1235),
        spec(dataset="uwave"),
        spec(data_digest="e"),
        spec(method="offline"),
        spec(protocol=Protocol(stream="val")),
        spec(protocol=Protocol(epochs=5)),
        spec(protocol=Protocol(norm="bn")),
        spec(settings={"batch": 32}),
        spec(code="f"),
    ]
    assert len({v.hash() for v in variants}) == len(variants)
    assert spec(settings={"a": 1, "b": 2}).hash() == spec(settings={"b": 2, "a": 1}).hash()


def test_runs_that_differ_do_not_share_a_file() -> None:
    store = Store(Path("r"))
    assert store.path(spec()) == Path("r/exp-ln-100/demo/naive/seed-1234.json")
    assert store.path(spec(protocol=Protocol(epochs=5))) != store.path(spec())
    by_hand = spec(settings={"gamma": 1.0}, changed={"gamma": 1.0})
    assert store.path(by_hand).parent.name == "naive+gamma=1.0"
    plugin = spec(method="some where/mi ne.py:Mine")
    assert plugin.label == "mi_ne-Mine"


def test_a_failure_never_hides_a_finished_run(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(spec(), finished(spec()))
    store.save(spec(), failed(spec()))
    assert store.done(spec())["status"] == "ok"
    assert store.failed(spec())["status"] == "failed"
    store.save(spec(), finished(spec()))
    assert store.failed(spec()) is None


def test_a_failure_beside_its_finished_run_is_a_leftover(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for seed in (1234, 1235):
        store.save(spec(seed=seed), finished(spec(seed=seed)))
    store.save(spec(), failed(spec()))
    store.save(spec(data_digest="newer", seed=1235), failed(spec(data_digest="newer", seed=1235)))
    store.save(spec(seed=1236), failed(spec(seed=1236)))
    store.remove_leftovers()
    assert store.failed(spec()) is None
    assert store.failed(spec(data_digest="newer", seed=1235)), "another run failed than finished"
    assert store.failed(spec(seed=1236)), "it has not finished yet"


def test_another_spec_is_not_done(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(spec(data_digest="old"), finished(spec(data_digest="old")))
    assert store.done(spec()) is None


def test_foreign_and_truncated_files_are_told_and_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(spec(), finished(spec()))
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
    store.save(spec(), finished(spec()))
    assert store.done(spec())
    (kept,) = path.parent.glob("*.foreign-*")
    assert kept.read_text() == '{"schema": 9}'


def test_numbers_of_numpy_become_plain_json(tmp_path: Path) -> None:
    store = Store(tmp_path)
    record = finished(spec())
    record["result"]["A_T"] = np.float32(50.0)
    record["memory"]["parameters"] = np.int64(3)
    saved = store.save(spec(), record)
    assert (saved["result"]["A_T"], saved["memory"]["parameters"]) == (50.0, 3)
    assert store.done(spec()) == saved


def test_what_json_cannot_hold_is_not_stored(tmp_path: Path) -> None:
    store = Store(tmp_path)
    record = finished(spec())
    record["result"]["notes"] = {"loss": float("nan")}
    with pytest.raises(ValueError, match="JSON compliant"):
        store.save(spec(), record)
    assert not store.path(spec()).exists()


def test_a_plugin_is_known_by_its_code_wherever_it_lies() -> None:
    here, there = spec(method="./mine.py:A", code="c"), spec(method="/x/mine.py:A", code="c")
    assert here.hash() == there.hash()
    assert here.hash() != spec(method="./mine.py:A", code="d").hash()
