"""From what the user asked for to run specs: names, seeds, hyper-parameters."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from tsbench.bench.run import load_method
from tsbench.bench.spec import RunSpec, file_code
from tsbench.console import say
from tsbench.data.catalogue import card
from tsbench.data.prepared import Dataset, authenticity, load, verify
from tsbench.data.stream import StreamName
from tsbench.errors import UserError
from tsbench.learn.catalogue import default_settings
from tsbench.learn.settings import build, convert, field_types


@dataclass(frozen=True)
class Request:
    """What is to be run."""

    methods: list[str]
    datasets: list[str]
    seeds: list[int]
    stream: StreamName = "exp"
    epochs: int = 100
    norm: str = "ln"
    changes: dict[str, str] = dataclasses.field(default_factory=dict)


def loadable(methods: list[str]) -> list[str]:
    """Those that can be used; what is wrong with the others is told. Raises if there are none."""
    good, problems = [], []
    for method in methods:
        try:
            load_method(method)
            good.append(method)
        except UserError as error:
            problems.append(error)
    if not good:
        raise problems[0]
    for problem in problems:
        say(f"error: {problem}; the others go on")
    return good


def make_specs(request: Request, root: Path) -> list[RunSpec]:
    """The matrix of runs: data set by data set, method by method, seed by seed.

    In this order the first method trains the shared first tasks of all seeds side by side.
    """
    kinds = {method: load_method(method) for method in request.methods}
    known = {key for kind in kinds.values() for key in field_types(kind.Settings)}
    for key in request.changes:
        if key not in known:
            method = request.methods[0]
            convert(method, key, request.changes[key], field_types(kinds[method].Settings))
    specs = []
    for name in request.datasets:
        dataset = _verified(name, root)
        for method, kind in kinds.items():
            types = field_types(kind.Settings)
            changed = {
                key: convert(method, key, value, types)
                for key, value in request.changes.items()
                if key in types
            }
            values = {**default_settings(method, name), **changed}
            settings = dataclasses.asdict(build(method, kind.Settings, values))
            specs += [
                RunSpec(
                    dataset=dataset.card.name,
                    data_digest=dataset.digest,
                    method=method,
                    seed=seed,
                    stream=request.stream,
                    epochs=request.epochs,
                    norm=request.norm,
                    settings=settings,
                    changed=changed,
                    code=file_code(method),
                )
                for seed in request.seeds
            ]
    _expect_distinct(specs)
    return specs


def _expect_distinct(specs: list[RunSpec]) -> None:
    """Two files with a class of the same name would write to the same place."""
    places: dict[tuple[str, str, int], str] = {}
    for spec in specs:
        other = places.setdefault((spec.dataset, spec.label, spec.seed), spec.method)
        if other != spec.method:
            raise UserError(
                f"'{other}' and '{spec.method}' are both called {spec.label}; rename one"
            )


def _verified(name: str, root: Path) -> Dataset:
    dataset = load(card(name, root), root)
    verify(dataset)
    say(f"{name}: {authenticity(dataset.card, dataset.manifest)}")
    return dataset
