"""Ridge regression on a stream, exactly equal to ridge regression on all data so far.

All solvers take features U (n, d) with labels and give the weights Φ (d, K) that minimise
‖V − UΦ‖² + γ‖Φ‖² over everything absorbed, V one-hot. They keep statistics, never a sample:

- ``Recursive``: the paper's recursion (eqs. 11 and 12). Keeps Ψ = (UᵀU + γI)⁻¹ and Φ. About 4nd²
  a task; γ is fixed beforehand.
- ``Gram``: keeps G = UᵀU and Q = UᵀV, solves by Cholesky. nd² + d³/3 a task; any γ at any time.
- ``Factor``: keeps the triangular factor R of G = RᵀR and P with Q = RᵀP, which is the same
  knowledge as (G, Q) in m rows, m being the number of samples so far. 4m²d a task and md of
  memory: the cheapest by far while m ≪ d. Any γ at any time.

``cheapest`` chooses by the sizes of the stream.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor

BLOCKS = 8


class Solver(Protocol):
    """What all solvers do."""

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Take in samples: features (n, d) in float64, labels (n,) from 0."""

    def weights(self, gamma: float) -> Tensor:
        """Φ (d, K) for all classes absorbed."""

    def tensors(self) -> list[Tensor]:
        """What is kept."""


class NotSolvable(ArithmeticError):
    """The normal equations could not be solved in floating point."""

    def __init__(self, gamma: float, why: str) -> None:
        super().__init__(f"ridge regression with γ = {gamma:g} failed: {why}; raise γ")


class Gram:
    """G and Q accumulated; only the lower triangle of G is computed and read."""

    def __init__(self, features: int, device: torch.device | str = "cpu") -> None:
        self.G = torch.zeros(features, features, dtype=torch.float64, device=device)
        self.Q = torch.zeros(features, 0, dtype=torch.float64, device=device)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """G ← G + UᵀU, Q ← Q + UᵀV."""
        _check(features)
        edges = torch.linspace(0, features.shape[1], BLOCKS + 1).int().tolist()
        for start, stop in pairwise(edges):
            rows = features[:, start:stop]
            self.G[start:stop, :stop].addmm_(rows.T, features[:, :stop])
        self.Q = _with_columns(self.Q, labels)
        self.Q.index_add_(1, labels, features.T.contiguous())

    def weights(self, gamma: float) -> Tensor:
        """(G + γI)⁻¹Q by Cholesky."""
        shifted = self.G.clone()
        shifted.diagonal().add_(gamma)
        return _cholesky_solve(shifted, self.Q, gamma)

    def tensors(self) -> list[Tensor]:
        """G and Q."""
        return [self.G, self.Q]


class Factor:
    """R (m, d) upper trapezoidal and P (m, K), with RᵀR = UᵀU and RᵀP = UᵀV over all samples."""

    def __init__(self, features: int, device: torch.device | str = "cpu") -> None:
        self.R = torch.zeros(0, features, dtype=torch.float64, device=device)
        self.P = torch.zeros(0, 0, dtype=torch.float64, device=device)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """One QR of the old factor over the new samples; the rotation hides who was who."""
        _check(features)
        self.P = _with_columns(self.P, labels)
        targets = _one_hot(labels, self.P.shape[1])
        rotation, self.R = torch.linalg.qr(torch.cat([self.R, features]))
        self.P = rotation.T @ torch.cat([self.P, targets])

    def weights(self, gamma: float) -> Tensor:
        """Rᵀ(RRᵀ + γI)⁻¹P."""
        kernel = self.R @ self.R.T
        kernel.diagonal().add_(gamma)
        return self.R.T @ _cholesky_solve(kernel, self.P, gamma)

    def tensors(self) -> list[Tensor]:
        """R and P."""
        return [self.R, self.P]


class Recursive:
    """The paper's recursion: Ψ and Φ, one γ."""

    def __init__(self, features: int, gamma: float, device: torch.device | str = "cpu") -> None:
        self.gamma = gamma
        self.Psi = torch.eye(features, dtype=torch.float64, device=device).div_(gamma)
        self.Phi = torch.zeros(features, 0, dtype=torch.float64, device=device)

    def absorb(self, features: Tensor, labels: Tensor) -> None:
        """Eq. 12, Ψ ← Ψ − ΨUᵀ(I + UΨUᵀ)⁻¹UΨ, grouped so that no d × d product occurs; eq. 11."""
        _check(features)
        self.Phi = _with_columns(self.Phi, labels)
        projected = features @ self.Psi  # UΨ
        inner = projected @ features.T
        inner.diagonal().add_(1.0)
        factor, info = torch.linalg.cholesky_ex(inner)
        if info.item() != 0 or not torch.isfinite(factor).all():
            raise NotSolvable(self.gamma, "I + UΨUᵀ is not positive definite")
        half = torch.linalg.solve_triangular(factor, projected, upper=False)
        self.Psi.addmm_(half.T, half, alpha=-1.0)
        residual = _one_hot(labels, self.Phi.shape[1]) - features @ self.Phi
        self.Phi += self.Psi @ (features.T @ residual)

    def weights(self, gamma: float) -> Tensor:
        """Φ, for the γ it was begun with."""
        if gamma != self.gamma:
            raise ValueError(f"begun with γ = {self.gamma:g}, asked for {gamma:g}")
        return self.Phi

    def tensors(self) -> list[Tensor]:
        """Ψ and Φ."""
        return [self.Psi, self.Phi]


def cheapest(
    features: int,
    samples: int,
    tasks: int,
    gamma: float | None = None,
    device: torch.device | str = "cpu",
) -> Factor | Gram | Recursive:
    """The cheapest exact solver for a stream of ``samples`` in ``tasks`` equal parts.

    By floating-point operations over all tasks. The recursion needs to know γ beforehand.

    >>> [type(cheapest(8000, n, t, 1.0)).__name__ for n, t in ((725, 4), (5000, 50))]
    ['Factor', 'Recursive']
    """
    d, n = features, samples / tasks
    costs: dict[type[Factor | Gram | Recursive], float] = {
        Factor: sum(4 * (t * n) ** 2 * d for t in range(1, tasks + 1)),
        Gram: tasks * (n * d**2 + d**3 / 3),
    }
    if gamma is not None:
        costs[Recursive] = tasks * 4 * n * d**2
    best = min(costs, key=costs.__getitem__)
    if best is Recursive:
        assert gamma is not None
        return Recursive(features, gamma, device)
    return Gram(features, device) if best is Gram else Factor(features, device)


def _check(features: Tensor) -> None:
    if not torch.isfinite(features).all():
        raise ValueError("features hold NaN or infinite values; did the encoder diverge?")


def _one_hot(labels: Tensor, classes: int) -> Tensor:
    return torch.nn.functional.one_hot(labels, classes).double()


def _with_columns(matrix: Tensor, labels: Tensor) -> Tensor:
    """Zero columns appended for classes that were not there before: exact, for ridge."""
    missing = int(labels.max()) + 1 - matrix.shape[1] if len(labels) else 0
    if missing <= 0:
        return matrix
    return torch.cat([matrix, matrix.new_zeros(len(matrix), missing)], dim=1)


def _cholesky_solve(matrix: Tensor, right: Tensor, gamma: float) -> Tensor:
    """Solve with a symmetric matrix of which the lower triangle is given; overwrites it."""
    info = torch.empty((), dtype=torch.int32, device=matrix.device)
    # The transpose of a row-major lower triangle is LAPACK's own column-major upper one.
    torch.linalg.cholesky_ex(matrix.mT, upper=True, out=(matrix.mT, info))
    if info.item() != 0:
        raise NotSolvable(gamma, "the matrix is not positive definite")
    half = torch.linalg.solve_triangular(matrix, right, upper=False)
    solution: Tensor = torch.linalg.solve_triangular(matrix.mT, half, upper=True)
    if not torch.isfinite(solution).all():
        raise NotSolvable(gamma, "the solution is not finite")
    return solution
