"""Figures to compare with: the paper's, or our own committed reference runs."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from tsbench.errors import UserError
from tsbench.report.records import Collection, collect, dataset_title, method_title
from tsbench.report.summary import Figure, figure

PAPER_SEEDS = 5
ABLATION = {
    "ts-acl-deep": "Deep",
    "ts-acl-deep-rhl": "Deep + RHL",
    "ts-acl": "Deep + RHL + fusion",
}
"""Methods of the ablation table, by what they embed with."""
MAIN_METRICS, ABLATION_METRICS = ("A_T", "F_T"), ("A_T", "variance_ratio")

Key = tuple[str, str, str]
"""Title of a data set, title of a method, metric."""


class Published:
    """Values of the two tables that there is something to compare with."""

    def __init__(self, name: str, main: dict[Key, Figure], ablation: dict[Key, Figure]) -> None:
        self.name = name
        self._main = main
        self._ablation = ablation

    def main(self, dataset: str, method: str, metric: str) -> Figure | None:
        """The value of a cell of the main table."""
        return self._main.get((dataset_title(dataset), method_title(method), metric))

    def ablation(self, dataset: str, method: str, metric: str) -> Figure | None:
        """The value of a cell of the ablation table."""
        return self._ablation.get((dataset_title(dataset), method_title(method), metric))


def paper() -> Published:
    """The TS-ACL paper's tables; its runs were tuned, ours may be. Its ablation has no spread."""
    main = {}
    for row in _rows("main.csv"):
        if row["mean"]:
            value = Figure(float(row["mean"]), float(row["std"]), PAPER_SEEDS)
            for title in (row["method"], f"{row['method']} (tuned)"):
                main[row["dataset"], title, row["metric"]] = value
    methods = {title.replace(" ", "").lower(): method for method, title in ABLATION.items()}
    ablation = {}
    for row in _rows("ablation.csv"):
        title = method_title(methods[row["variant"].lower()])
        metric = {"A_T": "A_T", "VR": "variance_ratio"}[row["metric"]]
        ablation[row["dataset"], title, metric] = Figure(float(row["value"]), None, PAPER_SEEDS)
    return Published("paper", main, ablation)


def reference(protocol: str | None) -> Published:
    """Our own committed runs."""
    try:
        runs = collect(Path(str(resources.files("tsbench.reference"))), protocol)
    except UserError as error:
        raise UserError(f"no reference runs to compare with: {error}") from error
    return Published("reference", _values(runs, MAIN_METRICS), _values(runs, ABLATION_METRICS))


def _values(runs: Collection, metrics: Iterable[str]) -> dict[Key, Figure]:
    values = {}
    for (dataset, method), group in runs.groups.items():
        for metric in metrics:
            found = figure(group.values(metric))
            if found is not None:
                values[dataset_title(dataset), method_title(method), metric] = found
    return values


def _rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("tsbench.published") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
