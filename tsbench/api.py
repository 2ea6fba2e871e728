"""tsbench from Python: methods and data sets, streams, single runs, records as a table.

The commands are made of the same functions; everything here is importable from ``tsbench``. What
the commands print on stderr is printed here only with ``verbose=True``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsbench.console import quiet, say
from tsbench.data.card import Card
from tsbench.data.manifest import read_manifest
from tsbench.data.prepared import authenticity, load
from tsbench.errors import UserError
from tsbench.protocol.rules import (
    CLASSES_PER_TASK,
    FIRST_SEED,
    EncoderNorm,
    Protocol,
    SplitName,
    StreamName,
    task_counts,
)
from tsbench.protocol.stream import Stream, make_stream

if TYPE_CHECKING:
    import pandas as pd

    from tsbench.learn.method import Method

DATA, RESULTS = Path("datasets"), Path("results")


@quiet
def list_methods(
    dataset: str | None = None, data: Path | str = DATA, *, verbose: bool = False
) -> list[dict[str, Any]]:
    """All methods: name, title, family, what they keep, paper, hyper-parameters.

    With a data set, by name or by place, the defaults are those that a run on it uses.
    """
    import dataclasses

    from tsbench.data.catalogue import card
    from tsbench.data.custom.prepare import custom_name, is_custom
    from tsbench.learn.registry import METHODS, effective_settings, grid_values, load_method

    if dataset is not None:
        dataset = custom_name(dataset) if is_custom(dataset) else card(dataset, Path(data)).name
    rows = []
    for name in METHODS.names():
        try:
            kind = load_method(name)
            settings = effective_settings(name, dataset or "")
        except UserError as error:
            say(f"notice: {error}; left out")
            continue
        rows.append(
            {
                "name": name,
                "title": kind.title or name,
                "family": kind.family,
                "keeps": kind.keeps,
                "paper": str(kind.paper or ""),
                "hyper_parameters": {
                    field.name: {
                        "default": getattr(settings, field.name),
                        "meaning": field.metadata.get("meaning", ""),
                        "grid": list(grid_values(field, dataset or "")),
                    }
                    for field in dataclasses.fields(settings)
                },
            }
        )
    return rows


@quiet
def list_datasets(data: Path | str = DATA, *, verbose: bool = False) -> list[dict[str, Any]]:
    """All data sets: name, title, shape, classes, and whether they are prepared in ``data``."""
    from tsbench.data.catalogue import DATASETS, card
    from tsbench.data.manifest import stored_names

    root = Path(data)
    return [_dataset_row(card(n, root), root) for n in [*DATASETS.names(), *stored_names(root)]]


def _dataset_row(card: Card, root: Path) -> dict[str, Any]:
    manifest, status, samples = None, "not prepared", dict(card.published_counts)
    try:
        manifest = read_manifest(card, root)
    except UserError as error:
        status = f"unusable: {error}"
    if manifest:
        status = f"prepared, {authenticity(card, manifest)}"
        samples = {split: about["samples"] for split, about in manifest["splits"].items()}
    if card.generate is not None:
        status = "built in"
    return {
        "name": card.name,
        "title": card.title,
        "status": status,
        "prepared": manifest is not None or card.generate is not None,
        "complete": manifest["complete"] if manifest else card.generate is not None,
        "channels": card.channels,
        "length": card.length,
        "classes": card.classes,
        "tasks": task_counts(card.classes),
        "samples": samples,
        "download_bytes": card.download_bytes,
        "disk_bytes": _size(root / card.name) if manifest else 0,
        "licence": card.licence,
        "page": card.page,
    }


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@quiet
def load_stream(
    dataset: str = "demo",
    seed: int = FIRST_SEED,
    stream: StreamName = "exp",
    data: Path | str = DATA,
    split: SplitName = "published",
    classes_per_task: int = CLASSES_PER_TASK,
    *,
    verbose: bool = False,
) -> Stream:
    """The tasks of a data set, by name or by place, under a seed, with their test data."""
    from tsbench.data.catalogue import card
    from tsbench.runs.plan import choose_datasets

    root = Path(data)
    (name,) = choose_datasets([dataset], root)
    protocol = Protocol(stream=stream, split=split, classes_per_task=classes_per_task)
    return make_stream(load(card(name, root), root), seed, protocol)


@quiet
def run(
    method: str | type[Method[Any]],
    dataset: str = "demo",
    seed: int = FIRST_SEED,
    *,
    stream: StreamName = "exp",
    epochs: int = 100,
    norm: EncoderNorm = "ln",
    split: SplitName = "published",
    classes_per_task: int = CLASSES_PER_TASK,
    settings: Mapping[str, Any] | None = None,
    device: str = "cpu",
    threads: int = 1,
    data: Path | str = DATA,
    results: Path | str | None = None,
    verbose: bool = False,
) -> dict[str, Any]:
    """Run a method, given by name or as a class, in this process; returns its record.

    With ``results`` the record is stored there, and taken from there if it is done already. What a
    method raises is raised.
    """
    import torch

    from tsbench.learn.registry import register
    from tsbench.runs.execute import choose_device
    from tsbench.runs.machine import Machine, commit
    from tsbench.runs.plan import Request, plan
    from tsbench.runs.run_one import run_one
    from tsbench.runs.store import Store

    root = Path(data)
    request = Request(
        methods=[method if isinstance(method, str) else register(method)],
        datasets=[dataset],
        seeds=[seed],
        protocol=Protocol(stream, norm, epochs, split, classes_per_task),
        changes={name: str(value) for name, value in (settings or {}).items()},
    )
    (spec,) = plan(request, root).specs
    before = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as nowhere:
        store = Store(Path(nowhere if results is None else results))
        machine = Machine(
            data=root,
            shared=None if results is None else store.shared_folder,
            device=choose_device(device),
            threads=threads,
            commit=commit(),
        )
        try:
            outcome = run_one(
                spec,
                machine,
                store,
                progress=lambda task, epoch, loss: None,
                wait=lambda: say(f"{spec.title}: waiting, another process is running it"),
            )
        finally:
            torch.set_num_threads(before)
    if outcome.error is not None:
        raise outcome.error
    assert outcome.record is not None
    return outcome.record


@quiet
def read_records(results: Path | str = RESULTS, *, verbose: bool = False) -> pd.DataFrame:
    """All records of a results folder, one row per run; see docs/results.md for what they hold.

    What had to be left out is listed in the frame's ``attrs["left_out"]``.
    """
    import pandas as pd

    from tsbench.runs.store import Store

    records, problems = Store(Path(results)).records()
    for problem in problems:
        say(f"notice: {problem}; left out")
    frame = pd.DataFrame([_record_row(record) for record in records], columns=COLUMNS)
    frame.attrs["left_out"] = problems
    return frame


COLUMNS = [
    *("protocol", "dataset", "method", "seed", "status", "A_T", "F_T", "learning_accuracy"),
    *("backward_transfer", "pooled", "variance_ratio", "learn_seconds", "total_seconds"),
    *("kept_bytes", "parameters", "complete", "data_digest", "error", "hash"),
]


def _record_row(record: dict[str, Any]) -> dict[str, Any]:
    spec = record["spec"]
    row = {
        "protocol": spec["protocol"],
        "dataset": spec["dataset"],
        "method": record["label"],
        "seed": spec["seed"],
        "status": record["status"],
        "data_digest": spec.get("data_digest"),
        "hash": record["hash"],
    }
    if record["status"] != "ok":
        return {**row, "error": record["error"]}
    return {
        **row,
        **{name: value for name, value in record["result"].items() if name in COLUMNS},
        "learn_seconds": sum(record["time"]["learn"]),
        "total_seconds": record["time"]["total"],
        "kept_bytes": sum(record["memory"]["kept_bytes"].values()),
        "parameters": record["memory"]["parameters"],
        "complete": record["data"]["complete"],
    }
