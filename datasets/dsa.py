"""DSA, Daily and Sports Activities: 19 activities, eight people, five body-worn units, 25 Hz.

9120 text files ``aNN/pN/sNN.txt`` of 125 rows × 45 columns. Activity a16 is dropped as published,
so that the classes pair up; 75/25 split by class at the level of windows.
"""

from __future__ import annotations

import numpy as np

from tsbench.data.card import Card, RemoteFile, Tick
from tsbench.data.raw import RawFile, RawFiles
from tsbench.data.text import expect_rows, read_table
from tsbench.errors import UserError
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.splits import stratified_split

LENGTH, CHANNELS = 125, 45
SUBJECTS, SEGMENTS = 8, 60
ACTIVITIES = {
    1: "sitting",
    2: "standing",
    3: "lying on back",
    4: "lying on right side",
    5: "ascending stairs",
    6: "descending stairs",
    7: "standing in an elevator",
    8: "moving around in an elevator",
    9: "walking in a parking lot",
    10: "walking on a treadmill, flat",
    11: "walking on a treadmill, inclined",
    12: "running on a treadmill",
    13: "exercising on a stepper",
    14: "exercising on a cross trainer",
    15: "cycling, horizontal",
    17: "rowing",
    18: "jumping",
    19: "playing basketball",
}


def prepare(raw: RawFiles, tick: Tick) -> Splits:
    """Read activity by activity, subject by subject, segment by segment."""
    x, y, subjects = [], [], []
    for label, activity in enumerate(ACTIVITIES):
        for subject in range(1, SUBJECTS + 1):
            found = raw.glob(f"a{activity:02d}/p{subject}/s[0-9][0-9].txt")
            # By segment, so that an archive beside its unpacked copy counts once.
            segments = {int(file.path[-6:-4]): file for file in found}
            files = [segments[s] for s in sorted(segments) if 1 <= s <= SEGMENTS]
            if files:
                x.append(_read_segments(files))
                y += [label] * len(files)
                subjects += [subject] * len(files)
        tick(label + 1, len(ACTIVITIES))
    if not x:
        raise raw.missing("a01/p1/s01.txt")
    labels = np.array(y, np.int64)
    everything = Split(np.concatenate(x), labels, np.array(subjects, np.int32))
    train, test = stratified_split(labels, 0.25)
    return Splits(
        train=everything.take(train),
        test=everything.take(test),
        coverage=Coverage(len(labels), len(ACTIVITIES) * SUBJECTS * SEGMENTS, "segments"),
    )


def _read_segments(files: list[RawFile]) -> np.ndarray:
    """Segments (n, 45, 125) of one subject and activity, parsed in one go."""
    texts = [file.read().rstrip() + b"\n" for file in files]
    for file, text in zip(files, texts, strict=True):
        expect_rows(file, text.count(b"\n"), LENGTH)
    try:
        table = read_table(files[0], CHANNELS, ",", data=b"".join(texts))
    except UserError:
        for file, text in zip(files, texts, strict=True):
            read_table(file, CHANNELS, ",", data=text)  # names the one at fault
        raise
    return np.float32(table).reshape(len(files), LENGTH, CHANNELS).transpose(0, 2, 1)


CARD = Card(
    name="dsa",
    title="DSA",
    channels=CHANNELS,
    length=LENGTH,
    class_names=tuple(ACTIVITIES.values()),
    input_norm="layer",
    dropout=0.3,
    memory_per_class=360,
    licence="CC BY 4.0",
    citation=(
        "K. Altun, B. Barshan, O. Tunçel. Comparative study on classifying human activities with "
        "miniature inertial and magnetic sensors. Pattern Recognition 43(10), 2010. "
        "doi:10.24432/C5C59F"
    ),
    page="https://archive.ics.uci.edu/dataset/256",
    prepare=prepare,
    files=(
        RemoteFile(
            name="daily+and+sports+activities.zip",
            urls=(
                "https://archive.ics.uci.edu/static/public/256/daily+and+sports+activities.zip",
                "https://archive.ics.uci.edu/ml/machine-learning-databases/00256/data.zip",
            ),
            size=170_000_000,
            sha256="f42ad7744ecf14151c9fa3a86dfb5b24de9d7cb7ffe956ef5de242983459c77e",
        ),
    ),
    published_counts={"train": 6480, "test": 2160},
)
