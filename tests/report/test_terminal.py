"""Plain text tables at every width: nothing cut, nothing broken, every method and figure there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from handmade_records import fail, make
from typer.testing import CliRunner

from tsbench.cli import options
from tsbench.cli.main import app
from tsbench.protocol.rules import PAPER_DATASETS, PAPER_METHODS
from tsbench.report.layout import terminal, text_list, text_table
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.table import Options, Table, parts
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_table, verdicts

WIDTHS = (80, 100, 120, 200)
SEEDS = range(1234, 1239)
OTHERS = ("ts-acl-r", "ts-acl-deep", "ts-acl-deep-rhl", "ewc")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All methods on all data sets, variants, a failure, and partial data."""
    root = tmp_path_factory.mktemp("results")
    for d, dataset in enumerate(PAPER_DATASETS):
        for m, method in enumerate((*PAPER_METHODS, *OTHERS)):
            for i, seed in enumerate(SEEDS):
                if method == "der" and seed > 1235:
                    continue
                forgetting = None if method == "offline" else 12.0 - i + m / 7
                costs = {"seconds": 3.0 + 40 * m**2 + i, "statistics": 10 ** (m % 9)}
                make(root, method, seed, 30.0 + 2.3 * m + d + i / 3, forgetting, dataset, d != 4,
                     **costs)  # fmt: skip
    changed = {"logits": 1.0, "maps": 0.001, "prototypes": 10.0, "schedule": "onecycle"}
    make(root, "dt2w", 1234, 55.5, 12.25, about={"changed": changed})
    make(root, "er", 1234, 66.5, 12.25, about={"tuned": {"file": "f"}}, cpu="B")
    fail(root, "mas", 9)
    make(root, "er", 1234, 44.5, 12.25, about={"split": "subject"})
    return root


def tables(root: Path) -> list[Table]:
    runs = collect(root)
    made = [make_table(runs, Options(ranks=True, data=root)) for make_table in TABLES.values()]
    made += [TABLES[name](runs, Options(compare=paper())) for name in ("main", "ablation")]
    made.append(verdict_table(runs, verdicts(runs, paper())))
    return made


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_table_fits_and_is_complete(results: Path, width: int) -> None:
    made = tables(results)
    assert {table.name for table in made} >= {*TABLES, "verdict"}
    for table in made:
        text = terminal(table, "std", 2, width)
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= width, table.name
        shown = text.split()
        for row in table.rows:
            for word in " ".join(row.headers).split():
                assert word in shown or any(word in other for other in shown), (table.name, word)
            for cell in row.cells:
                mean, spread = parts(cell, "std", 2)
                if cell.figure is None and cell.value is None:
                    assert all(word in shown for word in mean.split()), (table.name, mean)
                else:
                    assert f"{mean} ±{spread}" in text if spread else mean in text, table.name


@pytest.mark.parametrize("width", WIDTHS)
def test_cells_stand_in_their_rows_and_columns(results: Path, width: int) -> None:
    """Read the text back: under each header, in each method's row, stands that very number."""
    table = TABLES["main"](collect(results, methods=[*PAPER_METHODS]), Options())
    text = terminal(table, "std", 2, width)
    found: dict[tuple[str, str], list[str]] = {}
    for block in text.split("\n\n")[1:]:
        lines = block.splitlines()
        rule = next(line for line in lines if re.fullmatch(r"[- ]+", line))
        spans = [match.span() for match in re.finditer("-+", rule)]
        head = lines[: lines.index(rule)]
        datasets: list[str] = []
        for a, b in spans[1:]:
            datasets.append(head[0][a:b].strip() or datasets[-1])
        for line in lines[lines.index(rule) + 1 :]:
            cells = [line[a:b].strip() for a, b in spans]
            for dataset, cell in zip(datasets, cells[1:], strict=True):
                found.setdefault((cells[0], dataset), []).append(cell)
    for row in table.rows:
        for place, (dataset, _) in enumerate(table.groups):
            expected = row.cells[2 * place : 2 * place + 2]
            shown = found[row.headers[0], dataset]
            for cell, word in zip(expected, shown, strict=True):
                mean, spread = parts(cell, "std", 2)
                assert word.startswith(f"{mean} ±{spread}" if spread else mean)


def test_best_and_unranked_are_styled(results: Path) -> None:
    table = TABLES["main"](collect(results, datasets=["uwave"], methods=["all"]), Options())
    text = terminal(table, "std", 2, 80, styled=True)
    (der,) = [line for line in text.splitlines() if line.strip().startswith("DER")]
    assert der.count("\x1b[2m") == 2, "two seeds of five"
    (best,) = [line for line in text.splitlines() if line.strip().startswith("TS-ACL-E")]
    assert "\x1b[1m" in best
    plain = terminal(table, "std", 2, 80)
    assert re.sub(r"\x1b\[\d+m", "", text) == plain, "styles do not move columns"
    assert "\x1b" not in plain


def test_a_word_longer_than_the_terminal_is_not_cut() -> None:
    name = "x" * 100
    assert text_table(["a", "b"], [[name, "1"]], 80) is None
    assert name in text_list(["a", "b"], [["1", name]], 80)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("what", ["methods", "datasets"])
def test_lists_fit(what: str, width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # its name may be wider than the terminal
    monkeypatch.setattr(options, "PIPE_WIDTH", 10_000)
    wide = CliRunner().invoke(app, ["list", what]).stdout
    monkeypatch.setattr(options, "PIPE_WIDTH", width)
    narrow = CliRunner().invoke(app, ["list", what]).stdout
    assert max(map(len, narrow.splitlines())) <= width
    assert "…" not in narrow
    wanted = {w for w in wide.split() if not w.startswith("--")} - {"name"}  # a list has no header
    assert wanted <= {w for word in narrow.split() for w in (word, word.rstrip(":"))}


def test_the_command_prints_ranks_and_notes(results: Path) -> None:
    done = CliRunner().invoke(app, ["report", "--results", str(results), "--dataset", "uwave"])
    assert done.exit_code == 0, done.output
    assert "rank: by A_T; methods share a rank unless" in done.stdout
    assert "Beyond the paper\n  EWC" in done.stdout
    hidden = ["report", "--results", str(results), "--dataset", "uwave", "--no-ranks"]
    assert "rank:" not in CliRunner().invoke(app, hidden).stdout
