"""Records in groups: one protocol, by data set and method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tsbench.bench.spec import method_label
from tsbench.bench.store import Store
from tsbench.data.catalogue import DATASETS, card
from tsbench.errors import UserError
from tsbench.learn.catalogue import INFO
from tsbench.report.flaws import flaw, record_title
from tsbench.report.summary import Figure, figure

DEFAULT_PROTOCOL = "exp-ln-100"
FULL_SEEDS = 5
PARTIAL = "†"
"""Stands beside the name of a data set that is not all there."""
OUT_OF_CONTEST = ("naive", "offline")
"""Bounds: shown, but neither best nor second."""

Record = dict[str, Any]


@dataclass
class Group:
    """All runs of one method on one data set."""

    dataset: str
    method: str
    finished: list[Record] = field(default_factory=list)
    failed: list[Record] = field(default_factory=list)

    @property
    def coverage(self) -> str:
        """How much of the data there was, if not all of it."""
        partial = {r["data"]["coverage"] for r in self.finished if not r["data"]["complete"]}
        return ", ".join(sorted(partial))

    def values(self, metric: str) -> list[float]:
        """A figure of the result, of every run that has it."""
        return [v for r in self.finished if (v := r["result"].get(metric)) is not None]

    def curve(self) -> list[Figure | None]:
        """A_t after each task over the runs; None where no run has it."""
        curves = [r["result"]["curve"] for r in self.finished]
        tasks = max(map(len, curves), default=0)
        return [
            figure([c[t] for c in curves if t < len(c) and c[t] is not None]) for t in range(tasks)
        ]

    def seconds(self, machine: str | None = None) -> list[float]:
        """Seconds of learning of every run, on one machine or wherever it was."""
        records = [r for r in self.finished if machine is None or machine_of(r) == machine]
        return [float(sum(r["time"]["learn"])) for r in records]

    def kept(self) -> list[float]:
        """Bytes kept between tasks, of all kinds, of every run."""
        return [float(sum(r["memory"]["kept_bytes"].values())) for r in self.finished]


@dataclass(frozen=True)
class Collection:
    """The groups of one protocol."""

    protocol: str
    groups: dict[tuple[str, str], Group]
    problems: list[str]
    """Files and records that were left out, a line each."""
    others: tuple[str, ...] = ()
    """Protocols of the runs that are not among these."""

    @property
    def datasets(self) -> list[str]:
        """Data sets that have runs, the paper's order first."""
        return _ordered({d for d, _ in self.groups}, DATASETS.builtin)

    @property
    def methods(self) -> list[str]:
        """Methods that have runs, the paper's order first."""
        return _ordered({m for _, m in self.groups}, INFO)

    def coverage(self, dataset: str) -> str:
        """How much of a data set there was, if not all of it."""
        of_it = [g.coverage for (d, _), g in self.groups.items() if d == dataset]
        return ", ".join(sorted({c for c in of_it if c}))

    def get(self, dataset: str, method: str) -> Group:
        """A group, empty if there are no such runs."""
        return self.groups.get((dataset, method)) or Group(dataset, method)


def collect(
    root: Path,
    protocol: str | None = None,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> Collection:
    """Read a results folder; without a protocol, the default one or the one with most runs.

    Data sets and methods are filters, by name or by place. Runs on the validation stream are trials
    of tuning: they count when there are no others.
    """
    from tsbench.data.own import own_name

    wanted = {*datasets, *map(own_name, datasets)}, {*methods, *map(method_label, methods)}
    records, problems = _sound_records(root)
    counts = Counter(r["spec"]["protocol"] for r in records)
    if not records:
        left = f" ({problems[0]}; {len(problems)} left out)" if problems else ""
        raise UserError(f"no records in '{root}'{left}; run: tsbench run, or tsbench demo")
    if protocol is None:
        experiments = {p: n for p, n in counts.items() if not p.startswith("val-")} or counts
        known = DEFAULT_PROTOCOL in counts
        protocol = DEFAULT_PROTOCOL if known else max(experiments, key=lambda p: counts[p])
    if protocol not in counts:
        raise UserError(f"no runs of protocol '{protocol}'; there are: {', '.join(counts)}")
    groups: dict[tuple[str, str], Group] = {}
    seen: dict[int, set[int]] = {}
    chosen = [r for r in records if r["spec"]["protocol"] == protocol]
    chosen, outdated = _of_today(root, chosen)
    problems += outdated
    for record in chosen:
        spec = record["spec"]
        key = (spec["dataset"], record["label"])
        if any(names and each not in names for names, each in zip(wanted, key, strict=True)):
            continue
        group = groups.setdefault(key, Group(*key))
        side = group.finished if record["status"] == "ok" else group.failed
        if spec["seed"] in seen.setdefault(id(side), set()):
            problems.append(f"{record_title(record)}, a second one")
        else:
            seen[id(side)].add(spec["seed"])
            side.append(record)
    for group in groups.values():
        done = {r["spec"]["seed"] for r in group.finished}
        group.failed = [r for r in group.failed if r["spec"]["seed"] not in done]
    if not groups:
        raise UserError("no runs of these data sets and methods")
    return Collection(protocol, groups, problems, tuple(p for p in counts if p != protocol))


def _sound_records(root: Path) -> tuple[list[Record], list[str]]:
    read, problems = Store(root).records()
    records = []
    for record in read:
        found = flaw(record)
        if found:
            problems.append(f"{record_title(record)} is damaged: {found}")
        else:
            records.append(record)
    return records, problems


def _of_today(root: Path, records: list[Record]) -> tuple[list[Record], list[str]]:
    """Without runs on data, or of a method's file, that have changed since; a line for those."""
    store, problems = Store(root), []
    for what, version in (("data", "data_digest"), ("code", "code")):
        found: dict[str, dict[Any, list[Record]]] = {}
        for record in records:
            spec = record["spec"]
            name = spec["dataset"] if what == "data" else f"{record['label']} on {spec['dataset']}"
            found.setdefault(name, {}).setdefault(spec.get(version), []).append(record)
        for name, versions in found.items():
            if len(versions) > 1:  # what was written last counts
                today = max(versions, key=lambda v: max(map(store.written, versions[v])))
                old = {id(r) for v, group in versions.items() if v != today for r in group}
                records = [r for r in records if id(r) not in old]
                problems.append(f"{len(old)} run(s) of {name} with earlier {what}")
    return records, problems


def machine_of(record: Record) -> str:
    """What a time was measured on: times are compared only where all of this is the same."""
    about = record["environment"]
    return (
        f"{about['device']}: {about['gpu'] or about['cpu']}; {about['threads']} thread(s) a run, "
        f"{about['workers']} run(s) at a time; torch {about['torch']}"
    )


def method_title(label: str) -> str:
    """A method's name in tables."""
    name, plus, by_hand = label.partition("+")
    title = INFO[name].title if name in INFO else printable(name)
    return f"{title} ({printable(by_hand)})" if plus else title


def method_family(label: str) -> str:
    """The group that a method stands in."""
    name = label.partition("+")[0]
    return INFO[name].family if name in INFO else "other"


def in_contest(label: str) -> bool:
    """Whether a method can win."""
    return label.partition("+")[0] not in OUT_OF_CONTEST


def dataset_title(name: str) -> str:
    """A data set's name in tables."""
    return card(name).title if name in DATASETS.builtin else printable(name)


def printable(name: str) -> str:
    r"""A name of somebody else's, on one line and without control characters.

    >>> printable("a\tb\x1b[31m")
    'a?b?[31m'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _ordered(names: set[str], order: Any) -> list[str]:
    """In the given order, variants beside their method, strangers last."""
    places = {name: i for i, name in enumerate(order)}
    return sorted(names, key=lambda n: (places.get(n.partition("+")[0], len(places)), n))
