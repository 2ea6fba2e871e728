"""A method is one file: being in a package of methods registers it everywhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tsbench
from tsbench.cli.main import app
from tsbench.learn.registry import METHODS, expand

BASELINES = Path(__file__).resolve().parents[2] / "baselines"


@pytest.fixture
def package(tmp_path: Path, monkeypatch) -> Path:
    """An empty package of methods beside the two that tsbench has."""
    folder = tmp_path / "more_methods"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(METHODS, "packages", (*METHODS.packages, folder.name))
    monkeypatch.delattr(METHODS, "builtin")
    yield folder
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def test_adding_a_file_adds_a_method(package: Path, tmp_path: Path) -> None:
    source = (BASELINES / "er.py").read_text(encoding="utf-8")
    copy = source.replace('name, title = "er", "ER"', 'name, title = "second-er", "Second ER"')
    assert copy != source
    (package / "second.py").write_text(copy, encoding="utf-8")

    assert "second-er" in expand(["exemplar-based"])
    assert "second-er" in expand(["every"])
    assert "second-er" not in expand(["all"])
    listed = CliRunner().invoke(app, ["list", "methods", "--json"])
    assert '"Second ER"' in listed.stdout

    runs = {
        name: tsbench.run(name, "demo", epochs=1, results=tmp_path / "results")
        for name in ("er", "second-er")
    }
    assert runs["second-er"]["result"]["accuracy"] == runs["er"]["result"]["accuracy"]
    shown = CliRunner().invoke(
        app, ["report", "--results", str(tmp_path / "results"), "--protocol", "exp-ln-1"]
    )
    assert "Second ER" in shown.stdout


def test_a_file_that_cannot_be_imported_costs_a_line(package: Path, capsys) -> None:
    (package / "broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    assert "er" in METHODS.builtin
    assert "more_methods.broken cannot be imported" in capsys.readouterr().err
