"""What every method must do, as checks that anybody can run on theirs.

A check gets a method class and raises ``Broken`` with a reason. Streams are small and awkward on
purpose: one channel, a length that is not a multiple of 16, a class of three samples, odd batches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tsbench.data.card import Card
from tsbench.data.prepared import Dataset, load
from tsbench.errors import describe
from tsbench.learn.method import Context, Kept, Method
from tsbench.protocol.rules import VALIDATION
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.stream import Stream, Task, make_stream
from tsbench.randomness import generator
from tsbench.registry import line_in
from tsbench.runs.execute import expect_within_budget, predict

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

    method: Method[Any]
    context: Context
    labels: list[np.ndarray]
    kept: list[Kept]
    scores: np.ndarray


def trial(
    kind: type[Method[Any]],
    dataset: Dataset | None = None,
    seed: int = 1234,
    stir: int = 0,
    learn: Callable[[Method[Any], Task], None] = lambda method, task: method.learn(task),
) -> Trial:
    """Learn a stream and predict after each task; ``stir`` disturbs all global randomness."""
    dataset = dataset or awkward()
    stream = make_stream(dataset, seed)
    context = make_context(dataset, stream)
    torch.manual_seed(stir)
    np.random.seed(stir)  # noqa: NPY002
    settings, _ = kind.select_hyperparameters(
        kind.Settings(), context, lambda: make_stream(dataset, seed, VALIDATION)
    )
    method = kind(context, settings)
    labels, kept = [], []
    tests = np.concatenate([test.x for test in stream.tests])
    for task in [stream.joint()] if kind.offline else stream.tasks:
        learn(method, task)
        labels.append(predict(method, tests, max(task.labels) + 1))
        kept.append(method.kept())
    return Trial(method, context, labels, kept, np.asarray(method.predict(tests)))


@lru_cache(maxsize=1)
def usual_trial(kind: type[Method[Any]]) -> Trial:
    """The trial that several checks look at; run once per method."""
    return trial(kind)


def make_context(dataset: Dataset, stream: Stream) -> Context:
    """A context as in a real run, with few epochs."""
    return Context(
        card=dataset.card,
        seed=stream.seed,
        classes=len(stream.classes),
        samples=sum(len(task.train) for task in stream.tasks),
        budget=dataset.budget(len(stream.classes)),
        epochs=EPOCHS,
    )


def scores_cover_all_classes(kind: type[Method[Any]]) -> None:
    """``predict`` gives finite scores for every class seen so far, after every task."""
    try:
        usual_trial(kind)
    except ValueError as error:
        raise Broken(str(error)) from error


def awkward_shapes(kind: type[Method[Any]]) -> None:
    """Any number of channels, any length, a class of a single training sample."""
    for channels, length, smallest in ((1, 16, 2), (5, 33, 4)):
        trial(kind, awkward(channels, length, smallest))


def same_seed_same_result(kind: type[Method[Any]]) -> None:
    """Two runs agree to the last bit, whatever the global random state."""
    if not np.array_equal(usual_trial(kind).scores, trial(kind, stir=1).scores):
        raise Broken("two runs with the same seed differ; draw from context.random() only")


def other_seed_other_result(kind: type[Method[Any]]) -> None:
    """Another seed is another class order."""
    if np.array_equal(usual_trial(kind).scores, trial(kind, seed=1236).scores):
        raise Broken("two runs with different seeds agree")


def predictions_do_not_depend_on_the_batch(kind: type[Method[Any]]) -> None:
    """A sample's scores are the same alone and among others, and asking twice changes nothing."""
    done = usual_trial(kind)
    x = make_stream(awkward(), 1234).tests[0].x
    whole = np.asarray(done.method.predict(x))
    alone = np.concatenate([np.asarray(done.method.predict(x[i : i + 1])) for i in range(len(x))])
    if not np.allclose(whole, alone, rtol=1e-3, atol=1e-4):
        raise Broken("the scores of a sample depend on the others in the batch")
    if not np.array_equal(whole, np.asarray(done.method.predict(x))):
        raise Broken("predicting twice gives two results")


def the_budget_is_kept(kind: type[Method[Any]]) -> None:
    """Raw samples kept between tasks never weigh more than the budget allows."""
    done = usual_trial(kind)
    for step, kept in enumerate(done.kept):
        try:
            expect_within_budget(kept, done.context, step)
        except ValueError as error:
            raise Broken(str(error)) from error


def the_task_is_left_as_it_is(kind: type[Method[Any]]) -> None:
    """``learn`` changes nothing in the task, and works when the task's arrays are gone after."""

    def learn(method: Method[Any], task: Task) -> None:
        train, val = (Split(s.x.copy(), s.y.copy()) for s in (task.train, task.val))
        method.learn(Task(task.index, task.labels, train, val))
        if train.digest() != task.train.digest() or val.digest() != task.val.digest():
            raise Broken("learn changed the task's data")
        for split in (train, val):  # a past task must not be looked at again
            split.x.fill(np.nan)
            split.y.fill(0)

    if not np.array_equal(trial(kind, learn=learn).scores, usual_trial(kind).scores):
        raise Broken("a task's data was used after the task was over")


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


def examine(kind: type[Method[Any]]) -> Iterator[tuple[str, str]]:
    """All rules on one method, as (rule, reason): an empty reason is a pass."""
    printed = io.StringIO()
    for name, rule in CHECKS.items():
        reason = ""
        try:
            with contextlib.redirect_stdout(printed):
                rule(kind)
        except Broken as error:
            reason = str(error)
        except BaseException as error:  # also sys.exit
            where = line_in(Path(inspect.getfile(kind)), error)
            reason = f"{describe(error)}{where}"
        yield name, reason
    lines = printed.getvalue().strip()
    shown = f"prints to stdout, which is for results: '{lines.splitlines()[0]}'" if lines else ""
    yield "nothing is printed to stdout", shown
