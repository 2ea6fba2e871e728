"""One run as a function: ``execute(spec) -> record``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from tsbench.data.catalogue import card
from tsbench.data.prepared import Dataset, load
from tsbench.errors import UserError
from tsbench.learn.method import Context, Kept, Method, Progress
from tsbench.learn.registry import load_method, method_code
from tsbench.learn.shared import SharedWork, Use
from tsbench.protocol import metrics
from tsbench.protocol.samples import Split
from tsbench.protocol.stream import Stream, make_stream
from tsbench.runs.machine import Clock, Machine, environment, gpu_peak_memory, peak_memory
from tsbench.runs.record import SCHEMA, Record
from tsbench.runs.spec import RunSpec, method_label

EVALUATION_CHUNK = 1024
SAMPLE_BYTES = 4
"""Of a value of a raw sample: float32."""
DEVICES: dict[str, Callable[[], bool]] = {
    "cpu": lambda: True,
    "cuda": torch.cuda.is_available,
    "mps": torch.backends.mps.is_available,
}
"""Whether this machine has one."""
ABOUT = ("title", "family", "keeps", "colour", "marker")


def choose_device(name: str) -> str:
    """``auto`` takes a GPU if there is one; asking for one that is not there is an error."""
    if name == "auto":
        return next(device for device in ("cuda", "mps", "cpu") if DEVICES[device]())
    if name not in DEVICES:
        raise UserError(f"unknown device '{name}'; known: auto, {', '.join(DEVICES)}")
    if not DEVICES[name]():
        raise UserError(f"--device {name}: there is none on this machine; use --device cpu")
    return name


def execute(
    spec: RunSpec,
    machine: Machine,
    progress: Progress,
    look: Callable[[Method[Any], Stream], None] | None = None,
) -> Record:
    """Do a run and return its record; ``look`` gets the method when it has learned everything."""
    clock = Clock()
    _prepare_torch(machine)
    dataset = load(card(spec.dataset, machine.data), machine.data)
    if dataset.digest != spec.data_digest:
        raise UserError(f"{spec.dataset} has been prepared again since this run was planned")
    kind = load_method(spec.method)
    if method_code(spec.method) != spec.code:
        raise UserError(f"'{spec.method}' has changed since this run was planned")
    stream = make_stream(dataset, spec.seed, spec.protocol)
    shared = SharedWork(machine.shared, machine.since) if machine.shared else None
    context = Context(
        card=dataset.card,
        seed=spec.seed,
        classes=len(stream.classes),
        samples=sum(len(task.train) for task in stream.tasks),
        budget=dataset.budget(len(stream.classes)),
        epochs=spec.protocol.epochs,
        norm=spec.protocol.norm,
        classes_per_task=spec.protocol.classes_per_task,
        device=torch.device(machine.device),
        progress=progress,
        shared=shared,
    )
    setup = clock.lap()
    settings, chosen = kind.select_hyperparameters(
        kind.Settings(**spec.settings),
        context,
        lambda: make_stream(dataset, spec.seed, replace(spec.protocol, stream="val")),
    )
    uses = shared.uses if shared else []
    tuning, uses_of_tuning = clock.lap(), len(uses)
    method = kind(context, settings)
    setup += clock.lap()
    result, seconds = run_stream(method, stream, uses, clock)
    # A network that learning starts from is charged to learning, all others to tuning, once each.
    charged_keys = {use.key for use in uses[uses_of_tuning:]}
    for use in uses[:uses_of_tuning]:
        reused = (0.0 if use.key in charged_keys else use.charged) - use.spent
        charged_keys.add(use.key)
        tuning += reused
        seconds["reused"] += reused
    seconds |= {"tuning": max(0.0, tuning), "setup": setup, "total": clock.total()}
    if look is not None:
        look(method, stream)
    return {
        **heading(spec, "ok"),
        "data": data_section(dataset, stream),
        "class_order": list(stream.classes),
        "chosen": chosen,
        "result": result,
        "memory": {
            "kept_bytes": asdict(method.kept()),
            "budget_samples": context.budget,
            "parameters": method.parameters(),
            "peak_bytes": peak_memory(),
            "gpu_peak_bytes": gpu_peak_memory(machine.device),
        },
        "time": seconds,
        "environment": {**environment(machine), "load": clock.load(machine.threads)},
    }


def heading(spec: RunSpec, status: str) -> Record:
    """What the records of finished and failed runs begin with."""
    return {
        "schema": SCHEMA,
        "status": status,
        "hash": spec.hash(),
        "label": spec.label,
        "spec": spec.as_dict(),
        "method": about(spec.method),
    }


def about(method: str) -> dict[str, str]:
    """What reports need to know of a method, so that they need not import it."""
    try:
        kind = load_method(method)
    except UserError:  # a file that is broken or gone: its failure is to be recorded
        return {"title": method_label(method), **dict.fromkeys(ABOUT[1:], "")}
    return {name: getattr(kind, name) for name in ABOUT} | {
        "title": kind.title or method_label(method)
    }


def import_torch_fully() -> None:
    """Import what torch imports with the first optimiser, which takes seconds, off the clock."""
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)


def _prepare_torch(machine: Machine) -> None:
    import_torch_fully()
    torch.set_num_threads(machine.threads)
    if machine.gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = machine.gpus
    if machine.device != "cpu":  # on the CPU all we use is; asking there costs two seconds
        torch.use_deterministic_algorithms(True, warn_only=True)
        warnings.filterwarnings("ignore", message=".*deterministic.*")


def data_section(dataset: Dataset, stream: Stream) -> dict[str, Any]:
    """What the record says about its data; for a custom data set also its card."""
    section = {
        "digest": dataset.digest,
        "complete": dataset.complete,
        "coverage": str(dataset.splits.coverage),
    }
    if "card" in dataset.manifest:
        section["card"] = dataset.manifest["card"]
    if stream.notes:
        section["stream"] = stream.notes
    return section


def run_stream(
    method: Method[Any], stream: Stream, uses: Sequence[Use], clock: Clock
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Learn task by task, and test on all tasks so far after each: results, and times.

    ``uses`` grows with the shared work that the method uses. No moment lies between two laps of
    the clock, so the parts add up however busy the machine is.
    """
    tasks = [stream.joint()] if method.offline else list(stream.tasks)
    matrix: list[list[float | None] | None] = [None] * len(stream.tests)
    learn, evaluate, charged, reused = [], [], 0.0, 0.0
    predicted: list[np.ndarray] = []
    for step, task in enumerate(tasks):
        before = len(uses)
        method.learn(task)
        _synchronise(method)
        seconds = clock.lap()
        # What was trained by another run, or waited for, is replaced by what it took.
        for use in uses[before:]:
            seconds += use.charged - use.spent
            charged += use.charged
            reused += use.charged - use.spent
        learn.append(seconds)
        if not method.offline:
            expect_within_budget(method.kept(), method.context, step)
        row = len(stream.tests) - 1 if method.offline else step
        seen = max(task.labels) + 1
        predicted = [predict(method, test.x, seen) for test in stream.tests[: row + 1]]
        matrix[row] = list(map(accuracy, predicted, stream.tests))
        evaluate.append(clock.lap())
    truth = np.concatenate([test.y for test in stream.tests])
    guesses = np.concatenate(predicted)
    result: dict[str, Any] = {
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
    if notes := method.notes():
        result["notes"] = notes
    if (head := linear_head_accuracy(method, stream)) is not None:
        result["linear_head"] = head
    times = {"learn": learn, "evaluate": evaluate, "analysis": clock.lap()}
    return result, {**times, "charged": charged, "reused": reused}


def accuracy(guess: np.ndarray, test: Split) -> float | None:
    """In %; None where there is nothing to test on."""
    return 100 * float(np.mean(guess == test.y)) if len(test) else None


def in_chunks(array: np.ndarray) -> Iterator[np.ndarray]:
    """Parts of samples or labels, as copies: a method may do anything to them."""
    for start in range(0, len(array), EVALUATION_CHUNK):
        yield np.array(array[start : start + EVALUATION_CHUNK])


def predict(method: Method[Any], x: np.ndarray, seen: int) -> np.ndarray:
    """Predicted labels; checks what the method returned."""
    parts = [np.empty(0, np.int64)]
    for chunk in in_chunks(x):
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
    return np.concatenate(parts)


def expect_within_budget(kept: Any, context: Context, step: int) -> None:
    """Raise if a method keeps more raw samples than it may, or does not say."""
    if not isinstance(kept, Kept) or min(asdict(kept).values()) < 0:
        raise ValueError("kept() must return a Kept with bytes of 0 or more")
    allowed = context.budget * context.card.channels * context.card.length * SAMPLE_BYTES
    if kept.raw > allowed:
        raise ValueError(
            f"after task {step + 1} keeps {kept.raw} bytes of raw samples; the budget of "
            f"{context.budget} samples allows {allowed}"
        )


def variance_ratio(method: Method[Any], stream: Stream) -> float | None:
    """Variance ratio of what the classifier sees, on all test data after the last task."""
    ratio = metrics.VarianceRatio(len(stream.classes))
    for test in stream.tests:
        for x, y in zip(in_chunks(test.x), in_chunks(test.y), strict=True):
            features = method.classifier_features(x)
            if features is None:
                return None
            ratio.add(features, y)
    return ratio.value()


def linear_head_accuracy(method: Method[Any], stream: Stream) -> float | None:
    """A_T of the linear head after the last task, if the method has one that it does not use."""
    accuracies: list[float | None] = []
    for test in stream.tests:
        parts = [np.empty(0, np.int64)]
        for chunk in in_chunks(test.x):
            scores = method.linear_head(chunk)
            if scores is None:
                return None
            parts.append(np.asarray(scores).argmax(axis=1))
        accuracies.append(accuracy(np.concatenate(parts), test))
    return metrics.mean(accuracies)


def _synchronise(method: Method[Any]) -> None:
    kind = method.context.device.type
    if kind == "cuda":
        torch.cuda.synchronize()
    elif kind == "mps":
        torch.mps.synchronize()
