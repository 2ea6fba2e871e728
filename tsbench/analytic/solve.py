"""Solving (G + Λ)W = Q for a symmetric G and a diagonal penalty Λ: half the work in float32.

The matrix is factorised in float32, and conjugate gradients with that factor as preconditioner
and the matrix itself in float64 carry the solution to a relative residual of 1e-12. Features with
a common mean have one eigenvalue far above the others, in which float32 would lose the penalty.
So the first feature, TS-ACL-R's constant, is eliminated in float64 before the rest is rounded.

Where float32 does not suffice, the solution is by Cholesky in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tsbench.analytic.triangle import PANEL, Triangle

RESIDUAL = 1e-12
ITERATIONS = 30
Map = Callable[[Tensor], Tensor]


class NotSolvable(ArithmeticError):
    """The normal equations could not be solved in floating point."""

    def __init__(self, penalty: float | Tensor, why: str) -> None:
        least = float(torch.as_tensor(penalty).min())
        super().__init__(f"ridge regression with γ = {least:g} failed: {why}; raise γ")


def solve(gram: Triangle, penalty: Tensor, right: Tensor) -> tuple[Tensor, bool]:
    """(G + Λ)⁻¹Q in float64, and whether float32 sufficed."""
    right = right.double()
    precondition = factorise(gram, penalty)
    if precondition is not None:
        solution = conjugate_gradients(
            lambda p: gram.times(p).addcmul_(penalty[:, None], p), precondition, right
        )
        if solution is not None:
            return solution, True
    del precondition  # it holds the float32 factor: half the memory of the matrix to come
    matrix = gram.square(torch.float64)
    matrix.diagonal().add_(penalty)
    return cholesky_solve(matrix, right, penalty), False


def conjugate_gradients(times: Map, precondition: Map, right: Tensor) -> Tensor | None:
    """The solution of each column of ``right``; None if it does not converge.

    The preconditioner is rounded to float32 and so not quite symmetric; the direction is corrected
    by Polak and Ribière's formula, which forgives that.
    """
    solution, residual = torch.zeros_like(right), right.clone()
    enough = RESIDUAL * right.norm(dim=0)
    direction = better = precondition(residual)
    product = (residual * better).sum(0)
    for _ in range(ITERATIONS):
        image = times(direction)
        step = _ratio(product, (direction * image).sum(0))
        solution += step * direction
        change = step * image
        residual -= change
        left = residual.norm(dim=0)
        if (left <= enough).all():
            return solution
        if not left.isfinite().all():
            break
        better = precondition(residual)
        correction = _ratio(-(change * better).sum(0), product)
        product = (residual * better).sum(0)
        direction = better + correction * direction
    return None


def factorise(gram: Triangle, penalty: Tensor) -> Map | None:
    """The inverse of G + Λ by Cholesky in float32; None if that is not positive definite."""
    first = gram.first_column()
    pivot = first[0] + penalty[0]
    ratio = first / pivot
    matrix = gram.square(torch.float32, minus=(first, ratio))
    matrix.diagonal().add_(penalty)
    matrix[:, 0] = 0.0
    matrix[0, 0] = 1.0
    if not cholesky_by_panels_(matrix):
        return None

    def inverse(right: Tensor) -> Tensor:
        size = right.norm(dim=0).clamp_min(torch.finfo(torch.float64).tiny)
        rest = right - torch.outer(ratio, right[0])
        rest[0] = 0.0
        half = torch.linalg.solve_triangular(matrix, (rest / size).float(), upper=False)
        found = torch.linalg.solve_triangular(matrix.mT, half, upper=True).double() * size
        found[0] = right[0] / pivot - ratio[1:] @ found[1:]
        return found

    return inverse


def cholesky_(matrix: Tensor) -> bool:
    """Overwrite a lower triangle by its Cholesky factor; False if it is not positive definite."""
    info = torch.empty((), dtype=torch.int32, device=matrix.device)
    # The transpose of a row-major lower triangle is LAPACK's own column-major upper one.
    torch.linalg.cholesky_ex(matrix.mT, upper=True, out=(matrix.mT, info))
    return info.item() == 0


def cholesky_by_panels_(matrix: Tensor) -> bool:
    """As ``cholesky_``, by products of large blocks and inverses of small ones.

    In float32 this takes two thirds of the time of LAPACK as it comes with torch on an AMD
    processor (``bench_ridge.py``). Inverses are less accurate, which a preconditioner may be.
    """
    size = len(matrix)
    identity = torch.eye(min(PANEL, size), dtype=matrix.dtype, device=matrix.device)
    for start in range(0, size, PANEL):
        stop = min(start + PANEL, size)
        width = stop - start
        # Not in place: writing to rows that lie far apart would halve the speed of the product.
        below = matrix[start:, start:stop] - matrix[start:, :start] @ matrix[start:stop, :start].mT
        factor, info = torch.linalg.cholesky_ex(below[:width])
        if info.item() != 0:
            return False
        inverse = torch.linalg.solve_triangular(factor, identity[:width, :width], upper=False)
        matrix[start:stop, start:stop] = factor
        matrix[stop:, start:stop] = below[width:] @ inverse.mT
    return True


def cholesky_solve(matrix: Tensor, right: Tensor, penalty: float | Tensor) -> Tensor:
    """Solve with a symmetric matrix of which the lower triangle is given; overwrites it."""
    if not cholesky_(matrix):
        raise NotSolvable(penalty, "the matrix is not positive definite")
    half = torch.linalg.solve_triangular(matrix, right, upper=False)
    solution: Tensor = torch.linalg.solve_triangular(matrix.mT, half, upper=True)
    if not torch.isfinite(solution).all():
        raise NotSolvable(penalty, "the solution is not finite")
    return solution


def _ratio(above: Tensor, below: Tensor) -> Tensor:
    """Column by column; 0 for a column that is solved exactly."""
    return torch.where(below == 0, torch.zeros_like(above), above / below)
