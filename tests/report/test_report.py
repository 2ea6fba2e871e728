"""Tables from hand-made records with known answers, and the command that prints them."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.bench_report import fill, measure
from handmade_records import fail, make
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.render import as_cells, as_csv, markdown, transposed
from tsbench.report.summary import Figure, figure
from tsbench.report.table import Options, Table
from tsbench.report.tables import TABLES

SEEDS = range(1234, 1239)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Five seeds of most; ties; a failure; one seed; partial data; a plugin."""
    root = tmp_path / "results"
    for i, seed in enumerate(SEEDS):
        make(root, "naive", seed, 24.0 + i / 10, 70.0)
        make(root, "offline", seed, 96.0)
        make(root, "er", seed, 80.0 + i, 20.0 - i)
        make(root, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0)
        make(root, "ts-acl-e", seed, 90.001 + i, 2.0)
    make(root, "der", 1234, 95.5, 1.25)
    make(root, "mas", 1234, 50.0, 30.0)
    fail(root, "mas", 1235)
    fail(root, "lwf", 1234)
    make(root, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", complete=False)
    make(root, "er", 1234, 77.0, 4.0, dataset="wisdm", complete=False)
    make(root, "x/mine.py:M", 1234, 10.0, 80.0)
    return root


def table(results: Path, name: str = "main", **options: object) -> Table:
    return TABLES[name](collect(results), Options(**options))


def cells(made: Table, column: int) -> dict[str, object]:
    return {row.headers[-1]: row.cells[column] for row in made.rows}


def test_figures_by_hand() -> None:
    found = figure([80.0, 81.0, 82.0, 83.0, 84.0])
    assert found.mean == 82.0
    assert found.std == pytest.approx(2.5**0.5)
    assert found.spread("ci95") == pytest.approx(2.776445 * 2.5**0.5 / 5**0.5, rel=1e-5)
    assert found.spread("none") is None
    assert figure([3.0]) == Figure(3.0, None, 1)


def test_only_equal_seeds_are_best(results: Path) -> None:
    accuracy, forgetting = (cells(table(results), i) for i in (0, 1))
    assert accuracy["DER"].figure.mean == 95.5, "higher than all others, but from one seed"
    assert accuracy["DER"].mark == "unranked"
    assert accuracy["DER"].notes == ("(1)",)
    assert [n for n, c in accuracy.items() if c.mark == "best"] == ["TS-ACL", "TS-ACL-E"], (
        "as shown"
    )
    assert [n for n, c in accuracy.items() if c.mark == "second"] == ["ER"]
    assert [n for n, c in forgetting.items() if c.mark == "best"] == ["TS-ACL-E"]
    assert [n for n, c in forgetting.items() if c.mark == "second"] == ["TS-ACL"]
    assert accuracy["Naive"].mark == accuracy["Offline"].mark == "", "bounds"
    assert accuracy["MAS"].notes == ("‡", "(1)")
    assert accuracy["LwF"].text == "failed"
    assert forgetting["Offline"].text == "N.A."
    shared = cells(table(results, shared_seeds=True), 0)
    assert shared["DER"].mark == "best", "by its one seed it is"
    assert shared["TS-ACL"].figure == Figure(90.0, None, 1)


def test_runs_with_more_seeds_than_the_others_count_with_those(results: Path) -> None:
    make(results, "er", 1, 20.0, 20.0)
    made = table(results)
    assert cells(made, 0)["ER"].figure.mean == 82.0
    assert "are left out" in dict(made.footnotes())["Seeds:"]


def test_ranks_with_ties_in_the_table(results: Path) -> None:
    made = table(results, ranks=True)
    assert made.columns[:3] == ["rank", "A_T ↑", "F_T ↓"]
    ranks = {name: cell.text for name, cell in cells(made, 0).items()}
    # ts-acl and ts-acl-e differ by 0.001 on every seed: without spread that is a difference
    assert ranks == {
        "Naive": "–", "Offline": "–", "LwF": "–", "MAS": "–", "ER": "3", "DER": "–", "TS-ACL": "2",
        "TS-ACL-E": "1", "mine-M": "–",
    }  # fmt: skip
    assert "Holm" in dict(made.footnotes())["rank:"]


def test_sections_in_the_papers_order(results: Path) -> None:
    make(results, "ewc", 1234, 40.0, 9.0)
    make(results, "ts-acl-r", 1234, 40.0, 9.0)
    made = table(results)
    sections: dict[str, list[str]] = {}
    for row in made.rows:
        if row.section:
            sections[row.section] = []
        sections[[*sections][-1]].append(row.headers[0])
    assert sections == {
        "Bounds": ["Naive", "Offline"],
        "Exemplar-free": ["LwF", "MAS"],
        "Exemplar-based": ["ER", "DER"],
        "Analytic": ["TS-ACL", "TS-ACL-E", "TS-ACL-R"],
        "Beyond the paper": ["EWC", "mine-M"],
    }
    only = TABLES["main"](collect(results, methods=["all"]), Options())
    assert "EWC" not in {row.headers[0] for row in only.rows}
    family = collect(results, methods=["analytic", "er"])
    assert family.methods == ["er", "ts-acl", "ts-acl-e", "ts-acl-r"]


def test_tuned_runs_stand_beside_the_others(tmp_path: Path) -> None:
    make(tmp_path, "er", 1234, 80.0, 10.0)
    make(tmp_path, "er", 1234, 90.0, 10.0, about={"tuned": {"file": "f"}})
    make(tmp_path, "er", 1235, 90.0, 10.0, about={"tuned": {"file": "f"}})
    made = table(tmp_path, compare=paper())
    assert [row.headers[0] for row in made.rows] == ["ER", "ER (tuned)"]
    assert [row.cells[0].figure.mean for row in made.rows] == [80.0, 90.0]
    theirs = [row.cells[1].figure for row in made.rows]
    assert theirs[0] == theirs[1] is not None, "the paper's runs were tuned"


def test_trials_of_tuning_are_not_reported_as_results(tmp_path: Path) -> None:
    make(tmp_path, "er", 1234, 80.0, about={"epochs": 2})
    for rate in (1, 2, 3):
        trial = {"epochs": 2, "stream": "val", "changed": {"rate": rate}}
        make(tmp_path, "er", 1234, 70.0, about=trial)
    assert collect(tmp_path).protocol == "exp-ln-2"
    shutil.rmtree(tmp_path / "exp-ln-2")
    assert collect(tmp_path).protocol == "val-ln-2"


def test_the_main_table_in_markdown(results: Path) -> None:
    text = markdown(table(results), "std", 2)
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    assert rows[0] == [
        "Method", r"UWave A\_T ↑", r"UWave F\_T ↓", r"WISDM† A\_T ↑", r"WISDM† F\_T ↓",
    ]  # fmt: skip
    shown = {row[0]: row[1:] for row in rows[2:]}
    assert shown["Naive"] == ["24.20 ± 0.16", "70.00 ± 0.00", "–", "–"]
    assert shown["TS-ACL"][:2] == ["**92.00** ± 1.58", "<u>3.00</u> ± 0.00"]
    assert shown["DER"][0] == "*95.50*<sup>(1)</sup>"
    assert shown["MAS"][0] == "*50.00*<sup>‡</sup><sup>(1)</sup>"
    assert shown["*Exemplar-free*"] == [""] * 4
    assert "† partial data: WISDM 22 of 51 subjects" in text
    assert "‡ some runs failed" in text


def test_csv_is_unrounded_and_reads_back(results: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(table(results), "std", 2))))
    (row,) = [
        r for r in rows if (r["Method"], r["Data set"], r["column"]) == ("ER", "UWave", "A_T ↑")
    ]
    assert (float(row["mean"]), float(row["std"]), row["seeds"]) == (82.0, 2.5**0.5, "5")
    assert {r["Data set"] for r in rows} == {"UWave", "WISDM†"}, "on every line"
    frame = as_cells(table(results), "ci95")
    assert len(frame) == len(rows)
    assert frame["mean"].dtype == float


def test_a_spreadsheet_sees_no_formula(tmp_path: Path) -> None:
    for i, sign in enumerate("=+-@"):
        make(tmp_path, f"m{i}", 1, 50.0, 9.0, title=f"{sign}cmd|' /C calc'!A0")
    text = as_csv(table(tmp_path, compare=paper()), "std", 2)
    titles = {r["Method"] for r in csv.DictReader(io.StringIO(text))}
    assert {t[:2] for t in titles} == {"'=", "'+", "'-", "'@"}
    make(tmp_path, "er", 1, 50.0, 9.0)
    rows = csv.DictReader(io.StringIO(as_csv(table(tmp_path, compare=paper()), "std", 2)))
    gaps = [r["text"] for r in rows if r["Method"] == "ER" and r["column"] == "Δ"]
    assert gaps == ["-28.89", "-16.87"], "numbers stay numbers"


def test_data_sets_as_rows(results: Path) -> None:
    turned = transposed(table(results))
    assert [row.headers for row in turned.rows] == [
        ("UWave", "A_T ↑"), ("", "F_T ↓"), ("WISDM†", "A_T ↑"), ("", "F_T ↓"),
    ]  # fmt: skip
    assert turned.columns[:3] == ["Naive", "Offline", "LwF"]
    assert turned.rows[0].cells[turned.columns.index("ER")].figure.mean == 82.0
    assert ("Analytic", 2) in turned.groups


def test_comparison_with_the_paper(results: Path) -> None:
    made = table(results, compare=paper())
    assert made.columns[:6] == ["A_T ↑", "paper", "Δ", "F_T ↓", "paper", "Δ"]
    (er,) = [row for row in made.rows if row.headers == ("ER",)]
    assert er.cells[1].figure == Figure(78.89, 4.27, 5)
    assert er.cells[2].text == "+3.11"
    ablation = table(results, "ablation", compare=paper())
    assert [row.headers[0] for row in ablation.rows] == ["Deep", "Deep+RHL", "Deep+RHL+Fusion"]
    assert ablation.columns[:6] == ["A_T ↑", "paper", "Δ", "VR ↑", "paper", "Δ"]
    assert ablation.rows[0].cells[1].figure == Figure(87.54, None, 5)
    assert [ablation.rows[2].cells[i].text for i in (8, 11)] == ["+1.41", "-9.91"], "on WISDM"


def test_time_never_mixes_machines(results: Path) -> None:
    make(results, "er", 9999, 80.0, 1.0, seconds=100.0, cpu="B")
    made = table(results, "time")
    found = {}
    machine = ""
    for row in made.rows:
        machine = row.headers[0] or machine
        found[machine, row.headers[1]] = row.cells
    assert found["[1]", "ER"][0].figure.mean == 10.0
    assert found["[2]", "ER"][0].figure.mean == 100.0
    assert found["[1]", "ER"][1].text == "5.00", "times TS-ACL's"
    assert found["[2]", "ER"][1].text == "–", "TS-ACL did not run there"
    assert [sign for sign, _ in made.footnotes()] == ["[1]:", "[2]:", "†"]


def test_times_of_a_busy_machine_are_left_out(results: Path) -> None:
    make(results, "er", 1234, 80.0, 20.0, seconds=9999.0, load=0.5)
    make(results, "er", 1235, 81.0, 19.0, seconds=20.0, load=0.05)
    made = table(results, "time")
    (er,) = [row for row in made.rows if row.headers[1] == "ER"]
    assert er.cells[0].figure == Figure(12.5, 5.0, 4)
    assert dict(made.footnotes())["Left out:"].startswith("1 run(s) during which other work")
    assert cells(table(results), 0)["ER"].figure.seeds == 5, "accuracy does not depend on it"


def test_memory_curves_and_data_sets(results: Path) -> None:
    memory = table(results, "memory")
    er = next(row for row in memory.rows if row.headers[1] == "ER")
    assert [c.text for c in er.cells] == [
        "0", "0", "2.0 MB", "500 B", "2.0 MB", "1,234", "400.0 MB",
    ]  # fmt: skip
    curves = table(results, "curves")
    offline = next(row for row in curves.rows if row.headers[1] == "Offline")
    assert offline.cells[0].figure is None
    assert offline.cells[1].figure.mean == 96.0
    sets = table(results, "datasets", data=Path("nowhere"))
    rows = {row.headers[0]: [c.text for c in row.cells] for row in sets.rows}
    assert sets.columns[-2:] == ["val tasks", "exp tasks"]
    assert rows["DSA"] == ["45 × 125", "6480", "–", "2160", "18", "3", "6"]
    assert rows["UCI-HAR"] == ["9 × 128", "6616", "736", "2947", "6", "3", "3"]
    assert [rows[n][-1] for n in ("UWave", "GRABMyo", "WISDM")] == ["4", "5", "6"]


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_the_command(results: Path, tmp_path: Path) -> None:
    folder = ["--results", str(results), "--data", str(tmp_path / "none")]
    shown = invoke("report", *folder)
    assert shown.exit_code == 0, shown.output
    assert "92.00 ±1.58" in shown.stdout
    assert "protocol exp-ln-100" in shown.stderr
    made = json.loads(invoke("report", "--format", "json", *folder).stdout)
    assert made["rows"][0]["headers"] == ["Naive"]
    out = tmp_path / "tables"
    written = invoke("report", "--table", "all", "--format", "latex", "--out", str(out), *folder)
    assert written.exit_code == 0, written.output
    one_split = TABLES.keys() - {"protocols"}
    assert {p.name for p in out.iterdir()} == {f"{name}.tex" for name in one_split}
    only = invoke("report", "--method", "er,der", "--dataset", "uwave", "--format", "csv", *folder)
    assert {r["Method"] for r in csv.DictReader(io.StringIO(only.stdout))} == {"ER", "DER"}
    none = invoke("report", "--spread", "none", "--digits", "1", "--format", "markdown", *folder)
    assert "**92.0** |" in none.stdout
    exact = invoke("report", "--compare", "paper", "--digits", "4", "--format", "markdown", *folder)
    signed = re.findall(r"[+-]\d+\.\d+", exact.stdout)
    assert signed and all(len(gap.partition(".")[2]) == 4 for gap in signed)
    turned = invoke("report", "--layout", "datasets", "--format", "markdown", *folder)
    assert "| Data set   | Metric" in turned.stdout
    wide = invoke("report", "--layout", "datasets", "--format", "latex", *folder)
    assert "too wide; methods are rows" in wide.stderr


def test_nothing_to_report_is_said(tmp_path: Path, results: Path) -> None:
    for arguments, word in (
        (["report", "--results", str(tmp_path / "none")], "no records"),
        (["report", "--results", str(results), "--protocol", "exp-bn-7"], "no runs of protocol"),
        (["report", "--results", str(results), "--dataset", "dsa"], "no runs of these"),
        (["report", "--results", str(results), "--out", "x.md"], "--out needs a --format"),
        (["verify", "--results", str(results), "--out", "x.md"], "--out needs a --format"),
        (["report", "--results", str(results), "--format", "csv", "--out", str(results)], "cannot"),
    ):
        told = invoke(*arguments)
        assert told.exit_code == 2, told.output
        assert word in told.stderr
        assert "Traceback" not in told.output


def test_other_protocols_of_a_data_set_are_named(results: Path) -> None:
    for seed in (1, 2):
        make(results, "er", seed, 80.0, 9.0, dataset="demo", about={"epochs": 5})
    make(results, "er", 1, 80.0, 9.0, dataset="demo", about={"epochs": 2})
    told = invoke("report", "--results", str(results), "--dataset", "demo")
    assert told.exit_code == 2
    assert "exp-ln-5 (2 runs), exp-ln-2 (1 runs)" in told.stderr
    assert "add --protocol exp-ln-5" in told.stderr
    again = ["--dataset", "demo", "--protocol", "exp-ln-5"]
    assert invoke("report", "--results", str(results), *again).exit_code == 0


def test_our_own_runs_stand_beside(results: Path) -> None:
    reference = Path(__file__).parents[2] / "results" / "reference"
    theirs = collect(reference).get("uwave", "er").values("A_T")
    told = invoke(
        *("report", "--results", str(results), "--dataset", "uwave"),
        *("--compare", "reference", "--format", "csv"),
    )
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader(io.StringIO(told.stdout)))
    shown = [r["mean"] for r in rows if (r["Method"], r["column"]) == ("ER", "reference")]
    assert float(shown[0]) == pytest.approx(sum(theirs) / len(theirs))


def test_without_reference_runs_there_is_nothing_to_compare(tmp_path: Path) -> None:
    make(tmp_path, "er", 1, 80.0, 9.0, about={"epochs": 7})
    told = invoke("report", "--results", str(tmp_path), "--compare", "reference")
    assert told.exit_code == 2
    assert "no reference runs to compare with: no runs of protocol 'exp-ln-7'" in told.stderr


def test_files_are_written_whole(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "main.md"
    assert invoke("report", "--results", str(results), "--format", "markdown", "--out", str(out))
    assert "TS-ACL" in out.read_text(encoding="utf-8")
    assert [p.name for p in out.parent.iterdir()] == ["main.md"], "nothing left aside"


@pytest.mark.parametrize(
    "command",
    [["report", "--table", "all"], ["report", "--format", "html"], ["verify"]],
    ids=" ".join,
)
def test_reports_never_import_torch(results: Path, command: list[str]) -> None:
    code = (
        "import sys; from tsbench.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'matplotlib.pyplot', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    arguments = [sys.executable, "-c", code, *command, "--results", str(results)]
    assert "TS-ACL" in subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def test_the_usual_report_does_not_import_what_is_slow(results: Path) -> None:
    code = (
        "import sys; from tsbench.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert 'scipy.stats' not in sys.modules"
    )
    arguments = [sys.executable, "-c", code, "report", "--results", str(results)]
    subprocess.run(arguments, capture_output=True, text=True, check=True)


def test_a_thousand_records_in_two_seconds(tmp_path: Path) -> None:
    fill(tmp_path / "results", 1000)
    _, busy = measure(tmp_path / "results")
    assert busy < 2
