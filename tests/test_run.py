"""Runs: determinism, sharing, time, records."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tsbench.bench.plan import Request, make_specs
from tsbench.bench.run import Machine, comparable, execute
from tsbench.bench.spec import RunSpec
from tsbench.learn.shared import SharedWork

METHODS = ["naive", "offline", "ts-acl", "ts-acl-deep"]


def silent(task: int, epoch: int, loss: float) -> None:
    pass


def specs(methods=METHODS, seeds=(1234,), **changes) -> list[RunSpec]:
    request = Request(list(methods), ["demo"], list(seeds), epochs=2, **changes)
    return make_specs(request, Path())


def run(spec: RunSpec, shared: Path | None = None) -> dict:
    return execute(spec, Machine(Path(), shared), silent)


def test_the_same_spec_gives_the_same_record(tmp_path: Path) -> None:
    """Twice, in another order, with shared first tasks and without, fresh and loaded."""
    forward = {s.method: comparable(run(s)) for s in specs()}
    backward = {s.method: comparable(run(s, tmp_path)) for s in reversed(specs())}
    loaded = {s.method: comparable(run(s, tmp_path)) for s in specs()}
    assert forward == backward == loaded
    assert len(list(tmp_path.glob("*.npz"))) == 2, "one of Offline, one of all others"


def test_seeds_differ_and_methods_share_the_class_order() -> None:
    first, second = (run(s) for s in specs(["naive"], seeds=(1234, 1235)))
    assert first["class_order"] != second["class_order"]
    assert first["result"] != second["result"]
    other = run(specs(["ts-acl-deep"])[0])
    assert other["class_order"] == first["class_order"] == [2, 1, 6, 0, 4, 5, 3, 7]


def test_a_record_tells_everything() -> None:
    record = json.loads(json.dumps(run(specs(["ts-acl"])[0])))
    result = record["result"]
    matrix = result["accuracy"]
    assert [len(row) for row in matrix] == [1, 2, 3, 4]
    assert result["A_T"] == pytest.approx(np.mean(matrix[-1]))
    assert result["variance_ratio"] > 0
    assert np.sum(result["confusion"]) == 240
    assert result["pooled"] == pytest.approx(100 * np.trace(result["confusion"]) / 240)
    assert record["chosen"]["gamma"] in (1, 10, 100)
    assert len(record["time"]["learn"]) == len(record["time"]["evaluate"]) == 4
    assert record["time"]["total"] >= sum(record["time"]["learn"])
    assert set(record["memory"]["kept_bytes"]) == {"raw", "generator", "statistics", "parameters"}
    assert record["memory"]["peak_bytes"] > 1e7
    assert record["data"] == {
        "digest": record["spec"]["data_digest"],
        "complete": True,
        "coverage": "6 of 6 subjects",
    }
    assert record["environment"]["threads"] == 1
    assert record["environment"]["torch"]


def test_offline_has_one_row_and_no_forgetting() -> None:
    result = run(specs(["offline"])[0])["result"]
    assert result["accuracy"][:3] == [None] * 3
    assert result["F_T"] is None


def test_shared_work_is_charged_in_full_to_everybody(tmp_path: Path) -> None:
    alone, reused = (run(s, tmp_path) for s in specs(["naive", "ts-acl-deep"]))
    charged = alone["time"]["charged"]
    assert charged > 0.05
    assert reused["time"]["charged"] == charged
    assert reused["time"]["learn"][0] >= charged
    assert len(list(tmp_path.glob("*.npz"))) == 1, "trained once"


def test_waiting_for_another_process_is_not_charged(tmp_path: Path) -> None:
    shared = SharedWork(tmp_path)

    def train() -> dict:
        time.sleep(0.2)
        return {}

    shared.first_task("k", train)
    again = SharedWork(tmp_path)
    again.first_task("k", lambda: pytest.fail("trained twice"))
    assert again.charged == shared.charged >= 0.2
    assert again.spent < 0.1


def test_a_broken_shared_file_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "k.npz").write_bytes(b"PK\x03\x04 half a file")
    calls = []
    SharedWork(tmp_path).first_task("k", lambda: calls.append(1) or {})
    assert calls == [1]


def test_settings_from_the_command_line_reach_the_run() -> None:
    (spec,) = specs(["ts-acl-deep"], changes={"gamma": "10", "schedule": "onecycle"})
    assert spec.settings["gamma"] == 10.0
    assert spec.label == "ts-acl-deep+gamma=10.0,schedule=onecycle"
    record = run(spec)
    assert record["chosen"] == {}
    assert record["spec"]["settings"] == asdict(spec)["settings"]


def test_the_validation_stream_runs_too() -> None:
    (spec,) = specs(["naive"], stream="val")
    record = run(spec)
    assert np.sum(record["result"]["confusion"]) == 48


def test_batch_norm_is_an_option() -> None:
    ln, bn = run(specs(["naive"])[0]), run(specs(["naive"], norm="bn")[0])
    assert ln["result"]["accuracy"] != bn["result"]["accuracy"]
    assert bn["spec"]["protocol"] == "exp-bn-2"


def test_data_prepared_anew_is_noticed() -> None:
    with pytest.raises(Exception, match="prepared anew"):
        run(replace(specs(["naive"])[0], data_digest="other"))
