"""Whether a run was made with the settings that are the defaults now.

The defaults are in defaults.json, which ``tools/write_defaults.py`` writes from the methods' files:
importing those would import torch. A method that is not in it is not checked.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

from tsbench.console import printable
from tsbench.report.records import Entry
from tsbench.report.table import STALE, Table
from tsbench.report.titles import dataset_title
from tsbench.runs.record import Record

LONGEST_NOTE = 50
"""Letters; what is longer is only in the table of settings."""


@functools.lru_cache(maxsize=1)
def _defaults() -> dict[str, dict[str, dict[str, Any]]]:
    text = (resources.files("tsbench.report") / "defaults.json").read_text(encoding="utf-8")
    return json.loads(text)


def default_settings(method: str, dataset: str) -> dict[str, Any] | None:
    """The settings that a run uses by default; None for a method that is not known here."""
    known = _defaults().get(method)
    return None if known is None else {**known[""], **known.get(dataset, {})}


def stale_settings(record: Record) -> dict[str, tuple[Any, Any]]:
    """Settings that are neither the current defaults nor set on purpose: then and now.

    A setting that a record or the current method does not have is None there.
    """
    spec = record["spec"]
    now, then = default_settings(spec["method"], spec["dataset"]), spec["settings"]
    if now is None or spec.get("tuned"):
        return {}
    return {
        name: (then.get(name), now.get(name))
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name) and name not in spec.get("changed", {})
    }


def stale_words(records: Iterable[Record]) -> str:
    """What differs from the current defaults in some runs, in words; empty if nothing."""
    found: dict[str, None] = {}
    for record in records:
        for name, (then, now) in stale_settings(record).items():
            was = "not there" if then is None else f"{then}"
            found[f"{name} was {was}, is {'gone' if now is None else now}"] = None
    return printable("; ".join(found))


def stale_sign(table: Table, entry: Entry) -> tuple[str, ...]:
    """The sign of the footnote about settings, where there is something to say."""
    words = stale_words(entry.finished)
    if not words:
        return ()
    dataset = dataset_title(entry.dataset)
    about = f" ({words})" if len(words) <= LONGEST_NOTE else ""
    table.note(STALE, f"{entry.title} on {dataset}{about}", dataset)
    return (STALE,)


def seed_ranges(seeds: Iterable[int]) -> str:
    """Seeds in words.

    >>> seed_ranges([1, 1234, 1235, 1236])
    '1, 1234–1236'
    """
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
