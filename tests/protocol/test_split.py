"""The splits equal scikit-learn's, element for element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsbench.errors import UserError
from tsbench.protocol.splits import plain_split, stratified_split

model_selection = pytest.importorskip("sklearn.model_selection")


def reference(n: int, share: float, labels: np.ndarray | None = None):
    return model_selection.train_test_split(
        np.arange(n), test_size=share, random_state=0, stratify=labels
    )


@pytest.mark.parametrize("n", [10, 11, 90, 896, 897, 7352])
@pytest.mark.parametrize("share", [0.1, 0.25])
def test_plain_split_equals_sklearn(n: int, share: float) -> None:
    for ours, theirs in zip(plain_split(n, share), reference(n, share), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(
    st.lists(st.integers(2, 60), min_size=2, max_size=19),
    st.sampled_from([0.1, 0.25, 0.5]),
    st.integers(0, 2**31),
)
@settings(max_examples=300, deadline=None)
def test_stratified_split_equals_sklearn(counts: list[int], share: float, seed: int) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    np.random.default_rng(seed).shuffle(labels)
    try:
        theirs = reference(len(labels), share, labels)
    except ValueError:
        with pytest.raises(UserError):
            stratified_split(labels, share)
        return
    for ours, expected in zip(stratified_split(labels, share), theirs, strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize(
    "counts",
    [[480] * 18, [3010] * 16, [1347, 1346] * 9, [400, 401, 403, 380, 2, 77]],
    ids=["dsa", "grabmyo", "wisdm-like", "uneven"],
)
def test_stratified_split_of_published_shapes(counts: list[int]) -> None:
    labels = np.repeat(np.arange(len(counts)), counts)
    train, test = stratified_split(labels, 0.25)
    expected_train, expected_test = reference(len(labels), 0.25, labels)
    np.testing.assert_array_equal(train, expected_train)
    np.testing.assert_array_equal(test, expected_test)


def test_a_class_of_one_is_refused() -> None:
    with pytest.raises(UserError, match="too few samples"):
        stratified_split(np.array([0, 0, 0, 0, 1]), 0.25)
