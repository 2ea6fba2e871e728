"""Splits by subject and by recording: who is on which side, over data sets, seeds and streams."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsbench.data.card import Card
from tsbench.data.catalogue import card
from tsbench.data.manifest import read_manifest
from tsbench.data.prepared import Dataset, describe, load
from tsbench.errors import UserError
from tsbench.protocol.divisions import FOLDS, SplitImpossible, make_folds
from tsbench.protocol.rules import Protocol, class_order, seeds
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.stream import Stream, make_stream

SHAPES = {"uci-har": 30, "dsa": 8, "grabmyo": 43, "wisdm": 51}
"""Subjects of the complete data sets."""
SEEDS = [*seeds(9), 0, 7, 1233]


def from_arrays(
    like: Card, y: np.ndarray, subject: np.ndarray, recording: np.ndarray, test: np.ndarray
) -> Dataset:
    """A data set of given samples; each one carries its number, so that it can be traced."""
    x = np.zeros((len(y), 2, 9), np.float32)
    x[:, 0, 0] = np.arange(len(y))
    whole = Split(x, y, subject.astype(np.int32), recording.astype(np.int32))
    splits = Splits(
        whole.take(np.flatnonzero(~test)), whole.take(np.flatnonzero(test)), Coverage(1, 1, "set")
    )
    small = replace(like, channels=2, length=9)
    return Dataset(small, splits, describe(small, splits, []))


def made_up(name: str, missing: float = 0.0) -> Dataset:
    """Shaped as a real data set; ``missing``: how often a subject has nothing of a class."""
    like, random = card(name), np.random.default_rng(0)
    grid = np.meshgrid(range(like.classes), range(SHAPES[name]), range(7), indexing="ij")
    y, subject, recording = (axis.ravel().astype(np.int64) for axis in grid)
    absent = random.random((like.classes, SHAPES[name])) < missing
    there = ~absent[y, subject]
    y, subject, recording = y[there], subject[there], recording[there]
    by_subject = subject % 3 == 0
    test = by_subject if like.own_test_subjects else random.random(len(y)) < 0.25
    return from_arrays(like, y, subject + 100, recording, test)


def sides(stream: Stream, kind: str) -> dict[str, set[int]]:
    """The subjects or recordings that are really in the arrays of each side."""
    parts = {
        "train": [task.train for task in stream.tasks],
        "validation": [task.val for task in stream.tasks],
        "test": list(stream.tests),
    }
    return {
        side: {int(u) for split in splits for u in getattr(split, kind)}
        for side, splits in parts.items()
    }


def expect_apart(stream: Stream, kind: str) -> None:
    found = sides(stream, kind)
    for one, other in combinations(found, 2):
        assert not found[one] & found[other], f"{one} and {other} share a {kind}"
    for side, units in found.items():
        assert units <= set(stream.notes[f"{kind}s"][side]), "the record says who is where"


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_nobody_is_on_two_sides(name: str, missing: float) -> None:
    dataset = made_up(name, missing)
    for seed in SEEDS:
        exp = make_stream(dataset, seed, Protocol(split="subject"))
        val = make_stream(dataset, seed, Protocol("val", split="subject"))
        for stream in (exp, val):
            expect_apart(stream, "subject")
        tested = sides(exp, "subject")["test"]
        for side, people in sides(val, "subject").items():
            assert not tested & people, f"test subjects in {side} of the validation stream"


@pytest.mark.parametrize("name", ["grabmyo", "wisdm"])
def test_no_recording_is_on_two_sides_and_the_people_are_the_same(name: str) -> None:
    dataset = made_up(name)
    for seed in SEEDS:
        exp = make_stream(dataset, seed, Protocol(split="recording"))
        val = make_stream(dataset, seed, Protocol("val", split="recording"))
        for stream in (exp, val):
            expect_apart(stream, "recording")
        tested = sides(exp, "recording")["test"]
        assert not any(tested & units for units in sides(val, "recording").values())
        people = sides(exp, "subject")
        assert people["train"] == people["test"]


@pytest.mark.real
def test_nobody_is_on_two_sides_in_real_data(prepared_real: Path) -> None:
    for name, kind in [
        ("uci-har", "subject"),
        ("wisdm", "subject"),
        ("wisdm", "recording"),
        ("grabmyo", "recording"),
    ]:
        expect_apart_under_all_seeds(load(card(name), prepared_real), kind)


@pytest.mark.real
@pytest.mark.parametrize("name", SHAPES)
def test_nobody_is_on_two_sides_in_prepared_data(name: str) -> None:
    """TSBENCH_TEST_PREPARED names a folder of prepared data sets, complete or not."""
    root = Path(os.environ.get("TSBENCH_TEST_PREPARED", "nowhere"))
    if read_manifest(card(name), root) is None:
        pytest.skip(f"no prepared {name} in TSBENCH_TEST_PREPARED")
    dataset = load(card(name), root)
    for kind in ("subject", "recording"):
        try:
            make_stream(dataset, 1234, Protocol(split=kind))
        except SplitImpossible:
            continue
        expect_apart_under_all_seeds(dataset, kind)


def expect_apart_under_all_seeds(dataset: Dataset, kind: str) -> None:
    tested = set()
    for seed in seeds(5):
        exp = make_stream(dataset, seed, Protocol(split=kind))
        val = make_stream(dataset, seed, Protocol("val", split=kind))
        expect_apart(exp, kind)
        expect_apart(val, kind)
        here = sides(exp, kind)["test"]
        assert not any(here & units for units in sides(val, kind).values())
        tested |= here
    if not (kind == "subject" and dataset.own_test_subjects):
        everybody = np.concatenate([s.arrays()[kind] for _, s in dataset.splits.items()])
        assert tested == set(everybody.tolist())


@pytest.mark.parametrize("name", ["dsa", "grabmyo", "wisdm"])
def test_four_seeds_test_on_everybody_once(name: str) -> None:
    dataset = made_up(name)
    tested = []
    for seed in seeds(FOLDS):
        stream = make_stream(dataset, seed, Protocol(split="subject"))
        people = sides(stream, "subject")
        tested += people["test"]
        assert len(set.union(*people.values())) == SHAPES[name], "nobody is left out"
        share = len(people["validation"]) / (len(people["validation"]) + len(people["train"]))
        assert len(people["validation"]) >= 1
        assert abs(share - 0.1) < 0.07
    assert sorted(tested) == list(range(100, 100 + SHAPES[name]))
    again = make_stream(dataset, 1238, Protocol(split="subject"))
    first = make_stream(dataset, 1234, Protocol(split="subject"))
    assert sides(again, "subject")["test"] == sides(first, "subject")["test"]


def test_folds_are_the_documented_ones() -> None:
    folds = make_folds(np.repeat(np.arange(1600, 1622), 3), "subject")
    expected = np.random.RandomState(0).permutation(np.arange(1600, 1622))
    assert [len(fold) for fold in folds] == [6, 6, 5, 5]
    assert np.concatenate(folds).tolist() == expected.tolist()


@given(st.lists(st.integers(-5, 2000), min_size=4, unique=True))
@settings(deadline=None)
def test_folds_cover_everybody_once_and_are_nearly_equal(units: list[int]) -> None:
    for kind in ("subject", "recording"):
        folds = make_folds(np.array(units), kind)
        assert sorted(np.concatenate(folds).tolist()) == sorted(units)
        assert len(folds) == FOLDS
        assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_an_official_test_set_with_its_own_subjects_stays() -> None:
    dataset = made_up("uci-har")
    official = set(dataset.splits.test.x[:, 0, 0].tolist())
    validated = set()
    for seed in seeds(FOLDS):
        stream = make_stream(dataset, seed, Protocol(split="subject"))
        assert {v for s in stream.tests for v in s.x[:, 0, 0].tolist()} == official
        val = make_stream(dataset, seed, Protocol("val", split="subject"))
        validated |= sides(val, "subject")["test"]
    assert validated == set(dataset.splits.train.subject.tolist()) | set(
        dataset.splits.val.subject.tolist() if dataset.splits.val is not None else []
    )


def test_every_sample_of_the_chosen_people_is_used_once() -> None:
    dataset = made_up("dsa")
    stream = make_stream(dataset, 1235, Protocol(split="subject"))
    seen = [
        int(v)
        for task, test in zip(stream.tasks, stream.tests, strict=True)
        for split in (task.train, task.val, test)
        for v in split.x[:, 0, 0]
    ]
    everything = np.concatenate([s.y for _, s in dataset.splits.items()])
    assert len(seen) == len(set(seen)) == np.isin(everything, stream.classes).sum()
    for task, test in zip(stream.tasks, stream.tests, strict=True):
        assert set(task.train.y) == set(task.val.y) == set(test.y) == set(task.labels)


def test_the_class_order_is_that_of_the_published_split() -> None:
    for name in SHAPES:
        dataset = made_up(name)
        for seed in SEEDS:
            exp = make_stream(dataset, seed, Protocol(split="subject")).classes
            val = make_stream(dataset, seed, Protocol("val", split="subject")).classes
            order = class_order(seed, dataset.classes)
            assert list(exp) == (order if dataset.classes < 10 else order[6:])
            assert list(val) == (order if dataset.classes < 10 else order[:6])


def with_rare_class(people: list[int]) -> Dataset:
    """DSA in which the first class of seed 1234's experiment stream is done by ``people`` only."""
    dataset = made_up("dsa")
    rare = class_order(1234, 18)[6]
    whole = [split for _, split in dataset.splits.items()]
    y, subject, recording = (
        np.concatenate([getattr(s, k) for s in whole]) for k in ("y", "subject", "recording")
    )
    kept = (y != rare) | np.isin(subject, people)
    test = np.arange(kept.sum()) % 4 == 0
    return from_arrays(dataset.card, y[kept], subject[kept], recording[kept], test)


def test_a_class_that_the_test_fold_lacks_is_left_out_and_reported() -> None:
    folds = make_folds(np.arange(100, 108), "subject")
    dataset = with_rare_class(folds[1].tolist())
    order = class_order(1234, 18)
    stream = make_stream(dataset, 1234, Protocol(split="subject"))  # tested on fold 0
    assert stream.notes["classes_left_out"] == {str(order[6]): "no test samples"}
    assert list(stream.classes) == order[7:17], "the others move up, and the last has no partner"
    there = make_stream(dataset, 1235, Protocol(split="subject"))  # tested on fold 1
    assert there.notes["classes_left_out"] == {str(order[6]): "no training samples"}
    val = make_stream(dataset, 1234, Protocol("val", split="subject"))
    assert not set(val.classes) & set(stream.classes)
    assert dataset.budget(len(stream.classes)) == 10 * (dataset.budget(2) // 2)


def test_early_stopping_does_not_take_the_last_subject_of_a_class() -> None:
    folds = make_folds(np.arange(100, 108), "subject")
    keeper = int(folds[2][0])
    dataset = with_rare_class([*folds[0].tolist(), keeper])
    for seed in (1234, 1238, 1242, 1246, 1250):  # all of them are tested on fold 0
        stream = make_stream(dataset, seed, Protocol(split="subject"))
        assert keeper in stream.notes["subjects"]["train"]
        assert "classes_left_out" not in stream.notes


def test_what_cannot_be_split_says_so() -> None:
    plain = made_up("dsa")
    bare = {n: replace(s, subject=None, recording=None) for n, s in plain.splits.items()}
    without = replace(plain, splits=Splits(**bare, coverage=plain.splits.coverage))
    with pytest.raises(UserError, match=r"dsa has no subject labels.*--split published"):
        make_stream(without, 1234, Protocol(split="subject"))
    with pytest.raises(UserError, match="dsa has no recording labels"):
        make_stream(without, 1234, Protocol(split="recording"))
    early = made_up("wisdm")
    old = {n: replace(s, recording=None) for n, s in early.splits.items()}
    early = replace(early, splits=Splits(**old, coverage=early.splits.coverage))
    with pytest.raises(UserError, match="run: tsbench download wisdm --force"):
        make_stream(early, 1234, Protocol(split="recording"))
    y = np.tile(np.arange(18), 12)
    people = np.repeat(np.arange(3), 72)
    few = from_arrays(card("dsa"), y, people, people, np.arange(len(y)) % 4 == 0)
    with pytest.raises(UserError, match=r"dsa has 3 subject\(s\) to divide.*needs 4"):
        make_stream(few, 1234, Protocol(split="subject"))
    with pytest.raises(UserError, match="unknown split 'person'"):
        Protocol(split="person")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="at least 1"):
        Protocol(classes_per_task=0)


def test_an_official_test_set_that_shares_subjects_is_refused() -> None:
    dataset = made_up("dsa")
    claims = replace(dataset, card=replace(dataset.card, own_test_subjects=True))
    with pytest.raises(UserError, match="subjects of its own, but shares"):
        make_stream(claims, 1234, Protocol(split="subject"))


def test_splits_depend_on_the_seed_and_nothing_else() -> None:
    dataset = made_up("wisdm", 0.2)
    first = make_stream(dataset, 1234, Protocol(split="subject"))
    np.random.seed(3)  # noqa: NPY002
    again = make_stream(dataset, 1234, Protocol(split="subject"))
    assert [t.train.digest() for t in first.tasks] == [t.train.digest() for t in again.tasks]
    assert first.notes == again.notes


def test_names_and_entries_of_protocols() -> None:
    assert Protocol().name == "exp-ln-100"
    assert Protocol(split="subject").name == "exp-ln-100-subject"
    assert Protocol("val", "bn", 5, "recording", 4).name == "val-bn-5-recording-tasks-of-4"
    assert Protocol(classes_per_task=1).name == "exp-ln-100-tasks-of-1"
    for protocol in (Protocol(), Protocol("val", "bn", 5, "recording", 4)):
        assert Protocol.from_dict(protocol.as_dict()) == protocol
    assert set(Protocol().as_dict()) == {"stream", "norm", "epochs"}
    assert Protocol("val", split="subject").conditions == "ln-100-subject"
