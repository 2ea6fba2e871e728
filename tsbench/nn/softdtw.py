"""Soft-DTW between batches of sequences, along anti-diagonals, with its own backward pass.

Cuturi and Blondel, Soft-DTW: a Differentiable Loss Function for Time-Series, ICML 2017.

R[i, j] = D[i, j] + softmin_γ(R[i−1, j], R[i, j−1], R[i−1, j−1]); the value is R[n, m]. All cells
of an anti-diagonal depend on the two before it only, so each is one operation over batch and
diagonal. The backward pass sends E[n, m] = 1 back along the softmin weights; ∂R[n, m]/∂D = E.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

FAR = 1e12
"""Stands for infinity: larger than any distance, but never leads to NaN."""


def soft_dtw(a: Tensor, b: Tensor, gamma: float = 1.0) -> Tensor:
    """Soft-DTW of (B, C, n) and (B, C, m) under squared Euclidean cost, one value per pair."""
    value: Tensor = _SoftDTW.apply(squared_distances(a, b), gamma)  # type: ignore[no-untyped-call]
    return value


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(B, C, n), (B, C, m) → (B, n, m)."""
    cross = a.transpose(1, 2) @ b
    return a.square().sum(1)[:, :, None] + b.square().sum(1)[:, None, :] - 2 * cross


class _SoftDTW(torch.autograd.Function):
    """The recursion on a cost tensor (B, n, m)."""

    @staticmethod
    def forward(ctx: Any, cost: Tensor, gamma: float) -> Tensor:
        batch, n, m = cost.shape
        skewed = _skew(cost)  # (n + m − 1, B, n): diagonal k, row i
        total = cost.new_full((n + m + 1, batch, n + 1), FAR)  # R with a border in front
        total[0, :, 0] = 0
        weights = cost.new_zeros(n + m - 1, 3, batch, n)
        for k in range(n + m - 1):
            before = torch.stack(
                [total[k + 1, :, :n], total[k + 1, :, 1:], total[k, :, :n]]
            )  # (i−1, j), (i, j−1), (i−1, j−1)
            scaled = before / -gamma
            weights[k] = scaled.softmax(dim=0)
            total[k + 2, :, 1:] = skewed[k] - gamma * scaled.logsumexp(dim=0)
            low, high = max(0, k - m + 1), min(n, k + 1)  # rows that are on the diagonal
            total[k + 2, :, 1 : low + 1] = FAR
            total[k + 2, :, high + 1 :] = FAR
        ctx.save_for_backward(weights)
        ctx.shape = cost.shape
        return total[n + m, :, n].clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        batch, n, m = ctx.shape
        flow = weights.new_zeros(n + m + 1, batch, n + 1)  # E; row i, a border behind
        flow[n + m - 2, :, n - 1] = 1
        for k in range(n + m - 2, -1, -1):
            low, high = max(0, k - m + 1), min(n, k + 1)
            on = slice(low, high)
            here = flow[k, :, on]
            flow[k, :, :low] = 0
            flow[k, :, high:] = 0
            if k >= 1:
                up = weights[k, 0, :, on] * here
                start = max(low, 1)
                flow[k - 1, :, start - 1 : high - 1] += up[:, start - low :]
                flow[k - 1, :, on] += weights[k, 1, :, on] * here
            if k >= 2:
                start = max(low, 1)
                across = weights[k, 2, :, on] * here
                flow[k - 2, :, start - 1 : high - 1] += across[:, start - low :]
        cost_grad = _unskew(flow[: n + m - 1, :, :n], m)
        return cost_grad * grads[0][:, None, None], None


def _skew(cost: Tensor) -> Tensor:
    """(B, n, m) → (n + m − 1, B, n) with [k, :, i] = cost[:, i, k − i], 0 outside."""
    n, m = cost.shape[1:]
    rows = torch.arange(n, device=cost.device)
    columns = torch.arange(n + m - 1, device=cost.device)[:, None] - rows  # (K, n)
    inside = (columns >= 0) & (columns < m)
    gathered = cost[:, rows, columns.clamp(0, m - 1)]  # (B, K, n)
    return (gathered * inside).transpose(0, 1)


def _unskew(skewed: Tensor, m: int) -> Tensor:
    """(n + m − 1, B, n) → (B, n, m)."""
    n = skewed.shape[2]
    rows = torch.arange(n, device=skewed.device)[:, None]
    diagonals = rows + torch.arange(m, device=skewed.device)
    return skewed[diagonals, :, rows].permute(2, 0, 1)
