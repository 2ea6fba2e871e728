"""The encoder against a plain reference, its sizes against the published ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tsbench.data.catalogue import card
from tsbench.nn.encoder import FUSED, Encoder, normalise
from tsbench.nn.network import Head, Network
from tsbench.nn.random import Dropout, torch_generator


def make_encoder(channels: int, norm: str = "ln", input_norm: str = "none", dropout: float = 0.0):
    return Encoder(channels, input_norm, norm, dropout, torch_generator(0, "test"))


def plain_maps(encoder: Encoder, x: torch.Tensor) -> list[torch.Tensor]:
    """The published order of operations on (N, C, L), nothing clever."""
    maps = []
    for block in encoder.blocks:
        x = F.relu(F.conv1d(x, block.weight.squeeze(2), block.bias, padding=2))
        if isinstance(block.norm, nn.LayerNorm):
            norm = block.norm
            x = F.layer_norm(x.transpose(1, 2), norm.normalized_shape, norm.weight, norm.bias)
            x = x.transpose(1, 2)
        else:
            norm = block.norm
            x = F.batch_norm(
                x, norm.running_mean.clone(), norm.running_var.clone(), norm.weight, norm.bias,
                training=encoder.training,
            )  # fmt: skip
        x = F.max_pool1d(x, 2)
        maps.append(x)
    return maps


@pytest.mark.parametrize("norm", ["ln", "bn"])
@pytest.mark.parametrize(("channels", "length"), [(9, 128), (3, 315), (1, 37)])
def test_the_encoder_equals_the_plain_one_forward_and_backward(norm, channels, length) -> None:
    encoder = make_encoder(channels, norm).double()
    x = torch.randn(6, channels, length, generator=torch_generator(1, "x")).double()
    expected = plain_maps(encoder, x)
    for ours, theirs in zip(encoder.maps(x), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)
    weights = list(encoder.parameters())
    mine = torch.autograd.grad(encoder(x).square().sum(), weights)
    reference = torch.autograd.grad(plain_maps(encoder, x)[-1].mean(2).square().sum(), weights)
    for ours, theirs in zip(mine, reference, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "parameters", "lengths"),
    [
        ("uci-har", 373_248, [64, 32, 16, 8]),
        ("uwave", 371_328, [157, 78, 39, 19]),
        ("dsa", 384_768, [62, 31, 15, 7]),
        ("grabmyo", 379_328, [64, 32, 16, 8]),
        ("wisdm", 371_328, [100, 50, 25, 12]),
    ],
)
def test_sizes_are_the_published_ones(name: str, parameters: int, lengths: list[int]) -> None:
    each = card(name)
    encoder = make_encoder(each.channels)
    assert sum(p.numel() for p in encoder.parameters()) == parameters
    x = torch.zeros(2, each.channels, each.length)
    assert [m.shape[2] for m in encoder.maps(x)] == lengths
    assert encoder.fused(x).shape == (2, FUSED) == (2, 576)


def test_very_short_series_pass() -> None:
    assert make_encoder(2)(torch.zeros(3, 2, 5)).shape == (3, 128)


def test_input_norms() -> None:
    x = torch.randn(4, 3, 20, generator=torch_generator(0, "x")) * 5 + 2
    layer = F.layer_norm(x.transpose(1, 2), (3,)).transpose(1, 2)
    torch.testing.assert_close(normalise(x, "layer"), layer)
    torch.testing.assert_close(normalise(x, "instance"), F.instance_norm(x))
    assert normalise(x, "none") is x


def test_initial_weights_follow_torchs_ranges() -> None:
    encoder = make_encoder(9)
    bound = (9 * 5) ** -0.5
    weight = encoder.blocks[0].weight
    assert weight.abs().max() <= bound
    assert weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
    head = Head(4, torch_generator(0, "h"))
    assert head.weight.abs().max() <= (6 / (128 + 4)) ** 0.5
    assert head.bias.abs().max() <= 128**-0.5


def test_a_grown_head_agrees_on_the_old_classes() -> None:
    head = Head(2, torch_generator(0, "a"))
    grown = head.grown(4, torch_generator(0, "b"))
    features = torch.randn(5, 128)
    torch.testing.assert_close(grown(features)[:, :2], head(features))
    assert grown.classes == 4


def test_dropout_draws_from_its_generator_only() -> None:
    layer = Dropout(0.3)
    x = torch.ones(2000, 50)
    layer.generator = torch_generator(0, "d")
    first = layer(x)
    torch.manual_seed(99)
    layer.generator = torch_generator(0, "d")
    assert torch.equal(first, layer(x))
    assert first.mean() == pytest.approx(1, abs=0.02)
    assert set(np.unique(first)) == {np.float32(0), np.float32(1 / 0.7)}
    layer.eval()
    assert layer(x) is x


def test_a_network_has_one_head() -> None:
    network = Network(make_encoder(3), Head(6, torch_generator(0, "h")))
    assert network(torch.zeros(2, 3, 40)).shape == (2, 6)
