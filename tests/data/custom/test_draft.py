"""``tsbench new-dataset FOLDER`` on folders as people have them; ``tsbench check`` on data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from own_series import CARD_FILE, folder, waves
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.custom.folder import open_collection


def tsbench(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def ts(x, y) -> str:
    lines = [
        ":".join(",".join(map(str, ch)) for ch in s) + f":{k}" for s, k in zip(x, y, strict=True)
    ]
    return "@classLabel true 0 1 2 3 4 5\n@data\n" + "\n".join(lines)


def two_ts(path: Path, x, y) -> None:
    (path / "My-Waves_TRAIN.ts").write_text(ts(x[::2], y[::2]))
    (path / "My-Waves_TEST.ts").write_text(ts(x[1::2], y[1::2]))
    (path / "README.txt").write_text("not ours")


def two_npz(path: Path, x, y) -> None:
    np.savez(path / "train.npz", x=x[::2], y=y[::2])
    np.savez(path / "test.npz", x=x[1::2], y=y[1::2])


def one_npz(path: Path, x, y) -> None:
    np.savez(path / "everything.npz", x=x, y=y)


def four_npy(path: Path, x, y) -> None:
    for side, rows in (("train", slice(0, None, 2)), ("test", slice(1, None, 2))):
        np.save(path / f"X_{side}.npy", x[rows])
        np.save(path / f"y_{side}.npy", y[rows])


def three_npy(path: Path, x, y) -> None:
    np.save(path / "data.npy", x)
    np.save(path / "labels.npy", y)
    np.save(path / "subjects.npy", np.tile(np.arange(4), 12))


def class_folders(path: Path, x, y) -> None:
    for i, (series, k) in enumerate(zip(x, y, strict=True)):
        (path / f"class {k}").mkdir(exist_ok=True)
        np.save(path / f"class {k}" / f"{i}.npy", series[:, : 20 - i % 2])


@pytest.mark.parametrize(
    "layout",
    [two_ts, two_npz, one_npz, four_npy, three_npy, class_folders],
    ids=lambda f: f.__name__,
)
def test_a_card_that_works_is_written(tmp_path: Path, layout) -> None:
    path = tmp_path / "Ein Ordner"
    path.mkdir()
    layout(path, *waves())
    written = tsbench("new-dataset", str(path))
    assert written.exit_code == 0, written.output
    checked = tsbench("check", str(path))
    assert checked.exit_code == 0, checked.output
    card, splits = open_collection(path).read(lambda done, total: None)
    assert (card.name, card.classes, card.channels, card.length) == ("Ein-Ordner", 6, 2, 20)
    assert len(splits.train) + len(splits.test) == 48
    assert (splits.train.subject is not None) == (layout is three_npy)
    assert "exists; --force" in tsbench("new-dataset", str(path)).stderr


def test_check_tells_what_is_wrong_with_a_data_set(tmp_path: Path) -> None:
    x, y = waves()
    leaky = folder(tmp_path / "leaky", "train: all.npz\ntest: all.npz", x=x, y=y)
    result = tsbench("check", str(leaky))
    assert result.exit_code == 1
    assert "FAIL  no test series is in the training data: 48 of them are" in result.stdout
    (tmp_path / "moody.py").write_text(CARD_FILE.replace("default_rng(0)", "default_rng()"))
    moody = tsbench("check", f"{tmp_path}/moody.py:card")
    assert "FAIL  reading twice gives the same data: two readings differ" in moody.stdout
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.ts").write_text("@classLabel true 0 1\n@data\n1,2,x:0\n")
    (tmp_path / "bad" / "card.yaml").write_text("data: a.ts")
    bad = tsbench("check", str(tmp_path / "bad"))
    assert bad.exit_code == 1
    assert "FAIL  card and series can be read" in bad.stdout
    assert "'a.ts' line 3" in bad.stdout
