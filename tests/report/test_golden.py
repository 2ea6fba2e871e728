"""Every table in every format against files that were read through by hand.

When a table is changed on purpose, write them again and look at what git shows:

    PYTHONPATH=tests python tests/report/test_golden.py
"""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from handmade_records import fail, make

from tsbench.report.latex import latex
from tsbench.report.layout import terminal
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.render import as_csv, as_json, markdown, transposed
from tsbench.report.table import Options, Table
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_line, verdict_table, verdicts

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
AWFUL = "a_b<c>&$"
SEEDS = range(1234, 1239)
NAMES = ("main", "time", "memory", "ablation", "curves", "pairs", "ranks")
"""Not ``datasets`` and ``settings``: those change when somebody adds a data set or a method."""


def fill(root: Path) -> None:
    """Ties, one seed, failures, missing methods, partial data, no values, an awful name."""
    for i, seed in enumerate(SEEDS):
        make(root, "naive", seed, 24.0 + i / 10, 70.0)
        make(root, "offline", seed, 96.0)
        make(root, "er", seed, 80.0 + i, 20.0 - i, seconds=100.0 + i)
        make(root, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0)
        make(root, "ts-acl-e", seed, 90.001 + i, 2.0, seconds=4.0)  # 92.001: a tie as shown
        make(root, "ts-acl-deep", seed, 85.0 + i / 2, 9.0, seconds=1.5, statistics=128)
        make(root, "er", seed, 60.0, 12.5 + i, dataset="dsa", seconds=50.0)
        make(root, "ts-acl", seed, 60.0 + (i - 2), 12.5, dataset="dsa", seconds=10.0)
    make(root, "der", 1234, 97.5, 1.25, cpu="B", seconds=333.0)
    make(root, "er", 1234, 83.0, 18.0, about={"tuned": {"file": "tuned.yaml"}})
    make(root, "mas", 1234, 50.0, -1.5)  # it learned backwards
    fail(root, "mas", 1235)
    fail(root, "lwf", 1234)
    make(root, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", complete=False)
    make(root, "er", 1234, 77.0, 4.0, dataset="wisdm", complete=False)
    make(root, "odd", 1234, 10.0, 80.0, title=AWFUL)
    make(root, "gr", 1234, 70.0, 10.0)


def tables(root: Path) -> dict[str, Table]:
    runs = collect(root)
    options = Options(data=root / "none")
    made = {name: TABLES[name](runs, options) for name in NAMES}
    made["ranked"] = TABLES["main"](runs, Options(ranks=True))
    made["transposed"] = transposed(made["main"])
    for name in ("main", "ablation"):
        made[f"{name} and paper"] = TABLES[name](runs, Options(compare=paper()))
    judged = verdicts(runs, paper())
    made["verdict"] = verdict_table(runs, [j for j in judged if j.verdict != "not run"])
    made["verdict"].note("All:", verdict_line(judged))
    return made


FORMATS: dict[str, Callable[[Table, str, int], str]] = {
    "report.md": markdown,
    "report.tex": latex,
    "report.csv": as_csv,
    "report.json": as_json,
    "report.txt": partial(terminal, width=100),
}


def rendered(name: str, root: Path) -> str:
    made = tables(root)
    if name.endswith(".json"):  # long, and the same for all tables
        made = {"ranks": made["ranks"]}
    return "\n".join(FORMATS[name](table, "std", 2) for table in made.values())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    fill(root)
    return root


@pytest.mark.parametrize("name", FORMATS)
def test_formats(results: Path, name: str) -> None:
    expected = (GOLDEN / name).read_text(encoding="utf-8")
    assert rendered(name, results) == expected, "see the top of this file"


def rows(results: Path, name: str) -> list[dict[str, str]]:
    """A table, rendered now and read back."""
    return list(csv.DictReader(io.StringIO(as_csv(tables(results)[name], "std", 2))))


def test_accuracies_by_hand(results: Path) -> None:
    main = {
        (r["Data set"], r["column"][:3], r["Method"]): (r["mean"], r["std"], r["seeds"], r["text"])
        for r in rows(results, "main")
    }
    spread = str(math.sqrt(2.5))  # of five numbers one apart: (4 + 1 + 0 + 1 + 4) / 4 = 2.5
    assert main["UWave", "A_T", "ER"] == ("82.0", spread, "5", "")
    assert main["UWave", "F_T", "ER"] == ("18.0", spread, "5", "")
    assert main["DSA", "F_T", "ER"] == ("14.5", spread, "5", "")
    assert main["UWave", "A_T", "DER"] == ("97.5", "", "1", "")
    assert main["UWave", "F_T", "MAS"] == ("-1.5", "", "1", "")
    assert main["UWave", "F_T", "Offline"] == ("", "", "", "N.A.")
    assert main["UWave", "A_T", "LwF"] == ("", "", "", "failed")
    assert main["DSA", "A_T", "DER"] == ("", "", "", "–"), "not run"
    assert main["WISDM†", "A_T", "TS-ACL"] == ("88.0", "", "1", "")
    assert main["UWave", "A_T", AWFUL] == ("10.0", "", "1", "")
    assert main["UWave", "A_T", "ER (tuned)"] == ("83.0", "", "1", "")


def test_costs_and_statistics_by_hand(results: Path) -> None:
    time = {(r["Data set"], r["column"], r["Method"]): r["mean"] for r in rows(results, "time")
            if r["Machine"] == "[1]"}  # fmt: skip
    assert time["UWave", "s", "ER"] == "102.0"
    assert time["UWave", "/ TS-ACL", "ER"] == "51.0"
    assert time["DSA", "/ TS-ACL", "ER"] == "5.0"
    memory = {(r["Method"], r["column"]): r["text"] for r in rows(results, "memory")}
    assert memory["Deep", "total"] == "628 B"  # 128 of statistics and 500 of parameters
    pairs = {(r["Data set"], r["Method"], r["column"]): r["text"] for r in rows(results, "pairs")}
    assert pairs["UWave", "ER", "A_T − TS-ACL"] == "-10.00"
    # Differences 2, 1, 0, −1, −2: mean 0, and t(4) · √2.5 / √5 = 2.776 · 0.7071 = 1.963
    assert pairs["DSA", "ER", "A_T − TS-ACL"] == "+0.00"
    assert (pairs["DSA", "ER", "from"], pairs["DSA", "ER", "to"]) == ("-1.96", "+1.96")
    assert pairs["DSA", "ER", "differs"] == "no"
    ranks = {(r["Method"], r["column"]): r["text"] for r in rows(results, "ranks")}
    assert ranks["TS-ACL", "DSA"] == ranks["ER", "DSA"] == "1.5"
    assert ranks["TS-ACL", "average"] == "1.17"  # (1 + 1.5 + 1) / 3
    ranked = {r["Method"]: r["text"] for r in rows(results, "ranked")
              if (r["Data set"], r["column"]) == ("DSA", "rank") and r["text"] != "–"}  # fmt: skip
    assert ranked == {"ER": "1–2", "TS-ACL": "1–2"}


def test_marks_by_hand(results: Path) -> None:
    def marked(column: str, mark: str) -> list[str]:
        return [
            r["Method"] for r in rows(results, "main")
            if (r["Data set"], r["column"][:3], r["mark"]) == ("UWave", column, mark)
        ]  # fmt: skip

    assert marked("A_T", "best") == ["TS-ACL", "TS-ACL-E"], "both, as shown"
    assert marked("A_T", "second") == ["Deep"], "86.00; DER has 97.50, but one seed"
    assert marked("A_T", "unranked") == ["MAS", "GR", "ER (tuned)", "DER", AWFUL]
    assert marked("F_T", "best") == ["TS-ACL-E"], "MAS has -1.50, but one seed"
    assert marked("F_T", "second") == ["TS-ACL"]
    tex = rendered("report.tex", results)
    assert r"a\_b\textless{}c\textgreater{}\&\$" in tex
    assert "?" not in tex, "every sign of ours has a LaTeX form"
    assert r"a\_b&lt;c&gt;&amp;\$" in rendered("report.md", results)


def test_json_reads_back(results: Path) -> None:
    made = json.loads(as_json(tables(results)["main"], "std", 2))
    assert made["groups"] == [["UWave", 2], ["DSA", 2], ["WISDM†", 2]]
    (er,) = [row for row in made["rows"] if row["headers"] == ["ER"]]
    assert er["cells"][0]["figure"] == {"mean": 82.0, "std": math.sqrt(2.5), "seeds": 5}


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        for name in FORMATS:
            (GOLDEN / name).write_text(rendered(name, Path(folder)), encoding="utf-8")
