"""One run as a function: ``execute(spec) -> record``."""

from __future__ import annotations

import dataclasses
import importlib
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from tsbench.bench import metrics
from tsbench.bench.machine import Machine, environment, gpu_peak_memory, peak_memory
from tsbench.bench.spec import RunSpec, file_code
from tsbench.bench.store import SCHEMA
from tsbench.data.catalogue import card
from tsbench.data.prepared import Dataset, load
from tsbench.data.stream import Stream, make_stream, memory_budget
from tsbench.errors import UserError
from tsbench.learn.catalogue import METHODS
from tsbench.learn.method import Context, Kept, Method, Progress
from tsbench.learn.shared import SharedWork

EVALUATION_CHUNK = 1024
SAMPLE_BYTES = 4
"""Of a value of a raw sample: float32."""
DEVICES: dict[str, Callable[[], bool]] = {
    "cpu": lambda: True,
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
}
"""Whether this machine has one."""


def load_method(reference: str) -> type[Method]:
    """The class of a method, checked for being one."""
    found = METHODS.load(reference)
    if not isinstance(found, type) or not issubclass(found, Method):
        raise UserError(f"method '{reference}' does not derive from tsbench.learn.method.Method")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise UserError(f"method '{reference}' lacks {', '.join(missing)}")
    try:
        dataclasses.asdict(found.Settings())
    except TypeError as error:
        raise UserError(
            f"method '{reference}': Settings must be a dataclass with defaults ({error})"
        ) from error
    return found


def choose_device(name: str) -> str:
    """``auto`` takes a GPU if there is one; asking for one that is not there is an error."""
    if name == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    if name not in DEVICES:
        raise UserError(f"unknown device '{name}'; known: auto, {', '.join(DEVICES)}")
    if not DEVICES[name]():
        raise UserError(f"--device {name}: there is none on this machine; use --device cpu")
    return name


def execute(
    spec: RunSpec,
    machine: Machine,
    progress: Progress,
    look: Callable[[Method, Stream], None] | None = None,
) -> dict[str, Any]:
    """Do a run and return its record; ``look`` gets the method when it has learned everything."""
    started = time.perf_counter()
    importlib.import_module("torch._dynamo")  # or the first optimiser does it, on the clock
    torch.set_num_threads(machine.threads)
    if machine.gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = machine.gpus
    if machine.device != "cpu":  # on the CPU all we use is; asking there costs two seconds
        torch.use_deterministic_algorithms(True, warn_only=True)
        warnings.filterwarnings("ignore", message=".*deterministic.*")
    dataset = load(card(spec.dataset, machine.data), machine.data)
    if dataset.digest != spec.data_digest:
        raise UserError(f"{spec.dataset} has been prepared anew since this run was planned")
    stream = make_stream(dataset, spec.seed, spec.stream)
    kind = load_method(spec.method)
    if file_code(spec.method) != spec.code:
        raise UserError(f"'{spec.method}' has changed since this run was planned")
    shared = SharedWork(machine.shared, machine.since) if machine.shared else None
    context = Context(
        card=dataset.card,
        seed=spec.seed,
        classes=len(stream.classes),
        samples=sum(len(task.train) for task in stream.tasks),
        budget=memory_budget(dataset, len(stream.classes)),
        epochs=spec.epochs,
        norm=spec.norm,  # type: ignore[arg-type]
        device=torch.device(machine.device),
        progress=progress,
        shared=shared,
    )
    settings = kind.Settings(**spec.settings)
    began = time.perf_counter()
    settings, chosen = kind.settle(
        settings, context, lambda: make_stream(dataset, spec.seed, "val")
    )
    tuning = time.perf_counter() - began
    if shared is not None:
        tuning -= shared.spent  # training that learning is charged for
    method = kind(context, settings)
    outcome = run_stream(method, stream, shared)
    if look is not None:
        look(method, stream)
    return {
        "schema": SCHEMA,
        "status": "ok",
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "data": data_section(dataset),
        "class_order": list(stream.classes),
        "chosen": chosen,
        "result": outcome.result,
        "memory": {
            "kept_bytes": asdict(method.kept()),
            "budget_samples": context.budget,
            "parameters": method.parameters(),
            "peak_bytes": peak_memory(),
            "gpu_peak_bytes": gpu_peak_memory(machine.device),
        },
        "time": {
            **outcome.seconds,
            "tuning": tuning,
            "total": time.perf_counter() - started,
        },
        "environment": environment(
            machine.device, machine.threads, machine.workers, machine.commit
        ),
    }


def data_section(dataset: Dataset) -> dict[str, Any]:
    """What the record says of its data; of somebody's own also the card."""
    section = {
        "digest": dataset.digest,
        "complete": dataset.complete,
        "coverage": str(dataset.splits.coverage),
    }
    if "card" in dataset.manifest:
        section["card"] = dataset.manifest["card"]
    return section


@dataclass
class Outcome:
    """Results and times of a stream."""

    result: dict[str, Any]
    seconds: dict[str, Any]


def run_stream(method: Method, stream: Stream, shared: SharedWork | None) -> Outcome:
    """Learn task by task, and test on all tasks so far after each."""
    tasks = [stream.joint()] if method.offline else list(stream.tasks)
    matrix: list[list[float | None] | None] = [None] * len(stream.tests)
    learn, evaluate, charged = [], [], 0.0
    predicted: list[np.ndarray] = []
    for step, task in enumerate(tasks):
        before = (shared.spent, shared.charged) if shared else (0.0, 0.0)
        began = time.perf_counter()
        method.learn(task)
        _synchronise(method)
        seconds = time.perf_counter() - began
        if shared:
            # What was trained by another run, or waited for, is replaced by what it took.
            spent, charge = shared.spent - before[0], shared.charged - before[1]
            seconds += charge - spent
            charged += charge
        learn.append(seconds)
        if not method.offline:
            expect_within_budget(method.kept(), method.context, step)
        began = time.perf_counter()
        row = len(stream.tests) - 1 if method.offline else step
        seen = max(task.labels) + 1
        predicted = [predict(method, test.x, seen) for test in stream.tests[: row + 1]]
        matrix[row] = [
            100 * float(np.mean(guess == test.y)) if len(test) else None
            for guess, test in zip(predicted, stream.tests, strict=False)
        ]
        evaluate.append(time.perf_counter() - began)
    began = time.perf_counter()
    truth = np.concatenate([test.y for test in stream.tests])
    guesses = np.concatenate(predicted)
    result = {
        "accuracy": matrix,
        "A_T": metrics.average_accuracy(matrix),
        "F_T": metrics.forgetting(matrix),
        "curve": metrics.curve(matrix),
        "learning_accuracy": metrics.learning_accuracy(matrix),
        "backward_transfer": metrics.backward_transfer(matrix),
        "pooled": 100 * float(np.mean(guesses == truth)),
        "confusion": metrics.confusion(truth, guesses, len(stream.classes)),
        "variance_ratio": variance_ratio(method, stream),
    }
    analysis = time.perf_counter() - began
    times = {"learn": learn, "evaluate": evaluate, "analysis": analysis, "charged": charged}
    return Outcome(result, times)


def predict(method: Method, x: np.ndarray, seen: int) -> np.ndarray:
    """Predicted labels; checks what the method returned."""
    parts = []
    for start in range(0, len(x), EVALUATION_CHUNK):
        chunk = np.array(x[start : start + EVALUATION_CHUNK])  # a copy, whatever is done to it
        scores = np.asarray(method.predict(chunk))
        if scores.shape != (len(chunk), seen):
            raise ValueError(
                f"predict returned shape {scores.shape} for {len(chunk)} samples; "
                f"expected {(len(chunk), seen)}: a score for every class seen"
            )
        if scores.dtype.kind not in "biuf":
            raise ValueError(f"predict returned {scores.dtype}, not numbers")
        if not np.isfinite(scores).all():
            raise ValueError("predict returned NaN or infinite scores")
        parts.append(scores.argmax(axis=1))
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def expect_within_budget(kept: Any, context: Context, step: int) -> None:
    """Raise if a method keeps more raw samples than it may, or does not tell."""
    if not isinstance(kept, Kept) or min(asdict(kept).values()) < 0:
        raise ValueError("kept() must return a Kept with bytes of 0 or more")
    allowed = context.budget * context.card.channels * context.card.length * SAMPLE_BYTES
    if kept.raw > allowed:
        raise ValueError(
            f"after task {step + 1} keeps {kept.raw} bytes of raw samples; the budget of "
            f"{context.budget} samples allows {allowed}"
        )


def variance_ratio(method: Method, stream: Stream) -> float | None:
    """Variance ratio of what the classifier sees, on all test data after the last task."""
    ratio = metrics.VarianceRatio(len(stream.classes))
    for test in stream.tests:
        for start in range(0, len(test), EVALUATION_CHUNK):
            rows = slice(start, start + EVALUATION_CHUNK)
            features = method.inputs(test.x[rows])
            if features is None:
                return None
            ratio.add(features, test.y[rows])
    return ratio.value()


def _synchronise(method: Method) -> None:
    kind = method.context.device.type
    if kind == "cuda":
        torch.cuda.synchronize()
    elif kind == "mps":
        torch.mps.synchronize()


def failure(
    spec: RunSpec, machine: Machine, error: str, details: str = "", lost: bool = False
) -> dict[str, Any]:
    """The record of a run that failed; ``lost``: it was ended from outside, and may be repeated."""
    return {
        "schema": SCHEMA,
        "status": "failed",
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "error": error,
        "details": details,
        "lost": lost,
        "environment": environment(
            machine.device, machine.threads, machine.workers, machine.commit
        ),
    }
