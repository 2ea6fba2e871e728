"""The methods that tsbench knows by name, and the settings that a run of one of them uses.

A method is one file in ``baselines/`` or ``tsbench/analytic/``; being there registers it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from functools import lru_cache
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

from tsbench.errors import UserError, describe
from tsbench.learn.method import Method
from tsbench.learn.settings import as_stored, build, field_types
from tsbench.protocol.rules import PAPER_METHODS
from tsbench.registry import Registry, closest, is_file_reference

FAMILIES = ("bounds", "exemplar-free", "exemplar-based", "analytic")


def _named(thing: Any, module: ModuleType) -> str:
    # In Python 3.10 list[int] passes for a type, too.
    ours = isinstance(thing, type) and not get_origin(thing) and issubclass(thing, Method)
    return thing.name if ours and thing.__module__ == module.__name__ else ""


METHODS: Registry[type[Method[Any]]] = Registry(
    kind="method",
    group="tsbench.methods",
    packages=["tsbench.baselines", "tsbench.analytic"],
    named=_named,
    first=PAPER_METHODS,
)


def load_method(reference: str) -> type[Method[Any]]:
    """The class of a method, after checking that it is one."""
    return usable(METHODS.load(reference), reference)


def usable(found: Any, reference: str) -> type[Method[Any]]:
    """The class of a method; raises if it is not one, or not a whole one."""
    if not isinstance(found, type) or not issubclass(found, Method):
        raise UserError(f"method '{reference}' does not derive from tsbench.Method")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise UserError(f"method '{reference}' lacks {', '.join(missing)}")
    try:
        as_stored(found.Settings())
        field_types(found.Settings)
    except UserError as error:
        raise UserError(f"method '{reference}': {error}") from error
    except TypeError as error:
        raise UserError(
            f"method '{reference}': Settings must be a dataclass with defaults ({error})"
        ) from error
    except (Exception, SystemExit) as error:
        raise UserError(f"method '{reference}': Settings(): {describe(error)}") from error
    return found


def expand(names: list[str]) -> list[str]:
    """Method names from names, families, ``all`` (the paper's fourteen) and ``every``."""
    expanded: list[str] = []
    for name in names:
        if name == "all":
            expanded += PAPER_METHODS
        elif name == "every":
            expanded += METHODS.names()
        elif name in FAMILIES:
            expanded += [n for n, kind in METHODS.builtin.items() if kind.family == name]
        elif name in METHODS.names() or is_file_reference(name):
            expanded.append(name)
        else:
            known = [*METHODS.names(), *FAMILIES, "all", "every"]
            raise UserError(
                f"unknown method '{name}'{closest(name, known)}; known: {', '.join(known)}"
            )
    return list(dict.fromkeys(expanded))


def effective_settings(method: str, dataset: str, changes: dict[str, Any] | None = None) -> Any:
    """The settings that a run uses: the method's defaults, the data set's, then ``changes``."""
    values = {**dataset_settings(method, dataset), **(changes or {})}
    return build(method, load_method(method).Settings, values)


def dataset_settings(method: str, dataset: str) -> dict[str, Any]:
    """Settings that differ from the method's defaults on one data set (``per_dataset.yaml``)."""
    by_source = _per_dataset().get(method, {}).get(dataset, {})
    return {name: value for part in by_source.values() for name, value in part.items()}


def grid(method: str, dataset: str) -> dict[str, list[Any]]:
    """What there is to tune: setting → values to try, the effective default first."""
    kind = load_method(method).Settings
    default = effective_settings(method, dataset)
    return {
        field.name: sorted(values, key=lambda value: value != getattr(default, field.name))
        for field in dataclasses.fields(kind)
        if (values := grid_values(field, dataset))
    }


def grid_values(field: dataclasses.Field[Any], dataset: str) -> tuple[Any, ...]:
    """What tuning tries for one hyper-parameter on a data set; nothing if it is not tuned."""
    own = field.metadata.get("grids", {})
    return tuple(own.get(dataset, field.metadata.get("grid", ())))


def register(kind: type[Method[Any]]) -> str:
    """Make a class known for this process, for runs from Python; returns its name.

    A class that was defined again, as in a notebook, takes the place of the one before.
    """
    name = getattr(kind, "name", "") or getattr(kind, "__name__", repr(kind))
    usable(kind, name)
    if name in METHODS.names() and name not in _CODE:
        if METHODS.builtin.get(name) is kind:
            return name
        raise UserError(f"there is a method called '{name}' already; give yours another name")
    METHODS.builtin[name] = kind
    _CODE[name] = hashlib.sha256(_source(kind).encode()).hexdigest()[:16]
    return name


def method_code(reference: str) -> str:
    """Digest of the code of a method that is not part of an installed package, else nothing."""
    path, _, _ = reference.rpartition(":")
    if path.endswith(".py"):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
    return _CODE.get(reference, "")


_CODE: dict[str, str] = {}
"""Digests of the classes that ``register`` made known."""


def _source(kind: type[Method[Any]]) -> str:
    """The code of a class and of its bases outside tsbench."""
    own = [base for base in kind.__mro__ if not base.__module__.startswith("tsbench.")]
    try:
        return "\n".join(inspect.getsource(base) for base in own if issubclass(base, Method))
    except (OSError, TypeError):
        return kind.__qualname__  # typed at a prompt: its name is all there is


@lru_cache(maxsize=1)
def _per_dataset() -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Method → data set → where the value comes from → settings."""
    import yaml

    text = (resources.files("tsbench.learn") / "per_dataset.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)
