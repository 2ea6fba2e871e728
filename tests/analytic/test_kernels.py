"""The kernel bank against a literal implementation: loops over samples, kernels and positions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from tsbench.analytic.kernels import KernelBank, dilations, zero_sum
from tsbench.errors import UserError


def walks(samples: int, channels: int, length: int, seed: int = 0) -> np.ndarray:
    steps = np.random.default_rng(seed).standard_normal((samples, channels, length))
    return steps.cumsum(2).astype(np.float32)


def made(channels: int, length: int, features: int, level: float = 0.4, **counted) -> KernelBank:
    """Two thresholds per kernel, each with two features."""
    bank = KernelBank(
        channels, length, features // 4, 2, level, np.random.default_rng(0), **counted
    )
    bank.fit(walks(20, channels, length, 1), np.random.default_rng(1))
    return bank


def literal_responses(x: np.ndarray, group, kernel: int, step: int) -> list[float]:
    """Responses of one kernel to one series (C, L): a sum over taps and channels, zeros outside."""
    series = x[group.channels].astype(np.float64)
    channels, length = series.shape
    weights = group.weights[:, kernel].numpy().reshape(9, channels)
    found = []
    for centre in range(0, length, step):
        total = 0.0
        for tap in range(9):
            at = centre + (tap - 4) * group.dilation
            if 0 <= at < length:
                for channel in range(channels):
                    total += float(weights[tap, channel]) * series[channel, at]
        found.append(total)
    return found


SHAPES = [(1, 9), (3, 20), (2, 64), (9, 70), (12, 140), (1, 300)]


@pytest.mark.parametrize(("channels", "length"), SHAPES)
def test_equals_a_literal_implementation(channels, length) -> None:
    bank = made(channels, length, 100)
    x = walks(3, channels, length)
    counts = bank(x).numpy()
    assert counts.dtype == np.float32
    assert counts.shape == (3, 100)
    assert (counts == counts.round()).all()
    first = 0
    for group in bank.groups:
        kernels = len(group.level)
        for which, kernel in np.ndindex(*group.thresholds.shape):
            threshold = float(group.thresholds[which, kernel])
            column = first + 2 * which * kernels + kernel
            for sample in range(3):
                responses = literal_responses(x[sample], group, kernel, max(1, round(length / 192)))
                margin = 1e-5 * (1 + max(map(abs, responses)))
                above = [r > threshold for r in responses]
                unsure = sum(abs(r - threshold) <= margin for r in responses)
                crossed = sum(one != two for one, two in pairwise(above))
                assert len(responses) == bank.positions
                assert abs(counts[sample, column] - sum(above)) <= unsure
                assert abs(counts[sample, column + kernels] - crossed) <= 2 * unsure
        first += 4 * kernels
    assert first == 100


def test_without_crossings_the_other_features_are_the_same() -> None:
    x = walks(10, 3, 80)
    both, alone = made(3, 80, 400), made(3, 80, 400, crossings=False)
    assert alone.features == 200
    first = 0
    for group in both.groups:
        for _ in group.thresholds:
            kernels = len(group.level)
            here = slice(2 * first, 2 * first + kernels)
            assert torch.equal(both(x)[:, here], alone(x)[:, first : first + kernels])
            first += kernels
    assert first == 200


def test_a_wave_crosses_as_often_as_it_turns() -> None:
    """Counts that need no bank to know them: five periods cross their mean ten times."""
    time = np.linspace(0, 5, 200, endpoint=False) + 0.011
    x = np.sin(2 * np.pi * time)[None, None].astype(np.float32)
    bank = KernelBank(1, 200, 1, 1, 1.0, np.random.default_rng(0))
    (group,) = bank.groups
    group.weights = torch.zeros(9, 1)
    group.weights[4] = 1.0  # the response is the series
    group.thresholds = torch.zeros(1, 1)
    assert bank(x).tolist() == [[100.0, 9.0]]  # the first crossing lies before the series
    group.thresholds += 2.0
    assert bank(x).tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(("channels", "length"), SHAPES)
def test_a_threshold_is_a_response_of_a_training_sample(channels, length) -> None:
    bank = made(channels, length, 30)
    x = walks(20, channels, length, 1)
    for group in bank.groups:
        for which, kernel in np.ndindex(*group.thresholds.shape):
            responses = [
                value for one in x for value in literal_responses(one, group, kernel, bank.step)
            ]
            gap = np.abs(np.array(responses) - float(group.thresholds[which, kernel])).min()
            assert gap < 1e-4 * (1 + np.abs(responses).max())


def test_thresholds_are_spread_over_the_responses() -> None:
    bank = made(2, 100, 4000, crossings=False)
    shares = bank(walks(20, 2, 100, 1)).numpy().mean(0) / bank.positions
    deciles = np.histogram(shares, bins=10, range=(0, 1))[0] / 2000
    assert deciles.min() > 0.05  # a tenth each if quantiles are uniform
    assert deciles.max() < 0.2


def test_the_zero_sum_kernels() -> None:
    found = zero_sum()
    assert len({tuple(kernel) for kernel in found}) == 84
    assert (found.sum(1) == 0).all()
    assert ((found == 2).sum(1) == 3).all()


@pytest.mark.parametrize("length", [9, 10, 17, 18, 128, 315, 10_000])
def test_the_widest_kernel_fits_and_no_wider_one_would(length) -> None:
    found = dilations(length)
    assert found[0] == 1
    assert 8 * found[-1] <= length - 1 < 16 * found[-1]
    assert len(found) <= 32


@pytest.mark.parametrize(
    ("channels", "expected"), [(1, {1}), (3, {1, 2, 3}), (9, set(range(1, 10)))]
)
def test_zero_sum_kernels_sum_one_to_all_channels(channels, expected) -> None:
    bank = made(channels, 30, 6000, level=0.0)
    sizes = [
        int((column.reshape(9, channels) != 0).all(0).sum())
        for group in bank.groups
        for column in group.weights.T
    ]
    assert set(sizes) == expected
    if channels == 9:
        assert np.mean(np.array(sizes) == 1) == pytest.approx(np.log(2) / np.log(10), abs=0.03)


def test_with_many_channels_all_are_looked_at_nine_at_a_time() -> None:
    bank = made(45, 125, 8000)
    assert all(group.weights.shape[0] == 81 for group in bank.groups)
    assert set(np.concatenate([group.channels for group in bank.groups])) == set(range(45))


@pytest.mark.parametrize("channels", [10, 17, 28, 45])
def test_even_views_show_every_channel_equally_often(channels) -> None:
    """After every group, not only after the last; without them, chance decides."""
    seen = {}
    for even in (True, False):
        counts, gaps = np.zeros(channels, int), []
        for group in made(channels, 125, 8000, even_views=even).groups:
            assert len(set(group.channels)) == 9
            counts[group.channels] += 1
            gaps.append(np.ptp(counts))
        seen[even] = max(gaps)
    assert seen[True] == 1
    assert seen[False] > 1


@pytest.mark.parametrize(("channels", "length"), [(2, 40), (12, 140)])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_the_share_of_level_sensitive_kernels(channels, length, share) -> None:
    """They have the share asked for in every group, do not sum to zero, and mix all channels."""
    bank = made(channels, length, 4000, level=share)
    assert bank.level.float().mean() == share
    for group in bank.groups:
        assert abs(group.level.sum() - share * len(group.level)) <= 1
        weights = group.weights.reshape(9, -1, len(group.level)).numpy()
        zero, level = weights[:, :, ~group.level], weights[:, :, group.level]
        assert set(np.unique(np.abs(zero))) <= {0.0, 1.0, 2.0}
        assert (zero.sum(0) == 0).all()
        assert (level != 0).all()
        assert (np.abs(level.sum(0)) > 0).all()
        for kernel in np.moveaxis(level, 2, 0):  # taps times channels
            assert np.linalg.matrix_rank(kernel) == 1


def test_zero_sum_kernels_add_and_subtract_channels() -> None:
    """The signs are fair and independent; all nine weights of a channel have the same one."""
    patterns = {tuple(kernel) for kernel in zero_sum()}
    for signs in (True, False):
        bank = made(2, 60, 8000, level=0.0, signs=signs)
        weights = torch.cat([group.weights.reshape(9, 2, -1) for group in bank.groups], 2)
        found = weights.gather(0, weights.abs().argmax(0, keepdim=True))[0].sign()  # of a 2
        unsigned = (weights * found).permute(1, 2, 0)[found != 0]
        assert {tuple(kernel) for kernel in unsigned.tolist()} <= patterns
        first, second = found[:, (found != 0).all(0)]
        assert len(first) > 500
        means = torch.stack([first.mean(), second.mean(), (first * second).mean()])
        if signs:
            assert (means.abs() < 4 / len(first) ** 0.5).all()
        else:
            assert (means == 1).all()


def test_features_that_see_the_level_and_features_that_do_not() -> None:
    """A constant added to a series changes zero-sum responses at the padded borders alone."""
    x = walks(20, 1, 100, 1)
    bank = made(1, 100, 400, level=0.5)
    inside = slice(48, 52)  # no kernel but the widest reaches a border from here
    before = [r[:, inside].clone() for _, r in bank.responses(torch.from_numpy(x))]
    after = [r[:, inside].clone() for _, r in bank.responses(torch.from_numpy(x + 10))]
    for group, one, two in zip(bank.groups, before, after, strict=True):
        if group.dilation * 4 <= 48:
            changed = (one - two).abs().amax((0, 1)).numpy()
            assert (changed[~group.level] < 1e-3).all()
            assert np.median(changed[group.level]) > 1


def test_level_features_are_named_in_the_order_of_the_features() -> None:
    bank = made(3, 60, 300)
    x = walks(30, 3, 60)
    first = 0
    for group in bank.groups:
        for _ in range(2 * len(group.thresholds)):
            last = first + len(group.level)
            assert (bank.level[first:last].numpy() == group.level).all()
            first = last
    assert first == bank.features == bank(x).shape[1]


def test_a_sample_does_not_depend_on_its_batch() -> None:
    for channels, length in ((3, 315), (9, 128), (45, 125), (1, 9)):
        bank = made(channels, length, 700)
        x = walks(50, channels, length)
        whole = bank(x)
        order = np.random.default_rng(3).permutation(50)
        assert torch.equal(bank(x[order]), whole[order])
        assert torch.equal(torch.cat([bank(x[i : i + 1]) for i in range(50)]), whole)


def test_layout_in_memory_does_not_matter() -> None:
    bank = made(3, 40, 50)
    x = walks(10, 3, 40)
    backwards = np.ascontiguousarray(x.transpose(2, 1, 0)).transpose(2, 1, 0)
    assert torch.equal(bank(backwards), bank(x))
    assert torch.equal(bank(x.astype(np.float64)), bank(x))


def test_few_features_are_as_many_as_asked_for() -> None:
    for features in (4, 8, 20):
        assert made(2, 315, features)(walks(2, 2, 315)).shape == (2, features)
    assert made(2, 315, 4)(walks(0, 2, 315)).shape == (0, 4)


def test_a_series_that_is_too_short() -> None:
    with pytest.raises(UserError, match="9 steps or more, not 8"):
        KernelBank(1, 8, 10, 1, 0.5, np.random.default_rng(0))
