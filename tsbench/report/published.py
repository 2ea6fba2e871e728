"""Figures to compare with: the paper's, or our own committed reference runs."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from tsbench.data.catalogue import card
from tsbench.errors import UserError
from tsbench.protocol.rules import PAPER_DATASETS, PAPER_METHODS, SEEDS
from tsbench.report.records import Results, collect
from tsbench.report.summary import Figure, figure

ABLATION = {
    "ts-acl-deep": "Deep",
    "ts-acl-deep-rhl": "Deep+RHL",
    "ts-acl": "Deep+RHL+Fusion",
}
"""Methods of the paper's ablation table, by its name for what they embed with."""
MAIN_METRICS, ABLATION_METRICS = ("A_T", "F_T"), ("A_T", "variance_ratio")

Key = tuple[str, str, str]
"""Data set, method, metric."""


@dataclass(frozen=True)
class Published:
    """Values of the main and the ablation table to compare with."""

    name: str
    main: dict[Key, Figure]
    ablation: dict[Key, Figure]


def paper() -> Published:
    """The TS-ACL paper's tables; its runs were tuned, ours may be. Its ablation has no spread."""
    datasets = {card(name).title: name for name in PAPER_DATASETS}
    methods = {about.title: name for name, about in PAPER_METHODS.items()}
    main = {}
    for row in _rows("main.csv"):
        if row["mean"]:
            value = Figure(float(row["mean"]), float(row["std"]), SEEDS)
            dataset, method = datasets[row["dataset"]], methods[row["method"]]
            for label in (method, f"{method}+tuned"):
                main[dataset, label, row["metric"]] = value
    variants = {title.lower(): method for method, title in ABLATION.items()}
    ablation = {}
    for row in _rows("ablation.csv"):
        metric = {"A_T": "A_T", "VR": "variance_ratio"}[row["metric"]]
        key = datasets[row["dataset"]], variants[row["variant"].lower()], metric
        ablation[key] = Figure(float(row["value"]), None, SEEDS)
    return Published("paper", main, ablation)


def comparison(name: str | None, runs: Results) -> Published | None:
    """The values to compare with: those of the paper, of our reference runs, or none."""
    if name == "paper":
        expect_published(runs)
        return paper()
    return None if name is None else reference(runs.protocol)


def expect_published(runs: Results) -> None:
    """The paper has one protocol: its split, and two classes per task."""
    if runs.rules.added():
        raise UserError(f"the paper has no runs of protocol {runs.protocol} to compare with")


def reference(protocol: str | None) -> Published:
    """Our own committed runs."""
    try:
        runs = collect(Path(str(resources.files("tsbench.reference"))), protocol)
    except UserError as error:
        raise UserError(f"no reference runs to compare with: {error}") from error
    tables: list[dict[Key, Figure]] = []
    for metrics in (MAIN_METRICS, ABLATION_METRICS):
        cells = {
            (dataset, method, metric): figure(entry.values(metric))
            for (dataset, method), entry in runs.entries.items()
            for metric in metrics
        }
        tables.append({key: found for key, found in cells.items() if found is not None})
    return Published("reference", *tables)


def _rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("tsbench.published") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
