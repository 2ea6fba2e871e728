"""Which records may be compared: one version of each data set and of each method's file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tsbench.data.catalogue import DATASETS, card
from tsbench.runs.record import Record


def current_records(records: list[Record]) -> tuple[list[Record], list[str]]:
    """The records of the versions that count, and one line for what was left out.

    Of several versions of a data set the official one counts, else a complete one, else the one
    with most runs; of several versions of a file, the one with most runs. The lexically smallest
    digest settles what is left.
    """
    kept, left_out = _one_version(records, lambda r: r["spec"]["dataset"], "data_digest", "data")
    kept, more = _one_version(
        kept, lambda r: f"{r['label']} on {r['spec']['dataset']}", "code", "code"
    )
    return kept, left_out + more


def _one_version(
    records: list[Record], name_of: Callable[[Record], str], key: str, what: str
) -> tuple[list[Record], list[str]]:
    found: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        versions = found.setdefault(name_of(record), {})
        versions.setdefault(str(record["spec"].get(key, "")), []).append(record)
    kept, left_out = [], []
    for name, versions in found.items():
        official = card(name).official_digest if name in DATASETS.builtin else ""
        _, best = min(versions.items(), key=partial(_order, official))
        kept += best
        if others := sum(map(len, versions.values())) - len(best):
            left_out.append(f"{others} run(s) of {name} were made with other {what}")
    return kept, left_out


def _order(official: str, version: tuple[str, list[Record]]) -> tuple[object, ...]:
    """The version that counts comes first."""
    digest, runs = version
    complete = any(r["status"] == "ok" and r["data"]["complete"] for r in runs)
    return digest != official, not complete, -len(runs), digest
