"""What is known of a data set before any of it is on the machine."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tsbench.errors import UserError

if TYPE_CHECKING:
    from tsbench.data.arrays import Splits
    from tsbench.data.raw import RawFiles

InputNorm = Literal["layer", "instance", "none"]
Tick = Callable[[int, int], None]
"""Called with (done, total) while something long goes on."""


@dataclass(frozen=True)
class RemoteFile:
    """One file to download, with the places it can be had from, best first."""

    name: str
    urls: tuple[str, ...]
    size: int
    """Bytes; a close guess where the publisher re-packs."""
    sha256: str | None = None
    strict: bool = False
    """A wrong digest is an error. Otherwise it is a warning: publishers re-pack archives, and the
    digest of the prepared arrays is what decides."""
    alternatives: tuple[RemoteFile, ...] = ()
    """Other files that hold the same data, for when no place has this one."""


@dataclass(frozen=True)
class Listing:
    """Many small files whose names and digests stand in one published list (``sha256  path``)."""

    roots: tuple[str, ...]
    sums: str
    wanted: str
    """Regular expression that the wanted paths match in full."""
    count: int
    size: int
    """Bytes of all wanted files together."""


@dataclass(frozen=True)
class Origin:
    """Where somebody's own data set comes from."""

    path: str
    """``file.py:name`` or the path of a YAML card, in full."""
    digest: str = ""
    """Over the files it is made from; empty where it is made anew each time."""


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
    """The published constant 'samples per class'; 5 % of it, a class, is the replay budget."""
    licence: str = ""
    citation: str = ""
    page: str = ""
    """Where a person finds the data by hand."""
    prepare: Callable[[RawFiles, Tick], Splits] | None = None
    generate: Callable[[], Splits] | None = None
    """For data that is computed, not downloaded."""
    files: tuple[RemoteFile, ...] = ()
    listing: Listing | None = None
    inner_archive: str = ""
    """Name of a zip inside the zip, tried first when looking for files."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Known digests of prepared splits, of the complete official data."""
    published_counts: Mapping[str, int] = field(default_factory=dict)
    """Samples per split when complete."""
    origin: Origin | None = None
    """For data sets that are not part of an installed package."""

    def __post_init__(self) -> None:
        both = self.prepare is not None and self.generate is not None
        neither = self.prepare is None and self.generate is None
        if both or (neither and self.origin is None):  # of what is prepared, neither is needed
            raise UserError(f"data set '{self.name}': give either prepare or generate, not both")

    @property
    def reference(self) -> str:
        """What to call it on the command line."""
        return self.name if self.origin is None else shlex.quote(self.origin.path)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def tasks(self) -> int:
        """Number of tasks of two classes each, over both streams."""
        return self.classes // 2

    @property
    def download_bytes(self) -> int:
        """What a full download weighs."""
        return sum(f.size for f in self.files) + (self.listing.size if self.listing else 0)

    def prepared_bytes(self) -> int:
        """What the prepared arrays weigh when complete (float32, labels and subjects)."""
        total = sum(self.published_counts.values())
        return total * (4 * self.channels * self.length + 8 + 4)
