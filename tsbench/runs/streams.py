"""What is special about the streams that are to be run, said before they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tsbench.console import say
from tsbench.data.prepared import Dataset
from tsbench.protocol.rules import Protocol
from tsbench.protocol.stream import Outline, outline

MOST_SEEDS = 100
"""Streams that are looked at beforehand, at most."""


def announce_streams(
    dataset: Dataset, seeds: Sequence[int], protocol: Protocol, silent: bool = False
) -> None:
    """Say which classes are left out and which tasks are smaller; raises if there is no stream.

    Nothing is special about the streams of the published protocol.
    """
    if not protocol.added():
        return
    found: dict[str, list[int]] = {}
    for seed in seeds[:MOST_SEEDS]:
        for line in _peculiarities(dataset, outline(dataset, seed, protocol), protocol):
            found.setdefault(line, []).append(seed)
    for line, affected in found.items() if not silent else ():
        which = "" if len(affected) == len(seeds) else f" (seed {', '.join(map(str, affected))})"
        say(f"{dataset.name}: notice: {line}{which}")


def _peculiarities(dataset: Dataset, plan: Outline, protocol: Protocol) -> Iterator[str]:
    names = dataset.card.class_names
    for number, reason in plan.notes.get("classes_left_out", {}).items():
        yield f"class '{names[int(number)]}' is left out: {reason} with --split {protocol.split}"
    if len(plan.labels) == 1:
        yield f"all {len(plan.classes)} classes are in one task, so nothing can be forgotten"
    elif "classes_of_last_task" in plan.notes:
        last = plan.notes["classes_of_last_task"]
        yield f"the last task has {last} of {protocol.classes_per_task} classes"
