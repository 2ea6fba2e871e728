"""People's own data sets: a folder with a YAML card, or a card in a Python file.

They are prepared under the data folder like any other, and their card goes into the manifest: a
run, in whatever process or on whatever machine, needs a name and the prepared arrays, not the place
they come from. When that place changes they are prepared again.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tsbench import __version__
from tsbench.console import Meter, say
from tsbench.data.arrays import HOLD_OUT_BELOW, Splits, class_counts, finish
from tsbench.data.card import Card, Origin, Tick
from tsbench.data.catalogue import DATASETS
from tsbench.data.catalogue import card as known_card
from tsbench.data.collection import LEAST_MEMORY, open_collection
from tsbench.data.download import hash_file
from tsbench.data.obtain import keep, obtain
from tsbench.data.prepared import NAME, Dataset, describe, home, load, read_manifest, stored_card
from tsbench.data.stream import CLASSES_PER_TASK, VALIDATION_TASKS
from tsbench.disk import locked
from tsbench.errors import UserError

LEAST_STEPS = 9
"""The shortest series that every method takes."""
SHOWN = 12
"""Class names that are told at most."""
RESERVED = ("all", "default")


def is_own(reference: str) -> bool:
    """Whether a data set is given by its place, not by its name."""
    return _in_file(reference) or reference.endswith((".yaml", ".yml")) or _is_path(reference)


def own_name(reference: str) -> str:
    """The name of the data set at a place; what is no place is a name already."""
    if not is_own(reference):
        return reference
    with _told(reference):
        if _in_file(reference):
            return _card_in_file(reference).name
        return open_collection(Path(reference)).name


def bring(
    reference: str,
    root: Path,
    source: Path | None = None,
    force: bool = False,
    fetch: bool = False,
) -> Card:
    """The data set at a place, prepared under ``root`` as it is now.

    ``source`` is where the files are that its card would have downloaded; without it they are
    fetched only if ``fetch``.
    """
    with _told(reference):
        card = _card_in_file(reference) if _in_file(reference) else None
        if card is not None and card.generate is None:
            return _obtained(card, root, source, force, fetch)
        return _prepared(_folder(reference) if card is None else _generator(card), root, force)


def read_once(reference: str) -> tuple[Card, Splits]:
    """The data set at a place, read and checked, and not stored; not for what is downloaded."""
    with _told(reference):
        card = _card_in_file(reference) if _in_file(reference) else None
        if card is not None and card.generate is None:
            raise UserError(f"{card.name} has to be downloaded first: tsbench download {reference}")
        place = _folder(reference) if card is None else _generator(card)
        return _finished(*place.read(_silent))


@dataclass(frozen=True)
class _Place:
    """What is known of a data set that can be read, before it is."""

    name: str
    origin: Origin
    sources: list[dict[str, Any]]
    read: Callable[[Tick], tuple[Card, Splits]]


def _folder(reference: str) -> _Place:
    found = open_collection(Path(reference))
    _expect_free(found.name)
    return _Place(found.name, found.origin, found.sources, found.read)


def _generator(card: Card) -> _Place:
    assert card.origin is not None and card.generate is not None
    generate, path = card.generate, _file_of(card.origin)
    digest, size = hash_file(path)

    def read(tick: Tick) -> tuple[Card, Splits]:
        with contextlib.redirect_stdout(sys.stderr):  # what somebody's code prints is no data
            return card, generate()

    sources = [{"name": path.name, "sha256": digest, "bytes": size}]
    return _Place(card.name, card.origin, sources, read)


def _file_of(origin: Origin) -> Path:
    """The file itself, without the name in it."""
    return Path(origin.path.rpartition(":")[0] if _in_file(origin.path) else origin.path)


def _silent(done: int, total: int) -> None:
    pass


def _is_path(reference: str) -> bool:
    return reference in (".", "..") or "/" in reference or "\\" in reference


def _in_file(reference: str) -> bool:
    return ".py:" in reference or reference.endswith(".py")


@contextlib.contextmanager
def _told(reference: str) -> Iterator[None]:
    """Whatever goes wrong inside is the data set's fault, and says whose."""
    try:
        yield
    except UserError as error:
        place = reference.rpartition(":")[0] if _in_file(reference) else reference
        named = "" if place and f"'{place}" in str(error) else f"{reference}: "
        raise type(error)(f"{named}{error}") from error
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{reference}: cannot use '{error.filename}': {reason}") from error
    except (Exception, SystemExit) as error:
        raise UserError(f"{reference}: {type(error).__name__}: {error}") from error


def _card_in_file(reference: str) -> Card:
    card = known_card(reference)
    _expect_free(card.name)
    path, _, name = reference.rpartition(":")
    return replace(card, origin=Origin(f"{Path(path).resolve()}:{name}"))


def _expect_free(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is no name for a data set: use letters, digits, '-', '_', '.'")
    if name in RESERVED or name in DATASETS.names():
        raise UserError(f"the name '{name}' is taken; give the data set another one")


def _prepared(place: _Place, root: Path, force: bool) -> Card:
    """What a place holds, stored unless it is there already."""
    name = place.name
    before = _before(name, root)
    if before is not None and not force and _same(before, place.origin):
        return before.card
    started = time.monotonic()
    with Meter(f"{name}: reading", 1) as meter:
        card, splits = _finished(*place.read(meter.to))
    now = describe(card, splits, place.sources)
    if before is not None and not force:
        if _fits(before, now):
            return before.card
        _expect_ours(before, place.origin)
        say(f"{name}: has changed since it was prepared; earlier runs are of other data")
    with locked(home(root, card) / ".lock", lambda: say(f"{name}: another process is at it")):
        meanwhile = _before(name, root)
        if meanwhile is not None and not force and _fits(meanwhile, now):
            return meanwhile.card
        keep(card, splits, place.sources, root, started)
    return _introduced(card, root)


def _obtained(card: Card, root: Path, source: Path | None, force: bool, fetch: bool) -> Card:
    """A data set of files that are downloaded, or that lie beside the card."""
    assert card.origin is not None
    file = _file_of(card.origin)
    card = replace(card, origin=Origin(card.origin.path, hash_file(file)[0]))
    assert card.origin is not None
    before = _before(card.name, root)
    if before is not None and not force:
        if _same(before, card.origin):
            return before.card
        _expect_ours(before, card.origin)
        say(f"{card.name}: its file has changed since it was prepared; preparing again")
    raw = home(root, card) / "raw"
    if source is None and not card.download_bytes:
        source = file.parent
    elif source is None and before is not None and not force and raw.is_dir():
        source = raw
    elif source is None and not fetch:
        raise UserError(f"{card.name} is not prepared; run: tsbench download {card.reference}")
    _expect_sound(card)
    with contextlib.redirect_stdout(sys.stderr):
        obtain(card, root, source, force=force or before is not None)
    return _introduced(card, root)


def _before(name: str, root: Path) -> Dataset | None:
    """What is prepared under this name, if it can be used."""
    try:
        card = stored_card(name, root)
        manifest = None if card is None else read_manifest(card, root)
        if card is None or manifest is None:
            return None
        return load(card, root)
    except UserError as error:
        say(f"notice: {error}; preparing again")
        return None


def _same(before: Dataset, origin: Origin) -> bool:
    """Made of the same files, by the same tsbench."""
    assert before.card.origin is not None
    alike = before.card.origin.digest == origin.digest and bool(origin.digest)
    return alike and before.manifest["tsbench"] == __version__


def _fits(before: Dataset, now: dict[str, Any]) -> bool:
    """Whether what is prepared is what has been read now."""
    return all(before.manifest[key] == now[key] for key in ("digest", "card"))


def _expect_ours(before: Dataset, origin: Origin) -> None:
    """Two places with one name would overwrite each other's arrays and records."""
    assert before.card.origin is not None
    other = before.card.origin
    if other.path != origin.path and _file_of(other).exists():
        raise UserError(
            f"there is another data set called '{before.card.name}', from '{other.path}'; "
            "give one of them another name"
        )


def _finished(card: Card, splits: Any) -> tuple[Card, Splits]:
    if not isinstance(splits, Splits):
        raise UserError(f"what it gives is a {type(splits).__name__}, not tsbench Splits")
    _expect_sound(card)
    return card, finish(card, splits)


def _expect_sound(card: Card) -> None:
    """Card values with which every method works."""
    if card.length < LEAST_STEPS:
        raise UserError(
            f"series of {card.length} steps; methods need {LEAST_STEPS} at least: "
            f"'length: {LEAST_STEPS}' and 'unequal: resample' in a YAML card give that"
        )
    if card.input_norm == "layer" and card.channels == 1:
        raise UserError("'input_norm: layer' would turn a single channel into zeros; use instance")
    if card.input_norm not in ("layer", "instance", "none"):
        raise UserError(f"input_norm must be layer, instance or none, not '{card.input_norm}'")
    if not 0 <= card.dropout < 1:
        raise UserError(f"dropout must be at least 0 and below 1, not {card.dropout}")
    if card.memory_per_class < LEAST_MEMORY:
        raise UserError(
            f"memory_per_class must be at least {LEAST_MEMORY}, not {card.memory_per_class}: "
            "5 % of it are what a replay method may keep a class"
        )


def _introduced(card: Card, root: Path) -> Card:
    """The card as stored; says what the classes are and what becomes of them."""
    dataset = load(card if card.generate is None else replace(card, generate=None), root)
    name, usable = card.name, dataset.usable
    names = ", ".join(card.class_names[:SHOWN])
    more = ", …" if card.classes > SHOWN else ""
    say(f"{name}: {card.classes} classes, in this order: {names}{more}")
    test = class_counts(dataset.splits.test, card.classes)
    train = class_counts(dataset.splits.train, card.classes)
    if dataset.splits.val is not None:
        train = train + class_counts(dataset.splits.val, card.classes)
    for k in sorted(set(range(card.classes)) - set(usable)):
        say(
            f"{name}: notice: class '{card.class_names[k]}' is left out: {train[k]} series to "
            f"train on and {test[k]} to test on, 2 and 1 are needed"
        )
    if len(usable) % CLASSES_PER_TASK:
        say(f"{name}: notice: an odd number of classes; each seed leaves one out, its last")
    tasks = len(usable) // CLASSES_PER_TASK
    if tasks < HOLD_OUT_BELOW:
        say(f"{name}: {tasks} tasks of two classes")
    else:
        rest = tasks - VALIDATION_TASKS
        say(f"{name}: {VALIDATION_TASKS} tasks in the validation stream, {rest} in the experiment")
    return dataset.card
