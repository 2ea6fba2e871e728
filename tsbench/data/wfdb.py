"""Reader of WFDB records in format 16 (little-endian 16-bit samples, channels interleaved).

Header: a record line ``name channels frequency samples``, then one line per channel:
``file format gain(baseline)/units resolution zero initial checksum block label``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from tsbench.errors import UserError

MISSING = -32768
GAIN = re.compile(r"(?P<gain>[-+.\deE]+)(\((?P<baseline>[-+]?\d+)\))?(/(?P<units>\S+))?")


@dataclass(frozen=True)
class Channel:
    """How one channel's samples become physical values: (adc − baseline) / gain."""

    file: str
    gain: float
    baseline: int
    checksum: int
    label: str


@dataclass(frozen=True)
class Header:
    """A record: its name, length and channels."""

    name: str
    frequency: float
    samples: int
    channels: tuple[Channel, ...]


def read_header(text: str) -> Header:
    """Parse a ``.hea`` file."""
    lines = [s for s in (line.strip() for line in text.splitlines()) if s and s[0] != "#"]
    try:
        name, channels, frequency, samples = lines[0].split()[:4]
        if len(lines) <= int(channels):
            raise ValueError(f"{channels} channels announced, {len(lines) - 1} described")
        return Header(
            name=name,
            frequency=float(frequency),
            samples=int(samples),
            channels=tuple(_channel(line) for line in lines[1 : 1 + int(channels)]),
        )
    except (IndexError, ValueError) as error:
        raise UserError(f"not a WFDB header: {error}") from error


def _channel(line: str) -> Channel:
    file, form, gain_text, _, zero, _, checksum, *rest = line.split(maxsplit=8)
    if form != "16":
        raise ValueError(f"format {form}; only format 16 is read")
    match = GAIN.fullmatch(gain_text)
    if match is None or float(match["gain"]) == 0:
        raise ValueError(f"gain '{gain_text}'")
    baseline = int(match["baseline"]) if match["baseline"] else int(zero)
    label = rest[1] if len(rest) > 1 else ""
    return Channel(file, float(match["gain"]), baseline, int(checksum), label)


def read_signal(header: Header, data: bytes) -> np.ndarray:
    """Physical values (samples, channels) in float64, NaN where missing; checksums verified."""
    width = len(header.channels)
    expected = 2 * width * header.samples
    if len(data) != expected:
        raise UserError(f"record {header.name}: {len(data)} bytes of data, expected {expected}")
    adc = np.frombuffer(data, "<i2").reshape(header.samples, width)
    sums = adc.sum(axis=0, dtype=np.int64) & 0xFFFF
    for channel, total in zip(header.channels, sums, strict=True):
        if total != channel.checksum & 0xFFFF:
            raise UserError(f"record {header.name}: checksum of channel {channel.label} is wrong")
    baseline = np.array([c.baseline for c in header.channels], np.float64)
    gain = np.array([c.gain for c in header.channels])
    return np.where(adc == MISSING, np.nan, (adc - baseline) / gain)
