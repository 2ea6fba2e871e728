"""From a name to the object behind it: built in, installed as a plugin, or in a file.

A built-in object is registered by standing in a file of one of the registry's packages; installed
packages add theirs by entry point; ``./file.py:Name`` takes one from a file. A file that fails to
import costs one line of warning, not the program.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from tsbench.console import say
from tsbench.errors import UserError, describe

T = TypeVar("T")


def closest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` when one of the known names is near, else nothing."""
    near = difflib.get_close_matches(name.lower(), list(known), n=1, cutoff=0.5)
    return f" (did you mean '{near[0]}'?)" if near else ""


@dataclass(eq=False)
class Registry(Generic[T]):
    """Objects by name."""

    kind: str
    """The word that messages use: 'data set', 'method'."""
    group: str
    """The entry points of plugins."""
    packages: Sequence[str]
    named: Callable[[Any, ModuleType], str]
    """The name of a module-level object of a package; empty if it is not one of ours."""
    first: Iterable[str] = ()
    """The names that lists begin with."""

    @cached_property
    def builtin(self) -> dict[str, T]:
        """What the packages hold, by name: ``first``, then in alphabetical order."""
        found = self._discover()
        order = {name: place for place, name in enumerate(self.first)}
        names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
        return {name: found[name] for name in names}

    @cached_property
    def plugins(self) -> dict[str, EntryPoint]:
        """What installed packages add, by name."""
        return {point.name: point for point in entry_points(group=self.group)}

    def names(self) -> list[str]:
        """Built-in names in their order, then those of installed plugins."""
        return [*self.builtin, *sorted(self.plugins.keys() - self.builtin.keys())]

    def load(self, name: str) -> Any:
        """The object called ``name``, or the one in ``file.py:Attribute``."""
        if is_file_reference(name):
            return self._from_file(name)
        if name in self.builtin:
            return self.builtin[name]
        if name in self.plugins:
            return self._guarded(f"plugin '{name}'", self.plugins[name].load)
        raise UserError(
            f"unknown {self.kind} '{name}'{closest(name, self.names())}; "
            f"known: {', '.join(self.names())}"
        )

    def _discover(self) -> dict[str, T]:
        found: dict[str, T] = {}
        for package in map(importlib.import_module, self.packages):
            for info in pkgutil.iter_modules(package.__path__):
                try:
                    module = importlib.import_module(f"{package.__name__}.{info.name}")
                except Exception as error:
                    say(
                        f"warning: {package.__name__}.{info.name} cannot be imported: "
                        f"{describe(error)}"
                    )
                    continue
                for thing in vars(module).values():
                    name = self.named(thing, module)
                    if name and found.setdefault(name, thing) is not thing:
                        say(f"warning: two of the {self.kind}s are called '{name}'; rename one")
        return found

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

    def _guarded(self, what: str, load: Callable[[], Any], path: Path | None = None) -> Any:
        try:
            with contextlib.redirect_stdout(sys.stderr):  # stdout is for results
                return load()
        except (Exception, SystemExit) as error:
            where = "" if path is None else line_in(path, error)
            raise UserError(
                f"{self.kind} {what} failed to import: {describe(error)}{where}"
            ) from error


def is_file_reference(name: str) -> bool:
    """Whether a name means an object in a Python file.

    >>> is_file_reference("./mine.py:Mine"), is_file_reference("er")
    (True, False)
    """
    return ".py:" in name or name.endswith(".py")


def line_in(path: Path, error: BaseException) -> str:
    """`` (mine.py, line 7)`` where an error passed through a file, else nothing."""
    full = str(path.resolve())
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == full]
    return f" ({path.name}, line {lines[-1]})" if lines else ""


def import_file(path: Path) -> ModuleType:
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
