"""Every table compiles in IEEEtran and in article: nothing too wide, nothing made smaller."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from handmade_records import make

from tsbench.protocol.rules import PAPER_DATASETS, PAPER_METHODS
from tsbench.report.latex import escape, latex
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.render import transposed
from tsbench.report.table import Cell, Options, Row, Table
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_table, verdicts

AWFUL = "[*a_b<c>&$~^{}\\|é手%#"
CLASSES = {
    "ieee": r"\documentclass[journal]{IEEEtran}",
    "article": r"\documentclass{article}",
    "two-column": r"\documentclass[twocolumn]{article}",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All methods on all data sets with wide numbers, and what tables have footnotes for."""
    root = tmp_path_factory.mktemp("results")
    for d, dataset in enumerate(PAPER_DATASETS):
        for m, method in enumerate((*PAPER_METHODS, "ts-acl-r", "ts-acl-deep", "ts-acl-deep-rhl")):
            for i in range(2 if m % 4 == 2 else 5):
                forgetting = None if method == "offline" else 12.0 + 5 * i
                make(root, method, 1234 + i, 20.0 + 3 * m + 4 * i - d, forgetting, dataset, d != 4,
                     seconds=12345.0 * (m + i + 1))  # fmt: skip
    changed = {"logits": 1.0, "maps": 0.001, "prototypes": 10.0, "schedule": "onecycle"}
    make(root, "dt2w", 1234, 55.5, 12.25, about={"changed": changed, "settings": changed})
    make(root, "gr", 1, 50.0, 9.0, dataset="uci-har", about={"settings": {"reconstruction": 7}})
    make(root, "odd", 1, 50.0, 9.0, title=AWFUL)
    make(root, "er", 1234, 44.5, 12.25, about={"split": "subject"})
    return root


def tables(root: Path) -> list[Table]:
    runs = collect(root)
    made = [make_table(runs, Options(data=root)) for make_table in TABLES.values()]
    made.append(TABLES["main"](runs, Options(ranks=True)))
    made.append(transposed(TABLES["main"](collect(root, methods=["er", "der"]), Options())))
    made += [TABLES[name](runs, Options(compare=paper())) for name in ("main", "ablation")]
    made.append(verdict_table(runs, verdicts(runs, paper())))
    return made


def compiled(body: str, kind: str, folder: Path) -> str:
    """What TeX says; it has to say that all went well."""
    (folder / "paper.tex").write_text(
        f"{CLASSES[kind]}\n\\usepackage{{booktabs,xcolor}}\n\\begin{{document}}\n{body}\n"
        "\\end{document}\n"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "TFM" in done.stdout or "File `IEEEtran.cls' not found" in done.stdout:
        pytest.skip("this TeX has no IEEEtran, or not its fonts")
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no TeX on this machine")
@pytest.mark.parametrize("kind", CLASSES)
def test_every_table_compiles_and_fits(results: Path, tmp_path: Path, kind: str) -> None:
    body = "\n".join(latex(table, "std", 2) for table in tables(results))
    body = re.sub(r"(\\end\{table\*?\})", r"\1\\clearpage", body)
    said = compiled(body, kind, tmp_path)
    assert "Overfull" not in said
    assert "Float too large" not in said


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no TeX on this machine")
def test_the_width_of_the_text_can_be_chosen(results: Path, tmp_path: Path) -> None:
    table = TABLES["main"](collect(results, methods=[*PAPER_METHODS]), Options())
    for width, kind in ((345.0, "article"), (516.0, "ieee")):
        assert "Overfull" not in compiled(latex(table, "std", 2, width), kind, tmp_path)
    wide, narrow = (latex(table, "std", 2, width).count(r"\begin{table") for width in (516, 345))
    assert wide < narrow


def test_nothing_is_scaled_or_tiny(results: Path) -> None:
    r"""\footnotesize is 0.8 of the text, \scriptsize only for what follows ±."""
    for table in tables(results):
        text = latex(table, "std", 2)
        assert "resizebox" not in text
        assert "scalebox" not in text
        assert r"\tiny" not in text
        assert text.count(r"\footnotesize") == text.count(r"\begin{table")
        assert text.count(r"\scriptsize") == text.count(r"{\scriptsize$\pm$")


def test_what_a_paper_expects(results: Path) -> None:
    text = latex(TABLES["main"](collect(results, methods=[*PAPER_METHODS]), Options()), "std", 2)
    assert "|" not in text, "no vertical rules"
    assert r"\multicolumn{2}{c}{UCI-HAR}" in text
    assert r"\cmidrule(lr){2-3}" in text
    assert "DT$^2$W" in text
    assert r"$\mathcal{A}_T$ $\uparrow$ & $\mathcal{F}_T$ $\downarrow$" in text
    assert re.search(r"^TS-ACL & ", text, re.MULTILINE), "methods are rows"
    assert r"\underline{" in text
    assert r"\textbf{" in text
    assert r"\textcolor{gray}{" in text
    assert text.startswith("% needs \\usepackage{booktabs,xcolor}")
    assert text.count("&") == text.count(" & "), "every ampersand is a column"


def test_notes_stand_only_under_tables_they_concern(results: Path) -> None:
    text = latex(TABLES["main"](collect(results, methods=["ts-acl", "gr"]), Options()), "std", 2)
    parts = text.split(r"\begin{table")[1:]
    assert len(parts) > 1
    for part in parts:
        assert ("partial data" in part) == (r"{WISDM$\dagger$}" in part)
        assert ("no longer the defaults" in part) == (r"{UCI-HAR}" in part)
        notes = part.split(r"\end{tabular}")[1]
        assert "size" not in notes, "in the type of the body"


def test_the_ablation_table_is_the_papers(results: Path) -> None:
    runs = collect(results, datasets=["uci-har", "uwave"])
    text = latex(TABLES["ablation"](runs, Options()), "none", 2)
    rows = [line.split(" & ")[0] for line in text.splitlines() if line.startswith("Deep")]
    assert rows == ["Deep", "Deep+RHL", "Deep+RHL+Fusion"]
    assert r" & \multicolumn{2}{c}{UCI-HAR} & \multicolumn{2}{c}{UWave} \\" in text
    assert r"Components & $\mathcal{A}_T$ $\uparrow$ & VR $\uparrow$ & " in text
    assert r"\textbf{" in text
    assert r"\underline{" not in text


def test_narrow_tables_go_into_a_column(results: Path) -> None:
    runs = collect(results, datasets=["uwave"], methods=["er", "ts-acl"])
    assert r"\begin{table}" in latex(TABLES["main"](runs, Options()), "std", 2)
    assert r"\begin{table*}" in latex(TABLES["memory"](runs, Options()), "std", 2)


def test_long_tables_come_in_parts() -> None:
    def rows(count: int, every: int) -> list[Row]:
        return [Row((f"r{i}",), [Cell(text=str(i))], rule=i % every == 0) for i in range(count)]

    for count, every, sizes in (
        (40, 17, [40]),
        (85, 17, [34, 34, 17]),
        (44, 1000, [40, 4]),
        (81, 40, [40, 40, 1]),
    ):
        text = latex(Table("t", "Caption.", ("h",), ["c"], rows(count, every)), "std", 2)
        parts = text.split(r"\begin{table}")[1:]
        assert [len(re.findall(r"^r\d+ & \d+ ", part, re.MULTILINE)) for part in parts] == sizes
        assert re.findall(r"^r(\d+) ", text, re.MULTILINE) == [str(i) for i in range(count)]
        assert (r"\label{tab:tsbench-t-2}" in text) == (len(sizes) > 1)


def test_foreign_text_is_text() -> None:
    assert escape("a_b<c>&$") == r"a\_b\textless{}c\textgreater{}\&\$"
    assert escape("手") == "?"
    assert escape("x-1 -2") == "x-1 $-$2"
