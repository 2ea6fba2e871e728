"""Preparing UCI-HAR from its archive: seconds, peak memory, and the ratio to reading the bytes.

    python tests/benchmarks/bench_prepare.py

The floor is decompressing the archive; the rest is parsing and writing. Budget: 15 s, 1 GB.
"""

from __future__ import annotations

import io
import os
import resource
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from tsbench.data.catalogue import card
from tsbench.data.obtain import obtain

REAL = Path(os.environ.get("TSBENCH_TEST_DATA") or "unset")


def measure() -> dict[str, float]:
    archive = REAL / card("uci-har").files[0].name
    started = time.perf_counter()
    outer = zipfile.ZipFile(archive)
    inner = zipfile.ZipFile(io.BytesIO(outer.read("UCI HAR Dataset.zip")))
    for member in inner.infolist():
        inner.read(member)
    floor = time.perf_counter() - started
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        obtain(card("uci-har"), Path(folder), archive)
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"seconds": seconds, "floor": floor, "ratio": seconds / floor, "peak_gb": peak}


if __name__ == "__main__":
    if not REAL.is_dir():
        sys.exit("TSBENCH_TEST_DATA does not name a folder with the real raw data")
    result = measure()
    print(
        f"prepare UCI-HAR: {result['seconds']:.1f} s, {result['ratio']:.2f} × decompressing, "
        f"peak {result['peak_gb']:.2f} GB"
    )
    assert result["seconds"] < 15
    assert result["peak_gb"] < 1
