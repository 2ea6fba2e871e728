"""Small made-up raw files in the official layouts of the data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tsbench.data.catalogue import card
from tsbench.data.raw import RawFiles
from tsbench.protocol.samples import Splits


def silent(done: int, total: int) -> None:
    pass


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return root


def prepare(name: str, root: Path) -> Splits:
    return card(name).prepare(RawFiles(root), silent)


def har_files(rows: int = 30) -> dict[str, str]:
    from tsbench.datasets.uci_har import CHANNELS

    files = {}
    random = np.random.default_rng(0)
    for split in ("train", "test"):
        files[f"UCI/{split}/y_{split}.txt"] = "".join(f"{i % 6 + 1} \n" for i in range(rows))
        files[f"UCI/{split}/subject_{split}.txt"] = "".join(f"{i % 4 + 1}\n" for i in range(rows))
        for channel in CHANNELS:
            table = random.normal(size=(rows, 128))
            text = "\n".join("".join(f"  {v: .7e}" for v in row) for row in table).replace(
                "e-0", "e-00"
            )
            files[f"UCI/{split}/Inertial Signals/{channel}_{split}.txt"] = text + "\n"
    return files


def uwave_files() -> dict[str, str]:
    files = {}
    for axis in "XYZ":
        for split in ("TRAIN", "TEST"):
            lines = [
                ",".join(f"{ord(axis) + i + k / 1000:.3f}" for k in range(315)) + f":{i % 8 + 1}"
                for i in range(24)
            ]
            head = f"#about\n@problemName u{axis}\n@classLabel true 1 2 3 4 5 6 7 8\n@data\n"
            files[f"UWaveGestureLibrary{axis}_{split}.ts"] = head + "\n".join(lines) + "\n"
    return files


def dsa_value(activity: int, subject: int, segment: int, row: int, column: int) -> float:
    return activity + subject / 10 + segment / 1000 + row * 2.0 + column * 500.0


def dsa_files(segments: int) -> dict[str, str]:
    files = {}
    for activity in range(1, 20):
        for subject in range(1, 9):
            for segment in range(1, segments + 1):
                rows = (
                    ",".join(
                        f"{dsa_value(activity, subject, segment, r, c):.4f}" for c in range(45)
                    )
                    for r in range(125)
                )
                name = f"data/a{activity:02d}/p{subject}/s{segment:02d}.txt"
                files[name] = "\n".join(rows) + "\n"
    return files


def wisdm_lines(subject: int, letter: str, rows: int, start: int = 0) -> str:
    return "".join(
        f"{subject},{letter},{252207666810782 + i},{start + i}.5,{-i}.25,0.125;\n"
        for i in range(rows)
    )


def grabmyo_files(form: str = "32 2048 10240") -> dict[str, str | bytes]:
    files: dict[str, str | bytes] = {}
    channels, _, samples = (int(v) for v in form.split())
    for gesture in (1, 2, 3, 4, 17):
        stem = f"Session1/session1_participant7/session1_participant7_gesture{gesture}_trial1"
        adc = np.full((samples, channels), gesture, "<i2")
        if gesture == 2:
            adc[:3, 0] = -32768
        sums = adc.astype(np.int64).sum(axis=0) & 0xFFFF
        name = stem.rsplit("/", 1)[1]
        lines = [f"{name} {form}"]
        lines += [f"{name}.dat 16 2(0)/mV 16 0 0 {sums[c]} 0 c{c}" for c in range(channels)]
        files[stem + ".hea"] = "\n".join(lines)
        files[stem + ".dat"] = adc.tobytes()
    return files
