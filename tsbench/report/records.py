"""The records of one protocol, by data set and method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from tsbench.console import printable, say
from tsbench.data.catalogue import DATASETS
from tsbench.errors import UserError
from tsbench.protocol.rules import PAPER_METHODS, SPLITS, Protocol, SplitName
from tsbench.report.summary import Figure, figure
from tsbench.report.titles import base_name, method_title
from tsbench.report.versions import current_records
from tsbench.runs.record import Record
from tsbench.runs.spec import method_label
from tsbench.runs.store import Store

if TYPE_CHECKING:
    import pandas as pd

BUSY = 0.1
"""Share of the cores that other work may use before the time of a run is left out."""
FAMILIES = {
    "bounds": "Bounds",
    "exemplar-free": "Exemplar-free",
    "exemplar-based": "Exemplar-based",
    "analytic": "Analytic",
}
TRIALS = "val-"
"""What the names of protocols of the validation stream begin with: their runs are for tuning."""
OURS = "ts-acl"
"""What the names of TS-ACL's variants begin with; they stand beside it."""
BEYOND = "Beyond the paper"
"""The section of all methods that are neither the paper's nor variants of TS-ACL."""


@dataclass
class Entry:
    """All runs of one method on one data set."""

    dataset: str
    method: str
    """The label of its records: the method's name, and what was tuned or set by hand."""
    finished: list[Record] = field(default_factory=list)
    failed: list[Record] = field(default_factory=list)

    @property
    def records(self) -> list[Record]:
        """Of all runs, finished ones first."""
        return self.finished + self.failed

    @property
    def title(self) -> str:
        """The method's name in tables."""
        return method_title(self.method, self.records[0]["method"])

    @property
    def coverage(self) -> str:
        """How much of the data there was, if not all of it."""
        partial = {r["data"]["coverage"] for r in self.finished if not r["data"]["complete"]}
        return ", ".join(sorted(partial))

    def by_seed(self, metric: str) -> dict[int, float]:
        """A figure of the result by seed, of every run that has it."""
        values = ((r["spec"]["seed"], r["result"].get(metric)) for r in self.finished)
        return {seed: value for seed, value in sorted(values) if value is not None}

    def values(self, metric: str, seeds: Iterable[int] | None = None) -> list[float]:
        """A figure of the result, of all runs or of those with the given seeds."""
        found = self.by_seed(metric)
        return list(found.values()) if seeds is None else [found[s] for s in seeds if s in found]

    def minus(self, other: Entry) -> list[float]:
        """A_T minus that of another entry, for every seed that both have."""
        ours, theirs = self.by_seed("A_T"), other.by_seed("A_T")
        return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]

    def curve(self) -> list[Figure | None]:
        """A_t after each task over the runs; None where no run has it."""
        curves = [r["result"]["curve"] for r in self.finished]
        tasks = max(map(len, curves), default=0)
        return [
            figure([c[t] for c in curves if t < len(c) and c[t] is not None]) for t in range(tasks)
        ]

    def settings(self) -> dict[str, list[Record]]:
        """Settings in words, and the runs that were made with them."""
        found: dict[str, list[Record]] = {}
        for record in self.finished:
            words = ", ".join(f"{k}={v}" for k, v in sorted(record["spec"]["settings"].items()))
            found.setdefault(printable(words), []).append(record)
        return found


@dataclass(frozen=True)
class Results:
    """All entries of one protocol."""

    protocol: str
    entries: dict[tuple[str, str], Entry]
    problems: list[str]
    """Files and records that were left out, one line each."""
    everything: dict[str, Results] = field(default_factory=dict, repr=False)
    """The results of all protocols, this one included."""

    def say_problems(self) -> None:
        """One line for everything that was left out."""
        for problem in self.problems:
            say(f"notice: {problem}; left out")

    @property
    def others(self) -> list[Results]:
        """The results of the other protocols, without trials of tuning."""
        return [
            runs
            for name, runs in self.everything.items()
            if name != self.protocol and not name.startswith(TRIALS)
        ]

    @cached_property
    def rules(self) -> Protocol:
        """What all runs have in common."""
        for entry in self.entries.values():
            return Protocol.from_dict(entry.records[0]["spec"])
        return Protocol()

    @property
    def datasets(self) -> list[str]:
        """Data sets that have runs, the paper's order first."""
        found = {dataset for dataset, _ in self.entries}
        order = {name: place for place, name in enumerate(DATASETS.builtin)}
        return sorted(found, key=lambda name: (order.get(name, len(order)), name))

    @cached_property
    def methods(self) -> list[str]:
        """Methods that have runs: the paper's order, TS-ACL's variants, then all others."""
        order = {name: place for place, name in enumerate(PAPER_METHODS)}
        families = list(FAMILIES)

        def place(label: str) -> tuple[object, ...]:
            name, family = base_name(label), self.family(label)
            rank = families.index(family) if family in families else len(families)
            beyond = self.section(label) == BEYOND
            return beyond, rank, order.get(name, len(order)), name, label

        return sorted({method for _, method in self.entries}, key=place)

    def get(self, dataset: str, method: str) -> Entry:
        """An entry, empty if there are no such runs."""
        return self.entries.get((dataset, method)) or Entry(dataset, method)

    def coverage(self, dataset: str) -> str:
        """How much of a data set there was, if not all of it."""
        found = {e.coverage for (d, _), e in self.entries.items() if d == dataset and e.coverage}
        return ", ".join(sorted(found))

    def title(self, method: str) -> str:
        """A method's name in tables: ER, or ER (tuned)."""
        return method_title(method, self._about.get(method, {}))

    def family(self, method: str) -> str:
        """bounds, exemplar-free, exemplar-based, analytic or other."""
        known = PAPER_METHODS.get(base_name(method))
        if known or base_name(method).startswith(OURS):
            return known.family if known else "analytic"
        return self._about.get(method, {}).get("family", "other")

    def section(self, method: str) -> str:
        """The part of the main table that a method is in."""
        name = base_name(method)
        ours = name in PAPER_METHODS or name.startswith(OURS)
        return FAMILIES[self.family(method)] if ours else BEYOND

    def is_bound(self, method: str) -> bool:
        """Whether a method is a bound: shown, but not ranked."""
        return self.family(method) == "bounds"

    def is_joint(self, method: str) -> bool:
        """Whether a method learns all tasks at once: its curves have only the last value."""
        curves = [self.get(d, method).curve() for d in self.datasets]
        known = [curve for curve in curves if len(curve) > 1]
        return bool(known) and all(f is None for curve in known for f in curve[:-1])

    def look(self, method: str) -> tuple[str, str]:
        """The colour and the marker that a method's author fixed, each possibly empty."""
        about = self._about.get(method, {})
        return about.get("colour", ""), about.get("marker", "")

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per finished run."""
        from tsbench.report.summary import run_frame

        return run_frame(r for entry in self.entries.values() for r in entry.finished)

    @cached_property
    def _about(self) -> dict[str, dict[str, str]]:
        """What the first record of a method says of it."""
        found: dict[str, dict[str, str]] = {}
        for (_, method), entry in sorted(self.entries.items()):
            found.setdefault(method, entry.records[0]["method"])
        return found


def collect(
    root: Path,
    protocol: str | None = None,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    split: SplitName | None = None,
) -> Results:
    """Read a results folder; without a protocol, the default one or the one with most runs.

    With ``split``, of the protocols with that split. Data sets and methods are filters, by name or
    by place; ``all`` stands for the paper's methods, ``every`` for all, and a family for its
    members. Runs on the validation stream are trials of tuning: they count when there are no
    others.
    """
    from tsbench.data.custom.prepare import custom_name

    if root.is_file():
        raise UserError(f"'{root}' is a file, not a folder of records")
    records, problems = Store(root).records()
    if not records:
        left = f" ({problems[0]}; {len(problems)} left out)" if problems else ""
        raise UserError(f"no records in '{root}'{left}; run: tsbench run, or tsbench demo")
    wanted = {*datasets, *map(custom_name, datasets)}
    matching: dict[str, list[Record]] = {record["spec"]["protocol"]: [] for record in records}
    for record in records:
        if (not wanted or record["spec"]["dataset"] in wanted) and _is_wanted(record, methods):
            matching[record["spec"]["protocol"]].append(record)
    chosen = protocol or _usual_protocol(records, split)
    if chosen not in matching:
        raise UserError(f"no runs of protocol '{chosen}'; there are: {', '.join(matching)}")
    if not matching[chosen]:
        raise UserError(_nothing(chosen, matching, records))
    everything: dict[str, Results] = {}
    for name, found in matching.items():
        if found:
            current, left_out = current_records(found)
            everything[name] = Results(name, _entries(current), problems + left_out, everything)
    if split not in (None, everything[chosen].rules.split):
        raise UserError(f"no runs of protocol '{chosen}' with --split {split}")
    return everything[chosen]


def _usual_protocol(records: Sequence[Record], split: SplitName | None) -> str:
    """The default protocol if it has runs, else the one with most runs; of those with the split."""
    rules = [Protocol.from_dict(record["spec"]) for record in records]
    counts = Counter(each.name for each in rules if split in (None, each.split))
    if not counts:
        there = ", ".join(sorted({each.name for each in rules}))
        raise UserError(f"no runs with --split {split}; there are: {there}")
    for usual in (Protocol(split=split).name for split in SPLITS):
        if usual in counts:
            return usual
    return min(counts, key=lambda p: (p.startswith(TRIALS), -counts[p], p))


def _is_wanted(record: Record, methods: Sequence[str]) -> bool:
    """Whether a record is of one of the methods asked for; of all when none was asked for."""
    label = record["label"]
    names = {"every", label, record["method"]["family"]}
    names |= {"all"} if base_name(label) in PAPER_METHODS else set()
    return not methods or any(m in names or method_label(m) == label for m in methods)


def _nothing(protocol: str, matching: dict[str, list[Record]], records: list[Record]) -> str:
    """Why there is nothing to show, and how to ask for what there is."""
    others = Counter({name: len(found) for name, found in matching.items() if found})
    if not others:
        datasets = sorted({record["spec"]["dataset"] for record in records})
        methods = sorted({base_name(record["label"]) for record in records})
        return (
            f"no runs of these data sets and methods; there are runs on {', '.join(datasets)} "
            f"of {', '.join(methods)}"
        )
    listed = ", ".join(f"{name} ({count} runs)" for name, count in others.most_common())
    return (
        f"no runs of these data sets and methods with protocol {protocol}, but with: {listed}; "
        f"add --protocol {others.most_common(1)[0][0]}"
    )


def _entries(records: list[Record]) -> dict[tuple[str, str], Entry]:
    """Records by data set and method; a failure is left out where the seed was finished."""
    entries: dict[tuple[str, str], Entry] = {}
    for record in records:
        key = (record["spec"]["dataset"], record["label"])
        entry = entries.setdefault(key, Entry(*key))
        (entry.finished if record["status"] == "ok" else entry.failed).append(record)
    for entry in entries.values():
        done = {r["spec"]["seed"] for r in entry.finished}
        entry.failed = [r for r in entry.failed if r["spec"]["seed"] not in done]
        entry.finished.sort(key=lambda r: r["spec"]["seed"])
    return entries


def machine_of(record: Record) -> str:
    """What a time was measured on: times are compared only where all of this is the same."""
    about = record["environment"]
    return (
        f"{about['device']}: {about['gpu'] or about['cpu']}; threads per run: {about['threads']}, "
        f"runs at a time: {about['workers']}; torch {about['torch']}"
    )


def busy(record: Record) -> bool:
    """Whether other work on the machine made the time of a run useless."""
    return (record["environment"].get("load") or 0.0) > BUSY
