"""Prepared data on disk: arrays in ``.npy``, and a manifest that says what they are.

``<data>/<name>/manifest.json`` names the folder of arrays beside it. The folder is complete before
the manifest is put in place by one rename, so what loads is always whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from tsbench import __version__
from tsbench.data.card import Card
from tsbench.data.finish import finish
from tsbench.data.manifest import SCHEMA, STORED, STORED_IF_SET, home, read_manifest
from tsbench.data.raw import ZIP_FAULTS
from tsbench.disk import write_whole
from tsbench.errors import UserError
from tsbench.protocol.rules import memory_budget
from tsbench.protocol.samples import (
    Coverage,
    Split,
    Splits,
    class_counts,
    update_digest,
    usable_classes,
)

EXTRAS = ("subject", "recording")
"""Arrays that a split may have."""


@dataclass(frozen=True)
class Dataset:
    """A data set ready for use: card, arrays (memory-mapped), and where they come from."""

    card: Card
    splits: Splits
    manifest: dict[str, Any]

    @property
    def name(self) -> str:
        """The name of the data set."""
        return self.card.name

    @property
    def classes(self) -> int:
        """Classes of the complete data set."""
        return self.card.classes

    @property
    def digest(self) -> str:
        """Digest over all prepared arrays."""
        return str(self.manifest["digest"])

    @property
    def complete(self) -> bool:
        """Whether the official data is complete."""
        return bool(self.manifest["complete"])

    @property
    def own_test_subjects(self) -> bool:
        """Whether the official test set is of people who are not in the training data."""
        return self.card.own_test_subjects

    @property
    def recordings(self) -> str:
        """What the recordings are, in words; empty where they are not known."""
        return self.card.recordings

    @property
    def reference(self) -> str:
        """What the data set is called on the command line."""
        return self.card.reference

    def budget(self, classes: int) -> int:
        """Samples that a replay method may keep in a stream of so many classes."""
        return memory_budget(self.card.memory_per_class, classes)

    @property
    def usable(self) -> list[int]:
        """Classes with enough samples to learn and test."""
        counts = {name: s["per_class"] for name, s in self.manifest["splits"].items()}
        train = np.array(counts["train"]) + np.array(counts.get("val", 0))
        return usable_classes(train, np.array(counts["test"]))


def data_digest(card: Card, splits: Splits) -> str:
    """Digest over all arrays, and for somebody's own data over what else changes a run."""
    digest = splits.digest()
    if card.origin is None:
        return digest
    used = (digest, card.classes, card.input_norm, card.dropout, card.memory_per_class)
    return hashlib.sha256(json.dumps(used).encode()).hexdigest()


def describe(card: Card, splits: Splits, sources: list[dict[str, Any]]) -> dict[str, Any]:
    """The manifest of prepared arrays."""
    described = {
        name: {
            "samples": len(split),
            "per_class": class_counts(split, card.classes).tolist(),
            "digest": split.digest(),
            **_recording_digest(split),
        }
        for name, split in splits.items()
    }
    unexpected = [
        f"{len(split)} {name} samples where {card.published_counts[name]} are published"
        for name, split in splits.items()
        if card.published_counts.get(name, len(split)) != len(split)
    ]
    own = {}
    if card.origin is not None:
        kept = {key: getattr(card, key) for key in STORED}
        kept |= {key: value for key in STORED_IF_SET if (value := getattr(card, key))}
        own = {"origin": asdict(card.origin), "card": {**kept, "class_names": [*card.class_names]}}
    return {
        "schema": SCHEMA,
        "dataset": card.name,
        "tsbench": __version__,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "shape": [card.channels, card.length],
        "complete": splits.coverage.complete,
        "coverage": asdict(splits.coverage),
        "unexpected_counts": ", ".join(unexpected) if splits.coverage.complete else "",
        "notes": splits.notes,
        "splits": described,
        "digest": data_digest(card, splits),
        "sources": sources,
        **own,
    }


def _recording_digest(split: Split) -> dict[str, str]:
    """The digest of the recordings, where there are any; that of the samples leaves them out."""
    if split.recording is None:
        return {}
    h = hashlib.sha256()
    update_digest(h, "recording", split.recording)
    return {"recording_digest": h.hexdigest()}


def save(card: Card, splits: Splits, sources: list[dict[str, Any]], root: Path) -> dict[str, Any]:
    """Write arrays and manifest; an earlier version is replaced atomically and then removed."""
    folder = home(root, card)
    manifest = describe(card, splits, sources)
    manifest["folder"] = f"arrays-{uuid.uuid4().hex[:12]}"
    target = folder / manifest["folder"]
    try:
        target.mkdir(parents=True)
        for name, split in splits.items():
            for kind, array in split.arrays().items():
                _save_array(target / f"{name}.{kind}.npy", array)
        write_whole(folder / "manifest.json", json.dumps(manifest, indent=1).encode())
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    remove_leftovers(folder, target.name)
    return manifest


def _save_array(path: Path, array: np.ndarray) -> None:
    try:
        with path.open("wb") as file:
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write '{path}': {reason}; is the disk full?") from error


def remove_leftovers(folder: Path, keep: str) -> None:
    """Remove earlier versions of the arrays, and what a killed process left."""
    for old in folder.glob("arrays-*"):
        if old.name != keep:
            shutil.rmtree(old, ignore_errors=True)


def load(card: Card, root: Path) -> Dataset:
    """The data set from disk, memory-mapped; generated data is generated now."""
    if card.generate is not None:
        splits = finish(card, card.generate())
        return Dataset(card, splits, describe(card, splits, sources=[]))
    manifest = read_manifest(card, root)
    if manifest is None:
        raise UserError(f"{card.name} is not prepared; run: tsbench download {card.reference}")
    while True:
        try:
            return _load_arrays(card, root, manifest)
        except UserError:
            newer = read_manifest(card, root)
            if newer is None or newer == manifest:
                raise
            manifest = newer  # prepared again between the two reads


def _load_arrays(card: Card, root: Path, manifest: dict[str, Any]) -> Dataset:
    folder = home(root, card) / manifest["folder"]
    splits = {
        name: _load_split(card, folder, name, about) for name, about in manifest["splits"].items()
    }
    coverage = coverage_of(manifest)
    return Dataset(card, Splits(**splits, coverage=coverage, notes=manifest["notes"]), manifest)


def coverage_of(manifest: dict[str, Any]) -> Coverage:
    """How much of the official data was prepared."""
    about = manifest["coverage"]
    return Coverage(about["found"], about["expected"], about["unit"])


def _load_split(card: Card, folder: Path, name: str, about: dict[str, Any]) -> Split:
    def array(kind: str) -> np.ndarray:
        path = folder / f"{name}.{kind}.npy"
        if not path.is_file():  # a pipe would wait for ever
            raise OSError(f"'{path.name}' is missing")
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(loaded, np.ndarray) or not loaded.ndim:
            raise ValueError(f"'{path.name}' is not an array of samples")
        return loaded

    try:
        known = [kind for kind in EXTRAS if (folder / f"{name}.{kind}.npy").exists()]
        extras = {kind: np.asarray(array(kind)) for kind in known}
        split = Split(array("x"), np.asarray(array("y")), **extras)
    except ZIP_FAULTS as error:  # of .npy files too, and of whatever is in their place
        raise _unusable(card, f"are damaged ({error})") from error
    lengths = {len(array) for array in split.arrays().values()}
    expected = (card.channels, card.length), {about["samples"]}, card.classes
    if (split.x.shape[1:], lengths, len(about["per_class"])) != expected:
        raise _unusable(card, "do not match their manifest")
    return split


def _unusable(card: Card, problem: str) -> UserError:
    again = f"run: tsbench download {card.reference} --force"
    return UserError(f"the prepared arrays of {card.name} {problem}; {again}")


def verify(dataset: Dataset) -> None:
    """Raise unless the arrays on disk are, bit for bit, those of the manifest."""
    card = dataset.card
    splits, described = dataset.splits, dataset.manifest["splits"]
    recordings = [
        _recording_digest(split).items() <= described[n].items() for n, split in splits.items()
    ]
    if data_digest(card, splits) != dataset.digest or not all(recordings):
        raise _unusable(card, "have changed since they were prepared")


def authenticity(card: Card, manifest: dict[str, Any]) -> str:
    """Whether the arrays are the known official ones, in words."""
    known = [
        about["digest"] == card.digests[name] if name in card.digests else None
        for name, about in manifest["splits"].items()
    ]
    if not manifest["sources"]:
        return "built in"
    if card.origin is not None and manifest["complete"]:
        return f"from '{card.origin.path}'"
    if not manifest["complete"]:
        return f"partial: {coverage_of(manifest)}"
    if any(match is False for match in known):
        return "differs from the official data: results are not comparable"
    if manifest["unexpected_counts"]:
        return f"complete, but {manifest['unexpected_counts']}"
    if all(known):
        return "equals the official data"
    if any(known):
        return "training data equals the official data"
    return "complete; no official digest is known"
