"""Leakage between training and test data: the correlation by hand, and what is found in data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_streams import made_up
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.leakage import LEAST_ENERGY, THRESHOLD, correlations, find_leakage
from tsbench.data.prepared import Dataset, describe
from tsbench.protocol.samples import Coverage, Split, Splits

STEPS = 40


def energy(x: np.ndarray) -> float:
    return float(((x - x.mean(axis=1, keepdims=True)) ** 2).sum())


def by_hand(a: np.ndarray, b: np.ndarray) -> float:
    """The largest correlation of two windows (C, L), shift by shift."""
    steps, largest = a.shape[1], 0.0
    for shift in range(-(steps // 2), steps // 2 + 1):
        length = steps - abs(shift)
        one = a[:, :length] if shift >= 0 else a[:, -shift:]
        two = b[:, shift:] if shift >= 0 else b[:, :length]
        if energy(one) <= LEAST_ENERGY * energy(a) or energy(two) <= LEAST_ENERGY * energy(b):
            continue
        centred = [x - x.mean(axis=1, keepdims=True) for x in (one, two)]
        scale = np.sqrt(energy(one) * energy(two))
        largest = max(largest, float((centred[0] * centred[1]).sum()) / scale)
    return largest


@pytest.mark.parametrize("shape", [(1, 9), (2, 20), (3, 41)])
def test_correlations_by_hand(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(0)
    a = random.normal(size=(19, *shape)).cumsum(axis=2) + 100
    b = random.normal(size=(5, *shape)).cumsum(axis=2) * np.array([1, 50, 0.01])[: shape[0], None]
    scale = b.std(axis=(0, 2))[:, None]
    expected = [[by_hand(x / scale, y / scale) for y in b] for x in a]
    np.testing.assert_allclose(correlations(a, b), expected, atol=1e-9)


def windows(signal: np.ndarray, step: int) -> np.ndarray:
    """(C, T) → (N, C, STEPS)."""
    starts = range(0, signal.shape[1] - STEPS + 1, step)
    return np.stack([signal[:, s : s + STEPS] for s in starts])


def test_overlapping_windows_reach_one_and_others_do_not() -> None:
    signal = np.random.default_rng(1).normal(size=(3, 4000)).cumsum(axis=1)
    cut = windows(signal, STEPS // 2)
    found = correlations(cut[::2][:20], cut[1::2][:20])
    assert (found.max(axis=1) > 1 - 1e-9).all(), "every window shares a half with its neighbour"
    apart = windows(signal, STEPS)
    assert (correlations(apart[:40], apart[40:]).max(axis=1) < THRESHOLD).all()


def test_scaled_and_shifted_copies_are_found_and_flat_windows_are_not() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(5, 2, STEPS))
    assert correlations(3 * x + 7, x).diagonal() == pytest.approx(np.ones(5))
    flat = np.zeros((1, 2, STEPS))
    assert correlations(flat, x).max() == 0
    assert correlations(x, flat).max() == 0


def dataset(overlap: bool, subjects: bool = True) -> Dataset:
    """Ten classes by eight people; windows of a recording are divided at random."""
    random = np.random.default_rng(3)
    x, y, who = [], [], []
    for label in range(10):
        for person in range(8):
            signal = random.normal(size=(2, 400)).cumsum(axis=1)
            cut = windows(signal, STEPS // 2 if overlap else STEPS)
            x.append(cut)
            y += [label] * len(cut)
            who += [person] * len(cut)
    person = np.array(who, np.int32) if subjects else None
    whole = Split(np.concatenate(x).astype(np.float32), np.array(y), person)
    order = random.permutation(len(y))
    splits = Splits(
        whole.take(order[: len(y) // 2]), whole.take(order[len(y) // 2 :]), Coverage(1, 1, "set")
    )
    names = tuple(map(str, range(10)))
    card = replace(made_up(10).card, class_names=names, channels=2, length=STEPS)
    return Dataset(card, splits, describe(card, splits, []))


def test_random_windows_of_one_recording_leak() -> None:
    found = find_leakage(dataset(overlap=True), "published")
    assert found.subjects == (8, 8)
    assert found.of_shared == found.tests
    assert found.near > 0.5 * found.sampled
    assert found.same is not None
    assert found.others is not None
    assert found.same > found.others
    assert [level for level, _ in found.findings()] == ["warn", "warn"]


def test_a_split_by_subject_closes_the_leak() -> None:
    found = find_leakage(dataset(overlap=True), "subject")
    assert found.subjects == (0, 2)
    assert (found.near, found.copies, found.same) == (0, 0, None)
    assert [level for level, _ in found.findings()] == ["pass", "pass"]


def test_copies_are_counted() -> None:
    leaky = dataset(overlap=False)
    test = leaky.splits.test
    x = np.array(test.x)
    x[:7] = leaky.splits.train.x[:7]
    leaky = replace(leaky, splits=replace(leaky.splits, test=replace(test, x=x)))
    assert find_leakage(leaky, "published").copies == 7


def test_without_subjects_it_is_a_note() -> None:
    findings = find_leakage(dataset(overlap=False, subjects=False), "published").findings()
    assert findings[0][0] == "note"


def test_the_command_on_a_name(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["check", "demo", "--data", str(tmp_path)])
    assert result.exit_code == 0, "a leak is a warning"
    assert "warn  subjects: 6 of 6 test subjects" in result.stdout
    assert "1 warning(s)" in result.stdout
    by_subject = CliRunner().invoke(app, ["check", "demo", "--split", "subject"])
    assert "pass  subjects: 0 of 2 test subjects" in by_subject.stdout
    missing = CliRunner().invoke(app, ["check", "wisdm", "--data", str(tmp_path)])
    assert missing.exit_code == 2
    assert "wisdm is not prepared; run: tsbench download wisdm" in missing.stderr
