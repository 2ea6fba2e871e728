"""The time of a run: its parts add up, and every training is charged where it belongs."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from small_streams import made_up

from tsbench.data.prepared import Dataset
from tsbench.learn.gradient import GradientMethod
from tsbench.learn.registry import effective_settings
from tsbench.protocol.rules import Protocol
from tsbench.protocol.stream import make_stream
from tsbench.runs.execute import execute
from tsbench.runs.machine import Machine
from tsbench.runs.record import validate
from tsbench.runs.spec import RunSpec

TRAINING = 0.5
"""Seconds that a training takes at least here."""


@pytest.fixture(params=[6, 16])
def dataset(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Three tasks in both streams; or 3 for validation and 5 others for the experiment."""
    made = made_up(request.param)
    train = GradientMethod._train

    def slowly(*arguments: object) -> None:
        time.sleep(TRAINING)
        train(*arguments)

    monkeypatch.setattr(GradientMethod, "_train", slowly)
    monkeypatch.setattr("tsbench.runs.execute.card", lambda *_: made.card)
    monkeypatch.setattr("tsbench.runs.execute.load", lambda *_: made)
    return made


def run(dataset: Dataset, method: str, shared: Path | None) -> dict:
    spec = RunSpec(
        dataset.card.name,
        dataset.digest,
        method,
        1234,
        Protocol(epochs=2),
        settings=asdict(effective_settings(method, dataset.card.name)),
    )
    began = time.perf_counter()
    record = execute(spec, Machine(Path(), shared), lambda *_: None)
    elapsed = time.perf_counter() - began
    seconds = validate(json.loads(json.dumps(record)))["time"]
    assert 0 <= elapsed - seconds["total"] < TRAINING
    return seconds


def parts(seconds: dict) -> float:
    lists = sum(seconds["learn"]) + sum(seconds["evaluate"])
    return lists + seconds["setup"] + seconds["tuning"] + seconds["analysis"] - seconds["reused"]


def trainings(folder: Path) -> list[float]:
    """What the shared first tasks took, in the order of their making."""
    files = sorted(folder.glob("*.npz"), key=lambda path: path.stat().st_mtime_ns)
    return [float(np.load(path)["__seconds__"]) for path in files]


def test_the_parts_add_up_and_tuning_pays_for_its_own_training(
    dataset: Dataset, tmp_path: Path
) -> None:
    first, second = (run(dataset, "ts-acl", tmp_path) for _ in range(2))
    took = trainings(tmp_path)
    streams = [make_stream(dataset, 1234, Protocol(stream=name)) for name in ("val", "exp")]
    apart = streams[0].classes != streams[1].classes
    assert len(took) == 1 + apart, "the streams share the first task where they share the classes"
    assert min(took) >= TRAINING
    for seconds in (first, second):
        assert parts(seconds) == pytest.approx(seconds["total"], abs=1e-6)
        assert seconds["learn"][0] >= took[-1] == seconds["charged"]
        assert seconds["tuning"] >= (took[0] if apart else 0)
    assert first["reused"] == pytest.approx(0, abs=0.8 * TRAINING), "it did everything itself"
    assert second["reused"] == pytest.approx(sum(took), abs=0.8 * TRAINING)


def test_without_sharing_the_parts_add_up_too(dataset: Dataset) -> None:
    seconds = run(dataset, "naive", None)
    assert parts(seconds) == pytest.approx(seconds["total"], abs=1e-6)
    assert seconds["reused"] == seconds["charged"] == 0
    assert min(seconds["learn"]) >= TRAINING
