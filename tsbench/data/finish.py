"""The last step of preparing a data set: check the arrays, hold out the validation tenth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tsbench.data.card import Card
from tsbench.errors import UserError
from tsbench.protocol.rules import CLASSES_PER_TASK, HELD_OUT_SHARE, holds_out
from tsbench.protocol.samples import Splits, class_counts, usable_classes
from tsbench.protocol.splits import class_split, plain_split

LEAST_TASKS = 2
"""Of people's own data. Partial data of the published sets may have a single task."""


def finish(card: Card, splits: Splits) -> Splits:
    """Check what ``prepare`` returned and hold out the validation tenth where the rule says so."""
    for name, split in splits.items():
        expected = (len(split), card.channels, card.length)
        if split.x.shape != expected or split.x.dtype != np.float32:
            raise UserError(
                f"{card.name}: {name} has shape {split.x.shape} {split.x.dtype}, "
                f"expected {expected} float32"
            )
        if any(len(a) != len(split) for a in split.arrays().values()) or split.y.dtype.kind != "i":
            raise UserError(f"{card.name}: {name} needs one whole number as label for each series")
        if not np.isfinite(split.x).all():
            raise UserError(f"{card.name}: {name} holds NaN or infinite values")
        if len(split) and not (split.y.min() >= 0 and split.y.max() < card.classes):
            raise UserError(f"{card.name}: {name} has a label outside 0..{card.classes - 1}")
    if splits.coverage.found > splits.coverage.expected:
        raise UserError(f"{card.name}: {splits.coverage}: more than expected")
    usable = usable_classes(
        class_counts(splits.train, card.classes), class_counts(splits.test, card.classes)
    )
    least = CLASSES_PER_TASK * (1 if card.origin is None else LEAST_TASKS)
    if len(usable) < least:
        raise UserError(
            f"{card.name}: only {len(usable)} class(es) with enough samples in this data "
            f"({splits.coverage}), {least} are needed, each with two samples to train on and one "
            "to test on" + (f"; get more from {card.page}" if card.page else "")
        )
    if splits.val is None and holds_out(len(usable)):
        kept, held = (
            plain_split(len(splits.train), HELD_OUT_SHARE)
            if card.origin is None
            else class_split(splits.train.y, HELD_OUT_SHARE, seed=0)  # keeps the smallest classes
        )
        splits = replace(splits, train=splits.train.take(kept), val=splits.train.take(held))
    return splits
