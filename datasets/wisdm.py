"""WISDM 2019: 18 activities by 51 people, phone accelerometer at 20 Hz, windows of 200 steps.

Each subject's rows of one activity are put together in file order and windowed as published: a
partial last window is padded with zeros, and an activity that a subject did not do becomes one
window of zeros. Both are counted in the manifest. 75/25 split by class at the level of windows.
A subject does an activity once, so a recording for --split recording is an eighth of it in time.
"""

from __future__ import annotations

import io
import re

import numpy as np

from tsbench.data.card import Card, RemoteFile, Tick
from tsbench.data.raw import RawFile, RawFiles
from tsbench.data.window import published_windows
from tsbench.errors import UserError
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.splits import stratified_split

WIDTH = 200
SUBJECTS = range(1600, 1651)
BLOCKS = 8
"""Parts in time that a recording is cut into for --split recording."""
ACTIVITIES = {
    "A": "walking",
    "B": "jogging",
    "C": "stairs",
    "D": "sitting",
    "E": "standing",
    "F": "typing",
    "G": "brushing teeth",
    "H": "eating soup",
    "I": "eating chips",
    "J": "eating pasta",
    "K": "drinking",
    "L": "eating a sandwich",
    "M": "kicking a ball",
    "O": "playing catch",
    "P": "dribbling a ball",
    "Q": "writing",
    "R": "clapping",
    "S": "folding clothes",
}
FILE_NAME = re.compile(r"data_(\d{4})_accel_phone\.txt")


def prepare(raw: RawFiles, tick: Tick) -> Splits:
    """Window every subject's file, activity by activity."""
    files = {
        int(match[1]): file
        for file in raw.glob("phone/accel/data_[0-9]*_accel_phone.txt")
        if (match := FILE_NAME.search(file.path)) and int(match[1]) in SUBJECTS
    }
    if not files:
        raise raw.missing("phone/accel/data_1600_accel_phone.txt")
    x, y, subjects, blocks = [], [], [], []
    skipped = padded = empty = 0
    for done, subject in enumerate(sorted(files), start=1):
        letters, values, bad = _read(files[subject])
        if not len(values):
            raise UserError(f"'{files[subject].path}' holds no samples")
        skipped += bad
        for label, letter in enumerate(ACTIVITIES):
            recording = values[letters == letter]
            windows = published_windows(recording, WIDTH)
            empty += len(recording) == 0
            padded += len(recording) % WIDTH > 1 or len(recording) == 1
            x.append(windows)
            y += [label] * len(windows)
            subjects += [subject] * len(windows)
            blocks += [BLOCKS * i // len(windows) for i in range(len(windows))]
        tick(done, len(files))
    labels = np.array(y, np.int64)
    samples = np.ascontiguousarray(np.concatenate(x).transpose(0, 2, 1), np.float32)
    everything = Split(samples, labels, np.array(subjects, np.int32), np.array(blocks, np.int32))
    train, test = stratified_split(labels, 0.25)
    return Splits(
        train=everything.take(train),
        test=everything.take(test),
        coverage=Coverage(len(files), len(SUBJECTS), "subjects"),
        notes={"lines_skipped": skipped, "windows_padded": padded, "windows_empty": empty},
    )


def _read(file: RawFile) -> tuple[np.ndarray, np.ndarray, int]:
    """Letters (n,), accelerations (n, 3) and the number of lines that could not be read."""
    text = file.read()
    rows = sum(1 for line in text.splitlines() if line.strip())
    if text.count(b",") == 5 * rows and text.count(b";") == rows:
        plain = io.BytesIO(text.replace(b";", b""))
        columns = [("letter", "U8"), ("x", "f8"), ("y", "f8"), ("z", "f8")]
        try:
            table = np.loadtxt(
                plain, columns, delimiter=",", comments=None, usecols=(1, 3, 4, 5), ndmin=1
            )
        except ValueError:
            return _read_line_by_line(text)  # some line is not a sample: find out which
        values = np.stack([table["x"], table["y"], table["z"]], axis=1)
        if np.isin(table["letter"], list(ACTIVITIES)).all() and np.isfinite(values).all():
            return table["letter"], values, 0
    return _read_line_by_line(text)


def _read_line_by_line(text: bytes) -> tuple[np.ndarray, np.ndarray, int]:
    letters, values, skipped = [], [], 0
    for line in text.decode("ascii", "replace").splitlines():
        if not line.strip():
            continue
        fields = line.strip().removesuffix(";").split(",")
        try:
            _, letter, _, x, y, z = fields
            sample = (float(x), float(y), float(z))
        except ValueError:
            skipped += 1
            continue
        if letter not in ACTIVITIES or not np.isfinite(sample).all():
            skipped += 1
            continue
        letters.append(letter)
        values.append(sample)
    return np.array(letters, "U8"), np.array(values, np.float64).reshape(-1, 3), skipped


CARD = Card(
    name="wisdm",
    title="WISDM",
    channels=3,
    length=WIDTH,
    class_names=tuple(ACTIVITIES.values()),
    input_norm="none",
    dropout=0.3,
    memory_per_class=1000,
    licence="CC BY 4.0",
    citation=(
        "G. M. Weiss, K. Yoneda, T. Hayajneh. Smartphone and Smartwatch-Based Biometrics Using "
        "Activities of Daily Living. IEEE Access 7, 2019."
    ),
    page="https://archive.ics.uci.edu/dataset/507",
    prepare=prepare,
    files=(
        RemoteFile(
            name="wisdm+smartphone+and+smartwatch+activity+and+biometrics+dataset.zip",
            urls=(
                "https://archive.ics.uci.edu/static/public/507/wisdm+smartphone+and+smartwatch+activity+and+biometrics+dataset.zip",
            ),
            size=300_000_000,
            sha256="6e0147f181d8f5275918db65eeb9dc842a0185d37cb6b2f30cbf74ee6e205469",
            alternatives=(
                RemoteFile(
                    name="wisdm-dataset.zip",
                    urls=(
                        "https://archive.ics.uci.edu/ml/machine-learning-databases/00507/wisdm-dataset.zip",
                    ),
                    size=300_000_000,
                    sha256="1cf32e8d3a0ecc101bd299fba22545273dcb7de1c9565e0b7844abdfbc6b1695",
                ),
            ),
        ),
    ),
    inner_archive="wisdm-dataset.zip",
    recordings="blocks of time",
    published_counts={"train": 18184, "test": 6062},
)
