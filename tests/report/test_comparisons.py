"""The tables of statistics, from records with differences known by hand."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from handmade_records import make
from scipy import stats
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.errors import UserError
from tsbench.report.records import collect
from tsbench.report.table import Options
from tsbench.report.tables import TABLES


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for i, seed in enumerate(range(1234, 1239)):
        make(tmp_path, "ts-acl", seed, 90.0 + i, 3.0)
        make(tmp_path, "er", seed, 88.0 + i + (i % 2) / 2, 3.0)
        make(tmp_path, "offline", seed, 95.0)
        make(tmp_path, "ts-acl", seed, 70.0, 3.0, dataset="wisdm", complete=False)
        make(tmp_path, "er", seed, 75.0, 3.0, dataset="wisdm", complete=False)
    make(tmp_path, "der", 1236, 93.5, 3.0)
    make(tmp_path, "mas", 1, 93.5, 3.0)
    return tmp_path


def table(root: Path, name: str, **options: object):
    return TABLES[name](collect(root), Options(**options))


def rows(made) -> dict[tuple[str, ...], list[str]]:
    return {row.headers: [c.text for c in row.cells] for row in made.rows}


def test_pairs_by_hand(results: Path) -> None:
    made = table(results, "pairs")
    differences = [-2.0, -1.5, -2.0, -1.5, -2.0]
    low, high = stats.ttest_1samp(differences, 0).confidence_interval()
    shown = rows(made)
    assert made.columns[1] == "A_T − TS-ACL"
    assert shown["", "ER"] == ["5", "-1.80", f"{low:+.2f}", f"{high:+.2f}", "yes", "0"]
    assert shown["", "DER"] == ["1", "+1.50", "–", "–", "–", "–"]
    assert shown["WISDM†", "ER"] == ["5", "+5.00", "+5.00", "+5.00", "yes", "0"]
    assert not [headers for headers in shown if headers[1] in ("MAS", "TS-ACL")]
    assert dict(made.footnotes())["†"] == "partial data: WISDM 22 of 51 subjects"


def test_another_baseline(results: Path) -> None:
    shown = rows(table(results, "pairs", baseline="er"))
    assert shown["", "TS-ACL"][1] == "+1.80"
    with pytest.raises(UserError, match="no method shares a seed with mas"):
        table(results, "pairs", baseline="mas")
    with pytest.raises(UserError, match="no runs of --baseline gr"):
        table(results, "pairs", baseline="gr")


def test_without_ts_acl_the_first_ranked_method_is_the_baseline(results: Path) -> None:
    made = TABLES["pairs"](collect(results, methods=["offline", "er", "der"]), Options())
    assert made.columns[1] == "A_T − ER"


def test_seeds_on_other_data_are_not_paired(tmp_path: Path) -> None:
    make(tmp_path, "ts-acl", 1, 90.0, 3.0)
    make(tmp_path, "er", 1, 80.0, 3.0, about={"data_digest": "other"})
    with pytest.raises(UserError, match="no method shares a seed"):
        table(tmp_path, "pairs")


def test_ranks_by_hand(results: Path) -> None:
    for seed in range(1234, 1239):
        make(results, "gr", seed, 92.0, 3.0)
        make(results, "gr", seed, 97.0, 3.0, dataset="wisdm", complete=False)
    made = table(results, "ranks")
    assert made.columns == ["UWave", "WISDM†", "average", "worse than the best"]
    assert rows(made) == {
        ("GR",): ["1.5", "1", "1.25", "–"],
        ("TS-ACL",): ["1.5", "3", "2.25", "no"],
        ("ER",): ["3", "2", "2.50", "no"],
    }
    # Both blocks: ranks 1.5 1.5 3 and 1 3 2; scipy has the correction for ties.
    theirs = stats.friedmanchisquare([92, 97], [92, 70], [90.2, 75])
    notes = dict(made.footnotes())
    assert f"χ²(2) = {theirs.statistic:.2f}, p = {theirs.pvalue:.2g}" in notes["Friedman:"]
    assert "closer than 2.34 cannot be told apart" in notes["Nemenyi:"]
    assert "has little power" in notes["Nemenyi:"]
    assert notes["Not ranked:"].endswith("MAS, DER"), "one seed, and another one"


def test_ranks_over_shared_seeds(results: Path) -> None:
    make(results, "der", 1236, 60.0, 3.0, dataset="wisdm", complete=False)
    assert ("DER",) not in rows(table(results, "ranks"))
    shared = TABLES["ranks"](collect(results, methods=["er", "der", "ts-acl"]),
                             Options(shared_seeds=True))  # fmt: skip
    assert rows(shared)["DER",][:2] == ["1", "3"]


def test_a_method_far_behind_is_worse(tmp_path: Path) -> None:
    for dataset in ("uci-har", "uwave", "dsa", "grabmyo", "wisdm", "demo"):
        for place, name in enumerate(("er", "der", "gr")):
            make(tmp_path, name, 1, 90.0 - place, 1.0, dataset)
    assert [c[-1] for c in rows(table(tmp_path, "ranks")).values()] == ["–", "no", "yes"]


def test_the_commands(results: Path) -> None:
    def report(*arguments: str):
        return CliRunner().invoke(app, ["report", "--results", str(results), *arguments])

    made = report("--table", "pairs", "--format", "csv").stdout
    (mean,) = [
        row["mean"]
        for row in csv.DictReader(io.StringIO(made))
        if row["Method"] == "ER" and row["column"] == "A_T − TS-ACL" and row["Data set"] == "UWave"
    ]
    assert float(mean) == pytest.approx(-1.8)
    assert "worse than the best" in report("--table", "ranks", "--format", "markdown").stdout
    told = report("--table", "ranks", "--dataset", "uwave")
    assert told.exit_code == 2
    assert "ranks need two methods" in told.stderr
    every = report("--table", "all", "--dataset", "uwave", "--format", "csv")
    assert every.exit_code == 0
    assert "notice: no table of ranks" in every.stderr
