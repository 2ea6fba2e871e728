"""Splits into training and test data, as index arrays.

``plain_split`` and ``stratified_split`` are the published ones: equal, element for element, to what
scikit-learn's ``train_test_split(random_state=0)`` gives for ``arange(n)``; the tests compare them
over many sizes and class balances. ``class_split`` and ``subject_split`` are for people's own data.
"""

from __future__ import annotations

import math

import numpy as np

from tsbench.errors import UserError
from tsbench.randomness import generator

LEFT = 2
"""Samples of a class that stay for training before any is held out."""


def plain_split(n: int, test_share: float) -> tuple[np.ndarray, np.ndarray]:
    """Indices (train, test) of a shuffled split.

    >>> plain_split(5, 0.4)
    (array([1, 3, 4]), array([2, 0]))
    """
    n_test = math.ceil(test_share * n)
    order = np.random.RandomState(0).permutation(n)
    return order[n_test:], order[:n_test]


def stratified_split(labels: np.ndarray, test_share: float) -> tuple[np.ndarray, np.ndarray]:
    """Indices (train, test) of a shuffled split that keeps the class shares."""
    n_test = math.ceil(test_share * len(labels))
    n_train = len(labels) - n_test
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < 2 or min(n_train, n_test) < len(classes):
        raise UserError(
            f"too few samples to split by class: {len(labels)} samples, {len(classes)} classes, "
            f"{counts.min()} in the smallest"
        )
    random = np.random.RandomState(0)
    train_counts = _share_out(counts, n_train, random)
    test_counts = _share_out(counts - train_counts, n_test, random)
    train_parts, test_parts = [], []
    for label, n_i, t_i in zip(classes, train_counts, test_counts, strict=True):
        members = np.flatnonzero(labels == label)
        shuffled = members[random.permutation(len(members))]
        train_parts.append(shuffled[:n_i])
        test_parts.append(shuffled[n_i : n_i + t_i])
    train = random.permutation(np.concatenate(train_parts))
    test = random.permutation(np.concatenate(test_parts))
    return train, test


def class_split(labels: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices (train, test), in order, with ``share`` of each class held out.

    At least one sample of a class is held out if that leaves two; classes may be of any size.

    >>> class_split(np.array([0, 0, 0, 0, 1, 1, 1, 2]), 0.25, seed=0)[1]
    array([1, 5])
    """
    held = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        count = max(0, min(max(1, round(share * len(members))), len(members) - LEFT))
        held[generator(seed, "split by class", label).permutation(members)[:count]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def subject_split(subjects: np.ndarray, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices (train, test), in order; random subjects are held out until ``share`` is reached."""
    names, counts = np.unique(subjects, return_counts=True)
    if len(names) < 2:
        raise UserError("one subject only: say 'split_by: class' in the card")
    order = generator(seed, "split by subject").permutation(len(names))[:-1]  # one stays at least
    enough = int(np.searchsorted(np.cumsum(counts[order]), share * len(subjects))) + 1
    held = np.isin(subjects, names[order[:enough]])
    return np.flatnonzero(~held), np.flatnonzero(held)


def _share_out(counts: np.ndarray, draws: int, random: np.random.RandomState) -> np.ndarray:
    """``draws`` shared among classes in proportion; the largest remainders get what is left over.

    Equal remainders compete by lot, and the lot is drawn (from ``random``) even when all of them
    win, because the draws that follow depend on it.
    """
    exact = counts / counts.sum() * draws
    shares = np.floor(exact)
    remainders = exact - shares
    left = int(draws - shares.sum())
    for remainder in np.unique(remainders)[::-1]:
        if left == 0:
            break
        tied = np.flatnonzero(remainders == remainder)
        winners = random.choice(tied, size=min(len(tied), left), replace=False)
        shares[winners] += 1
        left -= len(winners)
    return np.asarray(shares, np.int64)
