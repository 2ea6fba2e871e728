"""``tsbench list``: what there is."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from tsbench.cli.options import DEFAULT_DATA, DataDir, Json, command, print_table
from tsbench.console import amount


class What(str, Enum):
    """What to list."""

    methods = "methods"
    datasets = "datasets"


@command
def list_(
    what: Annotated[What | None, typer.Argument(help="None: both.")] = None,
    as_json: Json = False,
    data: DataDir = DEFAULT_DATA,
) -> None:
    """What there is: data sets, and whether they are prepared; methods, and what they keep."""
    from tsbench.api import list_datasets, list_methods

    listed: dict[str, list[dict[str, Any]]] = {}
    if what in (None, What.datasets):
        listed["datasets"] = list_datasets(data)
    if what in (None, What.methods):
        listed["methods"] = list_methods()
    if as_json:
        print(json.dumps(listed[what.value] if what else listed, indent=1))
        return
    if "datasets" in listed:
        _print_datasets(listed["datasets"], data)
    if "methods" in listed:
        _print_methods(listed["methods"])


def _print_datasets(rows: list[dict[str, Any]], data: Path) -> None:
    print_table(
        f"Data sets in '{data}'",
        [
            "name",
            "status",
            "C × L",
            "classes",
            "tasks",
            "samples",
            "download",
            "on disk",
            "licence",
        ],
        [
            [
                row["name"],
                row["status"],
                f"{row['channels']} × {row['length']}",
                str(row["classes"]),
                str(row["tasks"]),
                " / ".join(f"{count} {split}" for split, count in row["samples"].items()),
                amount(row["download_bytes"]) if row["download_bytes"] else "–",
                amount(row["disk_bytes"]) if row["disk_bytes"] else "–",
                row["licence"],
            ]
            for row in rows
        ],
    )


def _print_methods(rows: list[dict[str, Any]]) -> None:
    print_table(
        "Methods",
        ["name", "family", "keeps", "paper", "hyper-parameters"],
        [
            [
                row["name"],
                row["family"],
                row["keeps"],
                row["paper"],
                ", ".join(
                    f"{name}={about['default']}"
                    for name, about in row.get("hyper_parameters", {}).items()
                ),
            ]
            for row in rows
        ],
    )
