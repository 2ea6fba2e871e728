"""The WFDB reader against made-up records, the real ones, and the wfdb package."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from tsbench.data.raw import RawFiles
from tsbench.data.wfdb import read_header, read_signal
from tsbench.errors import UserError


def record(adc: np.ndarray, gains: list[str]) -> tuple[str, bytes]:
    sums = [int(s) & 0xFFFF for s in adc.astype(np.int64).sum(axis=0)]
    lines = [f"r {adc.shape[1]} 2048 {len(adc)}"]
    for i, gain in enumerate(gains):
        lines.append(f"r.dat 16 {gain} 16 0 {adc[0, i]} {sums[i]} 0 ch {i}")
    return "\n".join(lines), adc.astype("<i2").tobytes()


def test_values_are_adc_minus_baseline_over_gain_with_nan_for_missing() -> None:
    adc = np.array([[100, -5], [-32768, 7], [32767, -32767]])
    header, data = record(adc, ["200.5(3)/mV", "1e3/mV"])
    values = read_signal(read_header(header), data)
    np.testing.assert_allclose(values[:, 0], [97 / 200.5, np.nan, 32764 / 200.5])
    np.testing.assert_allclose(values[:, 1], [-0.005, 0.007, -32.767])


def test_faults_are_told() -> None:
    header, data = record(np.ones((4, 2), int), ["1(0)/mV", "2(0)/mV"])
    with pytest.raises(UserError, match="bytes of data"):
        read_signal(read_header(header), data[:-2])
    with pytest.raises(UserError, match="checksum"):
        read_signal(read_header(header), bytes([9]) + data[1:])
    with pytest.raises(UserError, match="format 212"):
        read_header(header.replace(" 16 1(0)", " 212 1(0)"))
    with pytest.raises(UserError, match="described"):
        read_header(header.splitlines()[0])
    with pytest.raises(UserError, match="gain"):
        read_header(header.replace("1(0)/mV", "0(0)/mV"))
    with pytest.raises(UserError, match="WFDB header"):
        read_header("<html>")


@pytest.mark.real
def test_the_29_real_records_equal_the_wfdb_package(real_data: Path) -> None:
    wfdb = pytest.importorskip("wfdb")
    raw = RawFiles(real_data / "grabmyo-session1-sample.zip")
    headers = raw.glob("*.hea")
    assert len(headers) == 29
    with tempfile.TemporaryDirectory() as folder:
        for file in headers:
            stem = Path(file.path).stem
            data = raw.find(f"{stem}.dat").read()
            ours = read_signal(read_header(file.read().decode()), data)
            assert ours.shape == (10240, 32)
            (Path(folder) / f"{stem}.hea").write_bytes(file.read())
            (Path(folder) / f"{stem}.dat").write_bytes(data)
            theirs = wfdb.rdrecord(f"{folder}/{stem}").p_signal
            np.testing.assert_array_equal(ours, theirs)
