"""From what the user asked for to run specs. There is one planner: ``plan``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tsbench.console import say
from tsbench.data.catalogue import card
from tsbench.data.custom.prepare import is_custom, prepare_custom
from tsbench.data.manifest import read_manifest
from tsbench.data.prepared import authenticity, load, verify
from tsbench.errors import UserError
from tsbench.learn.registry import effective_settings, expand, load_method, method_code
from tsbench.learn.settings import as_stored, convert, field_types
from tsbench.protocol.divisions import SplitImpossible
from tsbench.protocol.rules import DEFAULT, LARGEST_SEED, PAPER_DATASETS, Protocol, seeds
from tsbench.registry import closest
from tsbench.runs.spec import RunSpec
from tsbench.runs.streams import announce_streams

MOST_RUNS = 1_000_000
"""In one plan; more is a typing error, and would fill the memory."""


@dataclass(frozen=True)
class Request:
    """What is to be run: every method on every data set under every seed."""

    methods: Sequence[str]
    """Names, families, ``all``, ``every`` or ``file.py:Class``."""
    datasets: Sequence[str] = ()
    """Names, ``all`` or places of custom data; none means every prepared one of the five."""
    seeds: Sequence[int] = field(default_factory=seeds)
    protocol: Protocol = DEFAULT
    changes: Mapping[str, str] = field(default_factory=dict)
    """Hyper-parameters set by hand, for the methods that have them."""
    shard: str | None = None
    """``i/n``: only part i of n."""


@dataclass(frozen=True)
class Plan:
    """The runs that were asked for, and the methods that cannot be run."""

    specs: list[RunSpec]
    refused: dict[str, str] = field(default_factory=dict)
    """Method → why."""


Adjust = Callable[[list[RunSpec]], list[RunSpec]]


def plan(
    request: Request, data: Path, adjust: Adjust | None = None, check_data: bool = True
) -> Plan:
    """The matrix of runs: data set by data set, method by method, seed by seed.

    In this order the first method trains the shared first tasks of all seeds side by side. A method
    that cannot be used is refused and the others are planned; if there are no others, that is an
    error. ``adjust`` may change the specs (tuned settings). Without ``check_data`` the arrays are
    not read, and a data set that is not prepared has an unknown digest.
    """
    methods = expand(list(request.methods))
    if not methods:
        raise UserError("--method names no method; see: tsbench list methods")
    datasets = choose_datasets(request.datasets, data)
    if len(methods) * len(datasets) * len(request.seeds) > MOST_RUNS:
        raise UserError(f"more than {MOST_RUNS:,} runs were asked for; use fewer --seeds")
    refused: dict[str, str] = {}
    changes = _changes(methods, request.changes, refused)
    specs = []
    for dataset in datasets:
        try:
            digest = _digest(dataset, data, check_data, request)
        except SplitImpossible as error:
            if len(datasets) == 1 or (request.datasets and "all" not in request.datasets):
                raise
            say(f"notice: {error}; skipped")
            continue
        specs += _specs(dataset, digest, request, changes, refused)
    specs = [spec for spec in specs if spec.method not in refused]
    if not specs and refused:
        raise UserError(next(iter(refused.values())))
    if not specs:
        raise UserError(f"none of the data sets allows --split {request.protocol.split}")
    _expect_distinct(specs)
    if adjust is not None:
        specs = adjust(specs)
    return Plan(shard(specs, request.shard) if request.shard else specs, refused)


def choose_seeds(count: int | None = None, given: Sequence[int] = ()) -> list[int]:
    """``--seeds N``: the first N seeds of the benchmark; or those given with ``--seed``."""
    if given and count is not None:
        raise UserError("give either --seeds or --seed, not both")
    if given:
        if min(given) < 0 or max(given) > LARGEST_SEED:
            raise UserError(f"--seed must be between 0 and {LARGEST_SEED}")
        return list(dict.fromkeys(given))
    if count is None:
        return seeds()
    if count < 1:
        raise UserError("--seeds must be at least 1")
    if count > MOST_RUNS:
        raise UserError(f"--seeds must be at most {MOST_RUNS:,}")
    return seeds(count)


def choose_datasets(names: Sequence[str], root: Path) -> list[str]:
    """Names given, ``all`` five, or, with none given, every prepared one of the five.

    Custom data given by its place is prepared, and goes by its name from here on.
    """
    chosen: list[str] = []
    for name in names:
        chosen += PAPER_DATASETS if name == "all" else [name]
    if not chosen:
        chosen = _prepared(root)
    found = [
        prepare_custom(name, root).name if is_custom(name) else card(name, root).name
        for name in chosen
    ]
    return list(dict.fromkeys(found))


def _prepared(root: Path) -> list[str]:
    """Those of the five data sets that are prepared; at least one."""
    prepared = []
    for name in PAPER_DATASETS:
        try:
            if read_manifest(card(name), root):
                prepared.append(name)
        except UserError as error:
            say(f"notice: {error}; skipped")
    if not prepared:
        raise UserError(
            f"no data set is prepared in '{root}'; run: tsbench download uwave, "
            "or try --dataset demo"
        )
    return prepared


def shard(items: list[Any], text: str) -> list[Any]:
    """Part i of n, from ``i/n`` counting from 1; the parts are disjoint and complete."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UserError(f"--shard '{text}' is not i/n with 1 ≤ i ≤ n")
    return items[int(match[1]) - 1 :: int(match[2])]


def _changes(
    methods: list[str], given: Mapping[str, str], refused: dict[str, str]
) -> dict[str, dict[str, Any]]:
    """For each method that can be used, the changes that concern it, in the types of its settings.

    Raises for a hyper-parameter that none of these methods has.
    """
    found: dict[str, dict[str, Any]] = {}
    known: set[str] = set()
    for method in methods:
        try:
            types = field_types(load_method(method).Settings)
            mine = {k: v for k, v in given.items() if k in types}
            found[method] = {k: convert(method, k, v, types) for k, v in mine.items()}
            known |= types.keys()
        except UserError as error:
            refused[method] = str(error)
    for key in given:
        if found and key not in known:
            first, *others = found
            whose = "none of the methods has the" if others else f"{first} has no"
            raise UserError(
                f"{whose} hyper-parameter '{key}'{closest(key, known)}; "
                f"there is: {', '.join(sorted(known))}"
            )
    return found


def _specs(
    dataset: str,
    digest: str,
    request: Request,
    changes: Mapping[str, dict[str, Any]],
    refused: dict[str, str],
) -> list[RunSpec]:
    """The runs on one data set; a method whose settings cannot be used on it is refused."""
    specs = []
    for method, changed in changes.items():
        try:
            settings = as_stored(effective_settings(method, dataset, changed))
        except UserError as error:
            refused.setdefault(method, str(error))
            continue
        code = method_code(method)
        specs += [
            RunSpec(dataset, digest, method, seed, request.protocol, settings, changed, code=code)
            for seed in request.seeds
        ]
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


def _digest(name: str, root: Path, check: bool, request: Request) -> str:
    """The digest of a data set's arrays, after checking them against it and the protocol."""
    found = card(name, root)
    if not check and found.generate is None and read_manifest(found, root) is None:
        return ""
    dataset = load(found, root)
    if check:
        verify(dataset)
        say(f"{name}: {authenticity(found, dataset.manifest)}")
    announce_streams(dataset, request.seeds, request.protocol, silent=not check)
    return dataset.digest
