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
from tsbench.data.card import Card, Origin, Tick
from tsbench.data.catalogue import DATASETS
from tsbench.data.catalogue import card as known_card
from tsbench.data.custom.folder import LEAST_MEMORY, open_collection
from tsbench.data.download import hash_file
from tsbench.data.finish import finish
from tsbench.data.manifest import NAME, home, stored_card
from tsbench.data.obtain import keep, obtain, preparing
from tsbench.data.prepared import Dataset, describe, load
from tsbench.errors import UserError
from tsbench.errors import describe as in_words
from tsbench.protocol.rules import CLASSES_PER_TASK, holds_out, task_counts
from tsbench.protocol.samples import Splits, class_counts
from tsbench.registry import is_file_reference

LEAST_STEPS = 9
"""The shortest series that every method takes."""
SHOWN = 12
"""At most this many class names are printed."""
RESERVED = ("all", "default")


def is_custom(reference: str) -> bool:
    """Whether a data set is given by its path, not by its name."""
    if is_file_reference(reference) or reference.endswith((".yaml", ".yml")):
        return True
    return reference in (".", "..") or "/" in reference or "\\" in reference


def custom_name(reference: str) -> str:
    """The name of the data set at a path; anything else is already a name."""
    if not is_custom(reference):
        return reference
    with _errors_named(reference):
        if is_file_reference(reference):
            return _card_in_file(reference).name
        return open_collection(Path(reference)).name


def prepare_custom(
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
    with _errors_named(reference):
        found = _opened(reference)
        if isinstance(found, Card):
            return _obtained(found, root, source, force, fetch)
        return _prepared(found, root, force)


def read_once(reference: str) -> tuple[Card, Splits]:
    """The data set at a path, read and checked but not stored; not for downloaded data."""
    with _errors_named(reference):
        found = _opened(reference)
        if isinstance(found, Card):
            raise UserError(
                f"{found.name} has to be downloaded first: tsbench download {reference}"
            )
        return _finished(*found.read(lambda done, total: None))


@dataclass(frozen=True)
class _Place:
    """What is known about a data set before it is read."""

    name: str
    origin: Origin
    sources: list[dict[str, Any]]
    read: Callable[[Tick], tuple[Card, Splits]]


def _opened(reference: str) -> Card | _Place:
    """What is at a path: the card of files to prepare, or a place that can be read as it is."""
    if is_file_reference(reference):
        card = _card_in_file(reference)
        return card if card.generate is None else _generator(card)
    found = open_collection(Path(reference))
    _expect_free(found.name)
    return _Place(found.name, found.origin, found.sources, found.read)


def _generator(card: Card) -> _Place:
    assert card.origin is not None and card.generate is not None
    generate, path = card.generate, _file_of(card.origin)
    digest, size = hash_file(path)

    def read(tick: Tick) -> tuple[Card, Splits]:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
            return card, generate()

    sources = [{"name": path.name, "sha256": digest, "bytes": size}]
    return _Place(card.name, card.origin, sources, read)


def _file_of(origin: Origin) -> Path:
    """The file itself, without the name in it."""
    return Path(origin.path.rpartition(":")[0] if is_file_reference(origin.path) else origin.path)


@contextlib.contextmanager
def _errors_named(reference: str) -> Iterator[None]:
    """Turn every error inside into one that names the data set."""
    try:
        yield
    except UserError as error:
        place = reference.rpartition(":")[0] if is_file_reference(reference) else reference
        named = "" if place and f"'{place}" in str(error) else f"{reference}: "
        raise type(error)(f"{named}{error}") from error
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{reference}: cannot use '{error.filename}': {reason}") from error
    except (Exception, SystemExit) as error:
        raise UserError(f"{reference}: {in_words(error)}") from error


def _card_in_file(reference: str) -> Card:
    card = known_card(reference)
    _expect_free(card.name)
    file, _, name = reference.rpartition(":")
    path = Path(file).resolve()
    digest = hash_file(path)[0] if card.generate is None else ""
    return replace(card, origin=Origin(f"{path}:{name}", digest))


def _expect_free(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UserError(f"'{name}' is not a valid data set name: use letters, digits and - _ .")
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
        say(f"{name}: has changed since it was prepared; earlier runs used other data")
    with preparing(card, root):
        meanwhile = _before(name, root)
        if meanwhile is not None and not force and _fits(meanwhile, now):
            return meanwhile.card
        keep(card, splits, place.sources, root, started)
    return _introduced(card, root)


def _obtained(card: Card, root: Path, source: Path | None, force: bool, fetch: bool) -> Card:
    """A data set of files that are downloaded, or that lie beside the card."""
    assert card.origin is not None
    before = _before(card.name, root)
    if before is not None and not force:
        if _same(before, card.origin):
            return before.card
        _expect_ours(before, card.origin)
        say(f"{card.name}: its file has changed since it was prepared; preparing again")
    raw = home(root, card) / "raw"
    if source is None and not card.download_bytes:
        source = _file_of(card.origin).parent
    elif source is None and before is not None and not force and raw.is_dir():
        source = raw
    elif source is None and not fetch:
        raise UserError(f"{card.name} is not prepared; run: tsbench download {card.reference}")
    _expect_sound(card)
    with contextlib.redirect_stdout(sys.stderr):
        obtain(card, root, source, force=force or before is not None)
    return _introduced(card, root)


def _before(name: str, root: Path) -> Dataset | None:
    """The data prepared under this name, if it is usable."""
    try:
        card = stored_card(name, root)
        return None if card is None else load(card, root)
    except UserError as error:
        say(f"notice: {error}; preparing again")
        return None


def _same(before: Dataset, origin: Origin) -> bool:
    """Made of the same files, by the same tsbench."""
    assert before.card.origin is not None
    alike = before.card.origin.digest == origin.digest and bool(origin.digest)
    return alike and before.manifest["tsbench"] == __version__


def _fits(before: Dataset, now: dict[str, Any]) -> bool:
    """Whether the prepared data equals what was just read."""
    return all(before.manifest[key] == now[key] for key in ("digest", "card"))


def _expect_ours(before: Dataset, origin: Origin) -> None:
    """Two data sets with one name would overwrite each other's arrays and records."""
    assert before.card.origin is not None
    other = before.card.origin
    file = _file_of(other)
    if file.suffix.lower() == ".ts" and file.parent == _file_of(origin).parent:
        return  # a pair of files that has got a card since
    if other.path != origin.path and _file_of(other).exists():
        raise UserError(
            f"there is another data set called '{before.card.name}', from '{other.path}'; "
            "give one of them another name"
        )


def _finished(card: Card, splits: Any) -> tuple[Card, Splits]:
    if not isinstance(splits, Splits):
        raise UserError(f"it returned a {type(splits).__name__}, not tsbench Splits")
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
            "replay methods may keep 5 % of it per class"
        )


def _introduced(card: Card, root: Path) -> Card:
    """The card as stored; prints the classes and how they are used."""
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
        say(f"{name}: notice: odd number of classes; each seed leaves out its last one")
    counts = task_counts(len(usable))
    if holds_out(len(usable)):
        say(f"{name}: {counts['exp']} tasks of two classes")
    else:
        say(f"{name}: {counts['val']} validation tasks and {counts['exp']} experiment tasks")
    return dataset.card
