"""Runs: determinism, sharing, time, records."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from small_streams import setting
from tsbench.baselines.fasticarl import FastICARL
from tsbench.baselines.naive import Naive

from tsbench.analytic.tsacl import TSACL, AnalyticSettings
from tsbench.errors import UserError
from tsbench.learn.loop import Fit
from tsbench.learn.method import Kept, Method
from tsbench.learn.shared import SharedWork, first_task_key
from tsbench.protocol.rules import Protocol
from tsbench.runs.execute import execute, run_stream
from tsbench.runs.machine import Clock, Machine
from tsbench.runs.plan import Request, plan
from tsbench.runs.record import comparable
from tsbench.runs.spec import RunSpec

METHODS = ["naive", "offline", "ts-acl", "ts-acl-deep"]


def silent(task: int, epoch: int, loss: float) -> None:
    pass


def specs(methods=METHODS, seeds=(1234,), changes=None, **rules) -> list[RunSpec]:
    protocol = Protocol(**{"epochs": 2, **rules})
    request = Request(list(methods), ["demo"], list(seeds), protocol, changes or {})
    return plan(request, Path()).specs


def run(spec: RunSpec, shared: Path | None = None) -> dict:
    return execute(spec, Machine(Path(), shared), silent)


def test_the_same_spec_gives_the_same_record(tmp_path: Path) -> None:
    """Twice, in another order, with shared first tasks and without, fresh and loaded."""
    short = specs(epochs=1)
    forward = {s.method: comparable(run(s)) for s in short}
    backward = {s.method: comparable(run(s, tmp_path)) for s in reversed(short)}
    loaded = {s.method: comparable(run(s, tmp_path)) for s in short}
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
    (first,), (second,) = shared.uses, again.uses
    assert second.charged == first.charged >= 0.2
    assert second.spent < 0.1


def test_a_broken_shared_file_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "k.npz").write_bytes(b"PK\x03\x04 half a file")
    calls = []
    SharedWork(tmp_path).first_task("k", lambda: calls.append(1) or {})
    assert calls == [1]


PLUGIN = """
import torch.nn.functional as F
from tsbench.learn.gradient import GradientMethod

class Mine(GradientMethod):
    def criterion(self, logits, y):
        return F.cross_entropy(logits, y, label_smoothing=SMOOTHING)
"""


def test_a_changed_plugin_does_not_get_its_old_first_task(tmp_path: Path) -> None:
    results = []
    for smoothing in ("0.0", "0.9"):
        for shared in (tmp_path / "shared", tmp_path / f"fresh{smoothing}"):
            path = tmp_path / f"mine{smoothing}" / "mine.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(PLUGIN.replace("SMOOTHING", smoothing))
            (spec,) = specs([f"{path}:Mine"])
            results.append(comparable(run(spec, shared))["result"])
    assert results[0] == results[1]
    assert results[2] == results[3]
    assert len(list((tmp_path / "shared").glob("*.npz"))) == 2


def test_a_changed_criterion_of_ours_gets_another_first_task(monkeypatch) -> None:
    """FastICARL's is not the loop's: its file counts, for it and for nobody else."""
    context, stream = setting()
    how = Fit(1, "step15", 1e-3, 32, 5)
    read = Path.read_bytes
    keys = []
    for change in (b"", b"# another criterion"):
        monkeypatch.setattr(
            Path, "read_bytes", lambda p, c=change: read(p) + c * (p.name == "fasticarl.py")
        )
        keys.append([first_task_key(context, stream.tasks[0], how, k) for k in (FastICARL, Naive)])
    assert keys[0][0] != keys[1][0]
    assert keys[0][1] == keys[1][1]


def test_forced_runs_train_anew(tmp_path: Path) -> None:
    (spec,) = specs(["offline"])
    run(spec, tmp_path)
    (path,) = tmp_path.glob("*.npz")
    os.utime(path, (1, 1))
    execute(spec, Machine(Path(), tmp_path, since=2.0), silent)
    assert path.stat().st_mtime > 2


def test_first_weights_depend_on_the_seed() -> None:
    from small_streams import setting
    from tsbench.baselines.naive import Naive

    context, _ = setting()
    first, second = (
        Naive(replace(context, seed=seed), Naive.Settings()).network.encoder.blocks[0].weight
        for seed in (1234, 1235)
    )
    assert not torch.equal(first, second)


class Vandal(Method):
    """Changes what it is asked about."""

    def learn(self, task):
        self.seen = max(task.labels) + 1

    def predict(self, x):
        x *= 0
        return np.zeros((len(x), self.seen))

    def kept(self):
        return Kept()


def test_test_data_cannot_be_changed_by_predicting() -> None:
    from small_streams import setting

    context, stream = setting()
    before = [test.digest() for test in stream.tests]
    run_stream(Vandal(context, None), stream, [], Clock())
    assert [test.digest() for test in stream.tests] == before


def test_a_stream_with_an_empty_test_set() -> None:
    from small_streams import setting

    context, stream = setting()
    nothing = stream.tests[0].take(np.empty(0, np.int64))
    hollow = replace(stream, tests=(nothing, *stream.tests[1:]))
    result, _ = run_stream(Vandal(context, None), hollow, [], Clock())
    assert result["accuracy"][0] == [None]
    assert result["A_T"] is not None
    json.dumps(result, allow_nan=False)
    settings = AnalyticSettings(width=40)
    chosen, _ = TSACL.select_hyperparameters(settings, context, lambda: hollow)
    assert chosen.gamma > 0


def test_settings_of_any_type_reach_the_method(tmp_path: Path) -> None:
    path = tmp_path / "typed.py"
    path.write_text(TYPED)
    (spec,) = specs([f"{path}:Typed"], changes={"level": "2"})
    assert run(spec)["status"] == "ok"


TYPED = """
from dataclasses import dataclass
from typing import Literal
import numpy as np
from tsbench.learn.method import Kept, Method, Settings

@dataclass(frozen=True)
class Own(Settings):
    grid: tuple[int, ...] = (1, 2)
    maybe: int | None = None
    level: Literal[1, 2] = 1

class Typed(Method):
    Settings = Own
    def learn(self, task):
        s = self.settings
        assert (s.grid, s.maybe, s.level) == ((1, 2), None, 2), s
        self.seen = max(task.labels) + 1
    def predict(self, x):
        return np.zeros((len(x), self.seen))
    def kept(self):
        return Kept(statistics=np.int64(3))
"""


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
    assert np.sum(record["result"]["confusion"]) == 39


def test_batch_norm_is_an_option() -> None:
    ln, bn = run(specs(["naive"])[0]), run(specs(["naive"], norm="bn")[0])
    assert ln["result"]["accuracy"] != bn["result"]["accuracy"]
    assert bn["spec"]["protocol"] == "exp-bn-2"


def test_data_that_was_prepared_again_is_noticed() -> None:
    with pytest.raises(UserError, match="prepared again since"):
        run(replace(specs(["naive"])[0], data_digest="other"))
