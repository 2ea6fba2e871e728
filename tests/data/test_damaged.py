"""Damaged manifests and arrays, hostile folders: each costs one line, and nothing hangs."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from own_series import folder, waves
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.custom.prepare import prepare_custom
from tsbench.data.manifest import read_manifest, stored_card
from tsbench.data.prepared import load
from tsbench.errors import UserError

BOMB = "[" * 200_000


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A data folder with one custom data set, called own."""
    x, y = waves()
    series = folder(tmp_path / "series", "name: own\ndata: all.npz", x=x, y=y)
    prepare_custom(str(series), tmp_path / "d")
    return tmp_path / "d"


def tsbench(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def changed(path: str, value: Any) -> Callable[[Path], None]:
    """Replaces one value of a manifest, or removes it where it is ``...``."""

    def damage(file: Path) -> None:
        content = json.loads(file.read_text())
        *places, name = path.split(".")
        inner = content
        for place in places:
            inner = inner[place]
        if value is ...:
            del inner[name]
        else:
            inner[name] = value
        file.write_text(json.dumps(content))

    return damage


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


MANIFESTS = {
    "empty": lambda path: path.write_text(""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "bomb": lambda path: path.write_text(BOMB),
    "object bomb": lambda path: path.write_text('{"a":' * 100_000),
    "long number": lambda path: path.write_text('{"schema": ' + "9" * 9999 + "}"),
    "list": lambda path: path.write_text("[1]"),
    "null": lambda path: path.write_text("null"),
    "fifo": fifo,
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "loop": lambda path: (path.unlink(), path.symlink_to(path)),
    **{
        f"{path}={value!r}": changed(path, value)
        for path, value in [
            ("schema", "1"),
            ("schema", None),
            ("splits", []),
            ("splits", {}),
            ("splits.train", None),
            ("splits.train.samples", "30"),
            ("splits.train.samples", -1),
            ("splits.train.per_class", 5),
            ("splits.train.per_class", [30]),
            ("splits.train.per_class", [None] * 6),
            ("splits.test", ...),
            ("splits.extra", {}),
            ("coverage", "all"),
            ("coverage.found", "x"),
            ("coverage.more", 1),
            ("complete", "yes"),
            ("notes", []),
            ("digest", 7),
            ("folder", "../../.."),
            ("folder", "/"),
            ("folder", None),
            ("folder", "arrays-gone"),
            ("sources", ...),
            ("sources", "x"),
            ("card", None),
            ("card", []),
            ("card.length", "20"),
            ("card.length", 10**400),
            ("card.class_names", "abcdef"),
            ("card.class_names", [1, 2]),
            ("card.class_names", ["a"]),
            ("card.dropout", "0"),
            ("card.input_norm", "odd"),
            ("card.title", ["\x1b[31m"]),
            ("card.unknown", 1),
            ("origin", ...),
            ("origin.path", None),
            ("origin.more", 1),
        ]
    },
}
HARMLESS = {"coverage.more=1", "card.unknown=1", "origin.more=1"}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_damaged_manifest(prepared: Path, name: str) -> None:
    MANIFESTS[name](prepared / "own" / "manifest.json")
    data = ["--data", str(prepared)]
    code, out, said = tsbench("list", "datasets", *data)
    assert code == 0
    assert "uwave" in out
    listed = json.loads(tsbench("list", "datasets", "--json", *data)[1])
    assert len(listed) >= 6
    matrix = ["--method", "naive", "--dataset", "own", "--seed", "1", *data]
    results = ["--results", str(prepared / "r")]
    code, _, said = tsbench("status", *matrix, *results)
    if name not in HARMLESS:
        assert code == 2, said
        assert len(said.splitlines()) == 1
        assert said.startswith("error: ")
        assert said[:-1].isprintable()


def test_a_damaged_manifest_of_an_official_data_set(tmp_path: Path) -> None:
    for name, damage in MANIFESTS.items():
        place = tmp_path / name.replace("/", "_")[:50] / "uwave"
        place.mkdir(parents=True)
        (place / "manifest.json").write_text('{"schema": 1, "card": {}, "splits": {"train": {}}}')
        try:
            damage(place / "manifest.json")
        except KeyError:
            continue
        for command in (["list", "datasets"], ["run", "--method", "naive"], ["download", "uwave"]):
            where = ["--data", str(place.parent)]
            if command[0] == "download":
                where += ["--from", str(tmp_path / "nothing")]
            code, _, said = tsbench(*command, *where)
            assert code == (0 if command[0] == "list" else 2), said


ARRAYS = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-8]),
    "header only": lambda path: path.write_bytes(path.read_bytes()[:60]),
    "text": lambda path: path.write_text("hello"),
    "fifo": fifo,
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "gone": lambda path: path.unlink(),
    "scalar": lambda path: np.save(path, np.float32(3)),
    "other shape": lambda path: np.save(path, np.zeros((2, 2, 2), np.float32)),
    "longer": lambda path: np.save(path, np.zeros((999, 2, 20), np.float32)),
    "objects": lambda path: np.save(path, np.array([{}, []], object), allow_pickle=True),
    "zip": lambda path: (np.savez(path.with_suffix(".npz"), x=1),
                         path.with_suffix(".npz").rename(path)),
    "huge shape": lambda path: path.write_bytes(
        path.read_bytes().replace(b"'shape': (", b"'shape': (9" + b"9" * 8, 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["x", "y"])
@pytest.mark.parametrize("name", ARRAYS)
def test_a_damaged_array(prepared: Path, name: str, kind: str) -> None:
    (path,) = (prepared / "own").glob(f"arrays-*/train.{kind}.npy")
    ARRAYS[name](path)
    card = stored_card("own", prepared)
    with pytest.raises(UserError, match=r"prepared arrays of own.*tsbench download") as error:
        load(card, prepared)
    assert "\n" not in str(error.value)
    matrix = ["--method", "naive", "--dataset", "own", "--seed", "1", "--data", str(prepared)]
    code, _, said = tsbench("run", *matrix, "--results", str(prepared / "r"))
    assert code == 2
    assert said.startswith("error: the prepared arrays of own")
    assert prepare_custom(str(prepared.parent / "series"), prepared).length == 20, "repairs it"
    load(card, prepared)


def test_changed_bits_are_noticed(prepared: Path) -> None:
    (path,) = (prepared / "own").glob("arrays-*/test.x.npy")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    matrix = ["--method", "naive", "--dataset", "own", "--seed", "1", "--data", str(prepared)]
    code, _, said = tsbench("run", *matrix, "--results", str(prepared / "r"))
    assert code == 2
    assert "have changed since they were prepared" in said
    assert read_manifest(stored_card("own", prepared), prepared), "the manifest is as it was"


def refused(path: Path) -> str:
    code, _, said = tsbench("download", str(path), "--data", str(path.parent / "data"))
    assert code == 2, said
    line = said.splitlines()[-1]
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("length: 0", "length must be between 1 and 1,000,000, not 0"),
        ("length: -5", "length must be between"),
        ("length: 1000000000000", "length must be between"),
        ("memory_per_class: 1" + "0" * 30, "memory_per_class must be between"),
        ("memory_per_class: 0", "memory_per_class must be between"),
        ("test_share: 1" + "0" * 400, "test_share must be a number that is not so large"),
        ("split_seed: " + "9" * 5000, "is not YAML: Exceeds the limit"),
        ("title: " + "[" * 50_000, "nested too deeply"),
        ("test_share: .nan", "test_share must be between 0 and 1"),
        ("dropout: .inf", "dropout must be"),
        ("title: &a [x, x]\npage: [*a, *a]", "title must be text"),
    ],
)
def test_odd_values_in_a_card(tmp_path: Path, card: str, words: str) -> None:
    x, y = waves()
    assert words in refused(folder(tmp_path / "own", f"data: all.npz\n{card}", x=x, y=y))


def laughs(depth: int) -> str:
    """A few lines of YAML that would be gigabytes if they were written out."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, depth)]
    return "\n".join(lines)


def test_a_card_of_a_billion_laughs(tmp_path: Path) -> None:
    x, y = waves()
    text = f"data: all.npz\ntitle: &a0 [x, x, x, x, x, x, x, x]\n{laughs(12)[4:]}"
    path = folder(tmp_path / "own", text, x=x, y=y)
    assert "own" in refused(path)
    path = folder(tmp_path / "two", f"{laughs(12)}\ntitle: *a11\ndata: all.npz", x=x, y=y)
    assert "unknown key 'a0'" in refused(path)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (np.zeros((48, 2, 0)), "there is nothing in it"),
        (np.zeros((48, 0, 20)), "there is nothing in it"),
        (np.zeros((0, 2, 20)), "x has shape (0, 2, 20)|y has shape (48,) for 0 series"),
        (np.zeros((48, 0)), "there is nothing in it"),
        (np.full((48, 2, 20), np.nan), "series 1 is empty"),
        (np.full((48, 2, 20), 1e300), "has a value beyond ±3.4e+38"),
        (np.full((48, 2, 20), np.inf), "infinite value"),
        (np.zeros((48, 2, 20), complex), "expected numbers as"),
        (np.zeros((48, 2, 20), "datetime64[s]"), "expected numbers as"),
        (np.zeros(48), "expected numbers as"),
        (np.zeros((3, 3, 3, 3)), "expected numbers as"),
        (np.array(7.0), "expected numbers as"),
    ],
)
def test_series_that_are_no_series(tmp_path: Path, x: np.ndarray, words: str) -> None:
    y = waves()[1]
    said = refused(folder(tmp_path / "own", "data: all.npz", x=x, y=y))
    assert any(word in said for word in words.split("|")), said


def npz_of_zeros(path: Path, shape: tuple[int, ...], y: np.ndarray) -> None:
    """A small file that would unpack to a large array."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
        with archive.open("x.npy", "w", force_zip64=True) as file:
            file.write(header.getvalue())
            piece = bytes(1 << 20)
            for _ in range(64):
                file.write(piece)
        labels = io.BytesIO()
        np.save(labels, y)
        archive.writestr("y.npy", labels.getvalue())


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((16, 1024, 1024), "y has shape (48,) for 16 series"),
        ((48, 1024, 1024 * 1024), "too large for this program"),
        ((48, 1024, 4096), "x is cut off"),
        ((1 << 24,), "expected numbers as"),
    ],
)
def test_an_archive_is_not_unpacked_before_its_headers_make_sense(
    tmp_path: Path, monkeypatch, shape: tuple[int, ...], words: str
) -> None:
    own = folder(tmp_path / "own", "data: all.npz")
    npz_of_zeros(own / "all.npz", shape, waves()[1])
    monkeypatch.setattr("numpy.load", lambda *_, **__: pytest.fail("unpacked"))
    assert words in refused(own)


def test_pipes_among_the_files_are_passed_over(tmp_path: Path) -> None:
    x, y = waves()
    own = folder(tmp_path / "own", "data: '*/*.npy'")
    for label in range(6):
        (own / f"c{label}").mkdir()
        for i, series in enumerate(x[y == label]):
            np.save(own / f"c{label}" / f"{i}.npy", series)
        os.mkfifo(own / f"c{label}" / "pipe.npy")
    assert prepare_custom(str(own), tmp_path / "d").classes == 6
    (own / "card.yaml").unlink()
    os.mkfifo(own / "card.yaml")
    assert "no card.yaml in it" in refused(own)
