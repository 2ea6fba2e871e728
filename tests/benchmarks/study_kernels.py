"""The study behind TS-ACL-R's defaults: A_T on validation streams and on training people.

    python tests/benchmarks/study_kernels.py --data datasets --save study.json [--rows TEXT …]

Two columns per data set: the published split, whose test windows come from recordings that were
trained on, and the split by subject (UWave names no subjects). A third for DSA and WISDM: the
experiment's classes, on people whom the experiment of that seed is not tested on. A cell is the
mean A_T, and its difference from version 1 on the same streams with the standard error over seeds.
The ridge is exact, so the end of a stream is ridge on all of its data, and it is solved in its dual
form: a row with another scale or penalty costs no new features. Figures are saved as they
come, and the same command resumes; ``--rows`` and ``--sets`` choose what is computed, the table has
all that is saved.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tsbench.analytic.kernels import MAX_CHANNELS, Group, KernelBank
from tsbench.analytic.tsaclr import KernelSettings
from tsbench.data.catalogue import card
from tsbench.data.prepared import Dataset, load
from tsbench.protocol.divisions import divide
from tsbench.protocol.rules import VALIDATION, class_order, streams_of, task_labels
from tsbench.protocol.samples import Pool, Split
from tsbench.protocol.stream import make_stream
from tsbench.randomness import generator

DEFAULT = KernelSettings()
GCV = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
"""Penalties that generalised cross-validation chooses from."""
PROBES = 20
SEEDS = {"wisdm": 20, "uci-har": 4, "uwave": 10, "dsa": 2}
EVERY = {"uci-har": 2}
"""One of so many training samples is used."""
SUBJECTS = ("uci-har", "dsa", "wisdm")
"""Data sets that name them."""
HARDER = {"dsa": 24, "wisdm": 8}
"""Data sets whose validation classes are few of many, and much easier than all of them; seeds."""
Blocks = tuple[np.ndarray, np.ndarray]
"""Features of zero-sum and of level-sensitive kernels."""
Map = Callable[[np.ndarray], Blocks]


@dataclass(frozen=True)
class Study:
    """Training and test side of a validation stream, task by task."""

    column: str
    seed: int
    train: list[Split]
    test: list[Split]

    def random(self, *names: object) -> np.random.Generator:
        return generator(self.seed, *names)


def studies(name: str, most: int | None, data: Path) -> Iterator[Study]:
    dataset = load(card(name), data)
    for seed in range(1234, 1234 + min(SEEDS[name], most or SEEDS[name])):
        for split in ("published", "subject") if name in SUBJECTS else ("published",):
            stream = make_stream(dataset, seed, replace(VALIDATION, split=split))
            few = slice(None, None, EVERY.get(name, 1))
            train = [Split(task.train.x[few], task.train.y[few]) for task in stream.tasks]
            yield Study(f"{name}, {split}", seed, train, [t for t in stream.tests if len(t)])
    for seed in range(1234, 1234 + min(HARDER.get(name, 0), most or 99)):
        yield training_people(dataset, seed)


def training_people(dataset: Dataset, seed: int) -> Study:
    """The experiment's classes, by subject, without the people whom the experiment is tested on."""
    pool, order = Pool(dataset.splits), class_order(seed, dataset.classes)
    sides = divide(dataset, pool, seed, "subject", "val")
    classes = streams_of([c for c in order if c in sides.usable])["exp"]
    label_of = {c: label for label, c in enumerate(classes)}

    def tasks(mask: np.ndarray) -> list[Split]:
        found = []
        for labels in task_labels(len(classes)):
            chosen = mask & np.isin(pool.y, [classes[k] for k in labels])
            part = pool.take(np.flatnonzero(chosen))
            found.append(part.labelled(np.array([label_of[int(c)] for c in part.y])))
        return found

    train = sides.train if sides.stop is None else sides.train | sides.stop
    return Study(f"{dataset.name}, training people", seed, tasks(train), tasks(sides.test))


PLAIN = {"thresholds": 4, "crossings": False, "signs": False}
"""Four shares per kernel, and channels that are only added: all rows without signs or crossings."""


def made_bank(
    study: Study,
    kernels: int = DEFAULT.kernels,
    level: float = 0.2,
    thresholds: int = DEFAULT.thresholds,
    crossings: bool = True,
    signs: bool = True,
    even_views: bool = False,
) -> KernelBank:
    channels, length = study.train[0].x.shape[1:]
    made = KernelBank(
        channels,
        length,
        kernels,
        thresholds,
        level,
        study.random("kernels"),
        crossings=crossings,
        signs=signs,
        even_views=even_views,
    )
    made.fit(study.train[0].x, study.random("thresholds"))
    return made


def shares(bank: KernelBank) -> Map:
    level = bank.level.numpy()

    def transform(x: np.ndarray) -> Blocks:
        found = bank(x).numpy() / np.float32(bank.positions)
        return found[:, ~level], found[:, level]

    return transform


def by_chunk(
    bank: KernelBank, x: np.ndarray, features: Callable[[Group, Tensor], Iterable[Tensor]]
) -> np.ndarray:
    """Features from the responses (N, positions, kernels) of each group, a chunk at a time."""
    parts = []
    for start in range(0, len(x), bank.chunk):
        chunk = torch.from_numpy(np.ascontiguousarray(x[start : start + bank.chunk]))
        found = [each for group, r in bank.responses(chunk) for each in features(group, r)]
        parts.append(torch.cat(found, 1))
    return torch.cat(parts).numpy()


def with_bank(**changes: float) -> Callable[[Study], Map]:
    return lambda study: shares(made_bank(study, **changes))  # type: ignore[arg-type]


def as_plain(**changes: float) -> Callable[[Study], Map]:
    return with_bank(**(PLAIN | changes))


def few_channels(study: Study) -> Map:
    """Level-sensitive kernels that look at a random few of the channels in view."""
    bank = made_bank(study, **PLAIN)
    random = study.random("channels")
    for group in bank.groups:
        weights = group.weights.view(9, -1, len(group.level))
        seen = weights.shape[1]
        sizes = (2 ** (random.random(len(group.level)) * np.log2(seen + 1))).astype(int)
        order = random.random((seen, len(group.level))).argsort(0).argsort(0)
        weights.mul_(torch.from_numpy((order < sizes) | ~group.level))
    bank.fit(study.train[0].x, study.random("thresholds"))
    return shares(bank)


def tenth_of_the_mean(study: Study) -> Map:
    """Level-sensitive kernels that see more shape: their mean is reduced to a tenth."""
    bank = made_bank(study, **PLAIN)
    for group in bank.groups:
        weights = group.weights.view(9, -1, len(group.level))
        weights.sub_(0.9 * weights.mean(0, keepdim=True) * torch.from_numpy(group.level))
    bank.fit(study.train[0].x, study.random("thresholds"))
    return shares(bank)


def fixed_thresholds(study: Study) -> Map:
    """Thresholds that no data is needed for: ± the size of the weights × 2^x, x from −6 to 5."""
    bank = made_bank(study, **PLAIN)
    random = study.random("thresholds")
    for group in bank.groups:
        shape = tuple(group.thresholds.shape)
        drawn = random.choice([-1.0, 1.0], shape) * 2 ** random.uniform(-6, 5, shape)
        group.thresholds = group.weights.norm(dim=0) * torch.from_numpy(drawn).float()
    return shares(bank)


def relative_thresholds(study: Study) -> Map:
    """The same on a series divided by its own deviation, for which the range is −3 to 2."""
    bank = made_bank(study, **PLAIN)
    random = study.random("thresholds")
    for group in bank.groups:
        shape = tuple(group.thresholds.shape)
        drawn = random.choice([-1.0, 1.0], shape) * 2 ** random.uniform(-3, 2, shape)
        group.thresholds = group.weights.norm(dim=0) * torch.from_numpy(drawn).float()
    inner = shares(bank)
    return lambda x: inner(x / (x.std((1, 2), keepdims=True) + 1e-6))


def pooled(pool: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Study], Map]:
    """3,400 kernels, half of the features a share and half another number."""

    def make(study: Study) -> Map:
        bank = made_bank(study, **PLAIN | {"kernels": 3400, "thresholds": 1})
        counted, level = shares(bank), bank.level.numpy()

        def more(x: np.ndarray) -> np.ndarray:
            return by_chunk(bank, x, lambda group, r: [pool(r, group.thresholds[0])])

        scale = np.abs(more(study.train[0].x[:256])).mean(0) * 2 + 1e-6

        def transform(x: np.ndarray) -> Blocks:
            extra = np.clip(more(x) / scale, -5, 5)
            zero, sensitive = counted(x)
            return np.hstack([zero, extra[:, ~level]]), np.hstack([sensitive, extra[:, level]])

        return transform

    return make


def competing(level: float) -> Callable[[Study], Map]:
    """As Hydra: eight kernels compete; how often each has the largest and the least response."""

    def make(study: Study) -> Map:
        bank = made_bank(study, **PLAIN | {"kernels": 3400, "thresholds": 1, "level": level})

        def wins(_: Group, responses: Tensor) -> Iterator[Tensor]:
            n, positions, kernels = responses.shape
            rivals = responses[:, :, : kernels // 8 * 8].reshape(n, positions, -1, 8)
            for winner in (rivals.amax(3, True), rivals.amin(3, True)):
                yield (rivals == winner).sum(1).flatten(1).float() / positions

        def transform(x: np.ndarray) -> Blocks:
            whole = by_chunk(bank, x, wins)
            return whole, whole[:, :0]

        return transform

    return make


FIRST, NONE = "2,000 kernels, zero-sum only", "zero-sum only"
EIGHTH, FIFTH, QUARTER, HALF = (
    f"{share} level-sensitive" for share in ("an eighth", "a fifth", "a quarter", "half")
)
TENTH = f"{FIFTH}, a tenth of their mean"
CROSSED_FIFTH, CROSSED_THIRD = (
    f"crossings, {share} level-sensitive" for share in ("a fifth", "a third")
)
SIGNED_FIFTH = f"signs, {FIFTH}"
BOTH_FIFTH, BOTH_THIRD = (
    f"signs and crossings, {share} level-sensitive" for share in ("a fifth", "a third")
)
EVEN_FIFTH = f"even views, {BOTH_FIFTH}"
"""The default. With nine channels or fewer it is the row without even views."""
BANKS: dict[str, Callable[[Study], Map]] = {
    FIRST: as_plain(kernels=2000, level=0.0),
    NONE: as_plain(level=0.0),
    EIGHTH: as_plain(level=0.125),
    FIFTH: as_plain(level=0.2),
    TENTH: tenth_of_the_mean,
    QUARTER: as_plain(level=0.25),
    HALF: as_plain(level=0.5),
    CROSSED_FIFTH: with_bank(level=0.2, signs=False),
    CROSSED_THIRD: with_bank(level=1 / 3, signs=False),
    SIGNED_FIFTH: as_plain(level=0.2, signs=True),
    BOTH_FIFTH: with_bank(level=0.2),
    BOTH_THIRD: with_bank(level=1 / 3),
    EVEN_FIFTH: with_bank(level=0.2, even_views=True),
}
LATEST = (CROSSED_FIFTH, CROSSED_THIRD, SIGNED_FIFTH, BOTH_FIFTH, BOTH_THIRD, EVEN_FIFTH)
OTHERS: dict[str, Callable[[Study], Map]] = {
    "a fifth, on a few channels each": few_channels,
    "thresholds from a fixed distribution": fixed_thresholds,
    "thresholds relative to the series": relative_thresholds,
    "a share and the mean excess, 3,400 kernels": pooled(lambda r, b: (r - b).relu_().mean(1)),
    "competing kernels, zero-sum": competing(0.0),
    "competing kernels, a fifth level-sensitive": competing(0.2),
}
MAPS = BANKS | OTHERS


@dataclass(frozen=True)
class Row:
    """A line of the table: features, the scale of the level-sensitive ones, the penalty."""

    features: str
    scale: float = 0.2
    penalty: float | None = 1e-3
    """None: by generalised cross-validation."""

    @property
    def title(self) -> str:
        if self.features in OTHERS:
            return self.features
        by = "by GCV" if self.penalty is None else f"{self.penalty:g}"
        scale = "" if self.features in (FIRST, NONE) else f", scale {self.scale:g}"
        return f"{self.features}{scale}, penalty {by}"


REFERENCE = Row(FIRST)
ROWS = [
    REFERENCE,
    *(Row(NONE, penalty=penalty) for penalty in (1e-3, 1e-2)),
    *(Row(EIGHTH, scale) for scale in (1.0, 0.3, 0.2, 0.1)),
    *(Row(FIFTH, scale) for scale in (1.0, 0.5, 0.3, 0.2, 0.1)),
    *(Row(FIFTH, scale, penalty) for scale in (1.0, 0.3) for penalty in (1e-4, 1e-2)),
    *(Row(TENTH, scale) for scale in (1.0, 0.7, 0.5)),
    *(Row(QUARTER, scale) for scale in (0.3, 0.2)),
    *(Row(HALF, scale) for scale in (1.0, 0.3, 0.1)),
    Row(HALF, 1.0, 1e-4),
    *(Row(features, penalty=None) for features in (NONE, FIFTH)),
    *(Row(features) for features in OTHERS),
    *(
        Row(features, scale, penalty)
        for features in LATEST
        for scale in (0.5, 0.3, 0.2)
        for penalty in (1e-3, 3e-4)
    ),
]


class Dual:
    """Kernel matrices of a study's features: constant and zero-sum, level-sensitive."""

    def __init__(self, study: Study, features: Map) -> None:
        y = torch.from_numpy(np.concatenate([part.y for part in study.train]))
        self.targets = torch.nn.functional.one_hot(y).double()
        self.tests = study.test
        self.solved: dict[tuple[float, float], tuple[Tensor, float]] = {}
        self.random = study.random("probes")
        blocks = features(np.concatenate([part.x for part in study.train]))
        train = [torch.from_numpy(np.ascontiguousarray(block)) for block in blocks]
        self.train = [(block @ block.T).double() for block in train]
        self.train[0] += 1.0
        self.test = []
        for part in self.tests:
            seen = [torch.from_numpy(np.ascontiguousarray(block)) for block in features(part.x)]
            cross = [(a @ b.T).double() for a, b in zip(seen, train, strict=True)]
            self.test.append((cross[0] + 1.0, cross[1]))

    def solve(self, scale: float, penalty: float) -> tuple[Tensor, float]:
        """Weights of the samples, and the error that generalised cross-validation estimates."""
        if (scale, penalty) in self.solved:
            return self.solved[scale, penalty]
        matrix = self.train[0] + scale**2 * self.train[1]
        matrix.diagonal().add_(penalty * len(matrix))
        probes = torch.from_numpy(self.random.choice([-1.0, 1.0], (len(matrix), PROBES)))
        right = torch.cat([self.targets, probes], 1)
        found = torch.cholesky_solve(right, torch.linalg.cholesky(matrix))
        weights, probed = found[:, :-PROBES], found[:, -PROBES:]
        trace = (probes * probed).sum() / PROBES
        error = float(weights.square().sum() / trace**2)
        return self.solved.setdefault((scale, penalty), (weights, error))

    def accuracy(self, scale: float, penalty: float | None) -> float:
        """A_T of ridge regression."""
        if penalty is None:
            penalty = min(GCV, key=lambda candidate: self.solve(scale, candidate)[1])
        weights, _ = self.solve(scale, penalty)
        hits = [
            ((a + scale**2 * b) @ weights).argmax(1).numpy() == part.y
            for (a, b), part in zip(self.test, self.tests, strict=True)
        ]
        return 100 * float(np.mean([hit.mean() for hit in hits]))


Found = dict[str, dict[str, dict[str, float]]]
"""A_T by column, row and seed."""


def fill(found: Found, study: Study, wanted: list[Row]) -> Iterator[None]:
    """Add a study to the figures, one kind of features at a time."""
    figures, seed = found.setdefault(study.column, {}), str(study.seed)
    many = study.train[0].x.shape[1] > MAX_CHANNELS
    missing = [
        row
        for row in wanted
        if seed not in figures.get(row.title, {}) and (many or row.features != EVEN_FIFTH)
    ]
    for name in dict.fromkeys(row.features for row in missing):
        dual = Dual(study, MAPS[name](study))
        for row in (row for row in missing if row.features == name):
            figures.setdefault(row.title, {})[seed] = dual.accuracy(row.scale, row.penalty)
        yield


def table(found: Found) -> Iterator[str]:
    """Markdown."""
    found = dict(sorted(found.items()))
    counts = [len(figures[REFERENCE.title]) for figures in found.values()]
    heads = [f"{column} ({count})" for column, count in zip(found, counts, strict=True)]
    yield f"| | {' | '.join(heads)} |"
    yield "|---" * (1 + len(heads)) + "|"
    for row in ROWS:
        cells = [
            cell(figures.get(row.title, {}), figures[REFERENCE.title], row == REFERENCE)
            for figures in found.values()
        ]
        name = "version 1: " * (row == REFERENCE) + row.title
        yield f"| {name} | {' | '.join(cells)} |"


def cell(figures: dict[str, float], first: dict[str, float], alone: bool) -> str:
    """The mean, and the difference from version 1 on the same seeds with its standard error."""
    if not figures:
        return "–"
    mean = f"{np.mean(list(figures.values())):.2f}"
    if alone:
        return mean
    change = [value - first[seed] for seed, value in figures.items()]
    error = f" ± {np.std(change, ddof=1) / len(change) ** 0.5:.2f}" if len(change) > 1 else ""
    fewer = f"; seeds: {len(change)}" if len(change) < len(first) else ""
    return f"{mean} ({np.mean(change):+.2f}{error}{fewer})"


def main() -> None:
    """Compute what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--save", type=Path, required=True, help="JSON file of the figures")
    parser.add_argument("--rows", nargs="*", default=[""], help="rows whose title starts so")
    parser.add_argument("--sets", nargs="*", default=list(SEEDS))
    parser.add_argument("--seeds", type=int, help="at most so many")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found: Found = json.loads(options.save.read_text()) if options.save.exists() else {}
    wanted = [row for row in ROWS if row.title.startswith(tuple(options.rows))]
    for name in options.sets:
        for study in studies(name, options.seeds, options.data):
            for _ in fill(found, study, wanted):
                options.save.write_text(json.dumps(found, indent=1))
    print(*table(found), sep="\n")


if __name__ == "__main__":
    main()
