"""Folders of series with a YAML card: reading, fitting, splitting, refusing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from own_series import STEPS, folder, waves

from tsbench.data.custom.folder import open_collection
from tsbench.data.custom.lengths import fit, resampled
from tsbench.data.finish import finish
from tsbench.errors import UserError
from tsbench.protocol.splits import class_split, subject_split


def read(path: Path):
    return open_collection(path).read(lambda done, total: None)


def refused(path: Path) -> str:
    with pytest.raises(UserError) as error:
        finish(*read(path))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_arrays_in_one_file_or_in_several_are_the_same(tmp_path: Path) -> None:
    x, y = waves()
    subject = np.tile(np.arange(4), 12)
    one, splits = read(folder(tmp_path / "a b ü", "data: all.npz", x=x, y=y, subject=subject))
    card = "data: {x: x.npy, y: y.npy, subject: subject.npy}"
    _, same = read(folder(tmp_path / "b", card, x=x, y=y, subject=subject))
    assert splits.digest() == same.digest()
    assert (one.name, one.channels, one.length) == ("a-b-ü", 2, STEPS)
    assert one.class_names == tuple("012345")
    assert not set(splits.train.subject) & set(splits.test.subject), "a subject is on one side"
    row = splits.test.x[0]
    (place,) = np.flatnonzero((np.float32(x) == row).all(axis=(1, 2)))
    assert splits.test.y[0] == y[place]
    assert splits.test.subject[0] == subject[place]


def test_steps_before_channels_and_no_channels(tmp_path: Path) -> None:
    x, y = waves()
    _, plain = read(folder(tmp_path / "a", "data: all.npz", x=x, y=y))
    card = "data: all.npz\naxes: nlc"
    _, turned = read(folder(tmp_path / "b", card, x=x.transpose(0, 2, 1), y=y))
    assert plain.digest() == turned.digest()
    flat, _ = read(folder(tmp_path / "c", "data: all.npz", x=x[:, 0], y=y))
    assert (flat.channels, flat.length) == (1, STEPS)


def test_given_splits_and_ts_files(tmp_path: Path) -> None:
    x, y = waves()
    head = "@classLabel true a b c d e f\n@data\n"
    for name, rows in (("TRAIN", slice(0, None, 2)), ("TEST", slice(1, None, 2))):
        lines = [
            ":".join(",".join(map(str, ch)) for ch in s) + f":{'abcdef'[k]}"
            for s, k in zip(x[rows], y[rows], strict=True)
        ]
        (tmp_path / f"Waves_{name}.ts").write_text(head + "\n".join(lines))
    card, splits = read(folder(tmp_path, "train: Waves_TRAIN.ts\ntest: Waves_TEST.ts"))
    assert card.class_names == tuple("abcdef")
    np.testing.assert_array_equal(splits.train.x, np.float32(x[::2]))
    np.testing.assert_array_equal(splits.test.y, y[1::2])
    assert card.memory_per_class == 20, "never less than one exemplar a class"


def test_a_file_a_series_in_a_folder_a_class(tmp_path: Path) -> None:
    x, y = waves()
    for i, (series, k) in enumerate(zip(x, y, strict=True)):
        place = tmp_path / "all" / f"class {k}"
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / f"{i:03}.npy", series[:, : STEPS - i % 3])
    card, splits = read(folder(tmp_path, "data: all/*/*.npy\nunequal: pad"))
    assert card.class_names == tuple(f"class {k}" for k in range(6))
    assert splits.notes == {"series_padded_to_20_steps": 32}
    padded = (splits.train.x[..., -1] == 0).all(axis=1).sum()
    assert padded + (splits.test.x[..., -1] == 0).all(axis=1).sum() == 32
    (tmp_path / "arrays-1").mkdir()
    np.save(tmp_path / "arrays-1" / "train.x.npy", x)
    folder(tmp_path, "data: '*/*.npy'\nunequal: pad")
    assert "nothing in" in refused(tmp_path), "prepared arrays are not taken for raw ones"


def test_text_labels_are_sorted_and_numbers_by_value(tmp_path: Path) -> None:
    x, y = waves()
    words = np.array(["run", "sit", "walk", "climb", "lie", "stand"])[y]
    card, splits = read(folder(tmp_path / "a", "data: all.npz", x=x, y=words))
    assert card.class_names == ("climb", "lie", "run", "sit", "stand", "walk")
    numbers = np.array([10.0, 9, 100, 1, 2, 3])[y]
    card, splits = read(folder(tmp_path / "b", "data: all.npz", x=x, y=numbers))
    assert card.class_names == ("1", "2", "3", "9", "10", "100")
    row = np.flatnonzero((np.float32(x) == splits.test.x[3]).all(axis=(1, 2)))
    assert card.class_names[splits.test.y[3]] == f"{numbers[row][0]:.0f}"


def test_padding_cutting_and_resampling_by_hand() -> None:
    series = [np.array([[1.0, 3.0]]), np.array([[1.0, 2.0, 3.0, 4.0]])]
    x, notes = fit(series, 3, "pad")
    assert x.tolist() == [[[1, 3, 0]], [[1, 2, 3]]]
    assert notes == {"series_padded_to_3_steps": 1, "series_cut_to_3_steps": 1}
    x, notes = fit(series, 3, "resample")
    assert x.tolist() == [[[1, 2, 3]], [[1, 2.5, 4]]]
    assert notes == {"series_resampled_to_3_steps": 2}
    x, notes = fit(series, None, "pad")
    assert x.shape == (2, 1, 4)
    with pytest.raises(UserError, match=r"2 to 4 steps.*unequal: pad"):
        fit(series)
    with pytest.raises(UserError, match="series have 2 steps, not 5"):
        fit(series[:1], 5)


def test_resampling_equals_scipy() -> None:
    from scipy.interpolate import make_interp_spline

    values = np.random.default_rng(0).normal(size=(3, 17))
    spline = make_interp_spline(np.arange(17), values, k=1, axis=1)
    for steps in (9, 17, 40):
        np.testing.assert_allclose(resampled(values, steps), spline(np.linspace(0, 16, steps)))


def test_missing_values_by_hand() -> None:
    nan = np.nan
    series = [np.array([[nan, 1.0, nan, 3.0, nan], [nan] * 5])]
    x, notes = fit(series, missing="interpolate")
    assert x.tolist() == [[[1, 1, 2, 3, 3], [0, 0, 0, 0, 0]]]
    assert notes == {"missing_values_interpolate": 8}
    assert fit(series, missing="zero")[0].tolist() == [[[0, 1, 0, 3, 0], [0] * 5]]
    with pytest.raises(UserError, match="8 values are missing"):
        fit(series)


def test_a_tail_of_nan_is_the_end_of_a_series(tmp_path: Path) -> None:
    x, y = waves()
    x[5, :, 15:] = np.nan
    x[6, 0, 15:] = np.nan  # the other channel goes on: these are missing values
    path = folder(tmp_path, "data: all.npz\nunequal: pad\nmissing: zero", x=x, y=y)
    _, splits = read(path)
    assert splits.notes == {"missing_values_zero": 5, "series_padded_to_20_steps": 1}


def test_class_split_shares_every_class() -> None:
    labels = np.repeat(np.arange(6), [100, 40, 3, 2, 1, 7])
    train, test = class_split(labels, 0.25, 0)
    assert sorted([*train, *test]) == list(range(len(labels)))
    assert np.bincount(labels[test], minlength=6).tolist() == [25, 10, 1, 0, 0, 2]
    again = class_split(labels, 0.25, 0)[1]
    other = class_split(labels, 0.25, 1)[1]
    assert again.tolist() == test.tolist() != other.tolist()


def test_subject_split_keeps_subjects_whole() -> None:
    subjects = np.random.default_rng(0).integers(0, 10, 500)
    for share in (0.01, 0.25, 0.5, 0.99):
        train, test = subject_split(subjects, share, 3)
        assert not set(subjects[train]) & set(subjects[test])
        assert len(train) and len(test)
        assert len(test) >= share * 500 or len(set(subjects[train])) == 1
        largest = np.bincount(subjects).max()
        assert len(test) <= share * 500 + largest
    with pytest.raises(UserError, match="split_by: class"):
        subject_split(np.zeros(5), 0.5, 0)


@pytest.mark.parametrize(
    ("card", "words"),
    [
        ("", "no 'key: value' lines"),
        ("[1, 2]", "no 'key: value' lines"),
        ("data: [", "is not YAML"),
        ("data: all.npz\ntests: x", "unknown key 'tests' (did you mean 'test'?)"),
        ("train: all.npz", "give either train and test, or data"),
        ("data: all.npz\ntrain: all.npz\ntest: all.npz", "give either"),
        ("title: nothing", "give either"),
        ("data: {y: y.npy}", "data must be a file, or {x: FILE"),
        ("data: 7", "data must be a file"),
        ("data: all.npz\nlength: long", "length must be a whole number, not long"),
        ("data: all.npz\nlength: 12.5", "length must be a whole number"),
        ("data: all.npz\ndropout: true", "dropout must be a number"),
        ("data: all.npz\nunequal: stretch", "unequal must be one of pad, resample"),
        ("data: all.npz\ndrop: [no]", "drop must be in quotes"),
        ("data: all.npz\ndrop: a", "drop must be a list"),
        ("data: all.npz\ndrop: [7]", "no class '7'"),
        ("data: all.npz\ndrop: [0, 1, 2, 3, 4, 5]", "no series are left"),
        ("data: all.npz\ntest_share: 1", "test_share must be between 0 and 1"),
        ("data: all.npz\nsplit_by: subject", "no subjects are given"),
        ("data: gone.npz", "'gone.npz' is not in"),
        ("data: '*.gone'", "matches '*.gone'"),
        ("data: card.yaml", "is not a .ts, .npz or .npy file"),
        ("data: x.npy", "holds no labels"),
        ("data: {x: x.npy, y: x.npy}", "labels of shape"),
        ("data: {x: y.npy, y: y.npy}", "expected numbers as (series, channels, steps)"),
        ("data: all.npz\ndrop: [0, 1, 2]", "only 3 class(es) with enough samples"),
    ],
)
def test_bad_cards_get_a_line(tmp_path: Path, card: str, words: str) -> None:
    x, y = waves()
    assert words in refused(folder(tmp_path, card, x=x, y=y))


def change_x(change):
    x, y = waves()
    x = change(x)
    return {"x": x if x is not None else waves()[0], "y": y}


def set_at(place, value):
    def change(x):
        x[place] = value
        return x

    return change


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (change_x(set_at((3, 0, 4), np.inf)), "series 4 has an infinite value"),
        (change_x(set_at((3, 0, 4), np.nan)), "1 values are missing"),
        (change_x(set_at(3, np.nan)), "series 4 is empty"),
        (change_x(lambda x: x[:5]), "y has shape (48,) for 5 series"),
        (change_x(lambda x: x.astype(complex)), "type complex128; expected numbers"),
        (change_x(lambda x: x[..., None]), "has shape (48, 2, 20, 1)"),
        (change_x(lambda x: 1e300 * x), "a value beyond ±3.4e+38"),
        ({"x": waves()[0]}, "needs the arrays x and y; it has: x"),
        ({"x": waves()[0], "y": waves()[1] + 0.5}, "not a whole number"),
        ({"x": waves()[0], "y": np.eye(6)[waves()[1]]}, "y has shape (48, 6)"),
        ({"x": waves()[0], "y": np.full(48, " ")}, "an empty label"),
        ({"x": waves()[0], "y": np.full(48, np.nan)}, "not a whole number"),
        ({"x": waves()[0], "y": np.full(48, 2 + 1j)}, "labels of type complex128"),
        ({"x": waves()[0][:10], "y": waves()[1][:10]}, "only 1 class(es)"),
        ({"x": waves(6, 1)[0], "y": waves(6, 1)[1]}, "only 0 class(es)"),
    ],
)
def test_bad_arrays_get_a_line(tmp_path: Path, arrays, words: str) -> None:
    with np.errstate(over="ignore"):
        assert words in refused(folder(tmp_path, "data: all.npz", **arrays))


def test_ragged_arrays_are_refused_without_unpickling(tmp_path: Path) -> None:
    ragged = np.array([np.zeros(3), np.zeros(4)], dtype=object)
    np.savez(tmp_path / "all.npz", x=ragged, y=np.arange(2))
    assert "Python objects" in refused(folder(tmp_path, "data: all.npz"))
    np.save(tmp_path / "x.npy", ragged)
    assert "into a file each or pad them with NaN" in refused(folder(tmp_path, "data: x.npy"))


@pytest.mark.parametrize("name", ["all.npz", "x.npy", "x.ts"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", b"\x93NUMPY\x01\x00garbage"])
def test_damaged_files_get_a_line(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert name in refused(folder(tmp_path, f"data: {name}"))


def test_different_channels_in_train_and_test(tmp_path: Path) -> None:
    x, y = waves()
    path = folder(tmp_path, "train: a.npz\ntest: b.npz")
    np.savez(path / "a.npz", x=x, y=y)
    np.savez(path / "b.npz", x=x[:, :1], y=y)
    assert "2 in train and 1 in test" in refused(path)
