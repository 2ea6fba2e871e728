"""The study behind TS-ACL-R's defaults: A_T on validation streams, one choice varied at a time.

    python tests/benchmarks/study_kernels.py --data datasets [--only NAME …]

Prints a Markdown row a variant: mean A_T for each penalty, and for the penalty of the least
leave-one-out error in closed form, data set by data set. Never looks at an
experiment stream. UCI-HAR's validation stream is tested on people it has trained on, which flatters
weak penalties; so it is studied by person: a third of the people of the training data is left out
and tested on. The ridge is exact, so the end of a stream is ridge on all of its data.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from tsbench.analytic.kernels import KernelBank
from tsbench.analytic.tsacl import TSACL, AnalyticSettings
from tsbench.data.arrays import Split
from tsbench.data.catalogue import card
from tsbench.data.prepared import load
from tsbench.data.stream import Task, make_stream
from tsbench.learn.gradient import GradientMethod
from tsbench.learn.method import Context
from tsbench.randomness import generator

PENALTIES = (3e-4, 1e-3, 3e-3)
STUDIES = {"uwave": 10, "uci-har by person": 2, "wisdm": 6}
"""Seeds of each."""
Series = np.ndarray
Map = Callable[[Series], np.ndarray]


@dataclass(frozen=True)
class Study:
    """Training and test side of a validation stream, by task."""

    context: Context
    first: Task
    train: list[Split]
    test: list[Split]

    @property
    def x(self) -> Series:
        """Training samples of task 1."""
        return self.train[0].x

    def random(self, *names: object) -> np.random.Generator:
        return generator(self.context.seed, *names)


def studies(name: str, seeds: int, data: Path) -> Iterator[Study]:
    dataset = load(card(name.split()[0]), data)
    for seed in range(1234, 1234 + seeds):
        stream = make_stream(dataset, seed, "val")
        train, test = [task.train for task in stream.tasks], list(stream.tests)
        if "person" in name:
            people = np.unique(np.concatenate([part.subject for part in train]))
            left_out = generator(seed, "study").permutation(people)[: len(people) // 3]
            held = [np.isin(part.subject, left_out) for part in train]
            test = [part.take(np.flatnonzero(h)) for part, h in zip(train, held, strict=True)]
            train = [part.take(np.flatnonzero(~h)) for part, h in zip(train, held, strict=True)]
        context = Context(dataset.card, seed, len(stream.classes), sum(map(len, train)), 0)
        yield Study(context, replace(stream.tasks[0], train=train[0]), train, test)


def bank(
    study: Study,
    x: Series,
    name: object = "",
    kernels: int = 2000,
    each: int = 4,
    positions: int = 192,
) -> Map:
    """The bank as it is, fitted on task 1, or with something changed."""
    made = KernelBank(x.shape[1], x.shape[2], kernels, each, study.random("kernels", name))
    made.step = max(1, round(made.length / positions))
    made.positions = -(-made.length // made.step)
    made.fit(x, study.random("thresholds", name))
    return lambda series: made(series).numpy()


def with_bank(**changes: int) -> Callable[[Study], Map]:
    return lambda study: bank(study, study.x, **changes)  # type: ignore[arg-type]


def differences(series: Series) -> Series:
    return np.diff(series, axis=2, prepend=series[:, :, :1])


def normalised(series: Series) -> Series:
    """Each channel of each sample to mean 0 and variance 1."""
    centred = series - series.mean(2, keepdims=True)
    return (centred / (centred.std(2, keepdims=True) + 1e-5)).astype(np.float32)


def side_by_side(*maps: Map) -> Map:
    return lambda series: np.concatenate([each(series) for each in maps], 1)


def raw_and_differences(study: Study) -> Map:
    raw = bank(study, study.x, kernels=1000)
    changes = bank(study, differences(study.x), "differences", kernels=1000)
    return side_by_side(raw, lambda series: changes(differences(series)))


def on_normalised(study: Study) -> Map:
    inner = bank(study, normalised(study.x))
    return lambda series: inner(normalised(series))


def with_encoder(study: Study) -> Map:
    """Beside the bank: the fused features of TS-ACL's encoder, trained on task 1, at its scale."""
    method = TSACL(study.context, AnalyticSettings(gamma=1.0, width=1))
    GradientMethod.learn(method, study.first)

    def encoded(series: Series) -> np.ndarray:
        return np.concatenate([part.numpy() for part, _ in method._features(series)])

    scale = 2 * np.abs(encoded(study.x)).mean()
    return side_by_side(bank(study, study.x), lambda series: encoded(series) / scale)


def standardised(study: Study) -> Map:
    """By mean and deviation of task 1, then to the scale of a share, so that penalties compare."""
    inner = bank(study, study.x)
    first = inner(study.x)
    mean, deviation = first.mean(0), first.std(0) + 0.01
    return lambda series: np.clip((inner(series) - mean) / deviation, -10, 10) * 0.3


def pooled(study: Study, pool: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Map:
    """4,000 kernels with their shares and one more number each."""
    x = study.x
    made = KernelBank(x.shape[1], x.shape[2], 4000, 1, study.random("kernels", ""))
    made.fit(x, study.random("thresholds", ""))

    def more(series: Series) -> np.ndarray:
        parts = []
        for start in range(0, len(series), 256):
            chunk = torch.from_numpy(series[start : start + 256])
            found = [pool(r, group.thresholds[0]) for group, r in made.responses(chunk)]
            parts.append(torch.cat(found, 1))
        return torch.cat(parts).numpy()

    scale = np.abs(more(x[:256])).mean(0) * 2 + 1e-6
    return side_by_side(lambda s: made(s).numpy(), lambda s: np.clip(more(s) / scale, -5, 5))


def competing(study: Study) -> Map:
    """As Hydra: eight kernels compete, and it counts how often each is first, and last."""
    x = study.x
    made = KernelBank(x.shape[1], x.shape[2], 4000, 1, study.random("kernels", ""))

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


ENSEMBLE = "mean score of three banks"
VARIANTS: dict[str, Callable[[Study], Map]] = {
    "2,000 kernels, 4 thresholds, 192 positions": with_bank(),
    "500 kernels": with_bank(kernels=500),
    "1,000 kernels": with_bank(kernels=1000),
    "4,000 kernels": with_bank(kernels=4000),
    "4,000 kernels, 2 thresholds": with_bank(kernels=4000, each=2),
    "8,000 kernels, 1 threshold": with_bank(kernels=8000, each=1),
    "32 positions": with_bank(positions=32),
    "64 positions": with_bank(positions=64),
    "128 positions": with_bank(positions=128),
    "every position": with_bank(positions=10**9),
    "1,000 on the raw series, 1,000 on first differences": raw_and_differences,
    "normalised input": on_normalised,
    "standardised features": standardised,
    "4,000 kernels, 1 threshold and the maximum": lambda study: pooled(
        study, lambda r, b: r.amax(1) - b
    ),
    "4,000 kernels, 1 threshold and the mean excess": lambda study: pooled(
        study, lambda r, b: (r - b).relu_().mean(1)
    ),
    "4,000 competing kernels (first, last)": competing,
    "three banks side by side": lambda study: side_by_side(
        *(bank(study, study.x, i) for i in range(3))
    ),
    "with the frozen encoder's features": with_encoder,
}


def accuracies(study: Study, *members: Map) -> tuple[list[float], float, float]:
    """A_T of ridge on all training data for each penalty; A_T and penalty by leave-one-out error.

    With several members, A_T of their mean score.
    """
    y = torch.from_numpy(np.concatenate([part.y for part in study.train]))
    targets = torch.nn.functional.one_hot(y).double()
    tests = [part for part in study.test if len(part)]
    scores = [[torch.zeros(()) for _ in tests] for _ in PENALTIES]
    errors = [0.0 for _ in PENALTIES]
    for features in members:
        u = with_constant(features, study.train)
        others = [with_constant(features, [part]) @ u.T for part in tests]
        gram = u @ u.T
        for i, penalty in enumerate(PENALTIES):
            kernel = gram.clone()
            kernel.diagonal().add_(penalty * len(u))
            inverse = torch.cholesky_inverse(torch.linalg.cholesky(kernel))
            dual = inverse @ targets
            # A sample left out is missed by its dual weight over its diagonal entry.
            errors[i] += (dual / inverse.diagonal()[:, None]).square().mean().item()
            for k, other in enumerate(others):
                scores[i][k] = scores[i][k] + other @ dual
    found = [
        100 * float(np.mean([hits(s, part) for s, part in zip(row, tests, strict=True)]))
        for row in scores
    ]
    best = int(np.argmin(errors))
    return found, found[best], PENALTIES[best]


def hits(scores: torch.Tensor, part: Split) -> float:
    return float((scores.argmax(1).numpy() == part.y).mean())


def with_constant(features: Map, parts: list[Split]) -> torch.Tensor:
    u = torch.from_numpy(np.concatenate([features(part.x) for part in parts])).double()
    return torch.nn.functional.pad(u, (0, 1), value=1.0)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--only", nargs="*", default=[*VARIANTS, ENSEMBLE])
    parser.add_argument("--sets", nargs="*", default=list(STUDIES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = {name: list(studies(name, STUDIES[name], options.data)) for name in options.sets}
    heads = [f"{name} ({STUDIES[name]} seeds)" for name in known]
    print(f"| penalty {', '.join(f'{p:g}' for p in PENALTIES)}; by LOO | {' | '.join(heads)} |")
    print("|---" * (1 + len(heads)) + "|")
    for variant in options.only:
        cells = []
        for found in known.values():
            rows = []
            for study in found:
                if variant == ENSEMBLE:
                    members = [bank(study, study.x, i) for i in range(3)]
                else:
                    members = [VARIANTS[variant](study)]
                each, by_loo, _ = accuracies(study, *members)
                rows.append([*each, by_loo])
            *each, by_loo = np.mean(rows, axis=0)
            cells.append(" / ".join(f"{v:.2f}" for v in each) + f"; {by_loo:.2f}")
        print(f"| {variant} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
