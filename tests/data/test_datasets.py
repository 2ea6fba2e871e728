"""Each data set's ``prepare`` on small made-up raw files in the official layout, and bad ones."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from raw_files import (
    dsa_files,
    dsa_value,
    grabmyo_files,
    har_files,
    prepare,
    silent,
    uwave_files,
    wisdm_lines,
    write,
)

from tsbench.data.card import Card
from tsbench.data.catalogue import card
from tsbench.data.obtain import obtain
from tsbench.data.prepared import load, verify
from tsbench.data.raw import RawFiles
from tsbench.errors import UserError
from tsbench.protocol.rules import PAPER_DATASETS
from tsbench.protocol.samples import Split
from tsbench.protocol.splits import stratified_split

DEMO_DIGEST = "02e3fb39cfe6cd1099ad4d482457223851771efb5bf58e9feeafa6ee2f8f337d"


def test_har_reads_channels_labels_and_subjects(tmp_path: Path) -> None:
    files = har_files()
    splits = prepare("uci-har", write(tmp_path, files))
    assert splits.train.x.shape == (30, 9, 128)
    text = files["UCI/train/Inertial Signals/body_acc_y_train.txt"].splitlines()[7]
    np.testing.assert_array_equal(splits.train.x[7, 4], np.float32(text.split()))
    assert splits.test.y.tolist() == [i % 6 for i in range(30)]
    assert splits.test.subject.tolist() == [i % 4 + 1 for i in range(30)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("\n", "  1.0\n", 1), "number of columns changed"),
        (lambda t: t.split("\n", 1)[1], "29 rows, expected 30"),
        (lambda t: "  nonsense" + t[16:], "not a table of numbers"),
        (lambda t: " NaN  " + t.lstrip().split(maxsplit=1)[1], "row 1 has a missing"),
        (lambda t: "", "is empty"),
        (
            lambda t: "\n".join(" ".join(line.split()[:127]) for line in t.splitlines()),
            "127 columns",
        ),
    ],
    ids=["one long row", "a row less", "words", "NaN", "empty", "a column less"],
)
def test_har_refuses_malformed_tables(tmp_path: Path, change, message: str) -> None:
    files = har_files()
    name = "UCI/train/Inertial Signals/total_acc_x_train.txt"
    files[name] = change(files[name])
    with pytest.raises(UserError, match=message) as error:
        prepare("uci-har", write(tmp_path, files))
    assert "total_acc_x_train.txt" in str(error.value)


def test_har_names_the_missing_file(tmp_path: Path) -> None:
    files = har_files()
    del files["UCI/test/Inertial Signals/body_gyro_z_test.txt"]
    with pytest.raises(UserError, match=r"body_gyro_z_test\.txt' is not in"):
        prepare("uci-har", write(tmp_path, files))


def test_uwave_stacks_three_axes(tmp_path: Path) -> None:
    splits = prepare("uwave", write(tmp_path, uwave_files()))
    assert splits.train.x.shape == (24, 3, 315)
    assert splits.train.x[5, 1, 10] == np.float32(ord("Y") + 5.01)
    assert splits.test.y.tolist() == [i % 8 for i in range(24)]
    assert splits.train.subject is None


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("UWaveGestureLibraryY_TRAIN.ts", lambda t: t.replace(":3", ":4"), "another order"),
        ("UWaveGestureLibraryZ_TEST.ts", lambda t: t.replace("@data", ""), "no @data"),
        (
            "UWaveGestureLibraryX_TEST.ts",
            lambda t: t.replace("88.000,", "", 1),
            "not one axis of 315 steps",
        ),
    ],
)
def test_uwave_refuses_malformed_files(tmp_path: Path, name, change, message) -> None:
    files = uwave_files()
    files[name] = change(files[name])
    with pytest.raises(UserError, match=message):
        prepare("uwave", write(tmp_path, files))


def test_dsa_drops_a16_keeps_order_and_subjects(tmp_path: Path) -> None:
    archive = tmp_path / "daily+and+sports+activities.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in dsa_files(2).items():
            out.writestr(name, text)
    splits = card("dsa").prepare(RawFiles(archive), silent)
    assert len(splits.train) + len(splits.test) == 18 * 8 * 2
    assert str(splits.coverage) == "288 of 8640 segments"
    activities = [a for a in range(1, 20) if a != 16]
    rows = [(k, a, p, s) for k, a in enumerate(activities) for p in range(1, 9) for s in (1, 2)]
    train, _ = stratified_split(np.array([r[0] for r in rows]), 0.25)
    for place in (0, 17, 100):
        label, activity, subject, segment = rows[train[place]]
        assert splits.train.y[place] == label
        assert splits.train.subject[place] == subject
        expected = dsa_value(activity, subject, segment, 124, 44)
        np.testing.assert_allclose(splits.train.x[place, 44, 124], expected, rtol=1e-6)


def test_dsa_published_counts_and_labels() -> None:
    labels = np.repeat(np.arange(18), 480)
    train, test = stratified_split(labels, 0.25)
    assert (len(train), len(test)) == (6480, 2160)
    assert set(np.bincount(labels[train])) == {360}
    names = card("dsa").class_names
    assert (names[14], names[15]) == ("cycling, horizontal", "rowing")


def test_dsa_names_the_segment_with_a_row_too_few(tmp_path: Path) -> None:
    files = {n: t for n, t in dsa_files(1).items() if "/a01/" in n or "/a02/" in n}
    files["data/a02/p3/s01.txt"] = files["data/a02/p3/s01.txt"].split("\n", 1)[1]
    with pytest.raises(UserError, match=r"a02/p3/s01\.txt' has 124 rows, expected 125"):
        prepare("dsa", write(tmp_path, files))


def test_wisdm_windows_padding_empty_activities_and_bad_lines(tmp_path: Path) -> None:
    from tsbench.datasets.wisdm import ACTIVITIES

    text = "".join(wisdm_lines(1600, letter, 400) for letter in ACTIVITIES if letter != "J")
    text += wisdm_lines(1600, "A", 50, start=400)
    other = text.replace("1600,", "1607,")
    broken = "1607,A,12,nonsense,1,2;\n1607,A,12,1.0\n1607,N,1,1,1,1;\n\n1607,A,1,nan,1,1;\n"
    files = {
        "raw/phone/accel/data_1600_accel_phone.txt": text,
        "raw/phone/accel/data_1607_accel_phone.txt": broken + other,
        "raw/watch/accel/data_1600_accel_watch.txt": "not ours",
    }
    splits = prepare("wisdm", write(tmp_path, files))
    assert str(splits.coverage) == "2 of 51 subjects"
    assert splits.notes == {"lines_skipped": 4, "windows_padded": 2, "windows_empty": 2}
    total = len(splits.train) + len(splits.test)
    assert total == 2 * (17 * 2 + 1 + 1)
    everything = np.concatenate([splits.train.x, splits.test.x])
    labels = np.concatenate([splits.train.y, splits.test.y])
    assert (~everything.any(axis=(1, 2))).sum() == 2
    assert set(labels[~everything.any(axis=(1, 2))]) == {9}
    padded = everything[(labels == 0) & (everything[:, 0, 0] == 400.5)]
    assert padded.shape == (2, 3, 200)
    assert padded[:, 2, 49].all()
    assert not padded[:, :, 50:].any()


def test_wisdm_fast_and_slow_readers_agree() -> None:
    from tsbench.datasets.wisdm import _read, _read_line_by_line

    from tsbench.data.raw import RawFile

    text = (wisdm_lines(1600, "A", 30) + wisdm_lines(1600, "S", 20)).encode()
    fast = _read(RawFile("f", len(text), lambda: text))
    slow = _read_line_by_line(text)
    np.testing.assert_array_equal(fast[0], slow[0])
    np.testing.assert_array_equal(fast[1], slow[1])
    assert fast[2] == slow[2] == 0


def test_a_data_set_without_two_usable_classes_is_refused(tmp_path: Path) -> None:
    only = {
        f"a01/p{p}/s{s:02d}.txt": "\n".join([",".join(["1.0"] * 45)] * 125)
        for p in (1, 2)
        for s in range(1, 9)
    }
    with pytest.raises(UserError, match=r"dsa: only 1 class.*16 of 8640 segments"):
        obtain(card("dsa"), tmp_path / "out", source=write(tmp_path / "raw", only))
    assert not list((tmp_path / "out").rglob("manifest.json"))


def test_cards_are_consistent() -> None:
    from tsbench.data.card import RemoteFile

    memory = {"uci-har": 61, "uwave": 5, "dsa": 18, "grabmyo": 102, "wisdm": 50}
    for name in PAPER_DATASETS:
        each = card(name)
        assert each.name == name
        assert int(0.05 * each.memory_per_class) == memory[name]
        assert each.licence and each.citation and each.page.startswith("https://")
        files: list[RemoteFile] = [g for f in each.files for g in (f, *f.alternatives)]
        assert all(file.urls and file.size for file in files)
        assert files or each.listing
    norms = {name: card(name).input_norm for name in PAPER_DATASETS}
    assert norms == {
        "uci-har": "layer",
        "uwave": "instance",
        "dsa": "layer",
        "grabmyo": "layer",
        "wisdm": "none",
    }


def test_grabmyo_wants_exactly_the_4816_records_of_session_1() -> None:
    listing = card("grabmyo").listing
    wanted = re.compile(listing.wanted)
    stem = "Session1/session1_participant{p}/session1_participant{q}_gesture{g}_trial{t}.{e}"
    matches = sum(
        bool(wanted.fullmatch(stem.format(p=p, q=p, g=g, t=t, e=e)))
        for p in range(1, 44)
        for g in range(1, 18)
        for t in range(1, 8)
        for e in ("dat", "hea")
    )
    assert matches == listing.count == 9632
    assert not wanted.fullmatch(stem.format(p=1, q=2, g=1, t=1, e="dat"))


def test_an_archive_beside_its_unpacked_copy_counts_once(tmp_path: Path) -> None:
    files = {n: t for n, t in dsa_files(2).items() if re.search(r"/a0[1-4]/", n)}
    write(tmp_path, files)
    with zipfile.ZipFile(tmp_path / "dsa.zip", "w") as out:
        for name, text in files.items():
            out.writestr(name, text)
    splits = prepare("dsa", tmp_path)
    assert splits.coverage.found == 4 * 8 * 2


def test_dsa_names_the_file_at_fault(tmp_path: Path) -> None:
    files = {n: t for n, t in dsa_files(3).items() if "/a01/" in n or "/a02/" in n}
    files["data/a02/p3/s02.txt"] = files["data/a02/p3/s02.txt"].replace(",", ";", 1)
    with pytest.raises(UserError, match=r"a02/p3/s02\.txt"):
        prepare("dsa", write(tmp_path, files))


def test_wisdm_refuses_a_file_without_a_sample(tmp_path: Path) -> None:
    files = {f"raw/phone/accel/data_{s}_accel_phone.txt": "<html>nope</html>" for s in (1600, 1601)}
    with pytest.raises(UserError, match="holds no sample"):
        prepare("wisdm", write(tmp_path, files))


def test_fewer_samples_than_the_official_data_is_partial(tmp_path: Path) -> None:
    manifest = obtain(card("uwave"), tmp_path / "d", source=write(tmp_path / "raw", uwave_files()))
    assert not manifest["complete"]
    assert manifest["coverage"] == {"found": 48, "expected": 4478, "unit": "series"}


def test_labels_are_whole_numbers(tmp_path: Path) -> None:
    files = har_files()
    files["UCI/test/y_test.txt"] = files["UCI/test/y_test.txt"].replace("3 ", "3.5 ")
    with pytest.raises(UserError, match="not a whole number"):
        prepare("uci-har", write(tmp_path / "har", files))
    files = {n: t.replace(" 3 ", " 9 ").replace(":3", ":9") for n, t in uwave_files().items()}
    with pytest.raises(UserError, match="other than 1 to 8"):
        prepare("uwave", write(tmp_path / "uwave", files))


def test_grabmyo_takes_the_wired_channels_and_leaves_out_rest(tmp_path: Path) -> None:
    splits = prepare("grabmyo", write(tmp_path, grabmyo_files()))
    assert len(splits.train) + len(splits.test) == 4 * 10
    assert splits.train.x.shape[1:] == (28, 128)
    assert set(splits.train.y) == {0, 1, 2, 3}
    assert set(splits.train.subject) == {7}
    assert splits.notes == {"samples_missing": 3}
    third = splits.train.x[splits.train.y == 2]
    np.testing.assert_allclose(third, 1.5, rtol=1e-5)


@pytest.mark.parametrize("form", ["32 2048 100", "32 1 10240", "32 2048 0", "31 2048 10240"])
def test_grabmyo_refuses_other_record_forms(tmp_path: Path, form: str) -> None:
    with pytest.raises(UserError, match="expected"):
        prepare("grabmyo", write(tmp_path, grabmyo_files(form)))


def test_the_digest_covers_subjects() -> None:
    x, y = np.zeros((3, 1, 4), np.float32), np.zeros(3, np.int64)
    digests = {
        Split(x, y).digest(),
        Split(x, y, np.array([1, 2, 3], np.int32)).digest(),
        Split(x, y, np.array([1, 2, 4], np.int32)).digest(),
    }
    assert len(digests) == 3


def test_changed_arrays_are_noticed(tmp_path: Path) -> None:
    obtain(card("uwave"), tmp_path / "d", source=write(tmp_path / "raw", uwave_files()))
    (arrays,) = (tmp_path / "d" / "uwave").glob("arrays-*")
    verify(load(card("uwave"), tmp_path / "d"))
    with (arrays / "train.x.npy").open("r+b") as file:
        file.seek(200)
        file.write(b"\1\2\3\4")
    with pytest.raises(UserError, match="have changed"):
        verify(load(card("uwave"), tmp_path / "d"))
    (arrays / "train.y.npy").unlink()
    with pytest.raises(UserError, match="damaged"):
        load(card("uwave"), tmp_path / "d")


def test_demo_is_deterministic_instant_and_has_subjects(tmp_path: Path) -> None:
    first, second = load(card("demo"), tmp_path), load(card("demo"), tmp_path)
    assert first.digest == second.digest == DEMO_DIGEST
    assert first.splits.train.x.shape == (345, 3, 100)
    assert len(first.splits.val) == 39
    assert set(first.splits.test.subject) == set(range(6))
    assert not list(tmp_path.iterdir())


def test_a_card_needs_one_way_to_its_data() -> None:
    demo = card("demo")
    fields = {f: getattr(demo, f) for f in demo.__dataclass_fields__ if f != "generate"}
    with pytest.raises(UserError, match="prepare or generate"):
        Card(**fields)
