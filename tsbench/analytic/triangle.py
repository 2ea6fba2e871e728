"""A symmetric matrix as its lower triangle, in panels of rows: half the memory of a square.

The panel of rows a..b holds columns 0..b. A matrix of integers stays exact: products of rows are
taken in float32, in blocks so small that no sum exceeds 2²⁴, and added up as int32 or int64.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

PANEL = 256
EXACT = 1 << 24
"""Float32 represents every integer up to here, so a sum that stays below is exact in any order."""


class Triangle:
    """Lower triangle of a symmetric matrix (size, size), at first zero."""

    def __init__(
        self, size: int, dtype: torch.dtype = torch.float64, device: torch.device | str = "cpu"
    ) -> None:
        self.size = size
        self.spans = list(pairwise([*range(0, size, PANEL), size]))
        self.panels = [
            torch.zeros(stop - start, stop, dtype=dtype, device=device)
            for start, stop in self.spans
        ]

    @property
    def dtype(self) -> torch.dtype:
        """Of the entries."""
        return self.panels[0].dtype

    def widen(self) -> None:
        """From int32 to int64."""
        self.panels = [panel.long() for panel in self.panels]

    def add_products(self, rows: Tensor) -> None:
        """Add UᵀU of rows U (n, size), which have the type of the entries."""
        for (start, stop), panel in zip(self.spans, self.panels, strict=True):
            panel.addmm_(rows[:, start:stop].T, rows[:, :stop])

    def add_integer_products(self, rows: Tensor, largest: int) -> None:
        """Add UᵀU of float32 rows that hold integers from 0 to ``largest``, exactly."""
        for block in rows.split(EXACT // largest**2):
            for (start, stop), panel in zip(self.spans, self.panels, strict=True):
                panel.add_((block[:, start:stop].T @ block[:, :stop]).to(panel.dtype))

    def times(self, right: Tensor) -> Tensor:
        """The product with a float64 matrix (size, k)."""
        product = torch.zeros_like(right)
        for (start, stop), panel in zip(self.spans, self.panels, strict=True):
            entries = panel.double()
            product[start:stop].addmm_(entries, right[:stop])
            product[:start].addmm_(entries[:, :start].T, right[start:stop])
        return product

    def first_column(self) -> Tensor:
        """Column 0 in float64."""
        return torch.cat([panel[:, 0] for panel in self.panels]).double()

    def square(self, dtype: torch.dtype, minus: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """A square matrix with this lower triangle, less an outer product; zeros above it."""
        matrix = torch.zeros(self.size, self.size, dtype=dtype, device=self.panels[0].device)
        for (start, stop), panel in zip(self.spans, self.panels, strict=True):
            entries = panel
            if minus is not None:
                left, right = minus[0][start:stop], minus[1][:stop]
                entries = torch.addr(panel.double(), left, right, alpha=-1.0)
            matrix[start:stop, :stop] = entries
        return matrix
