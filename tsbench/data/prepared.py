"""Prepared data on disk: arrays in ``.npy``, and a manifest that says what they are.

``<data>/<name>/manifest.json`` names the folder of arrays beside it. The folder is complete before
the manifest is put in place by one rename, so what loads is always whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import uuid
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from tsbench import __version__
from tsbench.data.arrays import Coverage, Split, Splits, class_counts, finish, usable_classes
from tsbench.data.card import Card, Origin
from tsbench.disk import write_whole
from tsbench.errors import UserError

SCHEMA = 1
KEYS = {"splits", "digest", "complete", "coverage", "notes", "folder", "shape", "unexpected_counts"}
NAME = re.compile(r"\w[\w.-]{0,63}")
"""Names of data sets: they are names of folders, too."""
STORED = (
    "title",
    "channels",
    "length",
    "class_names",
    "input_norm",
    "dropout",
    "memory_per_class",
    "licence",
    "citation",
    "page",
)
"""What a manifest keeps of the card of somebody's own data set."""


class NewerSchema(UserError):
    """Written by a tsbench that knows more than this one."""


@dataclass(frozen=True)
class Dataset:
    """A data set ready for use: card, arrays (memory-mapped), and where they come from."""

    card: Card
    splits: Splits
    manifest: dict[str, Any]

    @property
    def digest(self) -> str:
        """Digest over all prepared arrays."""
        return str(self.manifest["digest"])

    @property
    def complete(self) -> bool:
        """Whether all of the official data is there."""
        return bool(self.manifest["complete"])

    @property
    def usable(self) -> list[int]:
        """Classes with samples enough to learn and test."""
        counts = {name: s["per_class"] for name, s in self.manifest["splits"].items()}
        train = np.array(counts["train"]) + np.array(counts.get("val", 0))
        return usable_classes(train, np.array(counts["test"]))


def home(root: Path, card: Card) -> Path:
    """The folder of a data set."""
    return root / card.name


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


def save(card: Card, splits: Splits, sources: list[dict[str, Any]], root: Path) -> dict[str, Any]:
    """Write arrays and manifest; an earlier version is replaced at once and then removed."""
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


def read_manifest(card: Card, root: Path) -> dict[str, Any] | None:
    """The manifest, or None when the data set is not prepared."""
    path = home(root, card) / "manifest.json"
    again = f"prepare it again: tsbench download {card.reference} --force"
    try:
        manifest = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"'{path}' cannot be read ({error}); {again}") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("schema"), int):
        raise UserError(f"'{path}' is not a manifest; {again}")
    if manifest["schema"] > SCHEMA:
        raise NewerSchema(
            f"{card.name} was prepared by a newer tsbench ({manifest.get('tsbench')}); "
            f"update tsbench, or {again}"
        )
    if not manifest.keys() >= KEYS or not (path.parent / str(manifest["folder"])).is_dir():
        raise UserError(f"what '{path}' tells of is incomplete; {again}")
    return manifest


def stored_card(name: str, root: Path) -> Card | None:
    """The card of somebody's own data set that is prepared under ``root``, or None."""
    if not NAME.fullmatch(name):
        return None
    path = root / name / "manifest.json"
    try:
        manifest = json.loads(path.read_text())
        if not isinstance(manifest, dict) or "card" not in manifest:
            return None
        about = {key: manifest["card"][key] for key in STORED}
        about["class_names"] = tuple(about["class_names"])
        return Card(name=name, origin=Origin(**manifest["origin"]), **about)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"'{path}' cannot be read ({error}); remove it") from error


def stored_names(root: Path) -> list[str]:
    """People's own data sets that are prepared under ``root``."""
    names = sorted(path.parent.name for path in root.glob("*/manifest.json"))
    return [name for name in names if _is_own(name, root)]


def _is_own(name: str, root: Path) -> bool:
    try:
        return stored_card(name, root) is not None
    except UserError:
        return False


def load(card: Card, root: Path) -> Dataset:
    """The data set from disk, memory-mapped; generated on the spot if it is that kind."""
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
            manifest = newer  # prepared anew between the two reads


def _load_arrays(card: Card, root: Path, manifest: dict[str, Any]) -> Dataset:
    folder = home(root, card) / manifest["folder"]
    splits = {
        name: _load_split(card, folder, name, about) for name, about in manifest["splits"].items()
    }
    coverage = Coverage(**manifest["coverage"])
    return Dataset(card, Splits(**splits, coverage=coverage, notes=manifest["notes"]), manifest)


def _load_split(card: Card, folder: Path, name: str, about: dict[str, Any]) -> Split:
    def array(kind: str) -> np.ndarray:
        path = folder / f"{name}.{kind}.npy"
        loaded: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
        return loaded

    try:
        subject = array("subject") if (folder / f"{name}.subject.npy").exists() else None
        split = Split(array("x"), np.asarray(array("y")), subject)
    except (OSError, ValueError) as error:
        raise UserError(
            f"the prepared arrays of {card.name} are damaged ({error}); "
            f"run: tsbench download {card.reference} --force"
        ) from error
    lengths = {len(array) for array in split.arrays().values()}
    if split.x.shape[1:] != (card.channels, card.length) or lengths != {about["samples"]}:
        raise UserError(
            f"the prepared arrays of {card.name} do not fit their manifest; "
            f"run: tsbench download {card.reference} --force"
        )
    return split


def verify(dataset: Dataset) -> None:
    """Raise unless the arrays on disk are, bit for bit, those of the manifest."""
    card = dataset.card
    if data_digest(card, dataset.splits) != dataset.digest:
        raise UserError(
            f"the prepared arrays of {card.name} have changed since they were prepared; "
            f"run: tsbench download {card.reference} --force"
        )


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
        return f"partial: {Coverage(**manifest['coverage'])}"
    if any(match is False for match in known):
        return "differs from the official data: results are not comparable"
    if manifest["unexpected_counts"]:
        return f"complete, but {manifest['unexpected_counts']}"
    if all(known):
        return "equals the official data"
    if any(known):
        return "training data equals the official data"
    return "complete; no official digest is known"
