"""The manifest of a prepared data set: what it holds, and reading one that may be damaged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tsbench.console import printable, say
from tsbench.data.card import Card, InputNorm, Origin
from tsbench.errors import UserError
from tsbench.schema import NotRequired, TypedDict, mismatches, read_json

SCHEMA = 1
FILE = "manifest.json"
NAME = re.compile(r"\w[\w.-]{0,63}")
"""Valid names of data sets; they are also names of folders."""
FOLDER = re.compile(r"arrays-\w+")


class AboutSplit(TypedDict):
    """One split."""

    samples: int
    per_class: list[int]
    digest: str


class AboutCoverage(TypedDict):
    """How much of the official data there was."""

    found: int
    expected: int
    unit: str


class StoredCard(TypedDict):
    """The part of a custom data set's card that its manifest stores."""

    title: str
    channels: int
    length: int
    class_names: list[str]
    input_norm: InputNorm
    dropout: float
    memory_per_class: int
    licence: str
    citation: str
    page: str
    own_test_subjects: NotRequired[bool]
    recordings: NotRequired[str]


class StoredOrigin(TypedDict):
    """Where a custom data set comes from."""

    path: str
    digest: str


class Manifest(TypedDict):
    """What ``manifest.json`` holds."""

    schema: int
    tsbench: str
    shape: list[int]
    complete: bool
    coverage: AboutCoverage
    unexpected_counts: str
    notes: dict[str, int]
    splits: dict[str, dict[str, Any]]
    digest: str
    folder: str
    sources: list[dict[str, Any]]
    card: NotRequired[StoredCard]
    origin: NotRequired[StoredOrigin]


STORED_IF_SET = ("own_test_subjects", "recordings")
"""Stored where it is not the default."""
STORED = tuple(name for name in StoredCard.__annotations__ if name not in STORED_IF_SET)


class NewerSchema(UserError):
    """Written by a newer tsbench."""


def home(root: Path, card: Card) -> Path:
    """The folder of a data set."""
    return root / card.name


def read_manifest(card: Card, root: Path) -> dict[str, Any] | None:
    """The manifest, or None when the data set is not prepared."""
    path = home(root, card) / FILE
    again = f"prepare it again: tsbench download {card.reference} --force"
    try:
        manifest = read_json(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UserError(printable(f"'{path}' cannot be read ({error}); {again}")) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("schema"), int):
        raise UserError(f"'{path}' is not a manifest; {again}")
    if manifest["schema"] > SCHEMA:
        raise NewerSchema(
            f"{card.name} was prepared by a newer tsbench ({manifest.get('tsbench')}); "
            f"update tsbench, or {again}"
        )
    problem = _problem(manifest, path.parent)
    if problem and _is_replaced(path, manifest):
        return read_manifest(card, root)
    if problem:
        raise UserError(f"'{path}' is not a valid manifest: {problem}; {again}")
    return manifest


def _is_replaced(path: Path, manifest: dict[str, Any]) -> bool:
    """Whether another process has prepared the data again since the manifest was read."""
    try:
        return bool(read_json(path) != manifest)
    except (OSError, ValueError):
        return False


def _problem(manifest: dict[str, Any], folder: Path) -> str:
    """What is wrong with a manifest, in words; empty if nothing is."""
    for mismatch in mismatches(manifest, Manifest):
        return mismatch
    splits = manifest["splits"]
    if not {"train", "test"} <= splits.keys() <= {"train", "val", "test"}:
        return "it lacks a split, or has one too many"
    for name, about in splits.items():
        for mismatch in mismatches(about, AboutSplit, f"splits.{name}"):
            return mismatch
        if about["samples"] != sum(about["per_class"]) or min(about["per_class"], default=0) < 0:
            return f"splits.{name}.samples is {about['samples']}, its classes have others"
    if len({len(about["per_class"]) for about in splits.values()}) > 1:
        return "its splits have different numbers of classes"
    if not FOLDER.fullmatch(manifest["folder"]) or not (folder / manifest["folder"]).is_dir():
        return "the folder of its arrays is missing"
    return ""


def stored_card(name: str, root: Path) -> Card | None:
    """The card of a custom data set that is prepared under ``root``, or None."""
    if not NAME.fullmatch(name):
        return None
    path = root / name / FILE
    try:
        manifest = read_json(path)
        if not isinstance(manifest, dict) or "card" not in manifest:
            return None
        for mismatch in mismatches(manifest["card"], StoredCard, "card"):
            raise ValueError(mismatch)
        for mismatch in mismatches(manifest.get("origin"), StoredOrigin, "origin"):
            raise ValueError(mismatch)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UserError(printable(f"'{path}' cannot be read ({error}); remove it")) from error
    about = {key: value for key, value in manifest["card"].items() if key in STORED + STORED_IF_SET}
    about["class_names"] = tuple(about["class_names"])
    origin = Origin(manifest["origin"]["path"], manifest["origin"]["digest"])
    return Card(name=name, origin=origin, **about)


def stored_names(root: Path) -> list[str]:
    """Custom data sets that are prepared under ``root``; prints which cannot be used."""
    names = []
    for path in sorted(root.glob(f"*/{FILE}")):
        try:
            if stored_card(path.parent.name, root) is not None:
                names.append(path.parent.name)
        except UserError as error:
            say(f"notice: {error}; left out")
    return names
