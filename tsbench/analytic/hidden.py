"""The random hidden layer: ReLU(U·Φ_E) with a fixed normal matrix Φ_E, drawn from a named stream.

Φ_E has standard deviation 1/√d_in, so that the scale of its output, and with it the useful range
of γ, does not depend on the number of inputs.
"""

from __future__ import annotations

import torch
from torch import Tensor


class HiddenLayer:
    """d_in → d_E, no bias, float32."""

    def __init__(
        self, inputs: int, width: int, generator: torch.Generator, device: torch.device
    ) -> None:
        weight = torch.randn(inputs, width, generator=generator)
        self.weight = weight.mul_(inputs**-0.5).to(device)

    def __call__(self, features: Tensor) -> Tensor:
        """(N, d_in) → (N, d_E)."""
        return (features @ self.weight).relu_()
