"""Repeating a stored run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tsbench
from tsbench.errors import UserError
from tsbench.runs.machine import Machine
from tsbench.runs.record import read_record
from tsbench.runs.rerun import find_record, rerun
from tsbench.runs.store import Store


def test_a_repeated_run_equals_its_record_and_an_altered_one_does_not(tmp_path: Path) -> None:
    tsbench.run("ts-acl-r", "demo", results=tmp_path, settings={"kernels": 50})
    label = "ts-acl-r+kernels=50"
    record = find_record(Store(tmp_path), f"demo/{label}/1234", "exp-ln-100")
    machine = Machine(data=tmp_path)
    assert rerun(record, machine, lambda *progress: None).difference == 0
    record["result"]["accuracy"][-1][0] -= 10
    assert rerun(record, machine, lambda *progress: None).difference == pytest.approx(10)


def test_what_cannot_be_repeated_is_said(tmp_path: Path) -> None:
    tsbench.run("ts-acl-r", "demo", results=tmp_path, settings={"kernels": 50})
    store = Store(tmp_path)
    for reference in ("demo/er/1234", "demo/ts-acl-r+kernels=50/1235"):
        with pytest.raises(UserError, match="no finished run"):
            find_record(store, reference, "exp-ln-100")
    with pytest.raises(UserError, match="not of the form"):
        find_record(store, "demo", "exp-ln-100")
    (path,) = tmp_path.glob("exp-ln-100/*/*/*.json")
    record = json.loads(json.dumps(read_record(path)))
    record["spec"]["data_digest"] = "0" * 64
    with pytest.raises(UserError, match="other data"):
        rerun(record, Machine(data=tmp_path), lambda *progress: None)
