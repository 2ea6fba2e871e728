"""tsbench from Python: what there is, streams, single runs, records as a table.

The functions are those the commands are made of; everything here is importable from ``tsbench``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tsbench.console import say
from tsbench.data.card import Card
from tsbench.data.prepared import authenticity, load, read_manifest
from tsbench.data.stream import FIRST_SEED, Stream, StreamName, make_stream
from tsbench.disk import locked
from tsbench.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

DATA, RESULTS = Path("datasets"), Path("results")


def list_methods() -> list[dict[str, Any]]:
    """All methods: name, title, family, what they keep, paper, hyper-parameters."""
    from tsbench.learn.catalogue import INFO, METHODS, hyper_parameters

    rows: list[dict[str, Any]] = []
    for name in METHODS.names():
        info = INFO.get(name)
        if info is None:
            rows.append({"name": name, "family": "plugin", "keeps": "", "paper": ""})
            continue
        rows.append(
            {
                "name": name,
                "title": info.title,
                "family": info.family,
                "keeps": info.keeps,
                "paper": info.paper,
                "hyper_parameters": {
                    h.name: {"default": h.default, "meaning": h.meaning}
                    for h in hyper_parameters(info.target)
                },
            }
        )
    return rows


def list_datasets(data: Path | str = DATA) -> list[dict[str, Any]]:
    """All data sets: name, title, shape, classes, and whether they are prepared in ``data``."""
    from tsbench.data.catalogue import DATASETS, card
    from tsbench.data.prepared import stored_names

    root = Path(data)
    return [_dataset_row(card(n, root), root) for n in [*DATASETS.names(), *stored_names(root)]]


def _dataset_row(card: Card, root: Path) -> dict[str, Any]:
    manifest, problem = None, ""
    try:
        manifest = read_manifest(card, root)
    except UserError as error:
        problem = str(error)
    if card.generate is not None:
        status = "built in"
    elif problem:
        status = f"unusable: {problem}"
    elif manifest is None:
        status = "not prepared"
    else:
        status = f"prepared, {authenticity(card, manifest)}"
    counts = (
        {split: about["samples"] for split, about in manifest["splits"].items()}
        if manifest
        else dict(card.published_counts)
    )
    return {
        "name": card.name,
        "title": card.title,
        "status": status,
        "prepared": manifest is not None or card.generate is not None,
        "complete": manifest["complete"] if manifest else card.generate is not None,
        "channels": card.channels,
        "length": card.length,
        "classes": card.classes,
        "tasks": card.tasks,
        "samples": counts,
        "download_bytes": card.download_bytes,
        "disk_bytes": _size(root / card.name) if manifest else 0,
        "licence": card.licence,
        "page": card.page,
    }


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def load_stream(
    dataset: str = "demo",
    seed: int = FIRST_SEED,
    stream: StreamName = "exp",
    data: Path | str = DATA,
) -> Stream:
    """The tasks of a data set, by name or by place, under a seed, with their test data."""
    from tsbench.bench.names import choose_datasets
    from tsbench.data.catalogue import card

    root = Path(data)
    (name,) = choose_datasets([dataset], root)
    return make_stream(load(card(name, root), root), seed, stream)


def run(
    method: str,
    dataset: str = "demo",
    seed: int = FIRST_SEED,
    *,
    stream: StreamName = "exp",
    epochs: int = 100,
    norm: str = "ln",
    settings: Mapping[str, Any] | None = None,
    device: str = "cpu",
    threads: int = 1,
    data: Path | str = DATA,
    results: Path | str | None = None,
) -> dict[str, Any]:
    """One run, here and now; its record.

    With ``results`` the record is stored there, and taken from there if it is done already. What a
    method raises is raised.
    """
    import torch

    from tsbench.bench.machine import Machine, commit
    from tsbench.bench.names import choose_datasets
    from tsbench.bench.plan import Request, make_specs
    from tsbench.bench.run import choose_device, execute
    from tsbench.bench.store import Store

    root = Path(data)
    changes = {name: str(value) for name, value in (settings or {}).items()}
    request = Request(
        [method], choose_datasets([dataset], root), [seed], stream, epochs, norm, changes
    )
    (spec,) = make_specs(request, root)
    store = None if results is None else Store(Path(results))
    machine = Machine(
        data=root,
        shared=store.shared_folder if store else None,
        device=choose_device(device),
        threads=threads,
        commit=commit(),
    )
    before = torch.get_num_threads()
    try:
        if store is None:
            return execute(spec, machine, _silent)
        with locked(store.lock_path(spec), lambda: say(f"{spec.title}: another process is at it")):
            record = store.done(spec)
            if record is None:
                record = execute(spec, machine, _silent)
                store.save(spec, record)
            return record
    finally:
        torch.set_num_threads(before)


def _silent(task: int, epoch: int, loss: float) -> None:
    pass


def read_records(results: Path | str = RESULTS) -> pd.DataFrame:
    """All records of a results folder, a row each; see docs/results.md for what they hold."""
    import pandas as pd

    from tsbench.bench.store import Store

    records, problems = Store(Path(results)).records()
    for problem in problems:
        say(f"notice: {problem}; left out")
    return pd.DataFrame([_record_row(record) for record in records], columns=COLUMNS)


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
