"""What every method must do, as checks that anybody can run on theirs.

A check gets a method class and raises ``Broken`` with a reason. Streams are small and awkward on
purpose: one channel, a length that is no multiple of 16, a class of three samples, odd batches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsbench.bench.run import expect_within_budget, predict
from tsbench.data.arrays import Coverage, Split, Splits
from tsbench.data.card import Card
from tsbench.data.prepared import Dataset, load
from tsbench.data.stream import Stream, Task, make_stream, memory_budget
from tsbench.learn.method import Context, Kept, Method
from tsbench.randomness import generator
from tsbench.registry import line_in

EPOCHS = 2
CLASSES = 6


class Broken(AssertionError):
    """A rule that a method breaks."""


def awkward(channels: int = 1, length: int = 37, smallest: int = 3) -> Dataset:
    """Six noisy classes, the first one tiny."""

    def generate() -> Splits:
        def draw(name: str, counts: list[int]) -> Split:
            random = generator(0, "conformance", name)
            y = np.repeat(np.arange(CLASSES), counts)
            time = np.linspace(0, 1, length)
            waves = np.sin(2 * np.pi * (y[:, None, None] + 1) * time)
            x = waves + 0.3 * random.normal(size=(len(y), channels, length))
            return Split(x.astype(np.float32), y)

        # About 0.9 · 0.9 of these are trained on: 33, one more than a replay batch.
        counts = [smallest, 41, 24, 24, 41, 24]
        return Splits(draw("train", counts), draw("test", [8] * CLASSES), Coverage(1, 1, "set"))

    card = Card(
        name=f"awkward-{channels}-{length}-{smallest}",
        title="Awkward",
        channels=channels,
        length=length,
        class_names=tuple("abcdef"),
        input_norm="none",
        dropout=0.2,
        memory_per_class=40,
        licence="",
        citation="",
        page="",
        generate=generate,
    )
    return load(card, Path())


@dataclasses.dataclass
class Trial:
    """A method that has learned a stream, and what came of it."""

    method: Method
    context: Context
    labels: list[np.ndarray]
    kept: list[Kept]
    scores: np.ndarray


def trial(
    kind: type[Method], dataset: Dataset | None = None, seed: int = 1234, stir: int = 0
) -> Trial:
    """Learn a stream and predict after each task; ``stir`` disturbs all global randomness."""
    dataset = dataset or awkward()
    stream = make_stream(dataset, seed)
    context = make_context(dataset, stream)
    torch.manual_seed(stir)
    np.random.seed(stir)  # noqa: NPY002
    settings, _ = kind.settle(kind.Settings(), context, lambda: make_stream(dataset, seed, "val"))
    method = kind(context, settings)
    labels, kept = [], []
    tests = np.concatenate([test.x for test in stream.tests])
    for task in [stream.joint()] if kind.offline else stream.tasks:
        method.learn(task)
        labels.append(predict(method, tests, max(task.labels) + 1))
        kept.append(method.kept())
    return Trial(method, context, labels, kept, np.asarray(method.predict(tests)))


def make_context(dataset: Dataset, stream: Stream) -> Context:
    """A context as in a real run, with few epochs."""
    return Context(
        card=dataset.card,
        seed=stream.seed,
        classes=len(stream.classes),
        samples=sum(len(task.train) for task in stream.tasks),
        budget=memory_budget(dataset, len(stream.classes)),
        epochs=EPOCHS,
    )


def scores_cover_all_classes(kind: type[Method]) -> None:
    """``predict`` gives finite scores for every class seen so far, after every task."""
    try:
        trial(kind)
    except ValueError as error:
        raise Broken(str(error)) from error


def awkward_shapes(kind: type[Method]) -> None:
    """Any number of channels, any length, a class of a single training sample."""
    for channels, length, smallest in ((1, 16, 3), (5, 33, 4), (2, 50, 2)):
        trial(kind, awkward(channels, length, smallest))


def same_seed_same_result(kind: type[Method]) -> None:
    """Two runs agree to the last bit, whatever the global random state."""
    first, second = trial(kind, stir=1), trial(kind, stir=2)
    if not np.array_equal(first.scores, second.scores):
        raise Broken("two runs with the same seed differ; draw from context.random() only")


def other_seed_other_result(kind: type[Method]) -> None:
    """Another seed is another class order."""
    if np.array_equal(trial(kind, seed=1234).scores, trial(kind, seed=1236).scores):
        raise Broken("two runs with different seeds agree")


def predictions_do_not_depend_on_the_batch(kind: type[Method]) -> None:
    """A sample's scores are the same alone and among others, and asking twice changes nothing."""
    done = trial(kind)
    x = make_stream(awkward(), 1234).tests[0].x
    whole = np.asarray(done.method.predict(x))
    alone = np.concatenate([np.asarray(done.method.predict(x[i : i + 1])) for i in range(len(x))])
    if not np.allclose(whole, alone, rtol=1e-3, atol=1e-4):
        raise Broken("the scores of a sample depend on the others in the batch")
    if not np.array_equal(whole, np.asarray(done.method.predict(x))):
        raise Broken("predicting twice gives two results")


def the_budget_is_kept(kind: type[Method]) -> None:
    """Raw samples kept between tasks never weigh more than the budget allows."""
    done = trial(kind)
    for step, kept in enumerate(done.kept):
        try:
            expect_within_budget(kept, done.context, step)
        except ValueError as error:
            raise Broken(str(error)) from error


def the_task_is_left_as_it_is(kind: type[Method]) -> None:
    """``learn`` changes nothing in the task, and works when the task's arrays are gone after."""
    dataset = awkward()
    stream = make_stream(dataset, 1234)
    context = make_context(dataset, stream)
    settings, _ = kind.settle(kind.Settings(), context, lambda: make_stream(dataset, 1234, "val"))
    method = kind(context, settings)
    for task in [stream.joint()] if kind.offline else stream.tasks:
        copy = _copied(task)
        method.learn(copy)
        if copy.train.digest() != task.train.digest() or copy.val.digest() != task.val.digest():
            raise Broken("learn changed the task's data")
        for split in (copy.train, copy.val):  # a past task must not be looked at again
            split.x.fill(np.nan)
            split.y.fill(0)
    tests = np.concatenate([test.x for test in stream.tests])
    if not np.array_equal(np.asarray(method.predict(tests)), trial(kind).scores):
        raise Broken("a task's data was used after the task was over")


def _copied(task: Task) -> Task:
    train, val = (Split(s.x.copy(), s.y.copy()) for s in (task.train, task.val))
    return Task(task.index, task.labels, train, val)


CHECKS: dict[str, Callable[[Any], None]] = {
    check.__name__.replace("_", " "): check
    for check in (
        scores_cover_all_classes,
        awkward_shapes,
        same_seed_same_result,
        other_seed_other_result,
        predictions_do_not_depend_on_the_batch,
        the_budget_is_kept,
        the_task_is_left_as_it_is,
    )
}


def examine(kind: type[Method]) -> Iterator[tuple[str, str]]:
    """All rules on one method, as (rule, reason): an empty reason is a pass."""
    printed = io.StringIO()
    for name, rule in CHECKS.items():
        reason = ""
        try:
            with contextlib.redirect_stdout(printed):
                rule(kind)
        except Broken as error:
            reason = str(error)
        except Exception as error:
            where = line_in(Path(inspect.getfile(kind)), error)
            reason = f"{type(error).__name__}: {error}{where}"
        yield name, reason
    told = printed.getvalue().strip()
    shown = f"prints to stdout, which is for results: '{told.splitlines()[0]}'" if told else ""
    yield "nothing is printed to stdout", shown
