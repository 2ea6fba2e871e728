"""The methods that tsbench knows by name, and what can be told of them without importing torch."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from tsbench.errors import UserError
from tsbench.registry import Registry, closest


@dataclass(frozen=True)
class MethodInfo:
    """A line of ``tsbench list methods``."""

    name: str
    title: str
    family: str
    keeps: str
    paper: str
    target: str
    in_paper: bool = True


ACL = "Li et al., TS-ACL, 2024"
BASELINES = "tsbench.baselines"
TSACL = "tsbench.analytic.tsacl"
FREE, BASED = "exemplar-free", "exemplar-based"
REPLAY = "network, raw samples"
_ALL = (
    # name, title, family, what it keeps, paper, where
    ("naive", "Naive", "bounds", "network", "lower bound", f"{BASELINES}.naive:Naive"),
    ("offline", "Offline", "bounds", "all data", "joint training", f"{BASELINES}.offline:Offline"),
    ("lwf", "LwF", FREE, "network", "Li and Hoiem, TPAMI 2017", f"{BASELINES}.lwf:LwF"),
    (
        "mas",
        "MAS",
        FREE,
        "network, importances",
        "Aljundi et al., ECCV 2018",
        f"{BASELINES}.mas:MAS",
    ),
    (
        "dt2w",
        "DT2W",
        FREE,
        "network, prototypes",
        "Qiao et al., ICASSP 2023",
        f"{BASELINES}.dt2w:DT2W",
    ),
    ("gr", "GR", BASED, "network, generator", "Shin et al., NeurIPS 2017", f"{BASELINES}.gr:GR"),
    ("er", "ER", BASED, REPLAY, "Rolnick et al., NeurIPS 2019", f"{BASELINES}.er:ER"),
    (
        "der",
        "DER",
        BASED,
        f"{REPLAY}, logits",
        "Buzzega et al., NeurIPS 2020",
        f"{BASELINES}.der:DER",
    ),
    (
        "herding",
        "Herding",
        BASED,
        REPLAY,
        "Rebuffi et al., CVPR 2017",
        f"{BASELINES}.herding:Herding",
    ),
    ("aser", "ASER", BASED, REPLAY, "Shim et al., AAAI 2021", f"{BASELINES}.aser:ASER"),
    (
        "clops",
        "CLOPS",
        BASED,
        REPLAY,
        "Kiyasseh et al., Nat. Commun. 2021",
        f"{BASELINES}.clops:CLOPS",
    ),
    (
        "fasticarl",
        "FastICARL",
        BASED,
        f"{REPLAY}, means",
        "Kwon et al., Interspeech 2021",
        f"{BASELINES}.fasticarl:FastICARL",
    ),
    ("ts-acl", "TS-ACL", "analytic", "encoder, statistics", ACL, f"{TSACL}:TSACL"),
    ("ts-acl-e", "TS-ACL-E", "analytic", "encoder, statistics × 5", ACL, f"{TSACL}:TSACLE"),
    (
        "ts-acl-r",
        "TS-ACL-R",
        "analytic",
        "statistics",
        "ours, docs/ts-acl-r.md",
        "tsbench.analytic.tsaclr:TSACLR",
    ),
    ("ts-acl-deep", "Deep", "analytic", "encoder, statistics", ACL, f"{TSACL}:Deep"),
    ("ts-acl-deep-rhl", "Deep+RHL", "analytic", "encoder, statistics", ACL, f"{TSACL}:DeepHidden"),
)
BEYOND_PAPER = ("ts-acl-r", "ts-acl-deep", "ts-acl-deep-rhl")
INFO = {row[0]: MethodInfo(*row, in_paper=row[0] not in BEYOND_PAPER) for row in _ALL}
METHODS = Registry("method", "tsbench.methods", {name: i.target for name, i in INFO.items()})
FAMILIES = ("exemplar-free", "exemplar-based", "analytic")


def expand(names: list[str]) -> list[str]:
    """Method names from names, families and ``all`` (the methods of the paper's main table)."""
    expanded: list[str] = []
    for name in names:
        if name == "all":
            expanded += [info.name for info in INFO.values() if info.in_paper]
        elif name in FAMILIES:
            expanded += [info.name for info in INFO.values() if info.family == name]
        elif name in METHODS.names() or ".py" in name:
            expanded.append(name)
        else:
            known = [*METHODS.names(), *FAMILIES, "all"]
            raise UserError(
                f"unknown method '{name}'{closest(name, known)}; known: {', '.join(known)}"
            )
    return list(dict.fromkeys(expanded))


@lru_cache(maxsize=2)
def hyper_parameter_file(name: str) -> dict[str, dict[str, dict[str, Any]]]:
    """A YAML file beside this one: method → data set or ``default`` → hyper-parameters."""
    import yaml

    text = (resources.files("tsbench.learn") / name).read_text(encoding="utf-8")
    return yaml.safe_load(text)


def default_settings(method: str, dataset: str) -> dict[str, Any]:
    """Hyper-parameters for a method on a data set where they differ from its own defaults."""
    return _entry("defaults.yaml", method, dataset)


def known_settings(method: str, dataset: str) -> dict[str, Any] | None:
    """All hyper-parameters of a run at its defaults, without importing the method.

    None for a method from elsewhere: its source is not ours to read.
    """
    if method not in INFO:
        return None
    own = {h.name: ast.literal_eval(h.default) for h in hyper_parameters(INFO[method].target)}
    return {**own, **default_settings(method, dataset)}


def published_grid(method: str, dataset: str, trains: bool) -> dict[str, list[Any]]:
    """Values to try for a method on a data set; ``trains``: whether it trains a network."""
    training = _entry("grids.yaml", "training", dataset) if trains else {}
    return {**training, **_entry("grids.yaml", method, dataset)}


def tunable(method: str) -> bool:
    """Whether a method has a grid, without importing it; one from elsewhere may have."""
    if method not in INFO:
        return True
    trains = "schedule" in {each.name for each in hyper_parameters(INFO[method].target)}
    return bool(published_grid(method, "default", trains))


def _entry(file: str, method: str, dataset: str) -> dict[str, Any]:
    entry = hyper_parameter_file(file).get(method, {})
    return {**entry.get("default", {}), **entry.get(dataset, {})}


@dataclass(frozen=True)
class HyperParameter:
    """One field of a settings class, as its source says it."""

    name: str
    default: str
    meaning: str


@lru_cache(maxsize=64)
def hyper_parameters(target: str) -> tuple[HyperParameter, ...]:
    """The hyper-parameters of a built-in ``module:Class``, read from the source, not imported."""
    module, _, name = target.partition(":")
    found = _settings_class(module, name)
    if found is None:
        return ()
    fields: dict[str, HyperParameter] = {}
    for field in _fields(*found):
        fields[field.name] = field
    return tuple(fields.values())


def _settings_class(module: str, name: str) -> tuple[str, str] | None:
    """Module and name of the class that ``name`` (or a base of it) calls its Settings."""
    found = _find_class(module, name)
    if found is None:
        return None
    module, node = found
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and ast.unparse(line.target) == "Settings":
            return (module, ast.unparse(line.value)) if line.value else None
    for base in node.bases:
        deeper = _settings_class(module, ast.unparse(base))
        if deeper:
            return deeper
    return None


def _fields(module: str, name: str) -> Iterator[HyperParameter]:
    found = _find_class(module, name)
    if found is None:
        return
    module, node = found
    for base in node.bases:
        yield from _fields(module, ast.unparse(base))
    for line, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(line, ast.AnnAssign) and line.value is not None:
            doc = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                doc = " ".join(str(after.value.value).split())
            yield HyperParameter(ast.unparse(line.target), ast.unparse(line.value), doc)


def _find_class(module: str, name: str) -> tuple[str, ast.ClassDef] | None:
    """A class by name in a module or where the module imports it from, inside tsbench."""
    if not module.startswith("tsbench"):
        return None
    tree = _tree(module)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return module, node
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _find_class(node.module, alias.name)
    return None


@lru_cache(maxsize=64)
def _tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ast.Module([], [])
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
