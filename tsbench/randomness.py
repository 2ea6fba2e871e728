"""Random numbers from named streams.

Every draw in tsbench comes from a generator that is named after what it is for. The generator
depends on the seed and the names alone: not on what ran before, in which process, or where.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream_key(seed: int, *names: object) -> int:
    """A 128-bit integer from a seed and names, the same on every machine."""
    text = "\x1f".join([str(int(seed)), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")


def generator(seed: int, *names: object) -> np.random.Generator:
    """A numpy generator for the stream called ``names`` under ``seed``.

    >>> a = generator(1234, "uwave", "split").integers(1000)
    >>> b = generator(1234, "uwave", "split").integers(1000)
    >>> c = generator(1234, "uwave", "weights").integers(1000)
    >>> bool(a == b), bool(a == c)
    (True, False)
    """
    return np.random.Generator(np.random.PCG64(stream_key(seed, *names)))
