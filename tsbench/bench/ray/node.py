"""A run on a node of a cluster that shares no disk with us: what the node lacks is brought to it.

A node keeps data, methods from files, and trained first tasks in a folder of its own
(``TSBENCH_CACHE``, or one of the user's among the temporary files). The run itself is done as on
any machine, by the local executor, in a fresh process.
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
from typing import Any

import numpy as np

from tsbench import __version__
from tsbench.bench.executor import Event
from tsbench.bench.local import LocalExecutor
from tsbench.bench.machine import Machine, expect_same_code
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.data.catalogue import card
from tsbench.data.prepared import load, verify
from tsbench.disk import locked, write_whole
from tsbench.errors import UserError

Parcel = dict[str, np.ndarray]
"""The files of a prepared data set, as bytes, by their path in its folder."""

_known: set[tuple[Path, str, str]] = set()
"""Data that this process has looked through: (folder, name, digest)."""


@dataclass(frozen=True)
class Order:
    """A run to be done on a node."""

    spec: RunSpec
    machine: Machine
    timeout: float | None = None
    source: bytes = b""
    """The file that the method is from, if it is from a file."""
    version: str = __version__
    digest: str = ""
    """Of the code that the run was planned with."""


class Lacking(Exception):
    """The node has no copy of the data."""


def pack(name: str, root: Path) -> Parcel:
    """A prepared data set, for nodes that lack it."""
    folder = load(card(name, root), root).manifest["folder"]
    home = root / name
    files = [home / "manifest.json", *sorted((home / folder).iterdir())]
    try:
        return {str(path.relative_to(home)): np.fromfile(path, np.uint8) for path in files}
    except OSError as error:
        raise UserError(f"cannot read the data of {name}: {error}") from error


def do(
    order: Order, fetch: Callable[[], Parcel | None], tell: Callable[[Event], None]
) -> dict[str, Any]:
    """Do a run here and return its record; ``fetch`` brings its data if they are not here."""
    try:
        expect_same_code(order.version, order.digest)
        cache = cache_folder()
        data = find_data(order, cache, fetch)
        spec = _with_local_file(order, cache)
        machine = replace(
            order.machine,
            data=data,
            shared=cache / "shared",
            gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),  # those that the cluster gave to this run
        )
        with tempfile.TemporaryDirectory(prefix="run-", dir=cache) as folder:
            store = Store(Path(folder))
            for event in LocalExecutor(store, machine, order.timeout, again=True).run([spec]):
                tell(replace(event, spec=order.spec))
            record = store.done(spec) or store.failed(spec)
    except OSError as error:
        raise UserError(f"node {socket.gethostname()}: {error}") from error
    if record is None:
        raise UserError(f"node {socket.gethostname()} could not store a record; is its disk full?")
    return {**record, "spec": order.spec.as_dict()}


def cache_folder() -> Path:
    """This node's folder; nobody else's, since what lies in it is trusted."""
    named = os.environ.get("TSBENCH_CACHE")
    if named:
        folder = Path(named)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if sys.platform == "win32":  # temporary files are the user's own there
        return Path(tempfile.gettempdir()) / "tsbench"
    folder = Path(tempfile.gettempdir()) / f"tsbench-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if folder.is_symlink() or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise UserError(f"'{folder}' is not ours alone; set TSBENCH_CACHE to a folder that is")
    return folder


def find_data(order: Order, cache: Path, fetch: Callable[[], Parcel | None]) -> Path:
    """A folder with the very data of a run: our own, the cache, or the cache once filled."""
    name, digest = order.spec.dataset, order.spec.data_digest
    kept = cache / "data" / digest[:16]
    for root in (order.machine.data, kept):
        if _holds(root, name, digest):
            return root
    with locked(kept / ".lock", waiting=lambda: None):
        if _holds(kept, name, digest):
            return kept
        parcel = fetch()
        if parcel is None:
            raise Lacking(name)
        _unpack(parcel, kept / name)
        if not _holds(kept, name, digest):
            raise UserError(f"{name} has been prepared anew since this run was planned")
    return kept


def _holds(root: Path, name: str, digest: str) -> bool:
    """Whether the data are there, bit for bit; looked at once a process."""
    if (root, name, digest) not in _known:
        try:
            dataset = load(card(name, root), root)
            if dataset.digest != digest:
                return False
            verify(dataset)
        except UserError:
            return False
        _known.add((root, name, digest))
    return True


def _unpack(parcel: Parcel, home: Path) -> None:
    """Write the files; the manifest last, since it says that the others are there."""
    shutil.rmtree(home, ignore_errors=True)
    for name in sorted(parcel, key=lambda name: name == "manifest.json"):
        write_whole(home / name, parcel[name].tobytes())


def _with_local_file(order: Order, cache: Path) -> RunSpec:
    """The run with its method's file where it lies on this node."""
    if not order.source:
        return order.spec
    path, _, kind = order.spec.method.rpartition(":")
    local = cache / "methods" / order.spec.code / Path(path).name
    if not local.is_file() or local.read_bytes() != order.source:
        write_whole(local, order.source)
    return replace(order.spec, method=f"{local}:{kind}")
