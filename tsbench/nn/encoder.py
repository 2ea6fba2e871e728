"""The published 1D-CNN encoder: four blocks of conv → ReLU → norm → max pool → dropout.

Channels C → 64 → 128 → 256 → 128, kernel 5, pool 2; the feature is the mean over time. Inside, a
series (N, C, L) is an image (N, C, 1, L) in channels-last layout: convolution and the layer norm
over channels both read memory in order, which costs about two thirds of the plain layout on CPU.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tsbench.data.card import InputNorm
from tsbench.nn.random import Dropout, uniform
from tsbench.protocol.rules import EncoderNorm

WIDTHS = (64, 128, 256, 128)
KERNEL = 5
FEATURES = WIDTHS[-1]
FUSED = sum(WIDTHS)
EPS = 1e-5


class Block(nn.Module):
    """Conv → ReLU → norm → max pool → dropout on (N, C, 1, L), channels last."""

    def __init__(
        self,
        channels: int,
        width: int,
        norm: EncoderNorm,
        dropout: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        bound = (channels * KERNEL) ** -0.5  # torch's own default for convolutions
        weight = uniform((width, channels, 1, KERNEL), bound, generator)
        self.weight = nn.Parameter(weight.detach().contiguous(memory_format=torch.channels_last))
        self.bias = uniform((width,), bound, generator)
        self.norm = nn.LayerNorm(width, EPS) if norm == "ln" else nn.BatchNorm2d(width, EPS)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, 1, L) → (N, width, 1, L // 2)."""
        x = F.relu(F.conv2d(x, self.weight, self.bias, padding=(0, KERNEL // 2)))
        if isinstance(self.norm, nn.LayerNorm):
            x = self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        else:
            x = self.norm(x)
        if x.shape[-1] > 1:
            x = F.max_pool2d(x, (1, 2))
        dropped: Tensor = self.dropout(x)
        return dropped


class Encoder(nn.Module):
    """Input normalisation and four blocks; any number of channels, any length."""

    def __init__(
        self,
        channels: int,
        input_norm: InputNorm,
        norm: EncoderNorm,
        dropout: float,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.input_norm = input_norm
        ins = (channels, *WIDTHS[:-1])
        self.blocks = nn.ModuleList(
            Block(i, o, norm, dropout, generator) for i, o in zip(ins, WIDTHS, strict=True)
        )

    def maps(self, x: Tensor) -> list[Tensor]:
        """(N, C, L) → the outputs of all blocks, (N, C_k, L_k) each."""
        x = normalise(x, self.input_norm)
        x = x.unsqueeze(2).contiguous(memory_format=torch.channels_last)
        maps = []
        for block in self.blocks:
            x = block(x)
            maps.append(x.squeeze(2))
        return maps

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, L) → features (N, 128)."""
        return self.maps(x)[-1].mean(2)

    def fused(self, x: Tensor) -> Tensor:
        """(N, C, L) → the time means of all blocks side by side, (N, 576)."""
        return torch.cat([m.mean(2) for m in self.maps(x)], dim=1)


def normalise(x: Tensor, norm: InputNorm) -> Tensor:
    """Parameter-free input normalisation of (N, C, L).

    ``layer``: over the channels at each time step. ``instance``: over time, per channel.
    """
    if norm == "none":
        return x
    variance, mean = torch.var_mean(x, dim=1 if norm == "layer" else 2, correction=0, keepdim=True)
    return (x - mean) / (variance + EPS).sqrt()
