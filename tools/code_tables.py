"""Tables of the documentation that are made from the code: methods, settings, data sets."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import tempfile
from importlib import resources
from typing import Any

import tsbench
from tsbench.data.card import Card
from tsbench.data.catalogue import DATASETS, card
from tsbench.data.custom import recipe
from tsbench.learn.registry import FAMILIES, METHODS, effective_settings, grid
from tsbench.protocol.rules import PAPER_DATASETS, PAPER_METHODS, memory_budget, task_counts

NORMS = {"layer": "LN", "instance": "IN", "none": "none"}


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def code(value: object) -> str:
    """A value between backticks; numbers without a needless .0."""
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def methods() -> str:
    """All built-in methods: what tables call them, what they keep, and their papers."""
    rows = [
        [code(name), kind.title, kind.family, kind.keeps, str(kind.paper or "–")]
        for name, kind in METHODS.builtin.items()
    ]
    return table(["name", "in tables", "family", "keeps between tasks", "paper"], rows)


def families() -> str:
    """The names of the methods by family, and which are in the paper."""
    rows = []
    for family in FAMILIES:
        names = [name for name, kind in METHODS.builtin.items() if kind.family == family]
        paper = [code(name) for name in names if name in PAPER_METHODS]
        more = [code(name) for name in names if name not in PAPER_METHODS]
        rows.append([family, ", ".join(paper), ", ".join(more) or "–"])
    return table(["family", "in the paper", "more"], rows)


def settings() -> str:
    """Every setting of every method, methods with the same one together."""
    found: dict[tuple[Any, ...], list[str]] = {}
    for name, kind in METHODS.builtin.items():
        for field in dataclasses.fields(kind.Settings):
            about = field.metadata
            key = (field.name, field.default, about.get("grid", ()), about.get("meaning", ""))
            found.setdefault(key, []).append(name)
    rows = []
    for (setting, default, values, meaning), names in sorted(found.items(), key=_most_methods):
        tried = ", ".join(code(value) for value in sorted(values)) or "–"
        rows.append([code(setting), code(default), tried, meaning, ", ".join(names)])
    return table(["setting", "default", "`tune` tries", "meaning", "methods"], rows)


def _most_methods(item: tuple[tuple[Any, ...], list[str]]) -> tuple[int, str]:
    return -len(item[1]), item[0][0]


def dataset_settings() -> str:
    """Settings that differ from a method's defaults on some data set."""
    rows = []
    for name, kind in METHODS.builtin.items():
        for dataset in PAPER_DATASETS:
            default, used = kind.Settings(), effective_settings(name, dataset)
            rows += [
                [code(name), code(dataset), code(f.name), code(getattr(used, f.name))]
                for f in dataclasses.fields(kind.Settings)
                if getattr(used, f.name) != getattr(default, f.name)
            ]
    return table(["method", "data set", "setting", "value"], rows)


def trials() -> str:
    """How many trials ``tsbench tune --full`` makes per seed, methods with the same together."""
    found: dict[tuple[int, ...], list[str]] = {}
    for name in METHODS.builtin:
        counts = tuple(math.prod(map(len, grid(name, d).values())) for d in PAPER_DATASETS)
        if max(counts) > 1:
            found.setdefault(counts, []).append(name)
    rows = [[", ".join(names), *map(str, counts)] for counts, names in found.items()]
    return table(["methods", *(card(d).title for d in PAPER_DATASETS)], rows)


def samples(about: Card) -> str:
    """The published numbers of training, validation and test samples."""
    counts = about.published_counts
    return " / ".join(str(counts.get(split, "–")) for split in ("train", "val", "test"))


def short_datasets() -> str:
    """The five data sets of the paper in five columns."""
    rows = []
    for name in PAPER_DATASETS:
        c = card(name)
        shape, norm = f"{c.channels} × {c.length}", NORMS[c.input_norm]
        rows.append([code(name), shape, str(c.classes), samples(c), norm])
    head = ["name", "channels × length", "classes", "train / val / test samples", "input norm"]
    return table(head, rows)


def datasets() -> str:
    """All built-in data sets with their sources, sizes, replay budgets and licences."""
    rows = []
    for name in DATASETS.builtin:
        c = card(name)
        budget = memory_budget(c.memory_per_class, 2 * task_counts(c.classes)["exp"])
        page = f"[{c.title}]({c.page})" if "://" in c.page else c.title
        shape = f"{c.channels} × {c.length}"
        size = [str(c.classes), samples(c), c.input_norm, str(budget)]
        rows.append([code(name), page, shape, *size, c.licence])
    head = ["name", "source", "C × L", "classes", "train / val / test", "input norm"]
    return table([*head, "replay budget", "licence"], rows)


def citations() -> str:
    """Whom to cite for the data sets of the paper."""
    return "\n".join(f"- {card(name).title}: {card(name).citation}" for name in PAPER_DATASETS)


def recipe_keys() -> str:
    """The keys of a data set's YAML card, from the fields of ``Recipe`` and their docstrings."""
    (tree,) = ast.parse(inspect.getsource(recipe.Recipe)).body
    assert isinstance(tree, ast.ClassDef)
    rows = []
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            assert isinstance(field.target, ast.Name) and field.value is not None
            default = ast.literal_eval(field.value)
            meaning = " ".join(str(ast.literal_eval(text.value)).split())
            shown = "" if default in ("", None, ()) else code(default)
            rows.append([code(field.target.id), shown, meaning])
    return table(["key", "default", "meaning"], rows)


def template() -> str:
    """The file that ``tsbench new-method`` writes."""
    text = (resources.files("tsbench.templates") / "method.py").read_text(encoding="utf-8")
    return f"```python\n{text}```"


def columns() -> str:
    """The columns of ``tsbench.read_records``."""
    with tempfile.TemporaryDirectory() as empty:
        return ", ".join(code(column) for column in tsbench.read_records(empty).columns) + "."
