"""The page: one file that needs nothing else."""

from __future__ import annotations

import html.parser
import json
import re
import time
from pathlib import Path

import pytest
from page_results import AWFUL, OPTIONS, fill, many
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.report.page.build import embedded, page
from tsbench.report.records import collect


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return fill(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def text(results: Path) -> str:
    return page(collect(results), OPTIONS, "std")


class Markup(html.parser.HTMLParser):
    """Elements of the file as a browser that runs no script sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.tags.append(tag)
        self.links += [v for name, v in attributes if name in ("src", "href")]


def test_it_holds_all_it_needs(text: str) -> None:
    seen = Markup(text)
    assert seen.links == ["#summary"], "nothing to fetch"
    assert "img" not in seen.tags and seen.tags.count("script") == 2
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_the_same_records_give_the_same_bytes(results: Path, text: str) -> None:
    assert page(collect(results), OPTIONS, "std") == text


def test_embedded_data_reads_back_and_ends_no_script() -> None:
    data = {"name": AWFUL + "\u2028<!--", "value": [1.5, None]}
    written = embedded(data)
    assert json.loads(written) == data
    assert not set(written) & set("<>&\u2028")
    with pytest.raises(ValueError):
        embedded(float("nan"))


def test_the_command_writes_a_folder_or_a_file(results: Path, tmp_path: Path) -> None:
    def report(out: Path | None, *more: str):
        where = [] if out is None else ["--out", str(out)]
        folders = ["--results", str(results), "--data", "nowhere"]
        return CliRunner().invoke(app, ["report", "--format", "html", *where, *folders, *more])

    assert report(tmp_path / "some" / "report").exit_code == 0
    first = (tmp_path / "some" / "report" / "index.html").read_text()
    told = report(tmp_path / "mine.html")
    assert (told.exit_code, told.stdout) == (0, "")
    assert (tmp_path / "mine.html").read_text() == first
    assert report(None).stdout == first
    assert report(tmp_path / "mine.html" / "in").exit_code == 2
    assert "TS-ACL-E" not in report(None, "--method", "er").stdout


def test_ten_thousand_runs_take_seconds_and_few_bytes() -> None:
    runs = many(10_000)
    started = time.process_time()
    made = page(runs, OPTIONS, "std")
    assert time.process_time() - started < 6
    assert len(made) < 500 * 10_000
