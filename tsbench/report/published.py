"""Figures to compare with: the paper's, or our own committed reference runs."""

from __future__ import annotations

import csv
from importlib import resources
from pathlib import Path

from tsbench.errors import UserError
from tsbench.report.records import Collection, collect, dataset_title, method_title
from tsbench.report.summary import Figure, figure

PAPER_SEEDS = 5


class Published:
    """Values by (data set, method, metric)."""

    def __init__(
        self,
        name: str,
        main: dict[tuple[str, str, str], Figure],
        ablation: dict[tuple[str, str, str], float] | None = None,
    ) -> None:
        self.name = name
        self._main = main
        self._ablation = ablation or {}

    def main(self, dataset: str, method: str, metric: str) -> Figure | None:
        """The value of a cell of the main table."""
        return self._main.get((dataset_title(dataset), method_title(method), metric))

    def ablation(self, dataset: str, variant: str, metric: str) -> str:
        """The value of a cell of the ablation table, in words."""
        short = {"A_T": "A_T", "variance_ratio": "VR"}[metric]
        plain = variant.replace(" ", "").lower()
        value = self._ablation.get((dataset_title(dataset), plain, short))
        return "–" if value is None else f"{value:.2f}"


def paper() -> Published:
    """The TS-ACL paper's tables; its runs were tuned, ours may be."""
    main = {}
    for row in _rows("main.csv"):
        if row["mean"]:
            value = Figure(float(row["mean"]), float(row["std"]), PAPER_SEEDS)
            for title in (row["method"], f"{row['method']} (tuned)"):
                main[row["dataset"], title, row["metric"]] = value
    ablation = {
        (row["dataset"], row["variant"].replace(" ", "").lower(), row["metric"]): float(
            row["value"]
        )
        for row in _rows("ablation.csv")
    }
    return Published("paper", main, ablation)


def reference(folder: Path, protocol: str | None) -> Published:
    """Our own committed runs."""
    if not folder.is_dir():
        raise UserError(f"no reference runs in '{folder}'")
    runs: Collection = collect(folder, protocol)
    main = {}
    for (dataset, method), group in runs.groups.items():
        for metric in ("A_T", "F_T"):
            found = figure(group.values(metric))
            if found is not None:
                main[dataset_title(dataset), method_title(method), metric] = found
    return Published("reference", main)


def _rows(name: str) -> list[dict[str, str]]:
    text = (resources.files("tsbench.published") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
