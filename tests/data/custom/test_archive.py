"""Data sets of the UCR/UEA archive by one command: a pair of .ts files, and no card."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.data.custom.prepare import custom_name, prepare_custom
from tsbench.data.prepared import load
from tsbench.errors import UserError

CLASSES, EACH, STEPS = 6, 6, 24


def header(channels: int, equal: bool, missing: bool) -> str:
    """As the archive writes it."""
    return "\n".join(
        [
            "#Source: made up",
            "@problemName Waves",
            "@timestamps false",
            f"@missing {str(missing).lower()}",
            f"@univariate {str(channels == 1).lower()}",
            *([f"@dimension {channels}"] if channels > 1 else []),
            f"@equalLength {str(equal).lower()}",
            *([f"@seriesLength {STEPS}"] if equal else []),
            "@classLabel true a b c d e f",
            "@data",
        ]
    )


def write_pair(
    folder: Path, name: str, channels: int = 1, equal: bool = True, missing: bool = False
) -> dict[str, list[np.ndarray]]:
    """Two files; returns the series of each as they were written."""
    folder.mkdir(parents=True, exist_ok=True)
    written: dict[str, list[np.ndarray]] = {}
    for number, side in enumerate(("TRAIN", "TEST")):
        random = np.random.default_rng(number)
        lines, series = [header(channels, equal, missing)], []
        for i in range(CLASSES * EACH):
            label = i % CLASSES
            steps = STEPS if equal or i == 0 else int(random.integers(12, STEPS))
            values = np.sin((label + 1) * np.linspace(0, 6, steps)) + 0.1 * random.normal(
                size=(channels, steps)
            )
            words = [[f"{v:.6f}" for v in channel] for channel in values]
            values = values.round(6)
            if missing and i % 3 == 0:
                words[0][5], values[0, 5] = "?", np.nan
            lines.append(":".join(",".join(w) for w in words) + f":{'abcdef'[label]}")
            series.append(values)
        (folder / f"{name}_{side}.ts").write_text("\n".join(lines) + "\n")
        written[side] = series
    return written


def prepared(reference: Path | str, root: Path):
    card = prepare_custom(str(reference), root)
    return card, load(card, root).splits


def joined(splits) -> np.ndarray:
    """The training series as prepared, the held-out ones included, in any order."""
    return np.concatenate([splits.train.x, splits.val.x])


@pytest.mark.parametrize("channels", [1, 3])
def test_equal_lengths_are_read_as_they_are(tmp_path: Path, channels: int) -> None:
    written = write_pair(tmp_path / "Waves", "Waves", channels)
    card, splits = prepared(tmp_path / "Waves", tmp_path / "data")
    assert (card.name, card.channels, card.length) == ("Waves", channels, STEPS)
    assert card.class_names == tuple("abcdef")
    np.testing.assert_array_equal(splits.test.x, np.float32(written["TEST"]))
    assert splits.test.y.tolist() == [i % CLASSES for i in range(CLASSES * EACH)]
    rows = {row.tobytes() for row in np.float32(written["TRAIN"])}
    assert {row.tobytes() for row in joined(splits)} == rows
    assert not splits.notes


def test_unequal_lengths_are_padded_and_counted(tmp_path: Path) -> None:
    written = write_pair(tmp_path / "Waves", "Waves", 2, equal=False)
    card, splits = prepared(tmp_path / "Waves", tmp_path / "data")
    assert card.length == STEPS
    for row, values in zip(splits.test.x, written["TEST"], strict=True):
        np.testing.assert_array_equal(row[:, : values.shape[1]], np.float32(values))
        assert not row[:, values.shape[1] :].any()
    short = sum(s.shape[1] < STEPS for side in written.values() for s in side)
    assert splits.notes == {f"series_padded_to_{STEPS}_steps": short}


def test_missing_values_are_interpolated_and_counted(tmp_path: Path) -> None:
    written = write_pair(tmp_path / "Waves", "Waves", missing=True)
    _, splits = prepared(tmp_path / "Waves", tmp_path / "data")
    first = written["TEST"][0][0]
    assert np.isnan(first[5])
    assert splits.test.x[0, 0, 5] == pytest.approx((first[4] + first[6]) / 2, abs=1e-6)
    assert splits.notes == {"missing_values_interpolate": 24}


def test_all_at_once(tmp_path: Path) -> None:
    write_pair(tmp_path / "Waves", "Waves", 3, equal=False, missing=True)
    _, splits = prepared(tmp_path / "Waves", tmp_path / "data")
    assert len(splits.notes) == 2
    assert np.isfinite(splits.test.x).all()


def test_one_command_from_the_files_to_the_table(tmp_path: Path) -> None:
    write_pair(tmp_path / "archive" / "Waves", "Waves", 2, equal=False, missing=True)
    arguments = ["run", "--dataset", str(tmp_path / "archive" / "Waves"), "--method", "naive"]
    arguments += ["--seeds", "1", "--epochs", "1", "--jobs", "1"]
    arguments += ["--data", str(tmp_path / "data"), "--results", str(tmp_path / "results")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "results" / "exp-ln-1" / "Waves" / "naive" / "seed-1234.json").exists()
    assert "missing values interpolate: 24" in done.stderr
    by_name = [*arguments[:2], "Waves", *arguments[3:]]
    assert "1 were done before" in CliRunner().invoke(app, by_name).stderr


def test_the_ways_to_name_a_pair(tmp_path: Path) -> None:
    write_pair(tmp_path / "all", "Waves")
    write_pair(tmp_path / "all", "Other")
    assert custom_name(str(tmp_path / "all" / "Waves")) == "Waves"
    assert custom_name(str(tmp_path / "all" / "Other_TRAIN.ts")) == "Other"
    with pytest.raises(UserError, match="several data sets in it; give one of them"):
        custom_name(str(tmp_path / "all"))
    write_pair(tmp_path / "all", "all")
    assert custom_name(str(tmp_path / "all")) == "all", "the pair that is called as its folder"
    with pytest.raises(UserError, match="there is no such folder or card"):
        custom_name(str(tmp_path / "all" / "Nothing"))
    with pytest.raises(UserError, match="give the folder that it is in"):
        custom_name(str(tmp_path / "all" / "Waves_TEST.ts"))


def test_a_card_in_the_folder_comes_first_and_may_come_later(tmp_path: Path) -> None:
    folder = tmp_path / "Waves"
    write_pair(folder, "Waves", 2, equal=False)
    first, _ = prepared(folder, tmp_path / "data")
    files = "train: Waves_TRAIN.ts\ntest: Waves_TEST.ts\n"
    (folder / "card.yaml").write_text(f"{files}unequal: resample\nlength: 16\n")
    card, _ = prepared(folder, tmp_path / "data")
    assert (first.length, card.length) == (STEPS, 16)


def test_too_few_classes_get_a_line(tmp_path: Path) -> None:
    write_pair(tmp_path / "Waves", "Waves")
    for side in ("TRAIN", "TEST"):
        file = tmp_path / "Waves" / f"Waves_{side}.ts"
        lines = [ln for ln in file.read_text().splitlines() if ln[-2:] not in (":d", ":e", ":f")]
        file.write_text("\n".join(lines))
    with pytest.raises(UserError, match=r"only 3 class\(es\)"):
        prepare_custom(str(tmp_path / "Waves"), tmp_path / "data")


@pytest.mark.real
def test_a_real_data_set_of_the_archive(real_data: Path, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(real_data / "UWaveGestureLibraryX.zip") as archive:
        wanted = [n for n in archive.namelist() if n.endswith(".ts")]
        archive.extractall(tmp_path / "UWaveGestureLibraryX", wanted)
    card, splits = prepared(tmp_path / "UWaveGestureLibraryX", tmp_path / "data")
    assert (card.name, card.channels, card.length, card.classes) == (
        "UWaveGestureLibraryX", 1, 315, 8,
    )  # fmt: skip
    assert (len(joined(splits)), len(splits.test)) == (896, 3582)
