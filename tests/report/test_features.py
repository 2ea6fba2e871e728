"""Features of a run: repeated, the same, and drawn where the projection puts them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from misbehaving_methods import PLUGINS
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.errors import UserError
from tsbench.protocol.metrics import VarianceRatio
from tsbench.protocol.rules import Protocol
from tsbench.report import canvas, run_figures
from tsbench.report.features import features_of
from tsbench.report.run_figures import pca
from tsbench.runs.execute import execute
from tsbench.runs.machine import Machine
from tsbench.runs.plan import Request, plan
from tsbench.runs.record import Record
from tsbench.runs.store import Store


def run(root: Path, method: str) -> Record:
    (spec,) = plan(Request([method], ["demo"], [1234], protocol=Protocol(epochs=1)), root).specs
    record = execute(spec, Machine(root, shared=root / ".shared"), lambda *_: None)
    return Store(root).save(spec, record)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def test_features_are_those_of_the_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = run(root, "ts-acl-deep")
    found = features_of(record, root, root)
    said = capsys.readouterr().err
    assert "repeating ts-acl-deep demo seed 1234" in said
    assert "notice" not in said, "it came out as in the record"
    ratio = VarianceRatio(len(record["class_order"]))
    ratio.add(found.x, found.y)
    assert ratio.value() == pytest.approx(record["result"]["variance_ratio"], rel=1e-5)
    record["result"]["A_T"] += 1
    features_of(record, root, root)
    assert "A_T of the repeated run is" in capsys.readouterr().err
    with canvas.style():
        drawing = run_figures.feature_map(record, found, "pca")
    by_class, by_subject = drawing.axes[:2]
    places, shares = pca(found.x)
    drawn = np.concatenate([line.get_xydata() for line in by_class.get_lines()])
    assert np.array_equal(drawn, places[np.argsort(found.y, kind="stable")])
    assert [line.get_label() for line in by_class.get_lines()][:2] == ["rhythm 3", "rhythm 2"]
    subjects = {line.get_label(): line.get_xydata() for line in by_subject.get_lines()}
    assert list(subjects) == [str(s) for s in np.unique(found.subject)], "categories, no scale"
    for subject in np.unique(found.subject):
        assert np.array_equal(subjects[str(subject)], places[found.subject == subject])
    assert by_class.get_xlabel() == f"component 1, {100 * shares[0]:.0f} %"


def test_the_command_draws_tsne_of_a_gradient_method(root: Path, tmp_path: Path) -> None:
    run(root, "naive")
    out = tmp_path / "x.png"
    options = ["--results", str(root), "--method", "naive", "--projection", "tsne"]
    done = CliRunner().invoke(app, ["figure", "features", *options, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "repeating naive demo seed 1234" in done.stderr
    assert out.read_bytes().startswith(b"\x89PNG")
    assert " left" not in done.stderr.partition("t-SNE")[2], "no estimate that may be wrong"


def test_a_method_without_features_is_an_error(root: Path, tmp_path: Path) -> None:
    (tmp_path / "plugins.py").write_text(PLUGINS)
    record = run(root, f"{tmp_path}/plugins.py:Good")
    with pytest.raises(UserError, match="has no features to show"):
        features_of(record, root, root)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    with pytest.raises(UserError, match=r"pip install 'tsbench\[figures\]'"):
        run_figures._tsne(np.ones((9, 3)))


def test_principal_components_are_scikit_learns() -> None:
    from sklearn.decomposition import PCA

    x = np.random.default_rng(0).normal(size=(60, 7)) @ np.diag(range(1, 8))
    places, shares = pca(x)
    theirs = PCA(2).fit(x)
    assert shares == pytest.approx(theirs.explained_variance_ratio_)
    assert np.abs(places) == pytest.approx(np.abs(theirs.transform(x)))
    largest = np.abs(places).argmax(axis=0)
    assert (places[largest, [0, 1]] > 0).all()


def test_tsne_keeps_groups_apart_and_is_the_same_every_time() -> None:
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(10 * k, 1, (30, 20)) for k in range(3)])
    one, two = run_figures._tsne(x), run_figures._tsne(x)
    assert np.array_equal(one, two)
    near = np.linalg.norm(one[:, None] - one, axis=2).argsort(axis=1)[:, 1]
    assert (near // 30 == np.arange(90) // 30).all(), "the nearest is of the same group"
