"""From a name to prepared arrays: download or use files on disk, prepare, store."""

from __future__ import annotations

import re
import shutil
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tsbench.console import Meter, amount, duration, say
from tsbench.data.card import Card, Listing, RemoteFile
from tsbench.data.download import Fetched, Fetcher, identify
from tsbench.data.finish import finish
from tsbench.data.manifest import NewerSchema, home, read_manifest
from tsbench.data.prepared import authenticity, save
from tsbench.data.raw import RawFiles
from tsbench.disk import locked
from tsbench.errors import UserError
from tsbench.protocol.samples import Splits


def obtain(
    card: Card,
    root: Path,
    source: Path | None = None,
    force: bool = False,
    fetcher: Fetcher | None = None,
) -> dict[str, Any]:
    """Make sure that ``card`` is prepared under ``root``; returns its manifest.

    ``source`` is an archive or folder already on disk. Does nothing if it is prepared, unless
    ``force``. Two processes at once do it one after the other.
    """
    if card.generate is not None:
        raise UserError(f"{card.name} is built in: there is nothing to download")
    manifest = None if force else _already_prepared(card, root)
    if manifest is not None:
        return manifest
    try:
        with preparing(card, root):
            manifest = None if force else _already_prepared(card, root)
            if manifest is not None:
                return manifest
            if source is not None:
                return _prepare(card, root, source, None)
            folder = home(root, card)
            files = _download(card, folder, replace(fetcher or Fetcher(), fresh=force))
            return _prepare(card, root, folder / "raw", files)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"{card.name}: cannot use '{error.filename}': {reason}") from error


def preparing(card: Card, root: Path) -> AbstractContextManager[None]:
    """Hold the lock of a data set that is being prepared."""
    return locked(
        home(root, card) / ".lock",
        lambda: say(f"{card.name}: waiting: another process prepares it"),
    )


def _already_prepared(card: Card, root: Path) -> dict[str, Any] | None:
    """The manifest, with a message about it; a broken one counts as missing."""
    try:
        manifest = read_manifest(card, root)
    except NewerSchema:
        raise
    except UserError as error:
        say(f"notice: {error}; preparing again")
        return None
    if manifest is not None:
        say(f"{card.name}: already prepared ({authenticity(card, manifest)})")
    return manifest


def _prepare(
    card: Card, root: Path, raw_folder: Path, fetched: list[Fetched] | None
) -> dict[str, Any]:
    assert card.prepare is not None
    started = time.monotonic()
    with Meter(f"{card.name}: preparing", 1) as meter:
        try:
            raw = RawFiles(raw_folder, card.inner_archive)
            splits: Splits = finish(card, card.prepare(raw, meter.to))
        except UserError as error:
            named = "" if str(error).startswith(card.name) else f"{card.name}: "
            raise type(error)(f"{named}{error}") from error
    sources = _local_sources(card, raw) if fetched is None else _summary(fetched)
    return keep(card, splits, sources, root, started)


def keep(
    card: Card, splits: Splits, sources: list[dict[str, Any]], root: Path, started: float
) -> dict[str, Any]:
    """Store what was read, and print what it is."""
    size = sum(a.nbytes for _, split in splits.items() for a in split.arrays().values())
    _expect_space(root, size)
    manifest = save(card, splits, sources, root)
    counts = " / ".join(f"{len(split)} {name}" for name, split in splits.items())
    say(f"{card.name}: prepared {counts} in {duration(time.monotonic() - started)}")
    for note, count in splits.notes.items():
        if count:
            say(f"{card.name}: {note.replace('_', ' ')}: {count}")
    if not splits.coverage.complete:
        say(f"{card.name}: notice: partial data, {splits.coverage}; results will be marked")
    elif card.origin is None:
        say(f"{card.name}: {authenticity(card, manifest)}")
    return manifest


def _local_sources(card: Card, raw: RawFiles) -> list[dict[str, Any]]:
    """The archives that were read, with their digests; loose files go by their folder's name."""
    known = {f.name: f for file in card.files for f in (file, *file.alternatives)}
    sources = []
    for path in sorted(raw.archives_read):
        file = known.get(path.name, RemoteFile(path.name, (), 0))
        found = identify(file, path)
        sources.append(found.as_dict())
        if found.expected is False:
            say(
                f"{card.name}: warning: {path.name} has SHA-256 {found.sha256}, known is "
                f"{file.sha256}: re-packed? The digest of the prepared arrays decides."
            )
    return sources or [{"name": raw.path.resolve().name}]


def _download(card: Card, folder: Path, fetcher: Fetcher) -> list[Fetched]:
    raw = folder / "raw"
    have = sum(p.stat().st_size for p in raw.rglob("*") if p.is_file()) if raw.exists() else 0
    needed = max(card.download_bytes - have, 0) + card.prepared_bytes()
    _expect_space(folder, needed)
    say(f"{card.name}: {amount(card.download_bytes)} from {card.page}; licence: {card.licence}")
    try:
        files = list(card.files)
        if card.listing is not None:
            files += _listed(card.listing, raw, fetcher)
        total = sum(file.size for file in files)
        with Meter(f"{card.name}: downloading", total, in_bytes=True) as meter:
            fetched = fetcher.fetch_all(files, raw, meter)
    except UserError as error:
        if not str(error).startswith("no source has"):
            raise UserError(f"{card.name}: {error}") from error
        raise UserError(
            f"{card.name}: {error}; download it by hand from {card.page}, then run: "
            f"tsbench download {card.name} --from FOLDER"
        ) from error
    return fetched


def _expect_space(folder: Path, needed: int) -> None:
    """Raise before starting if ``needed`` bytes do not fit."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UserError(
            f"'{folder}' has {amount(free)} free, {amount(needed)} needed; "
            "free some space or choose another place with --data"
        )


def _listed(listing: Listing, raw: Path, fetcher: Fetcher) -> list[RemoteFile]:
    """The wanted files of a published list of digests."""
    sums = RemoteFile(listing.sums, tuple(root + listing.sums for root in listing.roots), 0)
    path = raw / listing.sums
    try:
        with Meter(listing.sums, 0, in_bytes=True) as meter:
            replace(fetcher, fresh=True).fetch(sums, raw, meter)
    except UserError as error:
        if not path.exists():
            raise
        say(f"{error}; using the earlier list")
    wanted = re.compile(listing.wanted)
    files = []
    for line in path.read_text(errors="replace").splitlines():
        digest, _, rest = line.partition(" ")
        name = rest.strip().removeprefix("*")
        if wanted.fullmatch(name) and re.fullmatch(r"[0-9a-f]{64}", digest):
            urls = tuple(root + name for root in listing.roots)
            size = listing.size // listing.count
            files.append(RemoteFile(name, urls, size, digest, strict=True))
    if len(files) != listing.count:
        raise UserError(f"{listing.sums} lists {len(files)} wanted files, expected {listing.count}")
    return files


def _summary(fetched: list[Fetched]) -> list[dict[str, Any]]:
    if len(fetched) > 20:
        size = sum(f.size for f in fetched)
        return [{"name": f"{len(fetched)} files", "bytes": size, "as_published": True}]
    return [f.as_dict() for f in fetched]
