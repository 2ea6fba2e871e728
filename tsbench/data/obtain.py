"""From a name to prepared arrays: download or take what is on disk, prepare, store."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path
from typing import Any

from tsbench.console import Meter, amount, duration, say
from tsbench.data.arrays import Splits, finish
from tsbench.data.card import Card, Listing, RemoteFile
from tsbench.data.download import Fetched, Fetcher, expect_space, hash_file
from tsbench.data.prepared import authenticity, home, read_manifest, save
from tsbench.data.raw import RawFiles
from tsbench.disk import locked
from tsbench.errors import UserError


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
    folder = home(root, card)

    def waiting() -> None:
        say(f"{card.name}: another process is at it, waiting")

    try:
        with locked(folder / ".lock", waiting):
            manifest = None if force else read_manifest(card, root)
            if manifest is not None:
                say(f"{card.name}: already prepared ({authenticity(manifest)})")
                return manifest
            if source is None:
                raw_folder, sources = _download(card, folder, force, fetcher or Fetcher())
            else:
                raw_folder, sources = source, _local_sources(card, source)
            return _prepare(card, root, raw_folder, sources)
    except OSError as error:
        raise UserError(
            f"{card.name}: cannot write '{error.filename}': {error.strerror}"
        ) from error


def _prepare(
    card: Card, root: Path, raw_folder: Path, sources: list[dict[str, Any]]
) -> dict[str, Any]:
    assert card.prepare is not None
    started = time.monotonic()
    with Meter(f"{card.name}: preparing", 1) as meter:
        try:
            splits: Splits = finish(
                card, card.prepare(RawFiles(raw_folder, card.inner_archive), meter.to)
            )
        except UserError as error:
            named = "" if str(error).startswith(card.name) else f"{card.name}: "
            raise UserError(f"{named}{error}") from error
    size = sum(a.nbytes for _, split in splits.items() for a in split.arrays().values())
    expect_space(root, size, shutil.disk_usage(root).free)
    manifest = save(card, splits, sources, root)
    counts = " / ".join(f"{len(split)} {name}" for name, split in splits.items())
    say(f"{card.name}: prepared {counts} in {duration(time.monotonic() - started)}")
    for note, count in splits.notes.items():
        if count:
            say(f"{card.name}: {note.replace('_', ' ')}: {count}")
    if not splits.coverage.complete:
        say(f"{card.name}: notice: partial data, {splits.coverage}; every result is marked so")
    else:
        say(f"{card.name}: {authenticity(manifest)}")
    return manifest


def _local_sources(card: Card, source: Path) -> list[dict[str, Any]]:
    """The given archives with their digests; a folder of loose files goes by its name alone."""
    if source.is_file():
        archives = [source]
    else:
        names = [f.name for file in card.files for f in (file, *file.alternatives)]
        archives = [p for name in names if (p := source / name).is_file()]
    known = {f.name: f.sha256 for file in card.files for f in (file, *file.alternatives)}
    sources = []
    for path in archives:
        digest, size = hash_file(path)
        expected = known.get(path.name)
        sources.append(
            {
                "name": path.name,
                "sha256": digest,
                "bytes": size,
                "as_published": None if expected is None else digest == expected,
            }
        )
        if expected not in (None, digest):
            say(
                f"{card.name}: warning: {path.name} has SHA-256 {digest}, known is {expected}: "
                "re-packed? The digest of the prepared arrays decides."
            )
    return sources or [{"name": source.name}]


def _download(
    card: Card, folder: Path, force: bool, fetcher: Fetcher
) -> tuple[Path, list[dict[str, Any]]]:
    raw = folder / "raw"
    if force:
        for file in card.files:
            for candidate in (file, *file.alternatives):
                (raw / candidate.name).unlink(missing_ok=True)
    have = sum(p.stat().st_size for p in raw.rglob("*") if p.is_file()) if raw.exists() else 0
    needed = max(card.download_bytes - have, 0) + card.prepared_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    expect_space(folder, needed, shutil.disk_usage(folder).free)
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
            f"{card.name}: {error}\n"
            f"Get it by hand from {card.page} and go on with: "
            f"tsbench download {card.name} --from FOLDER"
        ) from error
    return raw, _summary(fetched)


def _listed(listing: Listing, raw: Path, fetcher: Fetcher) -> list[RemoteFile]:
    """The wanted files of a published list of digests."""
    sums = RemoteFile(listing.sums, tuple(root + listing.sums for root in listing.roots), 0)
    with Meter(listing.sums, 1, in_bytes=True) as meter:
        (raw / listing.sums).unlink(missing_ok=True)
        fetcher.fetch(sums, raw, meter)
    wanted = re.compile(listing.wanted)
    files = []
    for line in (raw / listing.sums).read_text().splitlines():
        digest, _, path = line.partition(" ")
        path = path.strip().removeprefix("*")
        if wanted.fullmatch(path) and re.fullmatch(r"[0-9a-f]{64}", digest):
            urls = tuple(root + path for root in listing.roots)
            size = listing.size // listing.count
            files.append(RemoteFile(path, urls, size, digest, strict=True))
    if len(files) != listing.count:
        raise UserError(f"{listing.sums} lists {len(files)} wanted files, expected {listing.count}")
    return files


def _summary(fetched: list[Fetched]) -> list[dict[str, Any]]:
    if len(fetched) > 20:
        size = sum(f.size for f in fetched)
        return [{"name": f"{len(fetched)} files", "bytes": size, "as_published": True}]
    return [
        {"name": f.name, "sha256": f.sha256, "bytes": f.size, "as_published": f.expected}
        for f in fetched
    ]
