"""``tsbench tune``: search the grids on the validation stream, and store what is best.

Each trial is an ordinary run on the stream ``val``, with its record in the results folder: what is
done is not repeated. All searches advance together, stage by stage, so that every stage has trials
for many workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tsbench import __version__
from tsbench.console import say
from tsbench.learn.registry import grid
from tsbench.runs.machine import commit
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store
from tsbench.tuning.chosen import Trial, write_choice
from tsbench.tuning.search import Grid, Point, best, search, values

RunAll = Callable[[list[RunSpec]], object]
"""Does the runs that are missing."""


class Study:
    """The search for a method's settings on one data set under one seed."""

    def __init__(self, spec: RunSpec, grid: Grid, full: bool) -> None:
        if spec.protocol.stream != "val":
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
        """Take in the results of this stage, and move to the next."""
        for point in self._stage:
            if point not in self.tried:
                self.tried[point] = self._outcome(point, store)
        try:
            self._stage = self._search.send({p: t.score for p, t in self.tried.items()})
        except StopIteration:
            self.over = True

    def choice(self) -> dict[str, Any] | None:
        """The best trial, with all others as evidence; None if every one of them failed."""
        winner = best({point: trial.score for point, trial in self.tried.items()})
        if winner is None:
            return None
        return {
            "full": self.full,
            "grid": {name: list(choices) for name, choices in self.grid.items()},
            "chosen": dict(self.tried[winner].values),
            "A_T": self.tried[winner].score,
            "trials": [trial.as_dict() for trial in self.tried.values()],
        }

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
        if choices := grid(spec.method, spec.dataset):
            studies.append(Study(spec, choices, full))
        else:
            fixed.add(spec.label)
    for label in sorted(fixed):
        say(f"{label}: nothing to tune")
    return studies


def tune(studies: Iterable[Study], store: Store, run_all: RunAll) -> None:
    """Do all searches; the choice of each is stored as soon as it is made."""
    made_by = f"tsbench {__version__} {commit()}".strip()
    open_ = list(studies)
    while open_:
        todo = [spec for study in open_ for spec in study.todo()]
        if todo:
            run_all(todo)
        for study in open_:
            study.advance(store)
            choice = study.choice() if study.over else None
            if choice is not None:
                write_choice(store.root, study.spec, choice, made_by)
        open_ = [study for study in open_ if not study.over]
