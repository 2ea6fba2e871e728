"""The publishers' files, from the folder TSBENCH_TEST_DATA: shapes, counts, values, digests."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.catalogue import card
from tsbench.data.manifest import read_manifest
from tsbench.data.prepared import authenticity, load, verify
from tsbench.protocol.stream import make_stream

pytestmark = pytest.mark.real


def sizes(root: Path, name: str) -> dict[str, int]:
    return {split: len(s) for split, s in load(card(name), root).splits.items()}


def test_counts_are_the_published_ones(prepared_real: Path) -> None:
    assert sizes(prepared_real, "uci-har") == {"train": 6616, "val": 736, "test": 2947}
    assert sizes(prepared_real, "uwave") == {"train": 806, "val": 90, "test": 3582}
    assert sizes(prepared_real, "wisdm") == {"train": 5418, "test": 1807}


def test_counts_per_class(prepared_real: Path) -> None:
    har = read_manifest(card("uci-har"), prepared_real)["splits"]
    together = np.add(har["train"]["per_class"], har["val"]["per_class"])
    assert together.tolist() == [1226, 1073, 986, 1286, 1374, 1407]
    assert har["test"]["per_class"] == [496, 471, 420, 491, 532, 537]
    uwave = read_manifest(card("uwave"), prepared_real)["splits"]
    assert uwave["test"]["per_class"] == [437, 452, 454, 450, 433, 449, 447, 460]
    subjects = load(card("uci-har"), prepared_real).splits
    assert len(set(subjects.train.subject)) == 21
    assert len(set(subjects.test.subject)) == 9


def test_values_equal_the_raw_text(prepared_real: Path, real_data: Path) -> None:
    outer = zipfile.ZipFile(real_data / "human+activity+recognition+using+smartphones.zip")
    inner = zipfile.ZipFile(io.BytesIO(outer.read("UCI HAR Dataset.zip")))
    signals = "UCI HAR Dataset/test/Inertial Signals/"
    har = load(card("uci-har"), prepared_real).splits
    for channel, name in ((0, "total_acc_x"), (5, "body_acc_z"), (8, "body_gyro_z")):
        lines = inner.read(f"{signals}{name}_test.txt").decode().splitlines()
        for row in (0, 1234, 2946):
            numbers = [float(v) for v in lines[row].split()]
            np.testing.assert_array_equal(har.test.x[row, channel], np.float32(numbers))
    archive = zipfile.ZipFile(real_data / "UWaveGestureLibraryY.zip")
    lines = archive.read("UWaveGestureLibraryY_TEST.ts").decode().split("@data\n")[1].splitlines()
    uwave = load(card("uwave"), prepared_real).splits
    values, label = lines[77].split(":")
    np.testing.assert_array_equal(uwave.test.x[77, 1], np.float32(values.split(",")))
    assert uwave.test.y[77] == int(label) - 1


def test_the_hold_out_is_sklearns(prepared_real: Path, real_data: Path) -> None:
    model_selection = pytest.importorskip("sklearn.model_selection")
    archive = zipfile.ZipFile(real_data / "UWaveGestureLibraryX.zip")
    lines = archive.read("UWaveGestureLibraryX_TRAIN.ts").decode().split("@data\n")[1].splitlines()
    rows = np.array([line.split(":")[0].split(",") for line in lines], np.float64)
    train, val = model_selection.train_test_split(rows, test_size=0.1, random_state=0)
    uwave = load(card("uwave"), prepared_real).splits
    np.testing.assert_array_equal(uwave.train.x[:, 0], np.float32(train))
    np.testing.assert_array_equal(uwave.val.x[:, 0], np.float32(val))


def test_wisdm_by_an_independent_reading(prepared_real: Path, real_data: Path) -> None:
    (name,) = [p for p in real_data.iterdir() if p.name.startswith("wisdm+")]
    inner = zipfile.ZipFile(io.BytesIO(zipfile.ZipFile(name).read("wisdm-dataset.zip")))
    text = inner.read("wisdm-dataset/raw/phone/accel/data_1618_accel_phone.txt").decode()
    rows = [line.rstrip(";").split(",") for line in text.splitlines() if line]
    walking = np.array([r[3:] for r in rows if r[1] == "A"], np.float64)
    wisdm = load(card("wisdm"), prepared_real)
    splits = wisdm.splits
    x = np.concatenate([splits.train.x, splits.test.x])
    y = np.concatenate([splits.train.y, splits.test.y])
    subject = np.concatenate([splits.train.subject, splits.test.subject])
    windows = x[(y == 0) & (subject == 1618)]
    expected = max(1, -(-(len(walking) - 1) // 200))
    assert len(windows) == expected
    assert any(np.array_equal(w.T, np.float32(walking[200:400])) for w in windows)
    assert (~x.any(axis=(1, 2))).sum() == wisdm.manifest["notes"]["windows_empty"] == 3
    assert str(splits.coverage) == "22 of 51 subjects"
    assert not wisdm.complete


def test_digests_say_that_it_is_the_official_data(prepared_real: Path) -> None:
    har = load(card("uci-har"), prepared_real)
    uwave = load(card("uwave"), prepared_real)
    assert authenticity(har.card, har.manifest) == "equals the official data"
    assert authenticity(uwave.card, uwave.manifest) == "training data equals the official data"
    for dataset in (har, uwave):
        verify(dataset)


def test_grabmyo_sample_is_partial_but_streams(prepared_real: Path) -> None:
    dataset = load(card("grabmyo"), prepared_real)
    assert str(dataset.splits.coverage) == "29 of 4816 records"
    assert dataset.usable == [0, 10, 11, 14, 15]
    assert set(dataset.splits.train.subject) == {1}
    stream = make_stream(dataset, 1234)
    assert stream.classes == (11, 0, 14, 10)  # the published order without the missing classes


def test_a_second_download_does_nothing(prepared_real: Path, real_data: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in prepared_real.rglob("*") if p.is_file()}
    arguments = ["download", "uci-har", "uwave", "wisdm", "grabmyo", "--from", str(real_data)]
    result = CliRunner().invoke(app, [*arguments, "--data", str(prepared_real)])
    assert result.exit_code == 0
    assert result.stderr.count("already prepared") == 4
    assert before == {p: p.stat().st_mtime_ns for p in prepared_real.rglob("*") if p.is_file()}
