"""A folder of labelled series with a YAML card, as a data set."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from tsbench.data.arrays import Coverage, Split, Splits
from tsbench.data.card import Card, Origin, Tick
from tsbench.data.download import hash_file
from tsbench.data.lengths import fit
from tsbench.data.recipe import Recipe, read_recipe
from tsbench.data.series import (
    ENDINGS,
    Labelled,
    beside_of,
    files_of,
    numbered,
    read_series,
    together,
)
from tsbench.data.split import class_split, subject_split
from tsbench.errors import UserError
from tsbench.registry import closest

CARD = "card.yaml"
LEAST_MEMORY = 20
"""Samples a class of which 5 % are one: less would leave replay methods without a memory."""


@dataclass(frozen=True)
class Collection:
    """A folder whose card has been read, and its data not yet."""

    card_path: Path
    recipe: Recipe

    @property
    def folder(self) -> Path:
        """Where files are looked for."""
        return self.card_path.parent

    @property
    def name(self) -> str:
        """Of the data set."""
        return self.recipe.name or re.sub(r"[^\w.-]+", "-", self.folder.name).strip("-.")

    @cached_property
    def sources(self) -> list[dict[str, Any]]:
        """The card and the files it names, with their digests; many of them as one."""
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
    """The folder at ``path``, or of the card at ``path``; reads the card only."""
    card_path = path / CARD if path.is_dir() else path
    if path.is_dir() and not card_path.is_file():
        raise UserError(f"no {CARD} in it; write one: tsbench new-dataset {quote(str(path))}")
    if not card_path.is_file():
        raise UserError("there is no such folder or card")
    if path.suffix.lower() in ENDINGS:
        raise UserError("give the folder that it is in; tsbench new-dataset writes its card")
    return Collection(card_path.resolve(), read_recipe(card_path))


def _digest(sources: list[dict[str, Any]]) -> str:
    text = "".join(f"{source['name']}\0{source['sha256']}\n" for source in sources)
    return hashlib.sha256(text.encode()).hexdigest()


def _expect_alike(parts: dict[str, Labelled]) -> None:
    channels = {split: len(part.series[0]) for split, part in parts.items()}
    if len(set(channels.values())) > 1:
        told = " and ".join(f"{count} in {split}" for split, count in channels.items())
        raise UserError(f"different numbers of channels: {told}")


def _expect_dropped(drop: tuple[str, ...], parts: dict[str, Labelled]) -> None:
    known = {label for part in parts.values() for label in part.labels}
    for name in drop:
        if name not in known:
            raise UserError(f"'drop': there is no class '{name}'{closest(name, known)}")
