"""Tuning: trials as runs, the file of what was chosen, runs that use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from handmade_records import failed, finished
from small_streams import made_up

from tsbench.data.prepared import Dataset
from tsbench.errors import UserError
from tsbench.learn.registry import grid
from tsbench.protocol.rules import Protocol
from tsbench.protocol.samples import Split
from tsbench.protocol.stream import outline
from tsbench.runs.execute import execute
from tsbench.runs.machine import Machine
from tsbench.runs.plan import Request, plan
from tsbench.runs.record import comparable
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store
from tsbench.tuning.chosen import choice_path, read_choice
from tsbench.tuning.tune import Study, make_studies, tune
from tsbench.tuning.tuned import with_tuned


def silent(task: int, epoch: int, loss: float) -> None:
    pass


def specs(methods: list[str], seeds=(1234,), changes=None, **rules) -> list[RunSpec]:
    protocol = Protocol(**{"stream": "val", "epochs": 1, **rules})
    return plan(Request(methods, ["demo"], list(seeds), protocol, changes or {}), Path()).specs


class Fake:
    """Does runs by looking up their accuracy, and counts them."""

    def __init__(self, store: Store, score: Callable[[RunSpec], float | None]) -> None:
        self.store, self.score = store, score
        self.done: list[str] = []

    def __call__(self, todo: list[RunSpec]) -> None:
        for spec in todo:
            if self.store.done(spec) is None:
                self.done.append(spec.label)
                self.store.save(spec, self._record(spec))

    def _record(self, spec: RunSpec) -> dict:
        score = self.score(spec)
        return failed(spec, "the loss became nan") if score is None else finished(spec, score)


def mas_score(spec: RunSpec) -> float | None:
    s = spec.settings
    return 50.0 + (s["schedule"] == "step10") + 2 * (s["strength"] == 100.0)


def tuned_mas(root: Path, score=mas_score, full: bool = False) -> tuple[RunSpec, Fake]:
    (spec,) = specs(["mas"])
    store = Store(root)
    fake = Fake(store, score)
    tune(make_studies([spec], full), store, fake)
    return spec, fake


def test_trials_are_pruned_and_resumed(tmp_path: Path) -> None:
    spec, fake = tuned_mas(tmp_path)
    assert fake.done == [
        "mas+schedule=onecycle,strength=1000.0",
        "mas+schedule=step15,strength=1000.0",
        "mas+schedule=step10,strength=1000.0",
        "mas+schedule=step10,strength=100.0",
        "mas+schedule=step10,strength=10000.0",
        "mas+schedule=onecycle,strength=100.0",  # the schedule again, with the new strength
        "mas+schedule=step15,strength=100.0",
    ]
    written = choice_path(tmp_path, spec).read_bytes()
    _, again = tuned_mas(tmp_path)
    assert again.done == []
    assert choice_path(tmp_path, spec).read_bytes() == written
    _, full = tuned_mas(tmp_path, full=True)
    assert len(full.done) == 9 - 7, "the whole grid, what is done left out"


def test_what_was_chosen_is_written_with_all_trials(tmp_path: Path) -> None:
    spec, _ = tuned_mas(tmp_path)
    path = choice_path(tmp_path, spec)
    assert path == tmp_path / "tuned" / "ln-1" / "demo" / "mas" / "seed-1234.yaml"
    told = yaml.safe_load(path.read_text())
    assert told["chosen"] == {"schedule": "step10", "strength": 100.0}
    assert told["A_T"] == 53.0
    assert told["data_digest"] == spec.data_digest
    assert told["full"] is False
    assert [t["A_T"] for t in told["trials"]] == [50.0, 50.0, 51.0, 53.0, 51.0, 52.0, 52.0]
    assert told["trials"][3]["values"] == told["chosen"]
    assert told["made_by"].startswith("tsbench ")
    chosen, provenance = read_choice(tmp_path, spec)
    assert chosen == told["chosen"]
    assert (provenance["A_T"], provenance["trials"]) == (53.0, 7)


def test_trials_that_fail_are_evidence_too(tmp_path: Path) -> None:
    def fails(spec: RunSpec) -> float | None:
        return None if spec.settings["strength"] == 100.0 else mas_score(spec)

    spec, _ = tuned_mas(tmp_path, fails)
    told = yaml.safe_load(choice_path(tmp_path, spec).read_text())
    assert told["chosen"] == {"schedule": "step10", "strength": 1000.0}
    assert [t["failed"] for t in told["trials"] if "failed" in t] == ["the loss became nan"]


def test_nothing_is_written_where_every_trial_failed(tmp_path: Path) -> None:
    spec, _ = tuned_mas(tmp_path, lambda spec: None)
    assert not choice_path(tmp_path, spec).exists()
    with pytest.raises(UserError, match="not tuned yet: mas demo seed 1234; run: tsbench tune"):
        with_tuned([spec], tmp_path)


def test_searches_go_on_side_by_side(tmp_path: Path) -> None:
    store = Store(tmp_path)
    stages = []
    fake = Fake(store, mas_score)
    studies = make_studies(specs(["mas"], seeds=(1, 2)), full=False)
    tune(studies, store, lambda todo: (stages.append(len(todo)), fake(todo)))
    assert stages == [6, 4, 4], "every stage has trials of both seeds"


def test_a_study_is_on_the_validation_stream_only() -> None:
    (spec,) = specs(["mas"], stream="exp")
    with pytest.raises(ValueError, match="validation stream only"):
        Study(spec, grid(spec.method, spec.dataset), full=False)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("chosen: {", "chosen: {stren: 1.0, ", "not those of its best trial"),
        ("schedule: step10, strength: 100.0", "schedule: step10, stren: 100.0", "did you mean"),
        ("strength: 100.0", "strength: much", "strength must be of type float"),
        ("schedule: step10", "schedule: step12", "must be one of"),
        ("A_T: 53.0\ntrials", "A_T: 99.0\ntrials", "its best trial has 53.0"),
        ("A_T: 50.0", "A_T: good", "not a number"),
        ("A_T: 50.0", "A_T: .nan", "not a number"),
        ("full: false", "whole: false", "unknown or missing entries: full, whole"),
        ("seed: 1234", "seed: 1235", "tuned for seed 1235, not 1234"),
        ("schema: 1", "schema: 2", "newer tsbench"),
        ("schema: 1", "schema: one", "not a file of tuned settings"),
        ("schema: 1", "schema: {1", "not YAML"),
        ("schema: 1", "schema: !!python/object/apply:os.getcwd []", "not YAML"),
        ("trials:", "trials: 3\nothers:", "unknown or missing"),
        ("dataset: demo", "dataset: d\xe9mo\x00", "not YAML"),
    ],
)
def test_a_file_that_was_tampered_with_is_told_in_a_line(tmp_path: Path, old, new, words) -> None:
    spec, _ = tuned_mas(tmp_path)
    path = choice_path(tmp_path, spec)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new), encoding="latin-1")
    with pytest.raises(UserError, match=words) as error:
        with_tuned([spec], tmp_path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_settings_tuned_for_other_data_or_code_are_not_used(tmp_path: Path) -> None:
    spec, _ = tuned_mas(tmp_path)
    for name in ("data_digest", "code"):
        with pytest.raises(UserError, match=f"tuned for {name}.*tsbench tune"):
            with_tuned([replace(spec, **{name: "other"})], tmp_path)


def test_a_missing_file_tells_the_command(tmp_path: Path) -> None:
    runs = specs(["mas", "er"], seeds=(1, 2), stream="exp", norm="bn")
    with pytest.raises(UserError) as error:
        with_tuned(runs, tmp_path)
    assert str(error.value) == (
        "not tuned yet: mas demo seed 1 and 3 more; run: tsbench tune --method mas,er "
        "--dataset demo --seed 1 --seed 2 --epochs 1 --norm bn"
    )


def test_a_tuned_run_differs_from_one_set_by_hand_only_in_what_it_says(tmp_path: Path) -> None:
    tuned_mas(tmp_path)
    (tuned,) = with_tuned(specs(["mas"], stream="exp"), tmp_path)
    by_hand = {"schedule": "step10", "strength": "100"}
    (plain,) = specs(["mas"], stream="exp", changes=by_hand)
    assert tuned.label == "mas+tuned"
    assert tuned.settings == plain.settings
    assert Store(tmp_path).path(tuned) != Store(tmp_path).path(specs(["mas"], stream="exp")[0])
    machine = Machine(Path())
    one, other = (comparable(execute(s, machine, silent)) for s in (tuned, plain))
    assert one["spec"].pop("tuned")["chosen"] == {"schedule": "step10", "strength": 100.0}
    assert one["spec"].pop("changed") == {}
    assert other["spec"].pop("changed") == {"schedule": "step10", "strength": 100.0}
    for said in ("label", "hash"):
        assert one.pop(said) != other.pop(said)
    assert one == other


def test_what_is_set_by_hand_wins_over_what_was_tuned(tmp_path: Path) -> None:
    tuned_mas(tmp_path)
    runs = specs(["mas"], stream="exp", changes={"strength": "7", "batch": "16"})
    (spec,) = with_tuned(runs, tmp_path)
    assert spec.label == "mas+tuned,batch=16,strength=7.0"
    assert (spec.settings["strength"], spec.settings["schedule"]) == (7.0, "step10")


def test_the_hash_of_a_run_that_is_not_tuned_is_what_it_was() -> None:
    spec = RunSpec("demo", "d", "er", 1234, settings={"batch": 32})
    assert spec.hash() == "15610d09f601be81"
    assert "tuned" not in spec.as_dict()
    tuned = replace(spec, tuned={"file": "a"})
    assert tuned.hash() != spec.hash()
    assert tuned.hash() == replace(spec, tuned={"file": "b"}).hash(), "settings count, not files"


@pytest.mark.parametrize("classes", [6, 10])
def test_tuning_never_touches_test_data_of_the_experiment_stream(
    tmp_path: Path, monkeypatch, classes: int
) -> None:
    """Every such sample replaced by NaN: all trials and what is chosen stay as they were."""
    clean = made_up(classes)
    assert (clean.splits.val is None) == (classes == 10)
    poisoned = poison(clean, seed=1234)
    monkeypatch.setattr("tsbench.runs.execute.card", lambda *_: clean.card)
    rules = Protocol(stream="val", epochs=2)
    base = [
        RunSpec(clean.card.name, clean.digest, method, 1234, rules, settings=settings)
        for method, settings in (
            ("mas", specs(["mas"])[0].settings),
            ("ts-acl-deep", specs(["ts-acl-deep"])[0].settings),
        )
    ]
    found = []
    for name, dataset in (("clean", clean), ("poisoned", poisoned)):
        monkeypatch.setattr("tsbench.runs.execute.load", lambda *_, d=dataset: d)
        store = Store(tmp_path / name)

        def drive(todo: list[RunSpec], store: Store = store) -> None:
            for spec in todo:
                store.save(spec, execute(spec, Machine(Path()), silent))

        tune(make_studies(base, full=False), store, drive)
        records, _ = store.records()
        files = [choice_path(store.root, spec).read_bytes() for spec in base]
        found.append(([comparable(r) for r in records], files))
    assert found[0] == found[1]
    assert len(found[0][0]) >= 3 + 2 + 3
    with pytest.raises(ValueError, match="NaN"):  # the poison would be noticed
        execute(replace(base[0], protocol=Protocol(epochs=2)), Machine(Path()), silent)


def poison(dataset: Dataset, seed: int) -> Dataset:
    """A copy whose test samples of the experiment stream are NaN."""
    test = dataset.splits.test
    reserved = np.isin(test.y, outline(dataset, seed).classes)
    assert reserved.any()
    x = np.where(reserved[:, None, None], np.float32(np.nan), test.x)
    return replace(dataset, splits=replace(dataset.splits, test=Split(x, test.y)))
