"""GR: the generator's shapes, its loss by hand, and what it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_streams import setting
from torch import nn
from tsbench.baselines.gr import GR

from tsbench.data.catalogue import card
from tsbench.nn.random import torch_generator
from tsbench.nn.timevae import TimeVAE, vae_loss
from tsbench.protocol.rules import PAPER_DATASETS

PUBLISHED_VAE = {"uci-har": 3.9, "uwave": 5.9, "dsa": 34.3, "grabmyo": 15.5, "wisdm": 4.0}


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_timevae_shapes_and_sizes(name: str) -> None:
    each = card(name)
    vae = TimeVAE(each.channels, each.length, torch_generator(0, "v"))
    millions = sum(p.numel() for p in vae.parameters()) / 1e6
    assert millions == pytest.approx(PUBLISHED_VAE[name], abs=0.051)
    lengths = {"uci-har": 8, "uwave": 20, "dsa": 8, "grabmyo": 8, "wisdm": 13}
    assert vae.lengths[-1] == lengths[name]
    x = torch.zeros(2, each.channels, each.length)
    assert vae.encode(x)[0].shape == (2, 128)
    assert vae.generate(3, torch_generator(0, "z")).shape == (3, each.channels, each.length)


@pytest.mark.parametrize("length", [9, 37, 50, 101])
def test_timevae_takes_any_length(length: int) -> None:
    vae = TimeVAE(2, length, torch_generator(0, "v"))
    assert vae.decode(vae.encode(torch.zeros(3, 2, length))[0]).shape == (3, 2, length)


def test_vae_loss_by_hand() -> None:
    x, decoded = torch.tensor([[[1.0, 3.0]]]), torch.tensor([[[0.0, 1.0]]])
    mean, log_variance = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, math.log(4.0)]])
    fit = (1 + 4) + ((1 + 2) / 2) ** 2
    kl = 0.5 * (1.0) + 0.5 * (4 - 1 - math.log(4))
    found = vae_loss(x, decoded, mean, log_variance, 0.1).item()
    assert found == pytest.approx(0.1 * fit + kl, rel=1e-6)


@pytest.mark.slow
def test_timevae_learns_to_reconstruct_the_demo_stream() -> None:
    from pathlib import Path

    from tsbench.data.prepared import load

    torch.set_num_threads(1)
    x = torch.from_numpy(np.array(load(card("demo"), Path()).splits.train.x[:16]))
    vae = TimeVAE(3, 100, torch_generator(0, "v"))
    optimiser = torch.optim.Adam(vae.parameters(), lr=1e-3)
    noise = torch_generator(0, "n")
    before = F.mse_loss(vae.decode(vae.encode(x)[0]), x).item()
    for _ in range(90):
        optimiser.zero_grad()
        vae.loss(x, 10.0, noise).backward()
        optimiser.step()
    after = F.mse_loss(vae.decode(vae.encode(x)[0]), x).item()
    assert after < 0.5 * before


def test_gr_labels_by_the_previous_network_and_keeps_no_sample() -> None:
    context, stream = setting()
    method = GR(context, GR.Settings())
    method.learn(stream.tasks[0])
    assert [k for k, v in vars(method).items() if isinstance(v, nn.Module)] == [
        "network",
        "generator",
    ]
    kept = method.kept()
    assert kept.raw == 0
    parameters = sum(p.numel() for p in method.generator.parameters())
    assert kept.generator >= 3 * 4 * parameters, "weights and Adam's two moments"
    method.before_task(stream.tasks[1])
    previous = {n: p.clone() for n, p in method.network.state_dict().items()}
    method.network.head = method.network.head.grown(4, context.torch_random("t"))
    x, y = method.tensors(stream.tasks[1].train.x[:5], stream.tasks[1].train.y[:5])
    with torch.no_grad():
        invented = method.generator.generate(32, context.torch_random("generated", 1))
        labels = method.labeller(invented).argmax(1)
        assert labels.max() < 2, "only what the previous network knew"
        expected = F.cross_entropy(method.network(invented), labels)
        expected += F.cross_entropy(method.network(x), y)
    assert method.loss(x, y, torch.arange(5)).item() == pytest.approx(expected.item(), rel=1e-5)
    assert all(torch.equal(v, previous[n]) for n, v in method.labeller.state_dict().items())


def test_gr_fails_when_its_generator_diverges() -> None:
    context, stream = setting()
    method = GR(context, GR.Settings(generator_rate=1e30))
    with pytest.raises(FloatingPointError, match=r"generator's error became (nan|inf) in epoch 1"):
        method.learn(stream.tasks[0])
