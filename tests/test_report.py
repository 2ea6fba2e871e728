"""Tables from hand-made records with known answers, in every format."""

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
from handmade import fail, make
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.learn.catalogue import INFO
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.render import as_csv, latex, markdown, transposed
from tsbench.report.summary import Figure, figure
from tsbench.report.table import Cell, Options, Row, Table
from tsbench.report.tables import TABLES


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Five seeds of most; ties; a failure; one seed; partial data; a plugin with an awful name."""
    for i, seed in enumerate(range(1234, 1239)):
        make(tmp_path, "naive", seed, 99.0 + i / 10, 98.0)
        make(tmp_path, "offline", seed, 96.0)
        make(tmp_path, "er", seed, 80.0 + i, 20.0 - i)
        make(tmp_path, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0)
        make(tmp_path, "ts-acl-e", seed, 90.001 + i, 2.0)
    make(tmp_path, "der", 1234, 85.5, 11.25)
    make(tmp_path, "mas", 1234, 50.0, 30.0)
    fail(tmp_path, "mas", 1235)
    fail(tmp_path, "lwf", 1234)
    make(tmp_path, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", complete=False)
    make(tmp_path, "er", 1234, 77.0, 4.0, dataset="wisdm", complete=False)
    make(tmp_path, "x/a_b<c>&$.py:M", 1234, 10.0, 90.0)
    return tmp_path


def table(results: Path, name: str = "main", **options: object):
    return TABLES[name](collect(results), Options(**options))


def test_tuned_runs_stand_beside_the_others(tmp_path: Path) -> None:
    make(tmp_path, "er", 1234, 80.0, 10.0)
    make(tmp_path, "er", 1234, 90.0, 10.0, about={"tuned": {"file": "f"}})
    make(tmp_path, "er", 1235, 92.0, 10.0, about={"tuned": {"file": "f"}})
    made = table(tmp_path, compare=paper())
    assert made.columns == ["ER", "ER (tuned)"]
    ours, theirs = made.rows[0].cells, made.rows[1].cells
    assert [c.figure.mean for c in ours] == [80.0, 91.0]
    assert theirs[0].figure == theirs[1].figure is not None, "the paper's runs were tuned"


def test_trials_of_tuning_are_not_reported_as_results(tmp_path: Path) -> None:
    make(tmp_path, "er", 1234, 80.0, about={"epochs": 2})
    for rate in (1, 2, 3):
        trial = {"epochs": 2, "stream": "val", "changed": {"rate": rate}}
        make(tmp_path, "er", 1234, 70.0, about=trial)
    assert collect(tmp_path).protocol == "exp-ln-2"
    shutil.rmtree(tmp_path / "exp-ln-2")
    assert collect(tmp_path).protocol == "val-ln-2"


def test_figures_by_hand() -> None:
    found = figure([80.0, 81.0, 82.0, 83.0, 84.0])
    assert found.mean == 82.0
    assert found.std == pytest.approx(2.5**0.5)
    assert found.spread("ci95") == pytest.approx(2.776445 * 2.5**0.5 / 5**0.5, rel=1e-5)
    assert found.spread("none") is None
    assert figure([3.0]) == Figure(3.0, None, 1)


def test_the_main_table_in_markdown(results: Path) -> None:
    text = markdown(table(results), "std", 2)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    names = [c.strip() for c in rows[0].split("|")[3:-1]]
    order = ["Naive", "Offline", "LwF", "MAS", "ER", "DER", "TS-ACL", "TS-ACL-E"]
    assert names[:-1] == order
    assert names[-1] == r"a\_b\_c\_\_\_-M", "the label's unsafe characters were replaced"
    cells = dict(zip(names, (c.strip() for c in rows[2].split("|")[3:-1]), strict=True))
    assert cells["Naive"] == "99.20 ± 0.16", "out of contest"
    assert cells["TS-ACL"] == "**92.00** ± 1.58", "a tie as shown is a tie"
    assert cells["TS-ACL-E"] == "**92.00** ± 1.58"
    assert cells["DER"] == "<u>85.50</u><sup>(1)</sup>"
    assert cells["ER"] == "82.00 ± 1.58"
    assert cells["MAS"] == "50.00<sup>‡</sup><sup>(1)</sup>"
    assert cells["LwF"] == "failed<sup>‡</sup>"
    forgetting = dict(zip(names, (c.strip() for c in rows[3].split("|")[3:-1]), strict=True))
    assert forgetting["Offline"] == "N.A."
    assert forgetting["TS-ACL-E"] == "**2.00** ± 0.00"
    assert forgetting["TS-ACL"] == "<u>3.00</u> ± 0.00"
    assert "| WISDM† | A\\_T ↑ |" in text
    assert "† partial data: WISDM 22 of 51 subjects" in text
    assert "‡ some runs failed" in text


def test_latex_escapes_and_structure(results: Path) -> None:
    text = latex(table(results), "std", 1)
    assert r"\textbf{92.0}{\tiny$\pm$1.6}" in text
    assert r"\underline{85.5}$^{(1)}$" in text
    assert r"$A_T$ $\uparrow$" in text
    assert r"WISDM$\dagger$" in text
    assert r"\begin{tabular}{ll|cc|cc|cc|cc|c}" in text
    assert text.count("&") == text.count(" & "), "every ampersand is a column"


def test_csv_is_unrounded_and_reads_back(results: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(table(results), "std", 2))))
    (row,) = [
        r for r in rows if (r["Data set"], r["Metric"], r["column"]) == ("UWave", "A_T ↑", "ER")
    ]
    assert (float(row["mean"]), float(row["std"]), row["seeds"]) == (82.0, 2.5**0.5, "5")
    assert {r["Data set"] for r in rows} == {"UWave", "WISDM†"}, "on every line"


def test_methods_as_rows(results: Path) -> None:
    turned = transposed(table(results))
    assert turned.columns == ["UWave A_T ↑", "UWave F_T ↓", "WISDM† A_T ↑", "WISDM† F_T ↓"]
    compared = transposed(table(results, compare=paper()))
    assert compared.columns[:3] == ["UWave A_T ↑", "UWave A_T ↑ paper", "UWave A_T ↑ Δ"]
    assert len(set(compared.columns)) == len(compared.columns)
    assert [row.headers[0] for row in turned.rows][:3] == ["Naive", "Offline", "LwF"]
    assert turned.rows[4].cells[0].figure.mean == 82.0


def test_comparison_with_the_paper(results: Path) -> None:
    from tsbench.report.published import paper

    made = table(results, compare=paper())
    titles = [row.headers[1] for row in made.rows[:6]]
    assert titles == ["A_T ↑", "paper", "Δ", "F_T ↓", "paper", "Δ"]
    place = made.columns.index("ER")
    assert made.rows[1].cells[place].figure == Figure(78.89, 4.27, 5)
    assert made.rows[2].cells[place].text == "+3.11"
    ablation = table(results, "ablation", compare=paper())
    assert ablation.rows[1].cells[0].figure == Figure(87.54, None, 5)
    assert ablation.rows[-1].headers == ("", "Δ")
    assert [row.cells[1].text for row in ablation.rows[-4:]][0::3] == ["+1.41", "-9.91"]


def test_time_never_mixes_machines(results: Path) -> None:
    make(results, "er", 9999, 80.0, 1.0, seconds=100.0, cpu="B")
    made = table(results, "time")
    by_machine = {row.headers[1]: row for row in made.rows if row.headers[2] == "s"}
    place = made.columns.index("ER")
    uwave = [r for r in made.rows if r.headers[:1] == ("UWave",)]
    assert [r.cells[place].figure.mean for r in uwave] == [10.0, 100.0]
    assert len(by_machine) == 2
    relative = made.rows[made.rows.index(uwave[0]) + 1]
    assert relative.cells[place].text == "5.00 ×"
    assert sorted(made.notes) == ["[1]", "[2]", "†"]


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
    sets = table(results, "datasets", data=Path("/nowhere"))
    rows = {row.headers[0]: [c.text for c in row.cells] for row in sets.rows}
    assert rows["DSA"] == ["45 × 125", "6480", "–", "2160", "18", "6"]
    assert rows["UCI-HAR"] == ["9 × 128", "6616", "736", "2947", "6", "3"]
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
    assert made["columns"][0] == "Naive"
    out = tmp_path / "tables"
    written = invoke("report", "--table", "all", "--format", "latex", "--out", str(out), *folder)
    assert written.exit_code == 0, written.output
    assert sorted(p.name for p in out.iterdir()) == sorted(f"{name}.tex" for name in TABLES)
    only = invoke("report", "--method", "er,der", "--dataset", "uwave", "--format", "csv", *folder)
    assert {r["column"] for r in csv.DictReader(io.StringIO(only.stdout))} == {"ER", "DER"}
    none = invoke("report", "--spread", "none", "--digits", "1", "--format", "markdown", *folder)
    assert "| **92.0** |" in none.stdout


def test_nothing_to_report_is_told(tmp_path: Path, results: Path) -> None:
    for arguments, word in (
        (["report", "--results", str(tmp_path / "none")], "no records"),
        (["report", "--results", str(results), "--protocol", "exp-bn-7"], "no runs of protocol"),
        (["report", "--results", str(results), "--dataset", "dsa"], "no runs of these"),
        (["report", "--results", str(results), "--out", "x.md"], "--out needs a --format"),
    ):
        told = invoke(*arguments)
        assert told.exit_code == 2
        assert word in told.stderr
        assert "Traceback" not in told.output


def test_our_own_runs_stand_beside(results: Path) -> None:
    folder = Path(__file__).parent.parent / "results" / "reference" / "exp-ln-100" / "uwave" / "er"
    theirs = [json.loads(p.read_text())["result"]["A_T"] for p in folder.glob("seed-????.json")]
    told = invoke(
        *("report", "--results", str(results), "--dataset", "uwave"),
        *("--compare", "reference", "--format", "csv"),
    )
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader(io.StringIO(told.stdout)))
    shown = [r["mean"] for r in rows if (r["Metric"], r["column"]) == ("reference", "ER")]
    assert float(shown[0]) == pytest.approx(sum(theirs) / len(theirs))


def test_without_reference_runs_there_is_nothing_to_compare(results: Path) -> None:
    for record in results.rglob("seed-*.json"):
        record.write_text(record.read_text().replace("exp-ln-100", "exp-ln-7"))
    told = invoke("report", "--results", str(results), "--compare", "reference")
    assert told.exit_code == 2
    assert "no reference runs to compare with: no runs of protocol 'exp-ln-7'" in told.stderr


def test_broken_files_are_a_notice(results: Path) -> None:
    (results / "exp-ln-100" / "uwave" / "er" / "seed-1.json").write_text("{")
    told = invoke("report", "--results", str(results))
    assert told.exit_code == 0
    assert "left out" in told.stderr


def test_long_tables_come_in_parts() -> None:
    def rows(count: int, every: int) -> list[Row]:
        return [Row((f"r{i}",), [Cell(text=str(i))], rule=i % every == 0) for i in range(count)]

    for count, every, sizes in (
        (36, 17, [36]),
        (85, 17, [34, 34, 17]),
        (40, 1000, [36, 4]),
        (73, 36, [36, 36, 1]),
    ):
        text = latex(Table("t", "Caption.", ("h",), ["c"], rows(count, every)), "std", 2)
        parts = text.split(r"\begin{table*}")[1:]
        assert [len(re.findall(r"^r\d+ & \d+ ", part, re.M)) for part in parts] == sizes
        assert re.findall(r"^r(\d+) ", text, re.M) == [str(i) for i in range(count)]
        assert (r"\label{tab:tsbench-t-2}" in text) == (len(sizes) > 1)


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no TeX on this machine")
def test_latex_compiles_in_a_two_column_paper(results: Path, tmp_path: Path) -> None:
    for method in INFO:
        for dataset in ("dsa", "wisdm"):
            make(results, method, 1, 50.0, 9.0, dataset=dataset)
    make(results, "odd", 1, 50.0, 9.0)
    path = results / "exp-ln-100" / "uwave" / "odd" / "seed-1.json"
    path.write_text(path.read_text().replace('"odd"', json.dumps("[*a_b<c>&$~^{}\\|é手")))
    made = [table(results, name) for name in TABLES]
    body = "\n".join(latex(each, "std", 2) for each in [*made, transposed(made[0])])
    (tmp_path / "paper.tex").write_text(
        "\\documentclass[twocolumn]{article}\\usepackage{booktabs,graphicx}\n"
        "\\begin{document}\n" + body + "\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert "Float too large" not in done.stdout


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
        "heavy = {'torch', 'pandas', 'scipy.stats', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    arguments = [sys.executable, "-c", code, *command, "--results", str(results)]
    assert "TS-ACL" in subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


@pytest.mark.alone
@pytest.mark.parametrize("kind", ["markdown", "html"])
def test_a_thousand_records_in_two_seconds(tmp_path: Path, kind: str) -> None:
    fill(tmp_path / "results", 1000)
    _, busy = measure(tmp_path / "results", kind)
    assert busy < 2
