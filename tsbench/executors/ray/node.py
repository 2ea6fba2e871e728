"""A run on a node of a cluster without a shared disk: what the node lacks is sent to it.

A node keeps data, methods from files and trained first tasks in a folder of its own
(``TSBENCH_CACHE``, or a private one among the temporary files). The run itself is executed as on
any machine, by the local executor.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tsbench.data.catalogue import card
from tsbench.data.prepared import load, verify
from tsbench.disk import locked, remove_leftovers, write_whole
from tsbench.errors import UserError
from tsbench.executors.base import Event
from tsbench.executors.local import LocalExecutor
from tsbench.runs.machine import Machine, check_node
from tsbench.runs.record import Record
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

DataFiles = dict[str, np.ndarray]
"""The files of a prepared data set, as bytes, by their path in its folder."""


@dataclass(frozen=True)
class Order:
    """A run to be executed on a node."""

    spec: RunSpec
    machine: Machine
    source: bytes = b""
    """The file that the method is from, if it is from a file."""


def read_data(name: str, root: Path) -> DataFiles:
    """A prepared data set, for nodes that lack it."""
    folder = load(card(name, root), root).manifest["folder"]
    home = root / name
    files = [home / "manifest.json", *sorted((home / folder).iterdir())]
    try:
        return {str(path.relative_to(home)): np.fromfile(path, np.uint8) for path in files}
    except OSError as error:
        raise UserError(f"cannot read the data of {name}: {error}") from error


def execute_order(
    order: Order, fetch: Callable[[], DataFiles], report: Callable[[Event], None]
) -> Record:
    """Execute a run here and return its record; ``fetch`` gets its data if they are not here."""
    try:
        check_node(order.machine)
        cache = cache_folder()
        machine = replace(
            order.machine,
            data=find_data(order, cache, fetch),
            shared=cache / "shared",
            gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),  # those that Ray gave to this run
        )
        spec = _with_local_file(order, cache)
        remove_leftovers(cache, "shared")
        with tempfile.TemporaryDirectory(prefix="run-", dir=cache) as folder:
            store = Store(Path(folder))
            for event in LocalExecutor(store, machine).run([spec]):
                report(replace(event, spec=order.spec))
            record = store.done(spec) or store.failed(spec)
    except OSError as error:
        raise UserError(f"node {socket.gethostname()}: {error}") from error
    if record is None:
        raise UserError(f"node {socket.gethostname()} could not store a record; is its disk full?")
    return {**record, "spec": order.spec.as_dict()}


def cache_folder() -> Path:
    """This node's folder; nobody else may write to it, since its contents are trusted."""
    named = os.environ.get("TSBENCH_CACHE")
    if named or sys.platform == "win32":  # where temporary files are the user's own
        folder = Path(named or Path(tempfile.gettempdir()) / "tsbench")
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    folder = Path(tempfile.gettempdir()) / f"tsbench-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if folder.is_symlink() or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise UserError(f"others can write to '{folder}'; set TSBENCH_CACHE to a private folder")
    return folder


def find_data(order: Order, cache: Path, fetch: Callable[[], DataFiles]) -> Path:
    """A folder with exactly the data of a run: the given one, or the cache, filled if need be."""
    name, digest = order.spec.dataset, order.spec.data_digest
    kept = cache / "data" / digest[:16]
    for root in (order.machine.data, kept):
        if _holds(root, name, digest):
            return root
    with locked(kept / ".lock", waiting=lambda: None):
        if not _holds(kept, name, digest):
            _write_data(fetch(), kept / name)
            if not _holds(kept, name, digest):
                raise UserError(f"{name} has been prepared again since this run was planned")
    return kept


def _holds(root: Path, name: str, digest: str) -> bool:
    """Whether the data are there, bit for bit."""
    try:
        dataset = load(card(name, root), root)
        if dataset.digest == digest:
            verify(dataset)
        return dataset.digest == digest
    except UserError:
        return False


def _write_data(files: DataFiles, home: Path) -> None:
    """Write the files; the manifest last, since it says that the others are there."""
    shutil.rmtree(home, ignore_errors=True)
    for name in sorted(files, key=lambda name: name == "manifest.json"):
        write_whole(home / name, files[name].tobytes())


def _with_local_file(order: Order, cache: Path) -> RunSpec:
    """The run with its method's file as it is stored on this node."""
    if not order.source:
        return order.spec
    path, _, kind = order.spec.method.rpartition(":")
    local = cache / "methods" / order.spec.code / Path(path).name
    if not local.is_file() or local.read_bytes() != order.source:
        write_whole(local, order.source)
    return replace(order.spec, method=f"{local}:{kind}")
