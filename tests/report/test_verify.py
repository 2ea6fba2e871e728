"""Ours against the paper: every cell, by Welch's interval, and what the exit code says."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from handmade_records import make
from scipy.stats import ttest_ind_from_stats
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.summary import Figure
from tsbench.report.verdict import judge, verdict_line, verdicts

SEEDS = range(1234, 1239)


def test_a_difference_counts_where_welchs_test_says_so() -> None:
    random = np.random.default_rng(0)
    seen = set()
    for _ in range(300):
        ours = Figure(random.normal(0, 3), random.uniform(0.1, 3), int(random.integers(2, 9)))
        theirs = Figure(0.0, random.uniform(0.1, 3), 5)
        p = ttest_ind_from_stats(
            ours.mean, ours.std, ours.seeds, theirs.mean, theirs.std, 5, equal_var=False
        ).pvalue
        expected = "match" if p >= 0.05 else "better" if ours.mean > 0 else "worse"
        assert judge(ours, theirs, lower_is_better=False) == expected
        seen.add(expected)
    assert seen == {"match", "better", "worse"}


def test_a_single_run_is_judged_by_the_papers_spread() -> None:
    # Half the width: t(4) · s · √(1/1 + 1/5) = 2.776 · 2 · 1.0954 = 6.082
    theirs = Figure(50.0, 2.0, 5)
    assert judge(Figure(56.0, None, 1), theirs, False) == "match"
    assert judge(Figure(56.2, None, 1), theirs, False) == "better"
    assert judge(Figure(56.2, None, 1), theirs, True) == "worse"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for i, seed in enumerate(SEEDS):
        make(tmp_path, "naive", seed, 49.0 + i / 10, 98.0)
        make(tmp_path, "er", seed, 80.0 + i, 20.0 - i)
        make(tmp_path, "ts-acl-e", seed, 90.0 + i, 2.56 + i)
        make(tmp_path, "ts-acl-deep", seed, 80.0 + i, 9.0)
        make(tmp_path, "ts-acl-deep", seed, 41.0 + i, 9.0, dataset="grabmyo")
    make(tmp_path, "ts-acl-deep-rhl", 1234, 91.0, 9.0)
    make(tmp_path, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", complete=False)
    make(tmp_path, "er", 1234, 12.0, 86.0, about={"tuned": {"file": "f"}})
    return tmp_path


def test_every_cell_of_both_tables_is_there(results: Path) -> None:
    judged = verdicts(collect(results), paper())
    assert [j.table for j in judged].count("main") == 5 * (14 * 2 - 1), "Offline has no F_T"
    assert [j.table for j in judged].count("ablation") == 5 * 3 * 2
    assert len({(j.table, j.dataset, j.method, j.metric) for j in judged}) == len(judged)
    assert verdict_line(judged).startswith("165 cells: ")


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["verify", *arguments])


def test_verdicts_and_the_exit_code(results: Path) -> None:
    shown = invoke("--results", str(results), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    keys = ("Table", "Data set", "Method", "Metric")
    verdict = {tuple(r[k] for k in keys): r["text"] for r in rows if r["column"] == "verdict"}
    assert verdict == {
        ("main", "UWave", "Naive", "A_T"): "better",  # 49.2 ± 0.2 and 24.85 ± 0.12
        ("main", "UWave", "Naive", "F_T"): "match",  # 98 ± 0 and 98.15 ± 1.40
        ("main", "UWave", "ER", "A_T"): "match",  # 82 ± 1.6 and 78.89 ± 4.27
        ("main", "UWave", "ER", "F_T"): "better",  # 18 ± 1.6 and 25.87 ± 5.68, p = 0.034
        ("main", "UWave", "TS-ACL-E", "A_T"): "worse",  # 92 ± 1.6 and 95.11 ± 0.50
        ("main", "UWave", "TS-ACL-E", "F_T"): "match",  # 4.56 ± 1.6 and 2.56 ± 1.10, p = 0.053
        ("main", "WISDM", "TS-ACL", "A_T"): "partial data",
        ("main", "WISDM", "TS-ACL", "F_T"): "partial data",
        ("ablation", "UWave", "Deep", "A_T"): "worse",  # 82 ± 1.6 and 87.54, lent ± 3.36
        ("ablation", "UWave", "Deep", "VR"): "not comparable",
        ("ablation", "UWave", "Deep+RHL", "A_T"): "match",  # 91 once and 89.86, lent ± 3.36
        ("ablation", "UWave", "Deep+RHL", "VR"): "not comparable",
        ("ablation", "GRABMyo", "Deep", "A_T"): "match",  # 43 ± 1.6 and 40.85
        ("ablation", "GRABMyo", "Deep", "VR"): "not comparable",
        ("ablation", "WISDM", "Deep+RHL+Fusion", "A_T"): "partial data",
        ("ablation", "WISDM", "Deep+RHL+Fusion", "VR"): "partial data",
    }
    assert shown.exit_code == 1
    counts = "5 match, 2 better, 2 worse, 4 partial data, 3 not comparable, 149 not run"
    assert shown.stderr.splitlines()[-1] == f"165 cells: {counts}"


def test_nothing_worse_is_exit_code_0(results: Path) -> None:
    for path in [*results.rglob("ts-acl-e/*.json"), *results.rglob("uwave/ts-acl-deep/*.json")]:
        path.unlink()
    done = invoke("--results", str(results), "--format", "markdown")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[-1].startswith("165 cells: 4 match, 2 better, 0 worse")
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in done.stdout.splitlines()]
    cells = ["91.00<sup>(1)</sup>", "89.86", "+1.14", "match"]
    assert ["ablation", "UWave", "Deep+RHL", "A\\_T", *cells] in rows
    assert "(n) n seeds where it is not 5" in done.stdout


def test_what_was_not_run_is_shown_on_request(results: Path) -> None:
    rows = invoke("--results", str(results), "--all", "--format", "csv").stdout
    assert rows.count("not run") == 149
    assert "not run" not in invoke("--results", str(results), "--format", "csv").stdout


def test_tuned_runs_are_compared_with_the_paper_on_request(results: Path) -> None:
    done = invoke("--results", str(results), "--tuned", "--format", "csv")
    assert "ER (tuned)" in done.stdout
    assert "165 cells: 0 match, 0 better, 2 worse, 163 not run" in done.stderr
    assert done.exit_code == 1


def test_the_verdict_can_be_written_to_a_file(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "verdict.tex"
    done = invoke("--results", str(results), "--format", "latex", "--out", str(out))
    assert done.exit_code == 1
    assert done.stdout == ""
    assert r"\label{tab:tsbench-verdict}" in out.read_text(encoding="utf-8")


def test_fasticarl_is_compared_by_its_linear_head(tmp_path: Path) -> None:
    for i, seed in enumerate(SEEDS):
        make(tmp_path, "fasticarl", seed, 40.0 + i, 20.0, result={"linear_head": 80.0 + i})
    (accuracy,) = [
        j for j in verdicts(collect(tmp_path), paper())
        if (j.dataset, j.method, j.metric) == ("uwave", "fasticarl", "A_T")
    ]  # fmt: skip
    assert accuracy.ours.mean == 82.0
    assert "accuracy of the linear head" in invoke("--results", str(tmp_path)).stdout
    for i, seed in enumerate(SEEDS):
        make(tmp_path, "fasticarl", seed, 40.0 + i, 20.0)
    found = verdicts(collect(tmp_path), paper())
    assert [j.ours.mean for j in found if j.ours and j.metric == "A_T"] == [42.0]
    assert "linear head" not in invoke("--results", str(tmp_path)).stdout
