"""``tsbench tune``: search the grids on the validation stream, and store what is best.

Each trial is an ordinary run on the stream ``val``, with its record in the results folder: what is
done is not done again. All searches go on side by side, stage by stage, so that every stage has
trials for many workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tsbench import __version__
from tsbench.bench.choice import Choice, Trial
from tsbench.bench.grid import grid_of
from tsbench.bench.machine import commit
from tsbench.bench.search import Grid, Point, best, search, values
from tsbench.bench.spec import RunSpec
from tsbench.bench.store import Store
from tsbench.console import say

Drive = Callable[[list[RunSpec]], object]
"""Does the runs that are missing."""


class Study:
    """The search for a method's settings on one data set under one seed."""

    def __init__(self, spec: RunSpec, grid: Grid, full: bool) -> None:
        if spec.stream != "val":
            raise ValueError("settings are chosen on the validation stream only")
        self.spec = spec
        self.grid = grid
        self.full = full
        self.tried: dict[Point, Trial] = {}
        self.over = False
        self._search = search(grid, full)
        self._stage = next(self._search)

    def todo(self) -> list[RunSpec]:
        """The trials of this stage that are new."""
        return [self.trial_spec(point) for point in self._stage if point not in self.tried]

    def trial_spec(self, point: Point) -> RunSpec:
        """The run of a trial: all that is in the grid counts as set by hand."""
        chosen = values(self.grid, point)
        return replace(self.spec, settings={**self.spec.settings, **chosen}, changed=chosen)

    def advance(self, store: Store) -> None:
        """Take in what came of this stage, and go on to the next."""
        for point in self._stage:
            if point not in self.tried:
                self.tried[point] = self._outcome(point, store)
        try:
            self._stage = self._search.send({p: t.score for p, t in self.tried.items()})
        except StopIteration:
            self.over = True

    def choice(self) -> Choice | None:
        """The best trial, with all others as evidence; None if every one of them failed."""
        winner = best({point: trial.score for point, trial in self.tried.items()})
        if winner is None:
            return None
        return Choice(
            self.spec, self.grid, self.full, self.tried[winner], list(self.tried.values())
        )

    def _outcome(self, point: Point, store: Store) -> Trial:
        spec = self.trial_spec(point)
        record = store.done(spec)
        if record is not None:
            return Trial(spec.changed, record["result"]["A_T"], "nothing to test on")
        failure = store.failed(spec) or {}
        return Trial(spec.changed, None, failure.get("error", "no record"))


def make_studies(specs: list[RunSpec], full: bool) -> list[Study]:
    """A search for each run whose method has something to tune."""
    studies, fixed = [], set()
    for spec in specs:
        grid = grid_of(spec)
        if grid:
            studies.append(Study(spec, grid, full))
        else:
            fixed.add(spec.label)
    for label in sorted(fixed):
        say(f"{label}: nothing to tune")
    return studies


def tune(studies: Iterable[Study], store: Store, drive: Drive) -> None:
    """Do all searches; the choice of each is stored as soon as it is made."""
    made_by = f"tsbench {__version__} {commit()}".strip()
    going = list(studies)
    while going:
        todo = [spec for study in going for spec in study.todo()]
        if todo:
            drive(todo)
        for study in going:
            study.advance(store)
            choice = study.choice() if study.over else None
            if choice is not None:
                choice.write(store.root, made_by)
        going = [study for study in going if not study.over]
