"""Which samples a stream trains on, stops by and is tested on, under each split.

``published``: the test set as prepared; a tenth of each class's training samples is for early
stopping. ``subject`` and ``recording``: every subject (or recording) is on one side only. The
subjects are cut into four folds, and seed 1234 + k is tested on fold k mod 4. Early stopping goes
by subjects that are not trained on. The validation stream is tested on the next fold, and never
sees the test fold. Where the official test set has subjects of its own it stays the test set, and
the folds are made of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

from tsbench.errors import UserError
from tsbench.protocol.rules import FIRST_SEED, SplitName, StreamName, holds_out
from tsbench.protocol.samples import Pool, Splits
from tsbench.randomness import generator

FOLDS = 4
STOPPING_SHARE = 0.1
"""Of the subjects or recordings that are not tested on; at least one."""


class SplitImpossible(UserError):
    """A data set that cannot be divided as asked for."""


class Source(Protocol):
    """What a stream is made from; a ``Dataset`` is one."""

    @property
    def name(self) -> str:
        """Of the data set."""

    @property
    def classes(self) -> int:
        """Of the complete data set."""

    @property
    def usable(self) -> list[int]:
        """Classes with enough samples to learn and test, in the published split."""

    @property
    def splits(self) -> Splits:
        """The prepared samples."""

    @property
    def own_test_subjects(self) -> bool:
        """Whether the official test set is of people who are not in the training data."""

    @property
    def recordings(self) -> str:
        """What the recordings are, in words; empty where they are not known."""

    @property
    def reference(self) -> str:
        """What the data set is called on the command line."""


@dataclass(frozen=True)
class Division:
    """The sides of a stream, as masks over the pool of all samples."""

    train: np.ndarray  # (N,) bool
    stop: np.ndarray | None  # (N,) bool; None: drawn from each class of ``train``
    test: np.ndarray  # (N,) bool
    usable: list[int]
    """Classes with samples to train on and to test on."""
    missing: dict[int, str] = field(default_factory=dict)
    """Classes of the data set that are not usable here, and which side lacks them."""
    units: dict[str, list[int]] = field(default_factory=dict)
    """The subjects or recordings of each side: train, validation, test."""


def divide(source: Source, pool: Pool, seed: int, split: SplitName, stream: StreamName) -> Division:
    """The sides of a stream; raises where the data set cannot be split like that."""
    if split == "published":
        held_out = stream == "val" and holds_out(len(source.usable))
        if held_out and source.splits.val is None:
            raise UserError(f"{source.name} has no held-out part for a validation stream")
        test = pool.part("val" if held_out else "test")
        return Division(pool.part("train"), None, test, source.usable)
    units = known_units(source, pool, split)
    fold = (seed - FIRST_SEED) % FOLDS
    tested, validated, rest = _fold_sides(source, pool, units, split, fold)
    if stream == "val":
        tested, rest = validated, np.setdiff1d(rest, validated)
    test = np.isin(units, tested)
    if split == "subject" and source.own_test_subjects and stream == "exp":
        test = pool.part("test")
    learned, stopping = _early_stopping(source, pool.y, units, rest, test, seed, split)
    train, stop = np.isin(units, learned), np.isin(units, stopping)
    counts = [np.bincount(pool.y[mask], minlength=source.classes) for mask in (train, test)]
    missing = {
        c: " and ".join(s for s, n in zip(("training", "test"), counts, strict=True) if not n[c])
        for c in source.usable
        if not (counts[0][c] and counts[1][c])
    }
    usable = [c for c in source.usable if c not in missing]
    sides = {"train": learned, "validation": stopping, "test": np.unique(units[test])}
    return Division(train, stop, test, usable, missing, {k: v.tolist() for k, v in sides.items()})


def known_units(source: Source, pool: Pool, kind: Literal["subject", "recording"]) -> np.ndarray:
    """The subject or recording of every sample; raises where they are not known or too few."""
    units = pool.units(kind)
    if units is None and kind == "recording" and source.recordings:
        raise SplitImpossible(
            f"{source.name} was prepared by an earlier tsbench, without its recordings; "
            f"run: tsbench download {source.reference} --force"
        )
    if units is None:
        raise SplitImpossible(
            f"{source.name} has no {kind} labels, so --split {kind} is not possible; "
            "use --split published"
        )
    count = len(np.unique(units))
    if kind == "subject" and source.own_test_subjects:
        count = len(np.unique(units[~pool.part("test")]))
    if count < FOLDS:
        raise SplitImpossible(
            f"{source.name} has {count} {kind}(s) to divide; --split {kind} needs {FOLDS} or more"
        )
    return units


def make_folds(units: np.ndarray, kind: Literal["subject", "recording"]) -> list[np.ndarray]:
    """The different units in four folds of nearly equal size.

    Subjects are permuted, in the same way always. Recordings stay in the order of time, so that a
    fold is one stretch of time and has few neighbours among the others.

    >>> [fold.tolist() for fold in make_folds(np.arange(1, 8), "recording")]
    [[1, 2], [3, 4], [5, 6], [7]]
    >>> [fold.tolist() for fold in make_folds(np.arange(1, 8), "subject")]
    [[7, 3], [2, 4], [1, 6], [5]]
    """
    different = np.unique(units)
    if kind == "subject":
        different = np.random.RandomState(0).permutation(different)
    return np.array_split(different, FOLDS)


def _fold_sides(
    source: Source, pool: Pool, units: np.ndarray, kind: Literal["subject", "recording"], fold: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Units to test on, units that the validation stream is tested on, and all but the first."""
    if kind == "subject" and source.own_test_subjects:
        official = pool.part("test")
        tested, others = np.unique(units[official]), np.unique(units[~official])
        if shared := np.intersect1d(tested, others).tolist():
            raise UserError(
                f"{source.name}: its test set should have subjects of its own, but shares {shared}"
            )
        return tested, make_folds(others, kind)[fold], others
    folds = make_folds(units, kind)
    return folds[fold], folds[(fold + 1) % FOLDS], np.setdiff1d(units, folds[fold])


def _early_stopping(
    source: Source,
    labels: np.ndarray,
    units: np.ndarray,
    rest: np.ndarray,
    test: np.ndarray,
    seed: int,
    kind: SplitName,
) -> tuple[np.ndarray, np.ndarray]:
    """Units to train on and units to stop by, a random tenth.

    Units that have more of the classes come first, and none is taken that a class of the stream
    could not be learned without, as long as there is another.
    """
    wanted = np.unique(labels[test])
    has = np.zeros((len(rest), source.classes), bool)
    there = np.isin(units, rest)
    has[np.searchsorted(rest, units[there]), labels[there]] = True
    has = has[:, wanted]
    random = generator(seed, source.name, "early stopping", kind)
    order = random.permutation(len(rest))
    order = order[np.argsort(-has[order].sum(axis=1), kind="stable")]
    stopping: list[int] = []
    left = has.sum(axis=0)
    for _ in range(max(1, round(STOPPING_SHARE * len(rest)))):
        lost = [(int((has[i] & (left == 1)).sum()), place) for place, i in enumerate(order)]
        taken = order[min(lost)[1]]
        left = left - has[taken]
        stopping.append(int(taken))
        order = order[order != taken]
    chosen = np.zeros(len(rest), bool)
    chosen[stopping] = True
    return rest[~chosen], rest[chosen]
