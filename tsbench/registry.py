"""Names of methods and data sets, and how to get from a name to the object behind it.

Built-in names map to a lazy ``"module:attribute"``; installed packages add theirs by entry point;
``./file.py:Name`` takes one from a file. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from tsbench.errors import UserError


def closest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` when one of the known names is near, else nothing."""
    near = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)
    return f" (did you mean '{near[0]}'?)" if near else ""


class Registry:
    """Lazy objects by name; ``kind`` is the word that messages use ('data set', 'method')."""

    def __init__(self, kind: str, group: str, builtin: Mapping[str, str]) -> None:
        self.kind = kind
        self.group = group
        self.builtin = dict(builtin)
        self._found: dict[str, EntryPoint] | None = None

    def names(self) -> list[str]:
        """Built-in names in their order, then those of installed plugins."""
        return list(self.builtin) + sorted(set(self._plugins()) - set(self.builtin))

    def load(self, name: str) -> Any:
        """The object called ``name``, or the one in ``file.py:Attribute``."""
        if ".py:" in name or name.endswith(".py"):
            return self._from_file(name)
        if name in self.builtin:
            module, _, attribute = self.builtin[name].partition(":")
            return getattr(importlib.import_module(module), attribute)
        plugins = self._plugins()
        if name in plugins:
            return self._guarded(f"plugin '{name}'", plugins[name].load)
        raise UserError(
            f"unknown {self.kind} '{name}'{closest(name, self.names())}; "
            f"known: {', '.join(self.names())}"
        )

    def _plugins(self) -> dict[str, EntryPoint]:
        if self._found is None:
            self._found = {point.name: point for point in entry_points(group=self.group)}
        return self._found

    def _from_file(self, reference: str) -> Any:
        path_text, _, attribute = reference.rpartition(":")
        path = Path(path_text)
        if not path_text.endswith(".py") or not attribute:
            raise UserError(f"'{reference}' is not of the form path/file.py:Name")
        if not path.is_file():
            raise UserError(f"{self.kind} file '{path}' does not exist")
        module = self._guarded(f"'{path}'", lambda: import_file(path), path)
        try:
            return getattr(module, attribute)
        except AttributeError:
            public = [n for n in vars(module) if not n.startswith("_")]
            hint = closest(attribute, public)
            raise UserError(f"'{path}' has no '{attribute}'{hint}") from None

    def _guarded(self, what: str, load: Any, path: Path | None = None) -> Any:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # what it prints is no data
                return load()
        except (Exception, SystemExit) as error:
            where = "" if path is None else line_in(path, error)
            raise UserError(
                f"{self.kind} {what} failed to import: {type(error).__name__}: {error}{where}"
            ) from error


def line_in(path: Path, error: BaseException) -> str:
    """`` (mine.py, line 7)`` where an error passed through a file, else nothing."""
    full = str(path.resolve())
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == full]
    return f" ({path.name}, line {lines[-1]})" if lines else ""


def import_file(path: Path) -> Any:
    """A Python file as a module, under a name made from its full path and its content."""
    full = path.resolve()
    content = str(full).encode() + b"\0" + full.read_bytes()
    name = "tsbench_file_" + hashlib.sha256(content).hexdigest()[:16]
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, full)
    if spec is None or spec.loader is None:
        raise ImportError(f"{full} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
