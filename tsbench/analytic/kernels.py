"""Random convolution kernels: a fixed map from series to features; nothing is trained.

A kernel has nine weights for each channel that it looks at, a dilation and a few thresholds. A
threshold gives two features: the number of positions at which the response exceeds it, and how
often the response crosses it. There are two kinds of kernels:

- Zero-sum, in the manner of MiniRocket (Dempster et al., KDD 2021): three weights 2 and six −1, the
  same for all of its channels, a random few of those in view, up to a random sign for each channel,
  so that kernels see differences between channels as well as sums. They see shape, but not level.
- Level-sensitive: nine weights from N(0, 1) that do not sum to zero, times one weight from N(0, 1)
  for each channel in view. They also see where a signal lies: the direction of gravity, a drift.

What both have in common:

- Dilations are ⌊2^x⌋ for evenly spaced x, so that kernels see from 9 steps to the whole series.
  Series are padded with zeros to keep their length.
- A threshold is the response at a random position of a random training sample, which is a random
  quantile of the responses, at the price of one response.
- With more than nine channels, kernels come in groups of 64 that have nine of them in view, and all
  channels have been in view before one comes again.
- Responses of long series are taken at about 192 positions, evenly spaced: neighbours are nearly
  the same, and the cost does not grow with L.
- Kernels come in lots of 16 per dilation, the width of the arithmetic units: comparing and counting
  is twice as fast as with a few more or less.

The responses of a dilation are one matrix product per sample: (kernels, 9C) × (9C, positions).
Sums and differences of shifted copies need fewer operations, but a product of this shape runs at
the speed of the arithmetic units, and they at that of memory (`tests/benchmarks/bench_kernels.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from tsbench.errors import UserError

TAPS = 9
DILATIONS = 32
POSITIONS = 192
LOT = 16
MAX_CHANNELS = 9
GROUP = 64
BLOCK = 1 << 17
"""Responses in memory at a time, about: they stay in the cache."""


def zero_sum() -> np.ndarray:
    """All 84 zero-sum kernels (84, 9)."""
    found = np.full((84, TAPS), -1.0, np.float32)
    for kernel, heavy in zip(found, combinations(range(TAPS), 3), strict=True):
        kernel[list(heavy)] = 2.0
    return found


def dilations(length: int) -> list[int]:
    """Dilations for series of a length, with which a kernel still fits.

    >>> dilations(9), dilations(30), dilations(60)
    ([1], [1, 2, 3], [1, 2, 3, 4, 5, 6, 7])
    """
    widest = math.log2((length - 1) / (TAPS - 1))
    return sorted({int(2**x) for x in np.linspace(0, widest, DILATIONS)})


def shares(kernels: int, parts: int) -> list[int]:
    """Equal shares, as far as whole lots allow it.

    >>> shares(100, 3), shares(20, 3)
    ([32, 32, 36], [6, 7, 7])
    """
    lot = LOT if kernels >= LOT * parts else 1
    ends = np.arange(1, parts + 1) * kernels // (parts * lot) * lot
    ends[-1] = kernels
    return [int(share) for share in np.diff(ends, prepend=0)]


class KernelBank:
    """Series (N, C, L) → counts (N, features), from 0 to ``positions``."""

    def __init__(
        self,
        channels: int,
        length: int,
        kernels: int,
        thresholds: int,
        level: float,
        random: np.random.Generator,
        device: torch.device | str = "cpu",
        *,
        crossings: bool = True,
        signs: bool = True,
        even_views: bool = True,
    ) -> None:
        """``level`` is the share of level-sensitive kernels; ``signs`` are those of channels.

        Without ``even_views``, chance decides how often a channel is in view: for comparison.
        """
        if length < TAPS:
            raise UserError(f"random kernels need series of {TAPS} steps or more, not {length}")
        self.length, self.thresholds, self.crossings = length, thresholds, crossings
        self.per_kernel = thresholds * (2 if crossings else 1)
        self.features = kernels * self.per_kernel
        self.device = torch.device(device)
        self.step = max(1, round(length / POSITIONS))
        self.positions = -(-length // self.step)
        # Evenly spread over all kernels, and so over dilations and groups.
        sensitive = np.diff(np.floor(np.arange(kernels + 1) * level)).astype(bool)
        found = dilations(length)
        ends = np.cumsum(shares(kernels, len(found)))[:-1]
        views = _views(channels, even_views, random)
        self.groups = [
            group
            for dilation, part in zip(found, np.split(sensitive, ends), strict=True)
            if len(part)
            for group in _groups(views, channels, dilation, part, signs, random, self.device)
        ]

    @property
    def level(self) -> Tensor:
        """Which features are of level-sensitive kernels (features,)."""
        return torch.cat([torch.from_numpy(g.level).repeat(self.per_kernel) for g in self.groups])

    def fit(self, x: np.ndarray, random: np.random.Generator) -> None:
        """Thresholds from training samples (N, C, L): each one response of one of them."""
        for group in self.groups:
            shape = (self.thresholds, group.weights.shape[1])
            samples = random.integers(len(x), size=shape)
            centres = random.integers(self.positions, size=shape) * self.step
            taps = centres[..., None] + (np.arange(TAPS) - TAPS // 2) * group.dilation
            inside = (taps >= 0) & (taps < self.length)
            seen = x[samples[..., None], :, taps.clip(0, self.length - 1)][..., group.channels]
            windows = torch.from_numpy((seen * inside[..., None]).reshape(*shape, -1))
            group.thresholds = (group.weights.T * windows.to(self.device)).sum(2)

    def __call__(self, x: np.ndarray) -> Tensor:
        """Counts (N, features): whole numbers in float32."""
        counts = torch.empty(len(x), self.features, device=self.device)
        size = self.chunk
        for start in range(0, len(x), size):
            chunk = np.ascontiguousarray(x[start : start + size], np.float32)
            rows, first = counts[start : start + size], 0
            above = torch.empty(0)
            for group, responses in self.responses(torch.from_numpy(chunk).to(self.device)):
                if above.shape != responses.shape:
                    above, crossed = torch.empty_like(responses), torch.empty_like(responses[:, 1:])
                kernels = len(group.level)
                for thresholds in group.thresholds:
                    torch.gt(responses, thresholds, out=above)
                    rows[:, first : first + kernels] = above.sum(1)
                    first += kernels
                    if self.crossings:
                        torch.ne(above[:, 1:], above[:, :-1], out=crossed)
                        rows[:, first : first + kernels] = crossed.sum(1)
                        first += kernels
        return counts

    @property
    def chunk(self) -> int:
        """Samples whose responses to a group stay in the cache."""
        widest = max(group.weights.shape[1] for group in self.groups)
        return max(1, BLOCK // (widest * self.positions))

    def responses(self, x: Tensor) -> Iterator[tuple[Group, Tensor]]:
        """Responses (N, positions, kernels), a group at a time; the next one overwrites them."""
        widest = TAPS // 2 * max(group.dilation for group in self.groups)
        padded = pad(x, (widest, widest))
        buffer = x.new_empty(0)
        for group in self.groups:
            chosen = padded if isinstance(group.channels, slice) else padded[:, group.channels]
            samples, channels, _ = chosen.stride()
            taps = chosen.as_strided(
                (len(x), TAPS, chosen.shape[1], self.positions),
                (samples, group.dilation, channels, self.step),
                widest - TAPS // 2 * group.dilation,
            )
            columns = taps.reshape(len(x), -1, self.positions)
            shape = (len(x), self.positions, group.weights.shape[1])
            if buffer.shape != shape:
                buffer = x.new_empty(shape)
            yield group, torch.bmm(columns.mT, group.weights.expand(len(x), -1, -1), out=buffer)


@dataclass
class Group:
    """Kernels of one dilation that have the same channels in view."""

    dilation: int
    channels: slice | np.ndarray
    """Index of the channels: all, or nine of them."""
    weights: Tensor
    """(9 × channels, kernels)."""
    level: np.ndarray
    """Which kernels are level-sensitive (kernels,)."""
    thresholds: Tensor
    """(thresholds per kernel, kernels)."""


def _views(channels: int, even: bool, random: np.random.Generator) -> Iterator[slice | np.ndarray]:
    """Channels that groups have in view, without end: all if they are few, or nine at random.

    Evenly, channels are dealt like cards: a new pack is shuffled when the last is used up, and its
    cards that are already in the hand go to the bottom.
    """
    pack = np.empty(0, np.int64)
    while channels <= MAX_CHANNELS:
        yield slice(None)
    while True:
        if len(pack) < MAX_CHANNELS:
            new = random.permutation(channels)
            held = np.isin(new, pack)
            pack = np.concatenate([pack, new[~held], new[held]])
        yield pack[:MAX_CHANNELS]
        pack = pack[MAX_CHANNELS:] if even else pack[:0]


def _groups(
    views: Iterator[slice | np.ndarray],
    channels: int,
    dilation: int,
    level: np.ndarray,
    signs: bool,
    random: np.random.Generator,
    device: torch.device,
) -> Iterator[Group]:
    """Kernels of a dilation; with many channels in several groups, each with nine in view."""
    count = len(level)
    rounds = [random.permutation(84) for _ in range(-(-count // 84))]
    taps = zero_sum()[np.concatenate(rounds)[:count]]
    seen = min(channels, MAX_CHANNELS)
    size = count if channels == seen else GROUP
    for part in (slice(start, start + size) for start in range(0, count, size)):
        index = next(views)
        along, is_level = taps[part], level[part]
        sizes = 2 ** (random.random(len(along)) * math.log2(seen + 1))
        order = random.random((len(along), seen)).argsort(1).argsort(1)
        across = (order < sizes.astype(np.int64)[:, None]).astype(np.float32)
        along[is_level] = random.standard_normal((is_level.sum(), TAPS))
        across[is_level] = random.standard_normal((is_level.sum(), seen))
        if signs:
            across *= random.choice([-1.0, 1.0], across.shape)
        weights = (along[:, :, None] * across[:, None, :]).reshape(len(along), -1).T
        columns = torch.from_numpy(np.ascontiguousarray(weights)).to(device)
        yield Group(dilation, index, columns, is_level, columns.new_empty(0, len(along)))
