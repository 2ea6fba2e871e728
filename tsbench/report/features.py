"""What a method sees after its last task: a run is done again, and test samples go through it."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tsbench.bench.machine import Machine
from tsbench.bench.run import DEVICES, execute
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.console import Meter, duration, say
from tsbench.data.stream import Stream
from tsbench.errors import UserError
from tsbench.learn.gradient import GradientMethod
from tsbench.learn.method import Method
from tsbench.randomness import generator
from tsbench.report.records import Record

SAMPLES = 800
"""Test samples at most: more hide one another."""


@dataclass(frozen=True)
class Features:
    """Features (n, d) of test samples, their labels by position in the stream, their subjects."""

    x: np.ndarray
    y: np.ndarray
    subject: np.ndarray | None


def features_of(record: Record, data: Path, results: Path) -> Features:
    """Do the run of a record again and take its features; says so, and whether it came out alike.

    Settings that were chosen on the validation stream are taken from the record.
    """
    spec = _spec(record)
    about = record["environment"]
    device = about["device"] if DEVICES.get(about["device"], lambda: False)() else "cpu"
    shared = Store(results).shared_folder if os.access(results, os.W_OK) else None
    machine = Machine(data, shared, device=device, threads=int(about["threads"]))
    seconds = duration(sum(record["time"]["learn"]))
    say(f"no features are stored: training {spec.title} again, {seconds} by its record")
    found: list[Features] = []
    with Meter("tasks learned", len(record["result"]["curve"])) as meter:
        again = execute(
            spec,
            machine,
            lambda task, epoch, loss: meter.to(task, meter.total),
            lambda method, stream: found.append(_take(method, stream)),
        )
    ours, theirs = again["result"]["A_T"], record["result"]["A_T"]
    if ours != theirs:
        say(f"notice: trained again, A_T is {ours:.2f} where the record has {theirs:.2f}")
    return found[0]


def _spec(record: Record) -> RunSpec:
    known = {field.name for field in dataclasses.fields(RunSpec)}
    spec = RunSpec(**{k: v for k, v in record["spec"].items() if k in known})
    chosen = {k: v for k, v in (record.get("chosen") or {}).items() if k in spec.settings}
    return dataclasses.replace(spec, settings={**spec.settings, **chosen})


def _take(method: Method, stream: Stream) -> Features:
    x, y = (np.concatenate([getattr(t, name) for t in stream.tests]) for name in ("x", "y"))
    subjects = [t.subject for t in stream.tests]
    known = [s for s in subjects if s is not None]
    random = generator(stream.seed, "features")
    chosen = np.sort(random.permutation(len(y))[:SAMPLES])
    features = method.inputs(x[chosen])
    if features is None and isinstance(method, GradientMethod):
        features = method.features(method.tensors(x[chosen], y[chosen])[0]).cpu().numpy()
    if features is None:
        raise UserError("this method does not tell its features: its inputs() returns None")
    subject = np.concatenate(known)[chosen] if len(known) == len(subjects) else None
    return Features(features, y[chosen], subject)
