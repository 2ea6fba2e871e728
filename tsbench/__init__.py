"""tsbench: the benchmark suite for time-series class-incremental learning.

What is imported from here is loaded when it is asked for: ``import tsbench`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tsbench.api import list_datasets, list_methods, load_stream, read_records, run
    from tsbench.data.arrays import Coverage, Split, Splits
    from tsbench.data.card import Card
    from tsbench.data.stream import Stream, Task
    from tsbench.errors import UserError
    from tsbench.learn.method import Context, Kept, Method, Settings

__version__ = "0.1.0"

_PLACES = {
    "tsbench.api": ("list_datasets", "list_methods", "load_stream", "read_records", "run"),
    "tsbench.data.arrays": ("Coverage", "Split", "Splits"),
    "tsbench.data.card": ("Card",),
    "tsbench.data.stream": ("Stream", "Task"),
    "tsbench.errors": ("UserError",),
    "tsbench.learn.method": ("Context", "Kept", "Method", "Settings"),
}
_HOME = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Card",
    "Context",
    "Coverage",
    "Kept",
    "Method",
    "Settings",
    "Split",
    "Splits",
    "Stream",
    "Task",
    "UserError",
    "__version__",
    "list_datasets",
    "list_methods",
    "load_stream",
    "read_records",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'tsbench' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
