"""The card of a data set: what is known about it before any of it is on the machine."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.data.raw import RawFiles
    from tsbench.protocol.samples import Splits

InputNorm = Literal["layer", "instance", "none"]
Tick = Callable[[int, int], None]
"""Called with (done, total) during a long operation."""


@dataclass(frozen=True)
class RemoteFile:
    """One file to download, with its sources, best first."""

    name: str
    urls: tuple[str, ...]
    size: int
    """Bytes; an estimate if the publisher re-packs the file."""
    sha256: str | None = None
    strict: bool = False
    """A wrong digest is an error. Otherwise it is a warning: publishers re-pack archives, and the
    digest of the prepared arrays decides."""
    alternatives: tuple[RemoteFile, ...] = ()
    """Other files with the same data, in case no source has this one."""


@dataclass(frozen=True)
class Listing:
    """Many small files whose names and digests are in one published list (``sha256  path``)."""

    roots: tuple[str, ...]
    sums: str
    wanted: str
    """Regular expression for the whole path of a wanted file."""
    count: int
    size: int
    """Bytes of all wanted files together."""


@dataclass(frozen=True)
class Origin:
    """Where somebody's own data set comes from."""

    path: str
    """``file.py:name`` or a YAML card, as an absolute path."""
    digest: str = ""
    """Digest of the files it is made from; empty if it is generated at every use."""


@dataclass(frozen=True)
class Card:
    """A data set: where it comes from, what it looks like, how the benchmark uses it."""

    name: str
    title: str
    channels: int
    length: int
    class_names: tuple[str, ...]
    input_norm: InputNorm
    dropout: float
    memory_per_class: int
    """The published constant 'samples per class'; 5 % of it per class is the replay budget."""
    licence: str = ""
    citation: str = ""
    page: str = ""
    """Web page where people find the data."""
    prepare: Callable[[RawFiles, Tick], Splits] | None = None
    generate: Callable[[], Splits] | None = None
    """For data that is generated, not downloaded."""
    files: tuple[RemoteFile, ...] = ()
    listing: Listing | None = None
    inner_archive: str = ""
    """Name of a zip inside the zip; files are looked up there first."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Known digests of the prepared splits, for the complete official data."""
    published_counts: Mapping[str, int] = field(default_factory=dict)
    """Samples per split when complete."""
    own_test_subjects: bool = False
    """The official test set is of people who are not in the training data: a split by subject keeps
    it."""
    recordings: str = ""
    """What the recordings of the prepared samples are, in words; empty if they have none."""
    origin: Origin | None = None
    """For data sets that are not part of an installed package."""

    def __post_init__(self) -> None:
        both = self.prepare is not None and self.generate is not None
        neither = self.prepare is None and self.generate is None
        if both or (neither and self.origin is None):  # prepared data needs neither
            raise UserError(f"data set '{self.name}': give either prepare or generate, not both")

    @property
    def reference(self) -> str:
        """Its name on the command line."""
        return self.name if self.origin is None else shlex.quote(self.origin.path)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def official_digest(self) -> str:
        """Digest of the complete official data; empty unless that of every split is known."""
        splits = [name for name in ("train", "val", "test") if name in self.published_counts]
        if not splits or any(name not in self.digests for name in splits):
            return ""
        text = "\n".join(f"{name} {self.digests[name]}" for name in splits)  # as Splits.digest
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def download_bytes(self) -> int:
        """Size of a full download."""
        return sum(f.size for f in self.files) + (self.listing.size if self.listing else 0)

    def prepared_bytes(self) -> int:
        """Size of the complete prepared arrays (float32, labels and subjects)."""
        total = sum(self.published_counts.values())
        return total * (4 * self.channels * self.length + 8 + 4)
