"""The page: one file that needs nothing else, and what Python writes into it."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
import time
from datetime import date
from pathlib import Path
from urllib.parse import unquote

import pytest
from page_records import AWFUL, OPTIONS, fill, make, many
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.protocol.rules import Protocol
from tsbench.report.leaderboard import board, leaderboard_table, machines
from tsbench.report.page.build import embedded, page
from tsbench.report.page.commands import run_command
from tsbench.report.page.context import make_context
from tsbench.report.page.details import mean_matrix
from tsbench.report.page.plots import figures
from tsbench.report.records import collect
from tsbench.report.render import as_csv

DAY = date(2026, 1, 31)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return fill(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def text(results: Path) -> str:
    runs = collect(results)
    both = [runs, *runs.others]
    return page(both, OPTIONS, results, "tsbench report --format html", DAY)


class Markup(html.parser.HTMLParser):
    """Elements of the file as a browser that runs no script sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.tags.append(tag)
        self.links += [v for name, v in attributes if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def contents(text: str) -> dict:
    return json.loads(re.search(r'id="contents">(.*?)</script>', text, re.S)[1])


def test_it_holds_all_it_needs(text: str) -> None:
    seen = Markup(text)
    assert "img" not in seen.tags and seen.tags.count("script") == 2
    assert seen.tags.count("style") == 1, "a colour in a record cannot end the style"
    fetched = [link for link in seen.links if not link.startswith(("#", "data:text/csv,", "data:"))]
    assert all(link.startswith("https://arxiv.org/") for link in fetched), "links for people only"
    assert not re.search(r"url\(|@import", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_names_stay_names(text: str) -> None:
    assert AWFUL in "".join(Markup(text).words)
    assert any(method["title"] == AWFUL for method in contents(text)["methods"])


def test_the_same_records_give_the_same_bytes(results: Path) -> None:
    made = [page([collect(results)], OPTIONS, results, "", DAY) for _ in range(2)]
    assert made[0] == made[1]


def test_the_footer_says_how_the_page_was_made(text: str) -> None:
    footer = "".join(Markup(text[text.index("<footer>") : text.index("</footer>")]).words)
    for expected in ("tsbench 0", "2026-01-31", "tsbench report --format html", "TS-ACL"):
        assert expected in footer


def test_every_protocol_but_those_of_tuning_has_its_table(text: str) -> None:
    assert [about["name"] for about in contents(text)["protocols"]] == ["exp-ln-100", "exp-bn-100"]


def test_standings(results: Path) -> None:
    """Ranked ones first; TS-ACL and TS-ACL-E differ by 0.001 at every seed, so apart but close."""
    found = board(collect(results))["uwave"]
    names = [each.entry.method for each in found]
    assert names == [
        "ts-acl-e", "ts-acl", "er", "aser", "offline", "naive",
        "der", "mas+strength=7", "odd", "lwf",
    ]  # fmt: skip
    assert [str(each.rank) for each in found[:4]] == ["1", "2", "3", "4"]
    assert [each.rank for each in found[4:]] == [None] * 6
    assert [each.full for each in found] == [True] * 6 + [False] * 4
    assert [each.seeds for each in found[3:8]] == ["5", "5", "5", "(1)", "(1)"]
    assert [each.submitted for each in found] == [False] * 8 + [True, False]


def test_times_are_those_of_one_machine_that_was_not_busy(results: Path) -> None:
    found = board(collect(results))
    first, second = machines(found)
    assert "cpu: A" in first and "cpu: B" in second
    seconds = {each.entry.method: each.seconds for each in found["uwave"]}
    assert (seconds["aser"][first].mean, seconds["aser"][first].seeds) == (30, 4)
    assert first not in seconds["der"] and seconds["der"][second].mean == 10


def test_downloads_are_what_the_command_prints(results: Path, text: str) -> None:
    links = [link for link in Markup(text).links if link.startswith("data:text/csv")]
    table = leaderboard_table(collect(results), OPTIONS)
    saved = unquote(links[0].partition(",")[2])
    assert saved == as_csv(table, "std", 2)
    printed = CliRunner().invoke(
        app, ["report", "--table", "leaderboard", "--format", "csv", "--results", str(results)]
    )
    assert list(csv.reader(io.StringIO(printed.stdout))) == list(csv.reader(io.StringIO(saved)))


def test_a_command_repeats_a_run_with_all_that_was_set(results: Path) -> None:
    record = collect(results).get("uwave", "mas+strength=7").finished[0]
    checkout, run = run_command(record, [1234]).splitlines()
    assert checkout == "git checkout 0123456789ab"
    assert run.startswith("tsbench run --method mas --dataset uwave --seed 1234 --stream exp")
    assert run.endswith("--set strength=7")


def test_a_command_names_the_rules_that_are_not_the_published_ones(tmp_path: Path) -> None:
    make(tmp_path, "er", 1, 80.0, 3.0, spec={"protocol": Protocol(split="subject")})
    record = collect(tmp_path).get("uwave", "er").finished[0]
    assert "--norm ln --split subject" in run_command(record, [1])
    assert "unseen subjects" in page([collect(tmp_path)], OPTIONS)


def test_the_front_holds_what_nothing_beats(results: Path) -> None:
    runs = collect(results)
    found = board(runs)
    panel = figures(found, make_context([runs], OPTIONS, results))["time"][0]
    assert panel["front"] == [(2, 92), (10, 92.001)], "TS-ACL, then TS-ACL-E"
    assert [series["points"][0][:2] for series in panel["series"] if series["front"]] == [
        [10, 92.001], [2, 92],
    ]  # fmt: skip


def test_the_mean_matrix_has_what_all_runs_have() -> None:
    one, other = [[90.0], [80.0, None]], [[80.0], [60.0, 70.0]]
    records = [{"result": {"accuracy": matrix}} for matrix in (one, other)]
    assert mean_matrix(records) == [[85.0], [70.0, None]]
    assert mean_matrix([*records, {"result": {"accuracy": [None, [1.0, 2.0]]}}])[0] is None


def test_embedded_data_reads_back_and_ends_no_script() -> None:
    data = {"name": AWFUL + "\u2028<!--", "value": [1.5, None]}
    written = embedded(data)
    assert json.loads(written) == data
    assert "</" not in written and "<!--" not in written
    with pytest.raises(ValueError):
        embedded(float("nan"))


def test_the_command_writes_a_folder_or_a_file(results: Path, tmp_path: Path) -> None:
    def report(out: Path | None, *more: str):
        where = [] if out is None else ["--out", str(out)]
        folders = ["--results", str(results), "--data", "nowhere"]
        return CliRunner().invoke(app, ["report", "--format", "html", *where, *folders, *more])

    assert report(tmp_path / "some" / "report").exit_code == 0
    first = (tmp_path / "some" / "report" / "index.html").read_text()
    written = report(tmp_path / "mine.html")
    assert (written.exit_code, written.stdout) == (0, "")
    assert (tmp_path / "mine.html").read_text() == first == report(None).stdout
    assert report(tmp_path / "mine.html" / "in").exit_code == 2
    assert "TS-ACL-E" not in report(None, "--method", "er").stdout


def test_two_thousand_runs_take_seconds_and_few_bytes() -> None:
    runs = many(2_000)
    started = time.process_time()
    made = page([runs], OPTIONS)
    assert time.process_time() - started < 5
    assert len(made) < 1500 * 2_000
