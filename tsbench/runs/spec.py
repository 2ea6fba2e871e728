"""What a run is: everything that may change its result, and a hash over it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tsbench.protocol.rules import VERSION, Protocol


def method_label(method: str, changed: Mapping[str, Any] | None = None, tuned: bool = False) -> str:
    """A method's name in results: a file's without its folder, and how its settings were made.

    >>> method_label("some where/mine.py:Mine"), method_label("er", {"replay": 8})
    ('mine-Mine', 'er+replay=8')
    >>> method_label("er", tuned=True), method_label("er", {"replay": 8}, tuned=True)
    ('er+tuned', 'er+tuned,replay=8')
    """
    name = re.sub(r".*[/\\]", "", method).replace(".py:", "-")
    by_hand = [f"{key}={value}" for key, value in sorted((changed or {}).items())]
    marks = ",".join(["tuned", *by_hand] if tuned else by_hand)
    return re.sub(r"[^\w.+=,-]", "_", f"{name}+{marks}" if marks else name)


@dataclass(frozen=True)
class RunSpec:
    """One run. Two runs with the same spec give the same record, time and machine apart."""

    dataset: str
    data_digest: str
    method: str
    """Registered name, or ``file.py:Class``."""
    seed: int
    protocol: Protocol = field(default_factory=Protocol)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All hyper-parameters."""
    changed: Mapping[str, Any] = field(default_factory=dict)
    """Those of them that the user set by hand."""
    tuned: Mapping[str, Any] = field(default_factory=dict)
    """Where the others come from if they were tuned; empty if they are the defaults."""
    code: str = ""
    """Digest of the file for a method that is not part of an installed package."""

    @property
    def label(self) -> str:
        """The method's name in results, with what was tuned or set by hand."""
        return method_label(self.method, self.changed, bool(self.tuned))

    @property
    def kind(self) -> tuple[str, str, str]:
        """Runs of one kind differ in their seed only: protocol, data set, method."""
        return self.protocol.name, self.dataset, self.label

    @property
    def title(self) -> str:
        """A line for people."""
        return f"{self.label} {self.dataset} seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        about = {
            "protocol": self.protocol.name,
            "version": VERSION,
            **{k: v for k, v in asdict(self).items() if k != "protocol"},
            **self.protocol.as_dict(),
        }
        if not self.tuned:
            del about["tuned"]
        return about

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RunSpec:
        """Back from ``as_dict``."""
        names = ("dataset", "data_digest", "method", "seed", "settings", "changed", "tuned", "code")
        given = {name: content[name] for name in names if name in content}
        return cls(protocol=Protocol.from_dict(content), **given)

    def hash(self) -> str:
        """A name for this very run."""
        content = {k: v for k, v in self.as_dict().items() if k not in ("changed", "tuned")}
        content["method"] = self.label  # a file is known by its code, wherever it lies
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
