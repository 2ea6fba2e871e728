"""GRABMyo 1.0.2: 16 hand gestures by 43 people, 28 surface-EMG channels, session 1.

Each record of 5 s at 2048 Hz is resampled to 256 Hz through its Fourier transform and cut into
ten windows of 128 steps. Missing samples count as zero, the rest gesture (17) is left out; 75/25
split by class at the level of windows. The trial of each window is kept for --split recording.
"""

from __future__ import annotations

import re

import numpy as np

from tsbench.data.card import Card, Listing, Tick
from tsbench.data.raw import RawFile, RawFiles
from tsbench.data.wfdb import read_header, read_signal
from tsbench.data.window import fourier_resample
from tsbench.errors import UserError
from tsbench.protocol.samples import Coverage, Split, Splits
from tsbench.protocol.splits import stratified_split

PARTICIPANTS, TRIALS, GESTURES = 43, 7, 16
WIDTH, WINDOWS = 128, 10
FORM = (32, 2048.0, 10240)
WIRED = [*range(16), *range(17, 23), *range(25, 31)]  # forearm F1..F16, then wrist W1..W12
RECORD = re.compile(r"session1_participant(\d+)_gesture(\d+)_trial(\d+)\.hea")
ROOTS = (
    "https://physionet.org/files/grabmyo/1.0.2/",
    "https://physionet-open.s3.amazonaws.com/grabmyo/1.0.2/",
)


def prepare(raw: RawFiles, tick: Tick) -> Splits:
    """Read participant by participant, trial by trial, gesture by gesture."""
    records = {}
    for file in raw.glob("session1_participant*_gesture*_trial*.hea"):
        match = RECORD.search(file.path)
        if match:
            participant, gesture, trial = (int(group) for group in match.groups())
            if participant <= PARTICIPANTS and gesture <= GESTURES and trial <= TRIALS:
                records[participant, trial, gesture] = file
    if not records:
        raise raw.missing("session1_participant1_gesture1_trial1.hea")
    x = np.empty((len(records), WINDOWS, len(WIRED), WIDTH), np.float32)
    missing = 0
    for i, key in enumerate(sorted(records)):
        signal = _read(raw, records[key])
        missing += int(np.isnan(signal).sum())
        steps = fourier_resample(np.nan_to_num(signal), WINDOWS * WIDTH)
        x[i] = steps.reshape(WINDOWS, WIDTH, len(WIRED)).transpose(0, 2, 1)
        tick(i + 1, len(records))
    keys = np.array(sorted(records))
    labels = np.repeat(keys[:, 2] - 1, WINDOWS).astype(np.int64)
    subjects = np.repeat(keys[:, 0], WINDOWS).astype(np.int32)
    trials = np.repeat(keys[:, 1], WINDOWS).astype(np.int32)
    everything = Split(x.reshape(-1, len(WIRED), WIDTH), labels, subjects, trials)
    train, test = stratified_split(labels, 0.25)
    return Splits(
        train=everything.take(train),
        test=everything.take(test),
        coverage=Coverage(len(records), PARTICIPANTS * TRIALS * GESTURES, "records"),
        notes={"samples_missing": missing},
    )


def _read(raw: RawFiles, header_file: RawFile) -> np.ndarray:
    """The 28 wired channels of a record, (10240, 28), in millivolt."""
    try:
        header = read_header(header_file.read().decode("utf-8", "replace"))
    except UserError as error:
        raise UserError(f"'{header_file.path}': {error}") from error
    form = (len(header.channels), header.frequency, header.samples)
    if form != FORM:
        raise UserError(f"'{header_file.path}' has (channels, Hz, samples) {form}, expected {FORM}")
    data = raw.find(header_file.path.removesuffix(".hea") + ".dat")
    return read_signal(header, data.read())[:, WIRED]


CARD = Card(
    name="grabmyo",
    title="GRABMyo",
    channels=len(WIRED),
    length=WIDTH,
    class_names=(
        "lateral prehension",
        "thumb adduction",
        "thumb and little finger opposition",
        "thumb and index finger opposition",
        "thumb and index finger extension",
        "thumb and little finger extension",
        "index and middle finger extension",
        "little finger extension",
        "index finger extension",
        "thumb finger extension",
        "wrist extension",
        "wrist flexion",
        "forearm supination",
        "forearm pronation",
        "hand open",
        "hand close",
    ),
    input_norm="layer",
    dropout=0.3,
    memory_per_class=2058,
    licence="CC BY 4.0",
    citation=(
        "A. Pradhan, J. He, N. Jiang. Multi-day dataset of forearm and wrist electromyogram for "
        "hand gesture recognition and biometrics. Scientific Data 9, 2022."
    ),
    page="https://physionet.org/content/grabmyo/1.0.2/",
    prepare=prepare,
    listing=Listing(
        roots=ROOTS,
        sums="SHA256SUMS.txt",
        wanted=(
            r"Session1/session1_participant(?P<p>\d+)/"
            r"session1_participant(?P=p)_gesture(?:[1-9]|1[0-6])_trial[1-7]\.(?:dat|hea)"
        ),
        count=2 * PARTICIPANTS * TRIALS * GESTURES,
        size=3_171_000_000,
    ),
    recordings="trials",
    published_counts={"train": 36120, "test": 12040},
)
