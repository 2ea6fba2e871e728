"""UCI-HAR: six daily activities from a smartphone at the waist, 30 people, 50 Hz.

Nine text files per split, one a channel, a row a window of 128 steps. The official split by
subject is kept; a tenth of the training windows is held out for the validation stream.
"""

from __future__ import annotations

import numpy as np

from tsbench.data.arrays import Coverage, Split, Splits
from tsbench.data.card import Card, RemoteFile, Tick
from tsbench.data.raw import RawFiles
from tsbench.data.text import expect_rows, read_column, read_table

LENGTH = 128
CHANNELS = tuple(
    f"{signal}_{axis}" for signal in ("total_acc", "body_acc", "body_gyro") for axis in "xyz"
)


def prepare(raw: RawFiles, tick: Tick) -> Splits:
    """Read both official splits."""
    return Splits(
        train=_read(raw, "train", tick, 0),
        test=_read(raw, "test", tick, len(CHANNELS)),
        coverage=Coverage(2, 2, "splits"),
    )


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
        "train": "10a51fddea61391fa1889b89baf9a7924f23b732f777c9c85ba57c46c8cec428",
        "val": "f2789632e83c7f137e1f26c424c6cabaf540b88bee71785f95e80fe48af36e85",
        "test": "6ad783799b20cd0f16aabe95197ba7cc88c56711a35b2380fd1064c7db8e9f5c",
    },
    published_counts={"train": 6616, "val": 736, "test": 2947},
)
