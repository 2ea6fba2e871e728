"""``tsbench merge``: shards and duplicates, conflicts told, nothing overwritten."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import pytest
from handmade_records import failed, finished
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.runs.plan import shard
from tsbench.runs.spec import RunSpec
from tsbench.runs.store import Store

SPECS = [RunSpec("demo", "d", method, seed) for method in ("naive", "er") for seed in (1, 2, 3)]


def folder(root: Path, *records: dict) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for record in records:
        Store(root).save(RunSpec.from_dict(record["spec"]), record)
    return root


def merge(*folders: Path, into: Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["merge", *map(str, folders), "--results", str(into)])
    assert "Traceback" not in result.output
    assert not result.stdout
    return result.exit_code, result.stderr


def files(root: Path) -> dict[str, bytes]:
    found = (p for p in root.rglob("*") if p.is_file() and ".locks" not in p.parts)
    return {str(p.relative_to(root)): p.read_bytes() for p in found}


def test_shards_in_any_order_are_the_whole(tmp_path: Path) -> None:
    whole = folder(tmp_path / "whole", *map(finished, SPECS))
    parts = [
        folder(tmp_path / f"part-{i}", *map(finished, shard(SPECS, f"{i}/3"))) for i in (1, 2, 3)
    ]
    for index, order in enumerate(itertools.permutations(parts)):
        target = tmp_path / f"merged-{index}"
        code, said = merge(*order, into=target)
        assert code == 0
        assert "6 record(s) new, 0 there already" in said
        assert files(target) == files(whole)
        assert "0 record(s) new, 6 there already" in merge(*order, into=target)[1]
        assert files(target) == files(whole), "once more changes nothing"


def test_the_same_run_of_two_machines_is_no_conflict(tmp_path: Path) -> None:
    here = folder(tmp_path / "here", finished(SPECS[0], seconds=1))
    there = folder(tmp_path / "there", finished(SPECS[0], seconds=9))
    before = files(here)
    code, said = merge(there, here, into=here)
    assert (code, files(here)) == (0, before)
    assert "2 there already" in said


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (finished(SPECS[0], a_t=51.0), "the same run with different results"),
        (finished(RunSpec("demo", "e", "naive", 1)), "data_digest e and d"),
        (finished(RunSpec("demo", "d", "naive", 1, settings={"batch": 8})), "settings"),
    ],
)
def test_a_conflict_is_told_and_nothing_is_overwritten(tmp_path: Path, other, words) -> None:
    here = folder(tmp_path / "here", finished(SPECS[0]), finished(SPECS[1]))
    there = folder(tmp_path / "there", other, finished(SPECS[2]))
    before = files(here)
    code, said = merge(there, into=here)
    assert code == 1
    assert words in said
    assert "1 record(s) new, 0 there already, 1 CONFLICT(S)" in said
    assert before.items() <= files(here).items()
    assert len(files(here)) == 3, "the others are merged all the same"


def test_a_finished_run_beats_a_failed_one_in_any_order(tmp_path: Path) -> None:
    good = folder(tmp_path / "good", finished(SPECS[0]))
    bad = folder(tmp_path / "bad", failed(SPECS[0]), failed(SPECS[1]))
    for index, order in enumerate(itertools.permutations((good, bad))):
        target = tmp_path / f"merged-{index}"
        code, said = merge(*order, into=target)
        assert code == 0
        assert "2 record(s) new" in said or "3 record(s) new" in said
        assert "1 failed one(s) finished elsewhere" in said
        assert [p.name for p in sorted(target.glob("*/*/*/*"))] == [
            "seed-1.json",
            "seed-2.failed.json",
        ]
        assert merge(*order, into=target)[0] == 0


def test_two_failures_of_one_run_are_no_conflict_of_two_runs_one(tmp_path: Path) -> None:
    here = folder(tmp_path / "here", failed(SPECS[0]))
    same = folder(tmp_path / "same", {**failed(SPECS[0]), "error": "OSError: another reason"})
    other = folder(tmp_path / "other", failed(RunSpec("demo", "e", "naive", 1)))
    assert merge(same, into=here)[0] == 0
    assert merge(other, into=here)[0] == 1


def test_what_is_no_record_is_told_and_left_alone(tmp_path: Path) -> None:
    here = folder(tmp_path / "here", finished(SPECS[0]))
    (path,) = here.glob("*/*/*/*.json")
    path.with_name("seed-7.json").write_bytes(path.read_bytes())
    path.with_name("seed-8.json").write_text("{ half a rec")
    path.with_name("notes.json").write_text(json.dumps({"by": "somebody"}))
    target = tmp_path / "merged"
    code, said = merge(here, into=target)
    assert code == 0
    assert said.count("left alone") == 3
    assert "seed-7.json' holds the record that belongs to 'exp-ln-100" in said
    assert list(files(target)) == [str(path.relative_to(here))]
    in_the_way = target / path.relative_to(here)
    in_the_way.write_text("mine")
    assert merge(here, into=target)[0] == 1
    assert in_the_way.read_text() == "mine"


def test_tuned_settings_come_along(tmp_path: Path) -> None:
    here = folder(tmp_path / "here", finished(SPECS[0]))
    tuned = here / "tuned" / "ln-100" / "demo" / "naive" / "seed-1.yaml"
    tuned.parent.mkdir(parents=True)
    tuned.write_text("chosen: {}")
    target = tmp_path / "merged"
    assert "1 file(s) of tuned settings new" in merge(here, into=target)[1]
    assert merge(here, into=target)[0] == 0
    shutil.copytree(here, tmp_path / "other")
    (tmp_path / "other" / tuned.relative_to(here)).write_text("chosen: {batch: 8}")
    assert merge(tmp_path / "other", into=target)[0] == 1
    assert (target / tuned.relative_to(here)).read_text() == "chosen: {}"


def test_bad_input(tmp_path: Path) -> None:
    assert "is not a folder" in merge(tmp_path / "gone", into=tmp_path / "r")[1]
    (tmp_path / "empty").mkdir()
    code, said = merge(tmp_path / "empty", into=tmp_path / "r")
    assert (code, "no records" in said) == (2, True)
