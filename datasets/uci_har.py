"""UCI-HAR: six daily activities from a smartphone at the waist, 30 people, 50 Hz.

Nine text files per split, one per channel, with one row per window of 128 steps. The official
split by subject is kept; a tenth of the training windows is held out for the validation stream.
"""

from __future__ import annotations

import numpy as np

from tsbench.data.card import Card, RemoteFile, Tick
from tsbench.data.raw import RawFiles
from tsbench.data.text import expect_rows, read_column, read_table
from tsbench.protocol.samples import Coverage, Split, Splits

LENGTH = 128
WINDOWS = 7352 + 2947
CHANNELS = tuple(
    f"{signal}_{axis}" for signal in ("total_acc", "body_acc", "body_gyro") for axis in "xyz"
)


def prepare(raw: RawFiles, tick: Tick) -> Splits:
    """Read both official splits."""
    train, test = _read(raw, "train", tick, 0), _read(raw, "test", tick, len(CHANNELS))
    return Splits(train, test, Coverage(len(train) + len(test), WINDOWS, "windows"))


def _read(raw: RawFiles, split: str, tick: Tick, done: int) -> Split:
    labels = read_column(raw.find(f"{split}/y_{split}.txt")) - 1
    subject_file = raw.find(f"{split}/subject_{split}.txt")
    subjects = read_column(subject_file)
    expect_rows(subject_file, len(subjects), len(labels))
    x = np.empty((len(labels), len(CHANNELS), LENGTH), np.float32)
    for i, channel in enumerate(CHANNELS):
        file = raw.find(f"{split}/Inertial Signals/{channel}_{split}.txt")
        table = read_table(file, LENGTH)
        expect_rows(file, len(table), len(labels))
        x[:, i] = table
        tick(done + i + 1, 2 * len(CHANNELS))
    return Split(x, labels, subjects.astype(np.int32))


CARD = Card(
    name="uci-har",
    title="UCI-HAR",
    channels=9,
    length=LENGTH,
    class_names=(
        "walking",
        "walking upstairs",
        "walking downstairs",
        "sitting",
        "standing",
        "laying",
    ),
    input_norm="layer",
    dropout=0.0,
    memory_per_class=1225,
    licence="CC BY 4.0 (the archive's own README forbids commercial use)",
    citation=(
        "D. Anguita, A. Ghio, L. Oneto, X. Parra, J. L. Reyes-Ortiz. A Public Domain Dataset for "
        "Human Activity Recognition Using Smartphones. ESANN 2013."
    ),
    page="https://archive.ics.uci.edu/dataset/240",
    prepare=prepare,
    files=(
        RemoteFile(
            name="human+activity+recognition+using+smartphones.zip",
            urls=(
                "https://archive.ics.uci.edu/static/public/240/human+activity+recognition+using+smartphones.zip",
            ),
            size=61_005_872,
            sha256="c00b803081a5c797cd5e4b83700a9810b38d53d9d84e01917e090e1fdbc81031",
            alternatives=(
                RemoteFile(
                    name="UCI HAR Dataset.zip",
                    urls=(
                        "https://archive.ics.uci.edu/ml/machine-learning-databases/00240/UCI%20HAR%20Dataset.zip",
                        "https://d396qusza40orc.cloudfront.net/getdata%2Fprojectfiles%2FUCI%20HAR%20Dataset.zip",
                    ),
                    size=60_999_314,
                    sha256="2045e435c955214b38145fb5fa00776c72814f01b203fec405152dac7d5bfeb0",
                ),
            ),
        ),
    ),
    inner_archive="UCI HAR Dataset.zip",
    digests={
        "train": "a048d57502815a74b9104969696efca8ae1612e890b2aa0e9c6fa7605c790792",
        "val": "212a7c5d5435930cdaf6554145be8c610f97333bd9522a094d830a1bedb1f642",
        "test": "9af734d9c601e35e7fcbb742a907cda3bbd10dc3c3b8de1fc4b1656016c142fe",
    },
    own_test_subjects=True,
    published_counts={"train": 6616, "val": 736, "test": 2947},
)
