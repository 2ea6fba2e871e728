"""Many dimensions to two: principal components, and t-SNE with its exact gradient.

van der Maaten and Hinton, Visualizing Data using t-SNE, JMLR 2008.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

PERPLEXITY = 30.0
BEFORE_TSNE = 50
"""Principal components that t-SNE starts from."""
STEPS, EXAGGERATED = 1000, 250
EXAGGERATION = 12.0
FLOOR = 1e-12


def pca(x: np.ndarray, components: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) → their principal components (n, k), and each one's share of the variance.

    The sign of a component is such that its largest entry is positive.
    """
    centred = np.asarray(x, np.float64) - x.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    scores = u[:, :components] * s[:components]
    largest = np.abs(scores).argmax(axis=0)
    signs = np.sign(scores[largest, np.arange(scores.shape[1])])
    total = float((s**2).sum())
    shares = s[:components] ** 2 / total if total > 0 else np.zeros(scores.shape[1])
    return scores * np.where(signs == 0, 1.0, signs), shares


def tsne(
    x: np.ndarray,
    perplexity: float = PERPLEXITY,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> np.ndarray:
    """Rows (n, d) → (n, 2), from the principal components, without any randomness."""
    reduced, _ = pca(x, BEFORE_TSNE)
    n = len(reduced)
    p = joint_probabilities(reduced, min(perplexity, max(1.0, (n - 1) / 3)))
    y = reduced[:, :2] / max(float(reduced[:, 0].std()), FLOOR) * 1e-4
    y = np.pad(y, ((0, 0), (0, 2 - y.shape[1])))
    rate = max(n / EXAGGERATION / 4, 50.0)
    for step in range(STEPS):
        early = step < EXAGGERATED
        if step in (0, EXAGGERATED):  # a new goal: no momentum from the old one
            velocity, gains = np.zeros_like(y), np.ones_like(y)
        gradient = kl_gradient(p * EXAGGERATION if early else p, y)
        agree = np.sign(gradient) == np.sign(velocity)
        gains = np.maximum(np.where(agree, gains * 0.8, gains + 0.2), 0.01)
        velocity = (0.5 if early else 0.8) * velocity - rate * gains * gradient
        y = y + velocity
        y -= y.mean(axis=0)
        progress(step + 1, STEPS)
    return y


def joint_probabilities(x: np.ndarray, perplexity: float) -> np.ndarray:
    """Symmetric P (n, n): Gaussian neighbours, each row as wide as the perplexity asks for."""
    distances = _squared_distances(x)
    target = np.log(perplexity)
    low, high = np.zeros(len(x)), np.full(len(x), np.inf)
    beta = 1 / np.maximum(distances.mean(axis=1), FLOOR)
    for _ in range(100):  # bisection on 1/(2σ²), all rows at a time
        rows, entropy = _neighbours(distances, beta)
        if np.abs(entropy - target).max() < 1e-6:
            break
        wide = entropy > target
        low, high = np.where(wide, beta, low), np.where(wide, high, beta)
        beta = np.where(np.isinf(high), beta * 2, (low + np.where(np.isinf(high), low, high)) / 2)
    p = (rows + rows.T) / (2 * len(x))
    return np.maximum(p, FLOOR)


def kl_gradient(p: np.ndarray, y: np.ndarray) -> np.ndarray:
    """∂KL(P‖Q)/∂y = 4 Σ_j (p_ij − q_ij)(y_i − y_j)/(1 + ‖y_i − y_j‖²)."""
    kernel = 1 / (1 + _squared_distances(y))
    np.fill_diagonal(kernel, 0)
    pull = (p - np.maximum(kernel / kernel.sum(), FLOOR)) * kernel
    return 4 * (pull.sum(axis=1, keepdims=True) * y - pull @ y)


def _neighbours(distances: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Conditional probabilities, a row a point, and their entropies."""
    exponents = -distances * beta[:, None]
    np.fill_diagonal(exponents, -np.inf)
    exponents -= exponents.max(axis=1, keepdims=True)
    rows = np.exp(exponents)
    rows /= rows.sum(axis=1, keepdims=True)
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
    return rows, -(rows * logs).sum(axis=1)


def _squared_distances(x: np.ndarray) -> np.ndarray:
    squares = (x**2).sum(axis=1)
    return np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0)
