"""TimeVAE: a convolutional variational auto-encoder of raw series, for generative replay.

Desai et al., TimeVAE: A Variational Auto-Encoder for Multivariate Time Series Generation, 2021, in
the plain form of the published benchmark: four strided convolutions (64, 128, 256, 512 channels,
kernel 3) to mean and log-variance of 128 dimensions, four transposed ones back, and a last linear
layer over all values; no trend or seasonality blocks.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512)
LATENT = 128


class TimeVAE(nn.Module):
    """Series (N, C, L) to latent normals and back; any length."""

    def __init__(self, channels: int, length: int, generator: torch.Generator) -> None:
        super().__init__()
        self.channels = channels
        self.lengths = [length]
        for _ in WIDTHS:
            self.lengths.append((self.lengths[-1] + 1) // 2)
        ins = (channels, *WIDTHS[:-1])
        self.down = nn.ModuleList(
            nn.Conv1d(i, o, 3, stride=2, padding=1) for i, o in zip(ins, WIDTHS, strict=True)
        )
        flat = WIDTHS[-1] * self.lengths[-1]
        self.to_mean = nn.Linear(flat, LATENT)
        self.to_log_variance = nn.Linear(flat, LATENT)
        self.from_latent = nn.Linear(LATENT, flat)
        outs = (*WIDTHS[-2::-1], channels)
        self.up = nn.ModuleList(
            nn.ConvTranspose1d(i, o, 3, stride=2, padding=1, output_padding=1)
            for i, o in zip(WIDTHS[::-1], outs, strict=True)
        )
        self.last = nn.Linear(channels * length, channels * length)
        draw_weights(self, generator)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance, (N, 128) each."""
        for layer in self.down:
            if x.shape[2] % 2:
                x = F.pad(x, (0, 1))
            x = F.relu(layer(x))
        flat = x.flatten(1)
        return self.to_mean(flat), self.to_log_variance(flat)

    def decode(self, z: Tensor) -> Tensor:
        """Latent (N, 128) → series (N, C, L)."""
        x = F.relu(self.from_latent(z)).unflatten(1, (WIDTHS[-1], self.lengths[-1]))
        for layer, length in zip(self.up, self.lengths[-2::-1], strict=True):
            x = layer(x)[:, :, :length]
            if layer is not self.up[-1]:
                x = F.relu(x)
        series: Tensor = self.last(x.flatten(1)).unflatten(1, (self.channels, self.lengths[0]))
        return series

    def loss(self, x: Tensor, reconstruction: float, noise: torch.Generator) -> Tensor:
        """Sums over the batch: reconstruction and its time means, weighted, and KL divergence."""
        mean, log_variance = self.encode(x)
        z = mean + (log_variance / 2).exp() * draw(mean, noise)
        return vae_loss(x, self.decode(z), mean, log_variance, reconstruction)

    @torch.no_grad()
    def generate(self, count: int, noise: torch.Generator) -> Tensor:
        """Series from z ~ N(0, I)."""
        return self.decode(draw(self.last.weight.new_empty(count, LATENT), noise))


def vae_loss(
    x: Tensor, decoded: Tensor, mean: Tensor, log_variance: Tensor, reconstruction: float
) -> Tensor:
    """w·[Σ error² + Σ over samples and channels of (time-mean error)²] + Σ KL."""
    error = x - decoded
    fit = error.square().sum() + error.mean(2).square().sum()
    kl = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
    return reconstruction * fit + kl


def draw(like: Tensor, noise: torch.Generator) -> Tensor:
    """Standard normal numbers of a shape, drawn on the CPU so that all devices agree."""
    return torch.randn(like.shape, generator=noise).to(like.device)


def draw_weights(module: nn.Module, generator: torch.Generator) -> None:
    """Torch's default ranges, ±1/√fan-in, from the given generator."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.ConvTranspose1d):
            bound = layer.weight[0].numel() ** -0.5
            with torch.no_grad():
                layer.weight.uniform_(-bound, bound, generator=generator)
                assert layer.bias is not None
                layer.bias.uniform_(-bound, bound, generator=generator)
