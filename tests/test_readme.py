"""What the README shows is what the committed records say."""

from __future__ import annotations

import re

import pytest
import readme

pytestmark = pytest.mark.skipif(not readme.RECORDS.is_dir(), reason="no committed records here")


@pytest.mark.parametrize("page", readme.PAGES, ids=lambda page: page.name)
def test_tables_are_what_the_records_say(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(readme.BLOCK.findall(text)) >= 2
    assert readme.with_tables(text) == text, "run: python tests/readme.py"


def test_figures_were_made_from_these_records() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert readme.MADE_FROM.search(text)
    assert readme.with_digest(text) == text, "run: python tests/readme.py"
    for command in readme.FIGURES:
        assert (readme.ROOT / command.rpartition(" ")[2]).is_file()
        assert command.rpartition(" ")[2] in text


def test_each_cell_that_is_off_has_its_sentence_and_no_other() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert set(re.findall(r"^- \*\*(\S+) on (\S+)\*\*", text, re.MULTILINE)) == readme.cells_off()
