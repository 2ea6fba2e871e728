"""What there is to tune in a run: the published grid as values of its method's own types."""

from __future__ import annotations

from tsbench.bench.run import load_method
from tsbench.bench.search import Grid
from tsbench.bench.spec import RunSpec
from tsbench.learn.catalogue import published_grid
from tsbench.learn.gradient import GradientSettings
from tsbench.learn.settings import build


def grid_of(spec: RunSpec) -> Grid:
    """What there is to tune: name → values, the default first; empty if there is nothing."""
    settings = load_method(spec.method).Settings
    trains = issubclass(settings, GradientSettings)
    grid = {}
    for name, choices in published_grid(spec.method, spec.dataset, trains).items():
        typed = [getattr(build(spec.method, settings, {name: v}), name) for v in choices]
        default = spec.settings[name]
        grid[name] = sorted(typed, key=lambda value: value != default)
    return grid
