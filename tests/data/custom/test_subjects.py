"""People's own data with subjects under --split subject, and recordings on disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_streams import made_up

from tsbench.api import load_stream, run
from tsbench.data.custom.prepare import prepare_custom
from tsbench.data.manifest import stored_card
from tsbench.data.prepared import load, save, verify
from tsbench.errors import UserError
from tsbench.protocol.rules import seeds
from tsbench.protocol.samples import Splits

PEOPLE = [f"person {i}" for i in range(9)]


def folder(path: Path, card: str, **parts: slice) -> Path:
    """Six classes done by nine people, four times each; parts are files of their own."""
    path.mkdir(parents=True)
    person = np.repeat(np.arange(9), 24)
    y = np.tile(np.repeat(np.arange(6), 4), 9)
    random = np.random.default_rng(0)
    x = np.sin((y[:, None, None] + 1) * np.linspace(0, 6, 20)) + random.normal(size=(216, 2, 20))
    for name, rows in (parts or {"all": slice(None)}).items():
        names = np.array(PEOPLE)[person[rows]]
        np.savez(path / f"{name}.npz", x=x[rows], y=y[rows], subject=names)
    (path / "card.yaml").write_text(card)
    return path


def people(stream) -> dict[str, set[int]]:
    return {side: set(units) for side, units in stream.notes["subjects"].items()}


def test_data_that_tsbench_divides_is_divided_into_folds(tmp_path: Path) -> None:
    place = folder(tmp_path / "gestures", "data: all.npz")
    root, tested = tmp_path / "data", []
    for seed in seeds(4):
        found = people(load_stream(str(place), seed, data=root, split="subject"))
        assert set.union(*found.values()) == set(range(9))
        tested += found["test"]
    assert sorted(tested) == list(range(9)), "everybody is tested on once in four seeds"


def test_a_test_set_with_its_own_people_is_kept(tmp_path: Path) -> None:
    card = "train: train.npz\ntest: test.npz"
    place = folder(tmp_path / "own", card, train=slice(0, 168), test=slice(168, None))
    root = tmp_path / "data"
    for seed in seeds(4):
        assert people(load_stream(str(place), seed, data=root, split="subject"))["test"] == {7, 8}
    assert load_stream("own", 1234, data=root, split="subject").classes, "by its name as well"
    stored = json.loads((root / "own" / "manifest.json").read_text())["card"]
    assert stored["own_test_subjects"] is True


def test_a_test_set_that_shares_people_is_divided_again(tmp_path: Path) -> None:
    card = "train: train.npz\ntest: test.npz"
    place = folder(tmp_path / "mixed", card, train=slice(0, None, 2), test=slice(1, None, 2))
    stream = load_stream(str(place), 1234, data=tmp_path / "data", split="subject")
    assert len(people(stream)["test"]) == 3
    stored = json.loads((tmp_path / "data" / "mixed" / "manifest.json").read_text())["card"]
    assert "own_test_subjects" not in stored, "cards of earlier versions stay as they are"


def test_a_run_from_python_says_who_was_tested(tmp_path: Path) -> None:
    place = folder(tmp_path / "gestures", "data: all.npz")
    record = run("naive", str(place), epochs=1, split="subject", classes_per_task=4,
                 data=tmp_path / "data")  # fmt: skip
    assert record["spec"]["protocol"] == "exp-ln-1-subject-tasks-of-4"
    about = record["data"]["stream"]
    assert not set(about["subjects"]["test"]) & set(about["subjects"]["train"])
    assert about["classes_of_last_task"] == 2
    assert len(record["result"]["curve"]) == 2


def test_without_subjects_there_is_a_line(tmp_path: Path) -> None:
    place = folder(tmp_path / "gestures", "data: {x: x.npy, y: y.npy}")
    arrays = np.load(place / "all.npz")
    np.save(place / "x.npy", arrays["x"])
    np.save(place / "y.npy", arrays["y"])
    with pytest.raises(UserError, match="gestures has no subject labels"):
        load_stream(str(place), data=tmp_path / "data", split="subject")


def with_recordings(root: Path):
    """A prepared data set with recordings."""
    made = made_up(10)
    card = replace(made.card, name="wisdm", generate=None, prepare=lambda raw, tick: made.splits)
    parts = {
        name: replace(split, recording=np.arange(len(split), dtype=np.int32) % 8)
        for name, split in made.splits.items()
    }
    splits = Splits(**parts, coverage=made.splits.coverage)
    save(card, splits, [{"name": "x"}], root)
    return card, splits


def test_recordings_are_stored_beside_the_samples_and_checked(tmp_path: Path) -> None:
    card, splits = with_recordings(tmp_path)
    dataset = load(card, tmp_path)
    verify(dataset)
    assert dataset.splits.train.recording.tolist() == splits.train.recording.tolist()
    bare = replace(splits.train, recording=None)
    assert dataset.splits.train.digest() == bare.digest(), "the same data as without"
    file = next(tmp_path.rglob("train.recording.npy"))
    np.save(file, splits.train.recording[::-1].copy())
    with pytest.raises(UserError, match="have changed since they were prepared"):
        verify(load(card, tmp_path))


def test_data_prepared_without_recordings_still_loads(tmp_path: Path) -> None:
    card, splits = with_recordings(tmp_path)
    for file in tmp_path.rglob("*.recording.npy"):
        file.unlink()
    path = tmp_path / "wisdm" / "manifest.json"
    manifest = json.loads(path.read_text())
    for about in manifest["splits"].values():
        del about["recording_digest"]
    path.write_text(json.dumps(manifest))
    dataset = load(card, tmp_path)
    verify(dataset)
    assert dataset.digest == splits.digest()
    assert dataset.splits.train.recording is None


def test_a_stored_card_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    place = folder(tmp_path / "gestures", "data: all.npz")
    prepare_custom(str(place), tmp_path / "data")
    card = stored_card("gestures", tmp_path / "data")
    assert card is not None
    assert card.own_test_subjects is False
    assert card.recordings == ""
