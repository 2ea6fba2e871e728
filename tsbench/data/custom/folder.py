"""A folder of labelled series with a YAML card, or a pair of .ts files, as a data set."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from tsbench.data.card import Card, Origin, Tick
from tsbench.data.custom.lengths import fit
from tsbench.data.custom.recipe import Files, Recipe, read_recipe
from tsbench.data.custom.series import (
    ENDINGS,
    Labelled,
    beside_of,
    files_of,
    numbered,
    read_series,
    together,
)
from tsbench.data.download import hash_file
from tsbench.errors import UserError
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.splits import class_split, subject_split
from tsbench.registry import closest

CARD = "card.yaml"
TRAIN, TEST = "_train.ts", "_test.ts"
"""How the files of the UCR/UEA archive end, in small letters."""
LEAST_MEMORY = 20
"""Samples per class of which 5 % are one: fewer would leave replay methods without a memory."""


@dataclass(frozen=True)
class Collection:
    """A folder whose card has been read, but not yet its data."""

    card_path: Path
    """The card; for a pair of files without a card, the first of them."""
    recipe: Recipe

    @property
    def folder(self) -> Path:
        """The folder of the files."""
        return self.card_path.parent

    @property
    def name(self) -> str:
        """Name of the data set."""
        return self.recipe.name or valid_name(self.folder.name)

    @cached_property
    def sources(self) -> list[dict[str, Any]]:
        """The card and the files it names, with their digests; many files get one digest."""
        paths = [self.card_path]
        for _, files in self._parts():
            paths += [*files_of(self.folder, files), *beside_of(self.folder, files)]
        found: list[dict[str, Any]] = []
        for path in dict.fromkeys(paths):
            digest, size = hash_file(path)
            inside = path.is_relative_to(self.folder)
            name = path.relative_to(self.folder).as_posix() if inside else path.name
            found.append({"name": name, "sha256": digest, "bytes": size})
        if len(found) <= 20:
            return found
        total = sum(source["bytes"] for source in found)
        return [{"name": f"{len(found)} files", "sha256": _digest(found), "bytes": total}]

    @property
    def origin(self) -> Origin:
        """The card's path, and a digest over all files."""
        return Origin(str(self.card_path), _digest(self.sources))

    def read(self, tick: Tick) -> tuple[Card, Splits]:
        """The data set's card and its arrays."""
        recipe = self.recipe
        parts: dict[str, Labelled] = {}
        for split, files in self._parts():
            parts[split] = read_series(self.folder, files, recipe.axes)
            tick(len(parts), len(self._parts()))
        _expect_alike(parts)
        _expect_dropped(recipe.drop, parts)
        kept = {split: part.without(recipe.drop) for split, part in parts.items()}
        everything = together(list(kept.values()))
        if not len(everything):
            raise UserError("no series are left: all classes are dropped")
        class_names, y = numbered(everything.labels)
        x, notes = fit(everything.series, recipe.length, recipe.unequal, recipe.missing)
        subject = None
        if everything.subjects is not None:
            subject = numbered(everything.subjects)[1].astype(np.int32)
        whole = Split(x, y, subject)
        if "data" in kept:
            train, test = self._split(whole)
        else:
            train, test = np.split(np.arange(len(y)), [len(kept["train"])])
        a_class = len(train) // len(class_names)
        memory = recipe.memory_per_class
        card = Card(
            name=self.name,
            title=recipe.title or self.name,
            channels=x.shape[1],
            length=x.shape[2],
            class_names=class_names,
            input_norm=recipe.input_norm,
            dropout=recipe.dropout,
            memory_per_class=max(LEAST_MEMORY, a_class) if memory is None else memory,
            licence=recipe.licence,
            citation=recipe.citation,
            page=recipe.page,
            own_test_subjects="data" not in kept and _apart(subject, train, test),
            origin=self.origin,
        )
        coverage = Coverage(len(y), len(y), "series")
        return card, Splits(whole.take(train), whole.take(test), coverage, notes=notes)

    def _parts(self) -> list[tuple[str, Any]]:
        named = [(s, getattr(self.recipe, s)) for s in ("train", "test", "data")]
        return [(split, files) for split, files in named if files is not None]

    def _split(self, whole: Split) -> tuple[np.ndarray, np.ndarray]:
        recipe = self.recipe
        if recipe.split_by == "class" or (recipe.split_by is None and whole.subject is None):
            return class_split(whole.y, recipe.test_share, recipe.split_seed)
        if whole.subject is None:
            raise UserError("'split_by: subject' in the card, but no subjects are given")
        return subject_split(whole.subject, recipe.test_share, recipe.split_seed)


def open_collection(path: Path) -> Collection:
    """The folder at ``path``, or that of the card at ``path``; reads only the card.

    A pair of files from the UCR/UEA archive, ``Name_TRAIN.ts`` and ``Name_TEST.ts``, needs no card:
    ``path`` is their folder, ``Name`` in that folder, or the first of them.
    """
    card_path = path / CARD if path.is_dir() else path
    if not card_path.is_file() or card_path.name.lower().endswith(TRAIN):
        pair = _archive_pair(path)
        if pair is not None:
            return pair
    if path.is_dir() and not card_path.is_file():
        raise UserError(f"no {CARD} in it; write one: tsbench new-dataset {quote(str(path))}")
    if not card_path.is_file():
        raise UserError("there is no such folder or card")
    if path.suffix.lower() in ENDINGS:
        raise UserError("give the folder that it is in; tsbench new-dataset writes its card")
    return Collection(card_path.resolve(), read_recipe(card_path))


def _archive_pair(path: Path) -> Collection | None:
    """The two files of a data set of the UCR/UEA archive; None if there are none."""
    folder = path if path.is_dir() else path.parent
    names = [p.name for p in folder.iterdir() if p.is_file()] if folder.is_dir() else []
    sides = [{n[: -len(end)]: n for n in names if n.lower().endswith(end)} for end in (TRAIN, TEST)]
    found = sorted(sides[0].keys() & sides[1].keys())
    if not path.is_dir():
        wanted = path.name[: -len(TRAIN)] if path.name.lower().endswith(TRAIN) else path.name
        found = [name for name in found if name == wanted]
    elif folder.resolve().name in found:
        found = [folder.resolve().name]
    if len(found) > 1:
        raise UserError(f"several data sets in it; give one of them: {folder / found[0]}")
    if not found:
        return None
    train, test = (side[found[0]] for side in sides)
    recipe = Recipe(
        name=valid_name(found[0]),
        train=Files(train),
        test=Files(test),
        unequal="pad",
        missing="interpolate",
    )
    return Collection((folder / train).resolve(), recipe)


def valid_name(text: str) -> str:
    """A name for a data set from that of a folder or file."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")


def _digest(sources: list[dict[str, Any]]) -> str:
    text = "".join(f"{source['name']}\0{source['sha256']}\n" for source in sources)
    return hashlib.sha256(text.encode()).hexdigest()


def _apart(subject: np.ndarray | None, train: np.ndarray, test: np.ndarray) -> bool:
    """Whether nobody is in both parts; False where the subjects are not known."""
    return subject is not None and not set(subject[train]) & set(subject[test])


def _expect_alike(parts: dict[str, Labelled]) -> None:
    channels = {split: len(part.series[0]) for split, part in parts.items()}
    if len(set(channels.values())) > 1:
        counts = " and ".join(f"{count} in {split}" for split, count in channels.items())
        raise UserError(f"different numbers of channels: {counts}")


def _expect_dropped(drop: tuple[str, ...], parts: dict[str, Labelled]) -> None:
    known = {label for part in parts.values() for label in part.labels}
    for name in drop:
        if name not in known:
            raise UserError(f"'drop': there is no class '{name}'{closest(name, known)}")
