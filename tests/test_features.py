"""Features of a run: trained again, alike, and drawn where the projection puts them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from program import PLUGINS
from typer.testing import CliRunner

from tsbench.bench.machine import Machine
from tsbench.bench.metrics import VarianceRatio
from tsbench.bench.plan import Request, make_specs
from tsbench.bench.run import execute
from tsbench.bench.store import Store
from tsbench.cli.main import app
from tsbench.errors import UserError
from tsbench.report import canvas, run_figures
from tsbench.report.features import features_of
from tsbench.report.projection import pca


def run(root: Path, method: str) -> dict:
    (spec,) = make_specs(Request([method], ["demo"], [1234], epochs=1), root)
    record = execute(spec, Machine(root, shared=root / ".shared"), lambda *_: None)
    Store(root).save(spec, record)
    return json.loads(Store(root).path(spec).read_text())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def test_features_are_those_of_the_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = run(root, "ts-acl-deep")
    found = features_of(record, root, root)
    said = capsys.readouterr().err
    assert "training ts-acl-deep demo seed 1234 again" in said
    assert "notice" not in said, "it came out as in the record"
    ratio = VarianceRatio(len(record["class_order"]))
    ratio.add(found.x, found.y)
    assert ratio.value() == pytest.approx(record["result"]["variance_ratio"], rel=1e-5)
    record["result"]["A_T"] += 1
    features_of(record, root, root)
    assert "A_T is" in capsys.readouterr().err
    with canvas.style():
        drawing = run_figures.feature_map(record, found, "pca")
    by_class, by_subject = drawing.axes[:2]
    places, shares = pca(found.x)
    drawn = np.concatenate([line.get_xydata() for line in by_class.get_lines()])
    assert np.array_equal(drawn, places[np.argsort(found.y, kind="stable")])
    assert [line.get_label() for line in by_class.get_lines()][:2] == ["rhythm 3", "rhythm 2"]
    assert np.array_equal(by_subject.collections[0].get_array(), found.subject)
    assert by_class.get_xlabel() == f"component 1, {100 * shares[0]:.0f} %"


def test_the_command_draws_tsne_of_a_gradient_method(root: Path, tmp_path: Path) -> None:
    run(root, "naive")
    out = tmp_path / "x.png"
    options = ["--results", str(root), "--method", "naive", "--projection", "tsne"]
    done = CliRunner().invoke(app, ["figure", "features", *options, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "training naive demo seed 1234 again" in done.stderr
    assert out.read_bytes().startswith(b"\x89PNG")


def test_a_method_without_features_is_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "plugins.py").write_text(PLUGINS)
    record = run(root, f"{tmp_path}/plugins.py:Good")
    with pytest.raises(UserError, match="does not tell its features"):
        features_of(record, root, root)
