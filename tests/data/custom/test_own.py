"""People's own data sets from the command line: prepared, run, changed, moved, refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from own_series import CARD_FILE, folder, waves
from tsbench_process import run_here as run
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.catalogue import card
from tsbench.data.custom.prepare import custom_name, is_custom, prepare_custom
from tsbench.data.manifest import read_manifest
from tsbench.data.prepared import load
from tsbench.errors import UserError
from tsbench.protocol.rules import Protocol
from tsbench.protocol.stream import make_stream
from tsbench.runs.execute import execute
from tsbench.runs.machine import Machine
from tsbench.runs.plan import Request, plan
from tsbench.runs.store import Store


def tsbench(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def gestures(tmp_path: Path) -> Path:
    x, y = waves()
    names = np.array([f"gesture {c}" for c in "abcdef"])[y]
    return folder(tmp_path / "Meine Gästen", "name: gestures\ndata: all.npz", x=x, y=names)


@pytest.fixture
def card_file(tmp_path: Path) -> str:
    path = tmp_path / "my däta.py"
    path.write_text(CARD_FILE, encoding="utf-8")
    return f"{path}:card"


def specs(name: str, root: Path, seeds=(1234,)):
    return plan(Request(["naive"], [name], list(seeds), Protocol(epochs=1)), root).specs


@pytest.mark.parametrize(
    "place", ["./x", "x/", "/a/b", "x.py:card", "a/card.yaml", "card.yml", ".."]
)
def test_places_are_told_from_names(place: str) -> None:
    assert is_custom(place)
    assert not is_custom(place.strip("./").replace("/", "").partition(".")[0] or "x")


def test_a_folder_runs_from_the_command_line_and_goes_by_its_name(tmp_path: Path, gestures) -> None:
    data = ["--data", str(tmp_path / "d")]
    matrix = ["--method", "naive", "--dataset", str(gestures), "--seed", "1", "--epochs", "1"]
    code, said = run(tmp_path / "r", *matrix, *data)
    assert code == 0, said
    assert "6 classes, in this order: gesture a, gesture b" in said
    assert "3 tasks of two classes" in said
    (record,), _ = Store(tmp_path / "r").records()
    assert record["spec"]["dataset"] == "gestures"
    assert record["data"]["card"]["class_names"] == [f"gesture {c}" for c in "abcdef"]
    shutil.rmtree(gestures)
    matrix[matrix.index(str(gestures))] = "gestures"
    code, said = run(tmp_path / "r", *matrix, *data)
    assert "1 of 1 runs are done already" in said, "the name and what is prepared are enough"
    listed = json.loads(tsbench("list", "datasets", "--json", *data).stdout)
    assert (listed[-1]["name"], listed[-1]["classes"]) == ("gestures", 6)
    counted = tsbench("status", *matrix[:-1], "1", *data, "--results", str(tmp_path / "r"))
    assert "1 done" in counted.stdout


def test_report_filters_take_places(tmp_path: Path, gestures: Path) -> None:
    prepare_custom(str(gestures), tmp_path / "d")
    (spec,) = specs("gestures", tmp_path / "d")
    store = Store(tmp_path / "r")
    store.save(spec, execute(spec, Machine(tmp_path / "d"), lambda *_: None))
    report = ["report", "--results", str(tmp_path / "r"), "--format", "csv"]
    assert "gestures" in tsbench(*report, "--dataset", str(gestures)).stdout
    assert tsbench(*report, "--dataset", "demo").exit_code == 2
    assert custom_name("demo") == "demo"


def test_a_card_in_a_file(tmp_path: Path, card_file: str, capfd) -> None:
    root = tmp_path / "d"
    assert prepare_custom(card_file, root).name == "levels"
    assert "this is no data" not in capfd.readouterr().out
    dataset = load(card("levels", root), root)
    assert dataset.splits.train.x.shape == (36, 1, 12)
    assert len(make_stream(dataset, 1).tasks) == 2
    folder_before = dataset.manifest["folder"]
    prepare_custom(card_file, root)
    assert read_manifest(dataset.card, root)["folder"] == folder_before, "the same: left alone"


def test_a_change_of_the_file_changes_the_run_and_moving_it_does_not(tmp_path: Path) -> None:
    root, hashes = tmp_path / "d", []
    for place, text in (
        ("one", CARD_FILE),
        ("two", CARD_FILE),
        ("two", CARD_FILE.replace("LEVEL = 1", "LEVEL = 2")),
        ("two", CARD_FILE.replace('input_norm="none"', 'input_norm="instance"')),
    ):
        path = tmp_path / place / f"f{len(hashes)}.py"  # a file is imported once a process
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        name = prepare_custom(f"{path}:card", root, force=True).name
        hashes.append(specs(name, root)[0].hash())
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_a_change_in_the_folder_is_prepared_again(tmp_path: Path, gestures: Path, capsys) -> None:
    root = tmp_path / "d"
    prepare_custom(str(gestures), root)
    first = specs("gestures", root)[0]
    moved = shutil.move(gestures, tmp_path / "elsewhere")
    prepare_custom(str(moved), root)
    assert specs("gestures", root)[0].hash() == first.hash()
    capsys.readouterr()
    x, y = waves()
    x[0, 0, 0] += 1
    np.savez(Path(moved) / "all.npz", x=x, y=y)
    prepare_custom(str(moved), root)
    assert "has changed since it was prepared" in capsys.readouterr().err
    second = specs("gestures", root)[0]
    assert second.data_digest != first.data_digest
    with pytest.raises(UserError, match="prepared again since"):
        execute(first, Machine(root), lambda *_: None)
    (Path(moved) / "card.yaml").write_text("name: gestures\ndata: all.npz\ninput_norm: none")
    prepare_custom(str(moved), root)
    assert specs("gestures", root)[0].hash() != second.hash(), "the card counts, too"


def test_two_folders_of_one_name_are_told_apart(tmp_path: Path, gestures: Path) -> None:
    root = tmp_path / "d"
    prepare_custom(str(gestures), root)
    x, y = waves(4)
    other = folder(tmp_path / "other", "name: gestures\ndata: all.npz", x=x, y=y)
    with pytest.raises(UserError, match="another data set called 'gestures'"):
        prepare_custom(str(other), root)
    assert prepare_custom(str(gestures), root).classes == 6
    assert prepare_custom(str(other), root, force=True).classes == 4


def test_small_classes_and_odd_numbers_are_told(tmp_path: Path, capsys) -> None:
    x, y = waves()
    keep = np.flatnonzero((y != 2) | (np.arange(len(y)) % 8 == 0))  # one series of class 2
    path = folder(tmp_path / "odd", "data: all.npz", x=x[keep], y=y[keep])
    dataset = load(prepare_custom(str(path), tmp_path / "d"), tmp_path / "d")
    said = capsys.readouterr().err
    assert "class '2' is left out: 1 series to train on and 0 to test on, 2 and 1 are" in said
    assert "odd number of classes" in said
    for seed in range(5):
        stream = make_stream(dataset, seed)
        assert len(stream.tasks) == 2
        assert 2 not in stream.classes
        assert all(
            len(task.train) and len(test)
            for task, test in zip(stream.tasks, stream.tests, strict=True)
        )


def test_many_classes_have_two_streams(tmp_path: Path, capsys) -> None:
    x, y = waves(classes=11, each=4)
    path = folder(tmp_path / "many", "data: all.npz", x=x, y=y)
    prepare_custom(str(path), tmp_path / "d")
    assert "3 validation tasks and 2 experiment tasks" in capsys.readouterr().err


def test_tiny_classes_survive_the_held_out_tenth(tmp_path: Path) -> None:
    x, y = waves(classes=8, each=3)
    dataset = load(
        prepare_custom(str(folder(tmp_path / "tiny", "data: all.npz", x=x, y=y)), tmp_path / "d"),
        tmp_path / "d",
    )
    assert len(dataset.usable) == 8
    for name in ("exp", "val"):
        for task in make_stream(dataset, 7, Protocol(stream=name)).tasks:
            assert set(task.train.y) == set(task.labels), "every class has something to train on"


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("name: uwave", "the name 'uwave' is taken"),
        ("name: all", "the name 'all' is taken"),
        ("name: ../../up", "'../../up' is not a valid data set name"),
        ("name: .hidden", "is not a valid data set name"),
        ("length: 5\nunequal: resample", "methods need 9 at least"),
        ("dropout: 1", "dropout must be at least 0 and below 1"),
        ("memory_per_class: 10", "memory_per_class must be at least 20"),
        ("drop: [gesture a, gesture b, gesture c]", "only 3 class(es)"),
    ],
)
def test_what_no_method_could_use_is_refused(tmp_path: Path, gestures, card, words) -> None:
    (gestures / "card.yaml").write_text(f"data: all.npz\n{card}")
    result = tsbench("download", str(gestures), "--data", str(tmp_path / "d"))
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 2
    assert not list((tmp_path / "d").rglob("manifest.json"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("def generate():", "def generate():\n    1 / 0"), "ZeroDivisionError"),
        (("    return Splits(", "    return 7\n    Splits("), "returned a int, not tsbench Splits"),
        (("np.float32", "np.float64"), "expected (40, 1, 12) float32"),
        (("return Split(x.astype(np.float32), y)", "return Split(x.astype(np.float32), y / 1)"),
         "one whole number as label"),
        (("LEVEL * y", "np.nan * y"), "NaN"),
        (('"a", "b", "c", "d"', '"a", "b", "c"'), "label outside 0..2"),
        (("generate=generate,", ""), "give either prepare or generate"),
        (("card = Card", "card = dict"), "is a dict, not a tsbench Card"),
        (("LEVEL = 1", "raise SystemExit"), "failed to import"),
        (("length=12", "lenght=12"), "lenght"),
    ],
)  # fmt: skip
def test_a_bad_card_in_a_file_gets_a_line(tmp_path: Path, change, words: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(CARD_FILE.replace(*change))
    with pytest.raises(UserError) as error:
        prepare_custom(f"{path}:card", tmp_path / "d")
    assert words in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ("./gone", ["./gone: there is no such folder or card"]),
        ("./gone.py:card", ["gone.py' does not exist"]),
        ("./empty", ["no card.yaml", "tsbench new-dataset empty"]),
        ("empty", ["for the folder of that name write ./empty"]),
        ("./x.ts", ["give the folder that it is in"]),
        ("mine.py", ["not of the form path/file.py:Name"]),
        ("mine.py:Card_", ["has no 'Card_'"]),
        ("dmo", ["did you mean 'demo'"]),
    ],
)
def test_what_is_not_there(tmp_path: Path, monkeypatch, dataset: str, words: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.ts").write_text("@data")
    (tmp_path / "mine.py").write_text(CARD_FILE)
    result = tsbench("run", "--method", "naive", "--dataset", dataset)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in result.stderr


PREPARE = """
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.data.card import Card, RemoteFile
import io
import numpy as np

def prepare(raw, tick):
    found = np.load(io.BytesIO(raw.find("all.npz").read()), allow_pickle=False)
    x, y = found["x"].astype(np.float32), found["y"]
    return Splits(Split(x[::2], y[::2]), Split(x[1::2], y[1::2]), Coverage(1, 1, "file"))

card = Card(name="beside", title="Beside", channels=2, length=20, class_names=tuple("abcdef"),
            input_norm="none", dropout=0.0, memory_per_class=20, prepare=prepare, files=FILES)
"""


def test_a_card_that_prepares_files_beside_it_or_downloads_them(tmp_path: Path) -> None:
    x, y = waves()
    np.savez(tmp_path / "all.npz", x=x, y=y)
    (tmp_path / "a.py").write_text(PREPARE.replace("FILES", "()"))
    root = tmp_path / "d"
    assert len(load(prepare_custom(f"{tmp_path}/a.py:card", root), root).splits.test) == 24
    (tmp_path / "b.py").write_text(
        PREPARE.replace("FILES", '(RemoteFile("all.npz", ("http://127.0.0.1:9/x",), 10),)')
    )
    other = tmp_path / "other"
    with pytest.raises(UserError, match="not prepared; run: tsbench download"):
        prepare_custom(f"{tmp_path}/b.py:card", other)
    said = tsbench(
        "download", f"{tmp_path}/b.py:card", "--from", str(tmp_path), "--data", str(other)
    )
    assert said.exit_code == 0, said.output
    assert "also by its name: --dataset beside" in said.stderr
    assert prepare_custom(f"{tmp_path}/b.py:card", other).name == "beside"


def test_a_prepared_one_is_prepared_again_by_its_name(tmp_path: Path, gestures: Path) -> None:
    data = ["--data", str(tmp_path / "d")]
    prepare_custom(str(gestures), tmp_path / "d")
    again = tsbench("download", "gestures", "--force", *data)
    assert again.exit_code == 0, again.output
    assert "prepared" in again.stderr
    manifest = tmp_path / "d" / "gestures" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"length"', '"lenght"'))
    refused = tsbench("run", "--dataset", "gestures", *data)
    assert refused.exit_code == 2
    assert "cannot be read" in refused.stderr
    assert tsbench("list", "datasets", *data).exit_code == 0
    assert prepare_custom(str(gestures), tmp_path / "d").length == 20, "the place mends it"


def test_two_at_once_prepare_it_once(tmp_path: Path, gestures: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        cards = list(pool.map(lambda _: prepare_custom(str(gestures), tmp_path / "d"), range(4)))
    assert len({card.length for card in cards}) == 1
    assert len(list((tmp_path / "d" / "gestures").glob("arrays-*"))) == 1
    load(cards[0], tmp_path / "d")


def test_what_is_prepared_is_all_that_a_node_elsewhere_needs(tmp_path: Path, gestures) -> None:
    from tsbench.executors.ray.node import read_data

    root, node = tmp_path / "d", tmp_path / "node"
    prepare_custom(str(gestures), root)
    (spec,) = specs("gestures", root)
    here = execute(spec, Machine(root), lambda *_: None)
    for name, content in read_data("gestures", root).items():
        path = node / "gestures" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.tobytes())
    shutil.rmtree(gestures)
    shutil.rmtree(root)
    there = execute(spec, Machine(node), lambda *_: None)
    assert there["result"] == here["result"]
    assert there["hash"] == here["hash"]
