"""Every table in every format against files that were read through by hand.

When a table is changed on purpose, write them anew and look at what git shows:

    python tests/test_golden.py
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for running it as a program

from handmade import fail, make

from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.render import as_csv, as_json, latex, markdown, terminal, transposed
from tsbench.report.table import Options, Table
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_line, verdict_table, verdicts

GOLDEN = Path(__file__).parent / "golden"
AWFUL = "a_b<c>&$"
SEEDS = range(1234, 1239)


def fill(root: Path) -> None:
    """Ties, one seed, failures, missing methods, partial data, no values, an awful name."""
    for i, seed in enumerate(SEEDS):
        make(root, "naive", seed, 99.0 + i / 10, 98.0)
        make(root, "offline", seed, 96.0)
        make(root, "er", seed, 80.0 + i, 20.0 - i, seconds=100.0 + i)
        make(root, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0)
        make(root, "ts-acl-e", seed, 90.001 + i, 2.0, seconds=4.0)  # 92.001: a tie as shown
        make(root, "ts-acl-deep", seed, 85.0 + i / 2, 9.0, seconds=1.5, statistics=128)
        make(root, "er", seed, 60.0, 12.5 + i, dataset="dsa", seconds=50.0)
        make(root, "ts-acl", seed, 60.0 + (i - 2), 12.5, dataset="dsa", seconds=10.0)
    make(root, "der", 1234, 85.5, 11.25, cpu="B", seconds=333.0)
    make(root, "er", 1234, 83.0, 18.0, about={"tuned": {"file": "tuned.yaml"}})
    make(root, "mas", 1234, 50.0, -1.5)  # it learned backwards
    fail(root, "mas", 1235)
    fail(root, "lwf", 1234)
    make(root, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", complete=False)
    make(root, "er", 1234, 77.0, 4.0, dataset="wisdm", complete=False)
    make(root, "odd", 1234, 10.0, 90.0)
    make(root, "gr", 1234, 70.0, 10.0)
    make(root, "gr", 1235, 72.0, 10.0)
    _change(root, "odd", 1234, label=AWFUL)
    _change(root, "gr", 1235, result={"A_T": float("nan"), "F_T": None, "curve": [None, None]})


def _change(root: Path, method: str, seed: int, **changes: object) -> None:
    path = root / "exp-ln-100" / "uwave" / method / f"seed-{seed}.json"
    record = json.loads(path.read_text())
    for key, value in changes.items():
        record[key] = {**record[key], **value} if isinstance(value, dict) else value
    path.write_text(json.dumps(record))


def tables(root: Path) -> list[Table]:
    runs = collect(root)
    options = Options(data=root / "none")
    made = [make_table(runs, options) for make_table in TABLES.values()]
    made.append(transposed(made[0]))
    made += [TABLES[name](runs, Options(compare=paper())) for name in ("main", "ablation")]
    judged = verdicts(runs, paper())
    made.append(verdict_table([j for j in judged if j.verdict != "not run"]))
    made[-1].notes[""] = verdict_line(judged)
    return made


def _terminal(table: Table, spread: str, digits: int) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        terminal(table, spread, digits, 200)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


FORMATS: dict[str, Callable[[Table, str, int], str]] = {
    "report.md": markdown,
    "report.tex": latex,
    "report.csv": as_csv,
    "report.json": as_json,
    "report.txt": _terminal,
}


def rendered(name: str, root: Path) -> str:
    chosen = tables(root)
    if name.endswith(".json"):  # long, and the same for all tables
        chosen = [table for table in chosen if table.name == "ranks"]
    return "\n".join(FORMATS[name](table, "std", 2) for table in chosen)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    fill(root)
    return root


@pytest.mark.parametrize("name", FORMATS)
def test_formats(results: Path, name: str) -> None:
    expected = (GOLDEN / name).read_text(encoding="utf-8")
    assert rendered(name, results) == expected, "see the top of this file"


def golden_table(name: str, place: int = 0) -> list[dict[str, str]]:
    """One table out of the CSV file: tables follow one another after an empty line."""
    blocks = (GOLDEN / "report.csv").read_text(encoding="utf-8").split("\n\n")
    return list(csv.DictReader(io.StringIO(blocks[list(TABLES).index(name) + place])))


def test_numbers_by_hand() -> None:
    main = {
        (r["Data set"], r["Metric"][:3], r["column"]): (r["mean"], r["std"], r["seeds"], r["text"])
        for r in golden_table("main")
    }
    spread = str(math.sqrt(2.5))  # of five numbers one apart: (4 + 1 + 0 + 1 + 4) / 4 = 2.5
    assert main["UWave", "A_T", "ER"] == ("82.0", spread, "5", "")
    assert main["UWave", "F_T", "ER"] == ("18.0", spread, "5", "")
    assert main["DSA", "F_T", "ER"] == ("14.5", spread, "5", "")
    assert main["UWave", "A_T", "DER"] == ("85.5", "", "1", "")
    assert main["UWave", "A_T", "GR"] == ("70.0", "", "1", ""), "NaN is no value"
    assert main["UWave", "F_T", "MAS"] == ("-1.5", "", "1", "")
    assert main["UWave", "F_T", "Offline"] == ("", "", "", "N.A.")
    assert main["UWave", "A_T", "LwF"] == ("", "", "", "failed")
    assert main["DSA", "A_T", "DER"] == ("", "", "", "–"), "not run"
    assert main["WISDM†", "A_T", "TS-ACL"] == ("88.0", "", "1", "")
    assert main["UWave", "A_T", AWFUL] == ("10.0", "", "1", "")
    assert main["UWave", "A_T", "ER (tuned)"] == ("83.0", "", "1", "")
    time = {(r["Data set"], r["row"], r["column"]): r for r in golden_table("time") if r["mean"]}
    assert time["UWave", "s", "ER"]["mean"] == "102.0"
    assert time["UWave", "/ TS-ACL", "ER"]["mean"] == "51.0"
    assert time["DSA", "/ TS-ACL", "ER"]["mean"] == "5.0"
    memory = {(r["Method"], r["column"]): r["text"] for r in golden_table("memory")}
    assert memory["Deep", "kept in all"] == "628 B"  # 128 of statistics and 500 of parameters
    pairs = {(r["Data set"], r["Method"], r["column"]): r["text"] for r in golden_table("pairs")}
    assert pairs["UWave", "ER", "A_T − TS-ACL"] == "-10.00"
    # Differences 2, 1, 0, −1, −2: mean 0, and t(4) · √2.5 / √5 = 2.776 · 0.7071 = 1.963
    assert pairs["DSA", "ER", "A_T − TS-ACL"] == "+0.00"
    assert (pairs["DSA", "ER", "from"], pairs["DSA", "ER", "to"]) == ("-1.96", "+1.96")
    assert pairs["DSA", "ER", "told apart"] == "no"
    ranks = {(r["Method"], r["column"]): r["text"] for r in golden_table("ranks")}
    assert ranks["TS-ACL", "DSA"] == ranks["ER", "DSA"] == "1.5"
    assert ranks["TS-ACL", "average rank"] == "1.17"  # (1 + 1.5 + 1) / 3


def test_marks_by_hand() -> None:
    text = (GOLDEN / "report.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    names, uwave, forgetting = ([c.strip() for c in row.split(" | ")] for row in rows[:3])
    cells = dict(zip(names, uwave, strict=True))
    assert [n for n, c in cells.items() if "**" in c] == ["TS-ACL", "TS-ACL-E"], "both, as shown"
    assert [n for n, c in cells.items() if "<u>" in c] == ["Deep"], "87.00 before 85.50"
    cells = dict(zip(names, forgetting, strict=True))
    assert [n for n, c in cells.items() if "**" in c] == ["MAS"]
    assert [n for n, c in cells.items() if "<u>" in c] == ["TS-ACL-E"]
    assert r"a\_b&lt;c&gt;&amp;\$" in names[-1]
    tex = (GOLDEN / "report.tex").read_text(encoding="utf-8")
    assert r"a\_b\textless{}c\textgreater{}\&\$" in tex
    assert "?" not in tex, "every sign of ours has a LaTeX form"


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        for name in FORMATS:
            (GOLDEN / name).write_text(rendered(name, Path(folder)), encoding="utf-8")
