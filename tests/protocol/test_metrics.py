from __future__ import annotations

import numpy as np
import pytest

from tsbench.protocol import metrics

MATRIX = [[90.0], [70.0, 80.0], [75.0, 60.0, 100.0]]


def test_by_hand() -> None:
    assert metrics.average_accuracy(MATRIX) == pytest.approx((75 + 60 + 100) / 3)
    assert metrics.forgetting(MATRIX) == pytest.approx(((90 - 75) + (80 - 60)) / 2)
    assert metrics.curve(MATRIX) == pytest.approx([90, 75, 235 / 3])
    assert metrics.learning_accuracy(MATRIX) == pytest.approx(90)
    assert metrics.backward_transfer(MATRIX) == pytest.approx((-15 - 20) / 2)


def test_forgetting_can_be_negative_and_ignores_the_last_row() -> None:
    assert metrics.forgetting([[50.0], [80.0, 90.0]]) == pytest.approx(-30)


def test_joint_training_has_one_row() -> None:
    matrix = [None, None, [90.0, 80.0, 70.0]]
    assert metrics.average_accuracy(matrix) == pytest.approx(80)
    assert metrics.forgetting(matrix) is None
    assert metrics.learning_accuracy(matrix) is None
    assert metrics.curve(matrix) == [None, None, pytest.approx(80)]


def test_confusion() -> None:
    truth, predicted = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    assert metrics.confusion(truth, predicted, 3) == [[1, 1, 0], [0, 1, 0], [1, 0, 0]]


def test_variance_ratio_equals_the_definition_in_any_chunks() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(4, size=120)
    x = random.normal(size=(120, 7)) + 2 * labels[:, None]
    mean = x.mean(axis=0)
    means = {c: x[labels == c].mean(axis=0) for c in range(4)}
    between = sum((labels == c).sum() * ((means[c] - mean) ** 2).sum() for c in range(4))
    within = sum(((x[labels == c] - means[c]) ** 2).sum() for c in range(4))
    ratio = metrics.VarianceRatio(4)
    for rows in np.array_split(np.arange(120), 7):
        ratio.add(x[rows].astype(np.float32), labels[rows])
    assert ratio.value() == pytest.approx(between / within, rel=1e-5)
    assert metrics.VarianceRatio(2).value() is None


def test_a_task_without_test_samples_is_left_out() -> None:
    matrix = [[None], [None, 80.0], [None, 60.0, 100.0]]
    assert metrics.average_accuracy(matrix) == pytest.approx(80)
    assert metrics.forgetting(matrix) == pytest.approx(20)
    assert metrics.curve(matrix) == [None, pytest.approx(80), pytest.approx(80)]
    assert metrics.learning_accuracy(matrix) == pytest.approx(90)
    assert metrics.backward_transfer(matrix) == pytest.approx(-20)
