"""Class orders and task streams."""

from __future__ import annotations

import gc
import hashlib
from pathlib import Path

import numpy as np
import pytest

from tsbench.data.catalogue import card
from tsbench.data.finish import finish
from tsbench.data.prepared import Dataset, describe, load
from tsbench.protocol.rules import VALIDATION, Protocol, class_order, task_counts
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.stream import make_stream

PUBLISHED_ORDERS = """
1234 | 2 1 5 0 4 3 | 2 1 6 0 4 5 3 7 | 13 11 0 12 14 2 10 7 1 9 8 4 5 6 3 15 | 11 3 17 10 13 14 0 2 16 7 1 9 8 4 12 5 6 15
1235 | 0 1 5 4 2 3 | 0 1 5 4 7 6 2 3 | 1 4 9 10 5 13 15 0 8 6 12 7 3 14 2 11 | 1 13 12 5 4 17 15 10 0 8 9 6 14 7 3 16 2 11
1236 | 2 4 0 1 5 3 | 2 6 0 5 4 1 7 3 | 5 0 2 10 15 6 14 4 7 13 8 9 12 1 11 3 | 5 0 2 10 13 6 17 14 16 4 7 15 8 9 12 1 11 3
1237 | 5 4 2 0 1 3 | 5 0 6 7 2 4 1 3 | 8 5 3 6 12 15 10 1 0 13 14 2 4 9 7 11 | 14 3 6 10 13 5 8 12 17 1 0 15 16 2 4 9 7 11
1238 | 1 0 3 5 2 4 | 1 0 3 7 2 5 6 4 | 7 6 0 10 15 5 1 11 9 8 12 3 2 13 14 4 | 10 6 12 9 15 0 17 5 1 7 11 8 16 3 2 13 14 4
"""  # noqa: E501


def test_class_orders_equal_the_published_table() -> None:
    for line in PUBLISHED_ORDERS.strip().splitlines():
        seed, *orders = line.split("|")
        for order in orders:
            expected = [int(c) for c in order.split()]
            assert class_order(int(seed), len(expected)) == expected


def made_up(like: str, per_class: int = 40, missing: tuple[int, ...] = ()) -> Dataset:
    """A data set shaped as a real one; every sample carries its own number."""
    each = card(like)
    labels = [k for k in range(each.classes) if k not in missing]
    y = np.repeat(labels, per_class)
    x = np.zeros((len(y), each.channels, each.length), np.float32)
    x[:, 0, 0] = np.arange(len(y))
    test_x = x[: len(y) // 2].copy()
    test_x[:, 0, 0] = -1 - np.arange(len(test_x))
    splits = finish(
        each,
        Splits(
            Split(x, y, (np.arange(len(y)) % 7).astype(np.int32)),
            Split(test_x, y[::2].copy()),
            Coverage(1, 1, "files"),
        ),
    )
    return Dataset(each, splits, describe(each, splits, []))


@pytest.mark.parametrize(
    ("name", "val_tasks", "exp_tasks"),
    [("uci-har", 3, 3), ("uwave", 4, 4), ("dsa", 3, 6), ("grabmyo", 3, 5), ("wisdm", 3, 6)],
)
def test_streams_split_the_order(name: str, val_tasks: int, exp_tasks: int) -> None:
    dataset = made_up(name)
    order = class_order(1235, dataset.card.classes)
    val, exp = make_stream(dataset, 1235, VALIDATION), make_stream(dataset, 1235)
    assert (len(val.tasks), len(exp.tasks)) == (val_tasks, exp_tasks)
    if 2 * exp_tasks == dataset.classes:
        assert list(val.classes) == list(exp.classes) == order
        held = {float(v) for s in val.tests for v in s.x[:, 0, 0]}
        assert all(v >= 0 for v in held), "the validation stream is tested on held-out data"
        trained = {float(v) for t in exp.tasks for s in (t.train, t.val) for v in s.x[:, 0, 0]}
        assert not held & trained
    else:
        assert list(val.classes + exp.classes) == order
    assert all((s.x[:, 0, 0] < 0).all() for s in exp.tests)


def test_labels_are_positions_and_every_sample_is_used_once() -> None:
    dataset = made_up("dsa")
    stream = make_stream(dataset, 1234)
    seen = []
    for task, test in zip(stream.tasks, stream.tests, strict=True):
        assert task.labels == (2 * task.index, 2 * task.index + 1)
        assert set(task.train.y) == set(task.val.y) == set(test.y) == set(task.labels)
        for split in (task.train, task.val):
            numbers = split.x[:, 0, 0].astype(int)
            originals = dataset.splits.train.y[numbers]
            assert [stream.classes[k] for k in split.y] == originals.tolist()
            assert (split.subject == numbers % 7).all()
            seen += numbers.tolist()
        assert np.bincount(task.train.y)[list(task.labels)].tolist() == [36, 36]
        assert (np.diff(task.train.y) >= 0).all(), "lower label first"
    wanted = np.flatnonzero(np.isin(dataset.splits.train.y, stream.classes))
    assert sorted(seen) == wanted.tolist()


def test_splits_depend_on_the_seed_and_nothing_else() -> None:
    dataset = made_up("uwave")
    first = make_stream(dataset, 1234)
    np.random.seed(0)  # noqa: NPY002
    make_stream(dataset, 1235)
    again = make_stream(dataset, 1234)
    for a, b in zip(first.tasks, again.tasks, strict=True):
        assert a.train.digest() == b.train.digest()
        assert a.val.digest() == b.val.digest()
    other = make_stream(dataset, 9999)
    assert first.tasks[0].train.digest() != other.tasks[0].train.digest()


def test_the_joint_view_is_all_tasks_as_one() -> None:
    stream = make_stream(made_up("uwave"), 1236)
    joint = stream.joint()
    assert joint.labels == tuple(range(8))
    assert len(joint.train) == sum(len(task.train) for task in stream.tasks)
    assert len(joint.val) == sum(len(task.val) for task in stream.tasks)


def test_nothing_of_the_test_data_is_reachable_from_a_task() -> None:
    dataset = made_up("uwave")
    stream = make_stream(dataset, 1234)
    forbidden = {id(split) for split in stream.tests} | {id(dataset), id(dataset.splits)}
    forbidden |= {id(a) for _, s in dataset.splits.items() for a in s.arrays().values()}
    reached, waiting = set(), list(stream.tasks)
    while waiting:
        thing = waiting.pop()
        if id(thing) in reached or isinstance(thing, type) or callable(thing):
            continue
        reached.add(id(thing))
        if isinstance(thing, np.ndarray):
            assert thing.base is None or thing.base.size == thing.size
            assert not (thing < 0).any()
        waiting += gc.get_referents(thing)
    assert not reached & forbidden


def test_classes_missing_from_partial_data_are_passed_over() -> None:
    dataset = made_up("grabmyo", missing=(13, 0, 4))
    exp, val = make_stream(dataset, 1234), make_stream(dataset, 1234, VALIDATION)
    order = [11, 12, 14, 2, 10, 7, 1, 9, 8, 5, 6, 3]  # and 15, which has no partner
    assert [*val.classes, *exp.classes] == order


def test_a_tiny_class_still_trains() -> None:
    dataset = made_up("uwave", per_class=4)
    for task in make_stream(dataset, 1234).tasks:
        assert set(task.train.y) == set(task.labels)


def test_memory_budgets_are_the_published_ones() -> None:
    budgets = {"uci-har": 366, "uwave": 40, "dsa": 216, "grabmyo": 1020, "wisdm": 600}
    for name, budget in budgets.items():
        dataset = made_up(name)
        assert dataset.budget(len(make_stream(dataset, 1234).classes)) == budget


def test_demo_streams(tmp_path: Path) -> None:
    stream = make_stream(load(card("demo"), tmp_path), 1234)
    assert len(stream.tasks) == 4
    assert sum(len(t.train) + len(t.val) for t in stream.tasks) == 345
    assert sum(len(test) for test in stream.tests) == 240


BEFORE_SPLITS = {
    "demo": "d8b69bb3e5e51adf44cf7a794def0fd9",
    "made-up uci-har": "978c2e00186ab3efc9034b3a4e575fee",
    "made-up uwave": "30dfd7d5d82c78bb4dd421223cfdfe36",
    "made-up dsa": "7e9a771abbbbf4c39a03db0d6a28ceb4",
    "made-up grabmyo": "6894fa93f2c92bca7082a4fa25e1fd3d",
    "made-up wisdm": "4153dfb58f8e2d1244683c5e4007fe62",
    "grabmyo, three classes missing": "7c08d03017fb17eb725d65c292c96452",
    "uwave, four samples per class": "9bfa274525f02d2a3d18d2816f86cf9f",
    "uci-har": "bae6d240cfcd2cc861f1da06658f0648",
    "wisdm": "08f8c45b1e81b39fd192301287afd057",
}
"""Digests of sixteen streams each, made with the code at d96e3cd, which knew one split only."""


def digest(dataset: Dataset) -> str:
    """Over all that a method sees and is tested on, of both streams under eight seeds."""
    whole = hashlib.sha256()
    for seed in (*range(1234, 1241), 7):
        for name in ("exp", "val"):
            stream = make_stream(dataset, seed, Protocol(stream=name))
            assert not stream.notes
            one = hashlib.sha256(repr((stream.name, stream.seed, stream.classes)).encode())
            for task, test in zip(stream.tasks, stream.tests, strict=True):
                parts = (task.train.digest(), task.val.digest(), test.digest())
                one.update(repr((task.index, task.labels, *parts)).encode())
            whole.update(one.hexdigest()[:32].encode())
    return whole.hexdigest()[:32]


def test_published_streams_are_unchanged_bit_for_bit() -> None:
    assert digest(load(card("demo"), Path())) == BEFORE_SPLITS["demo"]
    for like in ("uci-har", "uwave", "dsa", "grabmyo", "wisdm"):
        assert digest(made_up(like)) == BEFORE_SPLITS[f"made-up {like}"], like
    partial, tiny = made_up("grabmyo", missing=(13, 0, 4)), made_up("uwave", per_class=4)
    assert digest(partial) == BEFORE_SPLITS["grabmyo, three classes missing"]
    assert digest(tiny) == BEFORE_SPLITS["uwave, four samples per class"]


@pytest.mark.real
def test_published_streams_of_real_data_are_unchanged(prepared_real: Path) -> None:
    for name in ("uci-har", "wisdm"):
        assert digest(load(card(name), prepared_real)) == BEFORE_SPLITS[name]


@pytest.mark.parametrize("name", ["uci-har", "uwave", "dsa", "grabmyo", "wisdm"])
@pytest.mark.parametrize("per_task", [1, 3, 4, 5, 100])
def test_any_number_of_classes_per_task(name: str, per_task: int) -> None:
    dataset = made_up(name)
    for stream_name in ("exp", "val"):
        pairs = make_stream(dataset, 1236, Protocol(stream=stream_name))
        stream = make_stream(dataset, 1236, Protocol(stream_name, classes_per_task=per_task))
        assert stream.classes == pairs.classes, "the classes do not depend on the tasks"
        sizes = [len(task.labels) for task in stream.tasks]
        assert sum(sizes) == len(stream.classes)
        assert all(size == per_task for size in sizes[:-1])
        assert len(sizes) == task_counts(dataset.classes, per_task)[stream_name]
        assert [k for task in stream.tasks for k in task.labels] == [*range(len(stream.classes))]
        smaller = sizes[-1] < per_task
        assert stream.notes == ({"classes_of_last_task": sizes[-1]} if smaller else {})
        for task, test in zip(stream.tasks, stream.tests, strict=True):
            assert set(task.train.y) == set(task.val.y) == set(test.y) == set(task.labels)
        for side in ("train", "val"):
            joint, before = (getattr(s.joint(), side) for s in (stream, pairs))
            assert joint.digest() == before.digest(), "the same samples in the same order"


def test_a_class_left_over_is_a_smaller_task_unless_there_are_two_per_task() -> None:
    dataset = made_up("grabmyo", missing=(13, 0, 4))  # 13 classes, 7 of them in the stream
    assert len(make_stream(dataset, 1234).classes) == 6
    threes = make_stream(dataset, 1234, Protocol(classes_per_task=3))
    assert [task.labels for task in threes.tasks] == [(0, 1, 2), (3, 4, 5), (6,)]
    assert threes.classes[:6] == make_stream(dataset, 1234).classes
