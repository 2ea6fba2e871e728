"""Slurm's jobs without Slurm: what goes together, why one ended, the files that tell its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tsbench.errors import UserError
from tsbench.executors.slurm import SlurmOptions
from tsbench.executors.slurm.jobs import FOLDER, Job, open_jobs, pack
from tsbench.runs.machine import Machine
from tsbench.runs.spec import RunSpec


def specs(names: str, seeds: int) -> list[RunSpec]:
    return [RunSpec("demo", "d", name, seed) for name in names for seed in range(seeds)]


def test_runs_that_share_a_first_task_go_together() -> None:
    (packed,) = pack(specs("ab", 2), lambda spec: 1, 4)
    assert [(spec.method, spec.seed) for spec in packed] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    ("cost", "capacity", "sizes"),
    [(1, 1, [1] * 6), (1, 4, [4, 2]), (100.0, 300.0, [3, 3]), (1000.0, 300.0, [1] * 6)],
)
def test_short_runs_share_a_job(cost: float, capacity: float, sizes: list[int]) -> None:
    packs = pack(specs("a", 6), lambda spec: cost, capacity)
    assert [len(each) for each in packs] == sizes
    assert [spec for each in packs for spec in each] == specs("a", 6)


@pytest.mark.parametrize(
    ("line", "limit"),
    [
        ("*** JOB 1 ON n CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***", True),
        ("*** JOB 1 ON n CANCELLED AT 2024-01-01T00:00:00 ***", False),
        ("error: Detected 1 oom-kill event(s) in StepId=1.batch.", True),
        ("error: Detected 1 oom_kill event in StepId=1.batch.", True),
        ("python: not found", False),
    ],
)
def test_why_a_job_ended(tmp_path: Path, line: str, limit: bool) -> None:
    job = Job(tmp_path, 0, {}, Machine(tmp_path))
    assert "left no log" in job.ending()[0]
    job.file("log").write_text(f"a line\n{line}\n\n")
    assert job.ending() == (f"the job ended early: {line}", limit)


@pytest.mark.parametrize(
    ("given", "device"),
    [
        ([], "cpu"),
        (["partition=nogpu"], "cpu"),
        (["partition=gpu", "comment=gpu:1"], "cpu"),
        (["gres=gpu:1"], "cuda"),
        (["gres=disk:1,gpu:a100:2"], "cuda"),
        (["gres=gpu:0"], "cpu"),
        (["gres=shard:1"], "cuda"),
        (["gpus=2"], "cuda"),
        (["gpus=0"], "cpu"),
        (["gpus_per_node=a100:1"], "cuda"),
        (["gpus-per-task=1"], "cuda"),
        (["tres-per-task=gres/gpu:1"], "cuda"),
        (["cpus-per-gpu=4", "gpu-bind=none"], "cpu"),
    ],
)
def test_only_a_request_for_gpus_selects_cuda(given: list[str], device: str) -> None:
    options = SlurmOptions(slurm=given)
    assert options.choose_device() == device
    if device == "cpu":
        with pytest.raises(UserError, match="--slurm gres=gpu:1"):
            SlurmOptions(slurm=given, device="cuda").choose_device()


def test_the_files_of_a_job_tell_its_runs(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "ä", shared=tmp_path, threads=3, since=1.5)
    spec = RunSpec("demo", "d", "./ä.py:M", 7, settings={"a": 0.1, "b": None}, changed={"a": 0.1})
    job = Job(tmp_path / FOLDER / "tsbench-0", 3, {spec.hash(): spec}, machine)
    job.write()
    assert list(open_jobs(tmp_path)) == [job]
    job.close({})
    assert not list(open_jobs(tmp_path))
    assert not job.folder.exists()
