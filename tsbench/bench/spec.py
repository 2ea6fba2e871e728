"""What a run is: everything that may change its result, and a hash over it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tsbench.data.stream import StreamName

PROTOCOL_VERSION = 1
"""Raised when the protocol changes so that older records can no longer be compared."""


@dataclass(frozen=True)
class RunSpec:
    """One run. Two runs with the same spec give the same record, time and machine apart."""

    dataset: str
    data_digest: str
    method: str
    """Registered name, or ``file.py:Class``."""
    seed: int
    stream: StreamName = "exp"
    epochs: int = 100
    norm: str = "ln"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All hyper-parameters."""
    changed: Mapping[str, Any] = field(default_factory=dict)
    """Those of them that the user set by hand."""
    code: str = ""
    """Digest of the file for a method that is not part of an installed package."""

    @property
    def protocol(self) -> str:
        """Folder of comparable runs: stream, encoder norm, epochs."""
        return f"{self.stream}-{self.norm}-{self.epochs}"

    @property
    def label(self) -> str:
        """The method's name in results, with what was set by hand."""
        name = re.sub(r".*[/\\]", "", self.method).replace(".py:", "-")
        set_by_hand = ",".join(f"{k}={v}" for k, v in sorted(self.changed.items()))
        label = f"{name}+{set_by_hand}" if set_by_hand else name
        return re.sub(r"[^\w.+=,-]", "_", label)

    @property
    def title(self) -> str:
        """A line for people."""
        return f"{self.label} {self.dataset} seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """For the record."""
        return {"protocol": self.protocol, "version": PROTOCOL_VERSION, **asdict(self)}

    def hash(self) -> str:
        """A name for this very run."""
        content = {k: v for k, v in self.as_dict().items() if k not in ("changed",)}
        content["label"] = self.label
        text = json.dumps(content, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
