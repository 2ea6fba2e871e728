"""Ridge regression on a stream, exactly equal to ridge regression on all data so far.

``absorb`` takes features U (n, d) with labels (n,) from 0; ``Gram`` and ``Factor`` also take them
with targets V (n, K) in float64. ``weights`` gives the W (d, K) that minimises
‖V − UW‖² + Σ λᵢ‖wᵢ‖² over all of it, V being one-hot for labels, with one λ for all features or one
for each. ``tensors`` is what is kept: statistics, never a sample.

- ``Gram``: G = UᵀU and Q = UᵀV in float64. nd² + d³/3 operations per task.
- ``IntegerGram``: the same for features that are small integers, exactly: the statistics do not
  depend on the order of the samples, the size of batches, the number of threads or the machine.
- ``Factor``: the triangular factor R of G = RᵀR and P with Q = RᵀP, which is the same knowledge as
  (G, Q) in m rows, m being the number of samples so far. 4m²d operations per task, md numbers.

The paper's recursion on (UᵀU + γI)⁻¹ gives the same W, for one γ, and is slower at every size.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from tsbench.analytic.solve import cholesky_solve, solve
from tsbench.analytic.triangle import EXACT, Triangle

FEW = 1 / 3
"""With fewer samples than this share of the features ``Factor`` is faster than ``Gram``."""
INT32 = (1 << 31) - 1


class Gram:
    """G and Q in float64."""

    types: ClassVar = (torch.float64, torch.float64)
    """Of G and of Q."""

    def __init__(self, features: int, device: torch.device | str = "cpu") -> None:
        self.G = Triangle(features, self.types[0], device)
        self.Q = torch.zeros(features, 0, dtype=self.types[1], device=device)
        self.float64_solves = 0
        """Solutions for which float32 did not suffice (see ``solve``)."""

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """G ← G + UᵀU, Q ← Q + UᵀV, in float64."""
        _check(features)
        self.G.add_products(features)
        self.Q = _with_columns(self.Q, labels)
        if labels.dim() == 2:
            self.Q.addmm_(features.T, labels)
        else:
            self.Q.index_add_(1, labels, features.T.contiguous())

    def weights(self, penalty: float | Tensor) -> Tensor:
        """(G + Λ)⁻¹Q."""
        each = self.Q.new_ones(self.G.size, dtype=torch.float64) * penalty
        found, fast = solve(self.G, each, self.Q)
        self.float64_solves += not fast
        return found

    def tensors(self) -> list[Tensor]:
        """The lower triangle of G, and Q."""
        return [*self.G.panels, self.Q]


class IntegerGram(Gram):
    """G and Q of integers from 0 to ``largest`` in float32, exact for any number of samples.

    G is of int32 as long as samples × largest² fits, then of int64; Q is of int64.
    """

    types = (torch.int32, torch.int64)

    def __init__(self, features: int, largest: int, device: torch.device | str = "cpu") -> None:
        if largest**2 > EXACT:
            raise ValueError(f"products of integers up to {largest} are not exact in float32")
        super().__init__(features, device)
        self.largest, self.samples = largest, 0

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """G ← G + UᵀU, Q ← Q + UᵀV, in integers."""
        _check(features)
        if ((features < 0) | (features > self.largest) | (features != features.round())).any():
            raise ValueError(f"features must be integers from 0 to {self.largest}")
        self.samples += len(features)
        if self.G.dtype == torch.int32 and self.samples * self.largest**2 > INT32:
            self.G.widen()
        self.G.add_integer_products(features, self.largest)
        self.Q = _with_columns(self.Q, labels)
        self.Q.index_add_(1, labels, features.T.long())


class Factor:
    """R (m, d) upper trapezoidal and P (m, K), with RᵀR = UᵀU and RᵀP = UᵀV over all samples."""

    float64_solves = 0

    def __init__(self, features: int, device: torch.device | str = "cpu") -> None:
        self.R = torch.zeros(0, features, dtype=torch.float64, device=device)
        self.P = torch.zeros(0, 0, dtype=torch.float64, device=device)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """One QR of the old factor over the new samples; the rotation hides who was who."""
        _check(features)
        self.P = _with_columns(self.P, labels)
        targets = labels if labels.dim() == 2 else one_hot(labels, self.P.shape[1]).double()
        rotation, self.R = torch.linalg.qr(torch.cat([self.R, features]))
        self.P = rotation.T @ torch.cat([self.P, targets])

    def weights(self, penalty: float | Tensor) -> Tensor:
        """Λ⁻¹Rᵀ(RΛ⁻¹Rᵀ + I)⁻¹P."""
        scaled = self.R / penalty
        kernel = scaled @ self.R.T
        kernel.diagonal().add_(1.0)
        return scaled.T @ cholesky_solve(kernel, self.P, penalty)

    def tensors(self) -> list[Tensor]:
        """R and P."""
        return [self.R, self.P]


def cheapest(features: int, samples: int, device: torch.device | str = "cpu") -> Factor | Gram:
    """The fastest exact solver for a stream of ``samples``, by measurement (``bench_ridge.py``).

    >>> [type(cheapest(8000, samples)).__name__ for samples in (725, 3888)]
    ['Factor', 'Gram']
    """
    kind = Factor if samples < FEW * features else Gram
    return kind(features, device)


def solver_notes(*solvers: Factor | Gram) -> dict[str, int]:
    """For the record of a run: solutions by Cholesky in float64, if there were any."""
    count = sum(solver.float64_solves for solver in solvers)
    return {"float64 Cholesky solves": count} if count else {}


def _check(features: Tensor) -> None:
    if not torch.isfinite(features).all():
        raise ValueError("features hold NaN or infinite values; did the encoder diverge?")


def _with_columns(matrix: Tensor, labels: Tensor) -> Tensor:
    """Zero columns appended for classes that were not there before: exact, for ridge."""
    if not len(labels):
        return matrix
    classes = labels.shape[1] if labels.dim() == 2 else int(labels.max()) + 1
    missing = classes - matrix.shape[1]
    if missing <= 0:
        return matrix
    return torch.cat([matrix, matrix.new_zeros(len(matrix), missing)], dim=1)
