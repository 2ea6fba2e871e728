"""tsbench: the benchmark suite for time-series class-incremental learning.

What is imported from here is loaded when it is asked for: ``import tsbench`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsbench.api import list_datasets, list_methods, load_stream, read_records, run
    from tsbench.data.card import Card
    from tsbench.errors import UserError
    from tsbench.learn.method import Context, Kept, Method, Paper
    from tsbench.learn.settings import Settings, setting
    from tsbench.protocol.samples import Coverage, Split, Splits
    from tsbench.protocol.stream import Stream, Task
    from tsbench.report.python import figure

__version__ = "0.1.0"

_PLACES = {
    "tsbench.api": ("list_datasets", "list_methods", "load_stream", "read_records", "run"),
    "tsbench.report.python": ("figure",),
    "tsbench.protocol.samples": ("Coverage", "Split", "Splits"),
    "tsbench.data.card": ("Card",),
    "tsbench.protocol.stream": ("Stream", "Task"),
    "tsbench.errors": ("UserError",),
    "tsbench.learn.method": ("Context", "Kept", "Method", "Paper"),
    "tsbench.learn.settings": ("Settings", "setting"),
}
_HOME = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Card",
    "Context",
    "Coverage",
    "Kept",
    "Method",
    "Paper",
    "Settings",
    "Split",
    "Splits",
    "Stream",
    "Task",
    "UserError",
    "__version__",
    "figure",
    "list_datasets",
    "list_methods",
    "load_stream",
    "read_records",
    "report",
    "run",
    "setting",
]


def __getattr__(name: str) -> Any:
    if name == "report":  # the package tsbench.report, which can be called
        return importlib.import_module("tsbench.report")
    if name not in _HOME:
        raise AttributeError(f"module 'tsbench' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
