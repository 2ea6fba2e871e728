"""A data set of one small archive, and how to get it from a server with faults."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from faulty_server import FaultyServer

from tsbench.data.card import Card, RemoteFile
from tsbench.data.download import Fetcher
from tsbench.data.manifest import read_manifest
from tsbench.data.obtain import obtain
from tsbench.data.prepared import load
from tsbench.errors import UserError
from tsbench.protocol.samples import Coverage, Split, Splits

QUICK = Fetcher(tries=3, backoff=0.01, timeout=20)
"""Tries again at once, and does not take a busy machine for a lost connection."""


def series_zip() -> bytes:
    """A small archive: 8 classes × 20 series of 2 × 10 numbers, incompressible enough to cut."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        np.save(x := io.BytesIO(), np.random.default_rng(0).normal(size=(160, 2, 10)))
        archive.writestr("x.npy", x.getvalue())
    return buffer.getvalue()


def prepare(raw, tick) -> Splits:
    x = np.load(io.BytesIO(raw.find("x.npy").read())).astype(np.float32)
    y = np.repeat(np.arange(8), 20)
    tick(1, 1)
    return Splits(Split(x[::2], y[::2]), Split(x[1::2], y[1::2]), Coverage(1, 1, "files"))


BODY = series_zip()


def make_card(*urls: str, sha256: str | None = None, strict: bool = False) -> Card:
    return Card(
        name="small",
        title="Small",
        channels=2,
        length=10,
        class_names=tuple("abcdefgh"),
        input_norm="none",
        dropout=0.0,
        memory_per_class=20,
        licence="none",
        citation="none",
        page="https://example.org/small",
        prepare=prepare,
        files=(RemoteFile("a.zip", urls, len(BODY), sha256, strict),),
        published_counts={"train": 80, "test": 80},
    )


def get(server: FaultyServer, root: Path, **options) -> dict:
    card = make_card(server.root + "a.zip", **options)
    return obtain(card, root, fetcher=QUICK)


def assert_whole(root: Path) -> None:
    dataset = load(make_card(), root)
    assert dataset.splits.digest() == dataset.digest
    assert len(dataset.splits.train) == 72  # a tenth of 80 is held out: four tasks


def assert_nothing_loads(root: Path) -> None:
    assert read_manifest(make_card(), root) is None
    with pytest.raises(UserError, match="not prepared"):
        load(make_card(), root)
