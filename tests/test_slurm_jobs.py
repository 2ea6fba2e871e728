"""Slurm's jobs without Slurm: what goes together, why one ended, the files that tell its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tsbench.bench.display import Estimate
from tsbench.bench.slurm.endings import ending_of
from tsbench.bench.slurm.jobs import Array, Job, create_array, open_jobs, read_array
from tsbench.bench.slurm.packing import arrange, by_time
from tsbench.bench.slurm.programs import JobState
from tsbench.bench.spec import RunSpec


def specs(names: str, seeds: int) -> list[RunSpec]:
    return [RunSpec("demo", "d", name, seed) for name in names for seed in range(seeds)]


def known(**seconds: float) -> Estimate:
    estimate = Estimate([])
    for name, each in seconds.items():
        estimate.add(("exp-ln-100", "demo", name), each)
    return estimate


def test_runs_that_share_a_first_task_go_together() -> None:
    arranged = [(spec.method, spec.seed) for spec in arrange(specs("ab", 2))]
    assert arranged == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("estimate", "workers", "limit", "sizes"),
    [
        (known(), 1, None, [1] * 6),
        (known(), 4, None, [4, 2]),
        (known(a=100.0), 1, None, [3, 3]),
        (known(a=100.0), 2, None, [6]),
        (known(a=100.0), 1, 400.0, [2, 2, 2]),
        (known(a=1000.0), 1, 400.0, [1] * 6),
        (known(b=50.0), 1, None, [6]),
    ],
)
def test_short_runs_share_a_job(
    estimate: Estimate, workers: int, limit: float | None, sizes: list[int]
) -> None:
    runs = specs("a", 6)
    packs = by_time(runs, estimate, workers, limit)
    assert [len(pack) for pack in packs] == sizes
    assert [spec for pack in packs for spec in pack] == runs


@pytest.mark.parametrize(
    ("word", "state", "reason", "limit"),
    [
        ("*** JOB 1 ON n CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***", None, "time", 1),
        ("*** JOB 1 ON n CANCELLED AT 2024-01-01T00:00:00 ***", None, "cancelled", 0),
        ("error: Detected 1 oom-kill event(s) in StepId=1.batch.", None, "out of memory", 1),
        ("", "NODE_FAIL", "node failed", 0),
        ("", "TIMEOUT", "time limit", 1),
        ("python: not found", "FAILED", "ended early", 0),
    ],
)
def test_why_a_job_ended(tmp_path: Path, word: str, state, reason: str, limit: bool) -> None:
    job = Job(tmp_path, 0, tuple(specs("a", 1)))
    job.log.write_text(f"--- a\n{word}\n")
    ending = ending_of(job, {}, JobState(state) if state else None)
    assert reason in ending.reason
    assert ending.limit == limit


def test_a_run_speaks_for_itself_in_the_log(tmp_path: Path) -> None:
    first, second, third = specs("abc", 1)
    job = Job(tmp_path, 0, (first, second, third))
    job.log.write_text(f"--- {first.title}\nmine\n\n--- {second.title}\nyours\n")
    assert job.tail(first) == ["mine"]
    assert job.tail(second) == ["yours"]
    assert job.tail(third)[-1] == "yours"


def test_the_files_of_a_job_tell_its_runs(tmp_path: Path) -> None:
    array = Array("0", "x", "c", "r", "d", "cpu", 1, 1, 0.0, None, False)
    spec = RunSpec("demo", "d", "./ä.py:M", 7, settings={"a": 0.1, "b": None}, changed={"a": 0.1})
    (job,) = create_array(tmp_path, array, [[spec]])
    assert read_array(job.folder) == array
    assert list(open_jobs(tmp_path)) == [job]
    job.close(keep_log=False)
    assert not list(open_jobs(tmp_path))
    assert not job.folder.exists()
