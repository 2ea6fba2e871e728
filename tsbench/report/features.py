"""What a method sees after its last task: a run is repeated, and test samples go through it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tsbench.console import Meter, duration, say
from tsbench.errors import UserError
from tsbench.learn.gradient import GradientMethod
from tsbench.learn.method import Method
from tsbench.protocol.stream import Stream
from tsbench.randomness import generator
from tsbench.runs.execute import DEVICES, execute
from tsbench.runs.machine import Machine
from tsbench.runs.record import Record
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

SAMPLES = 800
"""Test samples at most: more hide one another."""


@dataclass(frozen=True)
class Features:
    """Features (n, d) of test samples, their labels by position in the stream, their subjects."""

    x: np.ndarray
    y: np.ndarray
    subject: np.ndarray | None


def features_of(record: Record, data: Path, results: Path) -> Features:
    """Repeat the run of a record and take its features; says so, and whether it came out alike.

    Settings that were chosen on the validation stream are taken from the record.
    """
    spec = _spec(record)
    about = record["environment"]
    device = about["device"] if DEVICES.get(about["device"], lambda: False)() else "cpu"
    shared = Store(results).shared_folder if os.access(results, os.W_OK) else None
    machine = Machine(data, shared, device=device, threads=int(about["threads"]))
    seconds = duration(sum(record["time"]["learn"]))
    say(f"records hold no features: repeating {spec.title}, which took {seconds}")
    found: list[Features] = []
    with Meter("tasks learned", len(record["result"]["curve"])) as meter:
        repeated = execute(
            spec,
            machine,
            lambda task, epoch, loss: meter.to(task, meter.total),
            lambda method, stream: found.append(_take(method, stream)),
        )
    ours, theirs = repeated["result"]["A_T"], record["result"]["A_T"]
    if ours != theirs:
        say(f"notice: A_T of the repeated run is {ours:.2f}, in the record it is {theirs:.2f}")
    return found[0]


def _spec(record: Record) -> RunSpec:
    spec = RunSpec.from_dict(record["spec"])
    chosen = {k: v for k, v in (record.get("chosen") or {}).items() if k in spec.settings}
    return replace(spec, settings={**spec.settings, **chosen})


def _take(method: Method[Any], stream: Stream) -> Features:
    x, y = (np.concatenate([getattr(t, name) for t in stream.tests]) for name in ("x", "y"))
    subjects = [t.subject for t in stream.tests]
    known = [s for s in subjects if s is not None]
    random = generator(stream.seed, "features")
    chosen = np.sort(random.permutation(len(y))[:SAMPLES])
    features = method.classifier_features(x[chosen])
    if features is None and isinstance(method, GradientMethod):
        features = method.features(method.tensors(x[chosen], y[chosen])[0]).cpu().numpy()
    if features is None:
        raise UserError("this method has no features to show: classifier_features() returns None")
    subject = np.concatenate(known)[chosen] if len(known) == len(subjects) else None
    return Features(features, y[chosen], subject)
