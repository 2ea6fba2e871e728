"""The study behind TS-ACL-R's defaults: A_T on validation streams, one choice varied at a time.

    python tests/benchmarks/study_kernels.py --data datasets [--only NAME …]

Prints a Markdown row a variant: mean A_T for each penalty, data set by data set. Never looks at an
experiment stream. UCI-HAR's validation stream is tested on people it has trained on, which flatters
weak penalties; so it is studied by person as well: a third of the people of the training data is
left out and tested on. The ridge is exact, so the end of a stream is ridge on all of its data.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from tsbench.analytic.kernels import KernelBank
from tsbench.data.arrays import Split
from tsbench.data.catalogue import card
from tsbench.data.prepared import Dataset, load
from tsbench.data.stream import make_stream
from tsbench.randomness import generator

PENALTIES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
STUDIES = {"uwave": 20, "uci-har": 2, "uci-har by person": 2, "wisdm": 2}
"""Seeds of each."""
Series = np.ndarray
Map = Callable[[Series], np.ndarray]
Stream = tuple[list[Split], list[Split]]


def streams(name: str, seeds: int, data: Path) -> Iterator[tuple[int, Stream]]:
    """Training and test side of validation streams, by task."""
    dataset: Dataset = load(card(name.split()[0]), data)
    for seed in range(1234, 1234 + seeds):
        stream = make_stream(dataset, seed, "val")
        train, test = [task.train for task in stream.tasks], list(stream.tests)
        if "person" in name:
            people = np.unique(np.concatenate([part.subject for part in train]))
            left_out = generator(seed, "study").permutation(people)[: len(people) // 3]
            held = [np.isin(part.subject, left_out) for part in train]
            test = [part.take(np.flatnonzero(h)) for part, h in zip(train, held, strict=True)]
            train = [part.take(np.flatnonzero(~h)) for part, h in zip(train, held, strict=True)]
        yield seed, (train, test)


def bank(
    x: Series, seed: int, name: str = "", kernels: int = 4000, each: int = 2, positions: int = 64
) -> Map:
    """The bank as it is, fitted on task 1, or with something changed."""
    random = generator(seed, "kernels", name)
    made = KernelBank(x.shape[1], x.shape[2], kernels, each, random)
    made.step = max(1, round(made.length / positions))
    made.positions = -(-made.length // made.step)
    made.fit(x, generator(seed, "thresholds", name))
    return lambda series: made(series).numpy()


def with_bank(**changes: int) -> Callable[[Series, int], Map]:
    return lambda x, seed: bank(x, seed, **changes)  # type: ignore[arg-type]


def differences(series: Series) -> Series:
    return np.diff(series, axis=2, prepend=series[:, :, :1])


def normalised(series: Series) -> Series:
    """Each channel of each sample to mean 0 and variance 1."""
    centred = series - series.mean(2, keepdims=True)
    return (centred / (centred.std(2, keepdims=True) + 1e-5)).astype(np.float32)


def side_by_side(*maps: Map) -> Map:
    return lambda series: np.concatenate([each(series) for each in maps], 1)


def raw_and_differences(x: Series, seed: int) -> Map:
    raw = bank(x, seed, kernels=2000)
    changes = bank(differences(x), seed, "differences", kernels=2000)
    return side_by_side(raw, lambda series: changes(differences(series)))


def on_normalised(x: Series, seed: int) -> Map:
    inner = bank(normalised(x), seed)
    return lambda series: inner(normalised(series))


def standardised(x: Series, seed: int) -> Map:
    """By mean and deviation of task 1; √10 in the deviation's place, so that penalties compare."""
    inner = bank(x, seed)
    first = inner(x)
    mean, deviation = first.mean(0), first.std(0) + 0.01
    return lambda series: np.clip((inner(series) - mean) / deviation, -10, 10) * 0.3


def pooled(x: Series, seed: int, pool: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Map:
    """4,000 kernels with their shares and one more number each."""
    made = KernelBank(x.shape[1], x.shape[2], 4000, 1, generator(seed, "kernels", ""))
    made.fit(x, generator(seed, "thresholds", ""))

    def more(series: Series) -> np.ndarray:
        parts = []
        for start in range(0, len(series), 256):
            chunk = torch.from_numpy(series[start : start + 256])
            found = [pool(r, group.thresholds[0]) for group, r in made.responses(chunk)]
            parts.append(torch.cat(found, 1))
        return torch.cat(parts).numpy()

    scale = np.abs(more(x[:256])).mean(0) * 2 + 1e-6
    return side_by_side(lambda s: made(s).numpy(), lambda s: np.clip(more(s) / scale, -5, 5))


def competing(x: Series, seed: int) -> Map:
    """As Hydra: eight kernels compete, and it counts how often each is first, and last."""
    made = KernelBank(x.shape[1], x.shape[2], 4000, 1, generator(seed, "kernels", ""))

    def transform(series: Series) -> np.ndarray:
        parts = []
        for start in range(0, len(series), 256):
            found = []
            for _, responses in made.responses(torch.from_numpy(series[start : start + 256])):
                n, positions, kernels = responses.shape
                rivals = responses[:, :, : kernels // 8 * 8].reshape(n, positions, -1, 8)
                for winner in (rivals.argmax(3), rivals.argmin(3)):
                    won = torch.nn.functional.one_hot(winner, 8).sum(1).flatten(1)
                    found.append(won.float() / positions)
            parts.append(torch.cat(found, 1))
        return torch.cat(parts).numpy()

    return transform


VARIANTS: dict[str, Callable[[Series, int], Map]] = {
    "4,000 kernels, 2 thresholds each": with_bank(),
    "1,000 kernels, 2 thresholds": with_bank(kernels=1000),
    "2,000 kernels, 2 thresholds": with_bank(kernels=2000),
    "3,000 kernels, 2 thresholds": with_bank(kernels=3000),
    "4,000 kernels, 1 threshold": with_bank(each=1),
    "8,000 kernels, 1 threshold": with_bank(kernels=8000, each=1),
    "2,000 kernels, 4 thresholds": with_bank(kernels=2000, each=4),
    "32 positions": with_bank(positions=32),
    "128 positions": with_bank(positions=128),
    "2,000 on the raw series, 2,000 on first differences": raw_and_differences,
    "normalised input": on_normalised,
    "standardised features": standardised,
    "1 threshold and the maximum": lambda x, s: pooled(x, s, lambda r, b: r.amax(1) - b),
    "1 threshold and the mean excess": lambda x, s: pooled(
        x, s, lambda r, b: (r - b).relu_().mean(1)
    ),
    "competing kernels (first, last)": competing,
}


def accuracies(features: Map, train: list[Split], test: list[Split]) -> list[float]:
    """A_T of ridge on all training data, for each penalty."""
    u = _with_constant(features, train)
    y = torch.from_numpy(np.concatenate([part.y for part in train]))
    targets = torch.nn.functional.one_hot(y).double()
    dual = len(u) < u.shape[1]
    matrix = u @ u.T if dual else u.T @ u
    right = targets if dual else u.T @ targets
    tests = [_with_constant(features, [part]) for part in test if len(part)]
    truths = [torch.from_numpy(part.y) for part in test if len(part)]
    found = []
    for penalty in PENALTIES:
        shifted = matrix.clone()
        shifted.diagonal().add_(penalty * len(u))
        solution = torch.cholesky_solve(right, torch.linalg.cholesky(shifted))
        weights = u.T @ solution if dual else solution
        hits = [
            ((t @ weights).argmax(1) == truth).double().mean().item()
            for t, truth in zip(tests, truths, strict=True)
        ]
        found.append(100 * float(np.mean(hits)))
    return found


def _with_constant(features: Map, parts: list[Split]) -> torch.Tensor:
    u = torch.from_numpy(np.concatenate([features(part.x) for part in parts])).double()
    return torch.nn.functional.pad(u, (0, 1), value=1.0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--only", nargs="*", default=list(VARIANTS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = {name: list(streams(name, seeds, options.data)) for name, seeds in STUDIES.items()}
    heads = [f"{name} ({STUDIES[name]})" for name in known]
    print(f"| penalties {', '.join(f'{p:g}' for p in PENALTIES)} | {' | '.join(heads)} |")
    print("|---" * (1 + len(heads)) + "|")
    for variant in options.only:
        cells = []
        for found in known.values():
            rows = [
                accuracies(VARIANTS[variant](train[0].x, seed), train, test)
                for seed, (train, test) in found
            ]
            cells.append(" / ".join(f"{v:.2f}" for v in np.mean(rows, axis=0)))
        print(f"| {variant} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
