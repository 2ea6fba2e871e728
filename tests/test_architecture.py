"""The packages import each other in one direction only, as docs/architecture.md shows them."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ORDER = (
    "protocol", "data", "nn", "learn", "analytic", "runs", "executors", "tuning", "report", "cli"
)  # fmt: skip
"""Each package may import itself, those before it, and the modules of ``SHARED``."""
SHARED = ("console", "disk", "errors", "randomness", "registry", "schema")
PUBLIC = ("__init__", "__main__", "api")
"""They offer what the packages hold, so they may import anything."""
PLUGINS = {"datasets": "nn", "baselines": "analytic"}
"""Folders beside tsbench/, and the first package that they may not import."""
EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(module, package) and the reason why the module imports it inside a function; best empty."""


def allowed(place: str) -> set[str]:
    """The packages and modules of tsbench that files of a place may import."""
    everywhere = {*SHARED, "__init__", "__version__"}
    if place in SHARED:
        return everywhere
    if place in PLUGINS:
        return {*everywhere, place, *ORDER[: ORDER.index(PLUGINS[place])]}
    above = ORDER[: ORDER.index(place) + 1]
    return {*everywhere, *above, *(["api"] if place == "cli" else [])}


def sources() -> Iterator[tuple[str, str, ast.Module]]:
    """(module, the package or folder it stands in, its syntax tree) of every file with a rule."""
    for folder in ("tsbench", *PLUGINS):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            place = parts[1] if folder == "tsbench" else folder
            module = ".".join(parts if folder == "tsbench" else ("tsbench", *parts))
            tree = ast.parse(path.read_text("utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.level:  # from .x: make it absolute
                    package = module.split(".")[: -node.level]
                    node.module = ".".join([*package, *filter(None, [node.module])])
            yield module.removesuffix(".__init__"), place, tree


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules of tsbench that a piece of code imports, by their full names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "tsbench":
                names = [f"tsbench.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "tsbench")


def target_of(name: str) -> str:
    """The package or module of tsbench that an imported name belongs to."""
    return name.split(".")[1] if "." in name else "__init__"


def violations(module: str, place: str, tree: ast.AST) -> list[str]:
    """Imports against the order, those in ``EXCEPTIONS`` left out where they are in a function."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lazy = {name for function in functions for name in imported(function)}
    found = []
    for name in imported(tree):
        excepted = (module, target_of(name)) in EXCEPTIONS and name in lazy
        if target_of(name) not in allowed(place) and not excepted:
            found.append(f"{module} imports {name}")
    return found


PLACED = [source for source in sources() if source[1] in {*ORDER, *SHARED, *PLUGINS}]


@pytest.mark.parametrize("place", [*SHARED, *ORDER, *PLUGINS])
def test_a_package_imports_only_what_stands_above_it(place: str) -> None:
    here = [source for source in PLACED if source[1] == place]
    assert here, f"there is no {place}"
    assert [v for source in here for v in violations(*source)] == []


def test_every_file_of_the_package_has_a_place_in_the_order() -> None:
    places = {place for _, place, _ in sources()}
    assert places - {*ORDER, *SHARED, *PLUGINS} == {*PUBLIC, "templates"}


def test_templates_import_only_what_users_can() -> None:
    for _, place, tree in sources():
        if place == "templates":
            assert all(name.count(".") == 1 for name in imported(tree))


def test_a_wrong_import_is_found() -> None:
    tree = ast.parse("def f():\n    from tsbench.report.table import Table\n")
    assert violations("tsbench.runs.x", "runs", tree) == [
        "tsbench.runs.x imports tsbench.report.table"
    ]
    assert violations("tsbench.cli.x", "cli", tree) == []
    assert violations("tsbench.disk", "disk", ast.parse("import tsbench.data")) != []


def test_exceptions_have_a_reason_and_are_needed() -> None:
    used = {
        (module, target_of(name))
        for module, place, tree in PLACED
        for name in imported(tree)
        if target_of(name) not in allowed(place)
    }
    assert all(EXCEPTIONS.values())
    assert set(EXCEPTIONS) <= used


def test_no_two_modules_import_each_other() -> None:
    """What is imported when a module is loaded; types and imports inside functions do not count."""
    modules = {module for module, _, _ in sources()}
    graph = {}
    for module, _, tree in sources():
        top = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        found = {name for node in top for name in imported(node)}
        graph[module] = {name for name in found if name in modules} - {module}
    assert list(graphlib.TopologicalSorter(graph).static_order())


def test_the_documentation_shows_the_order() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE)) == ORDER
    diagram = page.partition("```mermaid")[2].partition("```")[0]
    arrows = re.findall(r"^\s*(\w+) --> (\w+)$", diagram, re.MULTILINE)
    assert arrows
    for importer, target in arrows:
        assert target in allowed(importer) - {importer}, f"{importer} --> {target}"
    assert {name for arrow in arrows for name in arrow} >= set(ORDER)
