"""``tsbench list``: what there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tsbench.cli.options import DEFAULT_DATA, DataDir, Json, command, print_table
from tsbench.console import amount


@command
def list_(
    what: Annotated[
        Literal["methods", "datasets"] | None,
        typer.Argument(help="What to list. Default: both."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="NAME", help="Show the settings used on this data set."),
    ] = None,
    as_json: Json = False,
    data: DataDir = DEFAULT_DATA,
) -> None:
    """List the data sets, and whether they are prepared; the methods, and their settings."""
    from tsbench.api import list_datasets, list_methods

    listed: dict[str, list[dict[str, Any]]] = {}
    if what in (None, "datasets"):
        listed["datasets"] = list_datasets(data, verbose=True)
    if what in (None, "methods"):
        listed["methods"] = list_methods(dataset, data, verbose=True)
    if as_json:
        print(json.dumps(listed[what] if what else listed, indent=1))
        return
    if "datasets" in listed:
        _print_datasets(listed["datasets"], data)
    if "methods" in listed:
        _print_methods(listed["methods"])


def _print_datasets(rows: list[dict[str, Any]], data: Path) -> None:
    shown = []
    for row in rows:
        samples = " / ".join(f"{count} {split}" for split, count in row["samples"].items())
        sizes = [amount(row[key]) if row[key] else "–" for key in ("download_bytes", "disk_bytes")]
        shape = f"{row['channels']} × {row['length']}"
        tasks = f"{row['tasks']['val']} + {row['tasks']['exp']}"
        about = [row["name"], row["status"], shape, str(row["classes"]), tasks, samples]
        shown.append([*about, *sizes, row["licence"]])
    columns = ["name", "status", "C × L", "classes", "tasks val + exp", "samples"]
    print_table(f"Data sets in '{data}'", [*columns, "download", "on disk", "licence"], shown)


def _print_methods(rows: list[dict[str, Any]]) -> None:
    shown = []
    for row in rows:
        parameters = row.get("hyper_parameters", {}).items()
        settings = ", ".join(f"{name}={about['default']}" for name, about in parameters)
        shown.append([row["name"], row["family"], row["keeps"], row["paper"], settings])
    print_table("Methods", ["name", "family", "keeps", "paper", "hyper-parameters"], shown)
