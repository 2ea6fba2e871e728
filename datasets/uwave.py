"""UWave: eight hand gestures by an accelerometer, eight people, z-normalised, 315 steps.

The three axes come as three univariate problems of the UCR archive with rows in the same order.
The source has no subject labels. A tenth of the training series is held out for the validation
stream.
"""

from __future__ import annotations

import numpy as np

from tsbench.data.card import Card, RemoteFile, Tick
from tsbench.data.raw import RawFile, RawFiles
from tsbench.data.text import expect_rows
from tsbench.data.ts import read_ts
from tsbench.errors import UserError
from tsbench.protocol.samples import Coverage, Split, Splits

LENGTH = 315
SERIES = 896 + 3582
AXES = "XYZ"
GESTURES = set("12345678")


def prepare(raw: RawFiles, tick: Tick) -> Splits:
    """Read the official split, three axes each."""
    train, test = _read(raw, "TRAIN", tick, 0), _read(raw, "TEST", tick, len(AXES))
    return Splits(train, test, Coverage(len(train) + len(test), SERIES, "series"))


def _read(raw: RawFiles, split: str, tick: Tick, done: int) -> Split:
    axes, labels = [], np.empty(0, np.int64)
    for i, axis in enumerate(AXES):
        file = raw.find(f"UWaveGestureLibrary{axis}_{split}.ts")
        series, axis_labels = _read_ts(file)
        if i == 0:
            labels = axis_labels
        expect_rows(file, len(series), len(labels))
        if not np.array_equal(axis_labels, labels):
            raise UserError(f"'{file.path}' has its rows in another order than the X axis")
        axes.append(series)
        tick(done + i + 1, 2 * len(AXES))
    return Split(np.stack(axes, axis=1).astype(np.float32), labels - 1)


def _read_ts(file: RawFile) -> tuple[np.ndarray, np.ndarray]:
    """Series (N, 315) and labels 1..8 of one axis."""
    read = read_ts(file.read(), file.path)
    if any(series.shape != (1, LENGTH) for series in read.series):
        raise UserError(f"'{file.path}' is not one axis of {LENGTH} steps per series")
    if not set(read.labels) <= GESTURES:
        raise UserError(f"'{file.path}' has classes other than 1 to 8")
    return np.concatenate(read.series), np.array(read.labels, np.int64)


def _archive(axis: str, size: int) -> RemoteFile:
    name = f"UWaveGestureLibrary{axis}.zip"
    return RemoteFile(
        name=name,
        urls=(
            f"https://timeseriesclassification.com/aeon-toolkit/{name}",
            f"https://www.timeseriesclassification.com/aeon-toolkit/{name}",
            f"http://www.timeseriesclassification.com/Downloads/{name}",
        ),
        size=size,
    )


CARD = Card(
    name="uwave",
    title="UWave",
    channels=3,
    length=LENGTH,
    class_names=tuple(f"gesture {i}" for i in sorted(GESTURES)),
    input_norm="instance",
    dropout=0.0,
    memory_per_class=112,
    licence="UCR/UEA archive: free for research, asks for citation; no redistribution",
    citation=(
        "J. Liu, L. Zhong, J. Wickramasuriya, V. Vasudevan. uWave: Accelerometer-based "
        "Personalized Gesture Recognition and Its Applications. PerCom 2009."
    ),
    page="https://timeseriesclassification.com/description.php?Dataset=UWaveGestureLibraryX",
    prepare=prepare,
    files=tuple(_archive(axis, 20_000_000) for axis in AXES),
    # No digest of the test split: copies of the archive differ in the order of its rows.
    digests={
        "train": "2027db1ae8f208c2611d4515d93885dfa6b22c15373cb4459d52c22c6e399476",
        "val": "ace3d936b25b54ba9850a281d0c1d0521ac52a8bec4ee5116d14488018e4a9a4",
    },
    published_counts={"train": 806, "val": 90, "test": 3582},
)
