"""``tsbench run --tuned``: runs with the settings that were chosen for them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from tsbench.console import say
from tsbench.errors import UserError
from tsbench.learn.registry import grid, load_method
from tsbench.learn.settings import build
from tsbench.protocol.rules import DEFAULT
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import TUNED
from tsbench.tuning.chosen import choice_path, read_choice


def with_tuned(specs: list[RunSpec], results: Path) -> list[RunSpec]:
    """The same runs with their tuned settings; what was set by hand stays as it is.

    Runs of methods that have nothing to tune stay as they are altogether.
    """
    made, missing, fixed = [], [], set()
    for spec in specs:
        if not grid(spec.method, spec.dataset):
            fixed.add(spec.method)
            made.append(spec)
            continue
        found = read_choice(results, spec)
        if found is None:
            missing.append(spec)
            continue
        chosen, provenance = found
        typed = _typed(chosen, spec, results)
        settings = {**spec.settings, **typed, **spec.changed}
        made.append(replace(spec, settings=settings, tuned=provenance))
    if missing:
        first = missing[0]
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise UserError(f"not tuned yet: {first.title}{others}; run: {_command(missing)}")
    for method in sorted(fixed):
        say(f"{method}: nothing to tune, runs with its defaults")
    count = sum(bool(spec.tuned) for spec in made)
    say(f"{count} run(s) with tuned settings from '{results / TUNED}'")
    return made


def _typed(chosen: dict[str, Any], spec: RunSpec, results: Path) -> dict[str, Any]:
    """Chosen values as the method's settings class has them."""
    try:
        settings = build(spec.method, load_method(spec.method).Settings, chosen)
    except UserError as error:
        raise UserError(f"'{choice_path(results, spec)}': {error}") from error
    return {name: getattr(settings, name) for name in chosen}


def _command(specs: list[RunSpec]) -> str:
    """What tunes for runs."""
    methods = ",".join(dict.fromkeys(spec.method for spec in specs))
    datasets = ",".join(dict.fromkeys(spec.dataset for spec in specs))
    words = ["tsbench", "tune", "--method", methods, "--dataset", datasets]
    for seed in dict.fromkeys(spec.seed for spec in specs):
        words += ["--seed", str(seed)]
    protocol = specs[0].protocol
    if protocol.epochs != DEFAULT.epochs:
        words += ["--epochs", str(protocol.epochs)]
    if protocol.norm != DEFAULT.norm:
        words += ["--norm", protocol.norm]
    return shlex.join([*words, *protocol.flags()])
