"""How much of a data set GR's generator can store, for each weight of its reconstruction.

    tsbench download uci-har uwave dsa wisdm grabmyo
    python tools/generator_weight.py uci-har uwave dsa wisdm grabmyo

The loss w·Σ error² + KL is that of a Gaussian model with noise 1 / (2w). A linear one stores a
principal component only if its variance λ is above the noise, and then λ − 1 / (2w) of it
(probabilistic PCA; Lucas et al., Don't Blame the ELBO, NeurIPS 2019).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tsbench.data.catalogue import card
from tsbench.data.prepared import load

WEIGHTS = (0.001, 0.01, 0.1, 1.0, 10.0)
"""The grid of the published code, and 10."""
SAMPLES = 1500


def stored_share(x: np.ndarray, weight: float) -> float:
    """Share of the variance of (samples, values) above the noise of a weight."""
    centred = x - x.mean(axis=0)
    variances = np.linalg.svd(centred, compute_uv=False) ** 2 / len(x)
    return float(np.clip(variances - 1 / (2 * weight), 0, None).sum() / variances.sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", nargs="+")
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    options = parser.parse_args()
    print(f"| data set | variance of a value | {' | '.join(f'w = {w:g}' for w in WEIGHTS)} |")
    print("|---" * (2 + len(WEIGHTS)) + "|")
    for name in options.dataset:
        about = card(name, options.data)
        x = load(about, options.data).splits.train.x
        rows = np.random.default_rng(0).permutation(len(x))[:SAMPLES]
        flat = np.asarray(x[np.sort(rows)], np.float64).reshape(len(rows), -1)
        shares = " | ".join(f"{100 * stored_share(flat, weight):.0f} %" for weight in WEIGHTS)
        print(f"| {about.title} | {flat.var(axis=0).mean():.3g} | {shares} |")


if __name__ == "__main__":
    main()
