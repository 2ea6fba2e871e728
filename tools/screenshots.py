"""Pictures of the page for the README and the documentation, from the committed runs.

    python tools/screenshots.py

Needs the extra ``dev`` (playwright) and Chromium, which is started without a window.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tsbench.report.page.build import page, write_page
from tsbench.report.records import collect
from tsbench.report.table import Options

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
RECORDS = Path("results/reference")
COMMAND = "tsbench report --format html --results results/reference --out report/"
WIDTH, HEIGHT = 1280, 960
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def board(tab: Any) -> None:
    """The leaderboard of a data set on which every method has all seeds."""


def opened_row(tab: Any) -> None:
    """What a row opens to."""
    row = tab.locator("tr.row[data-m='ts-acl-r']:visible")
    row.locator("td.rank").click()
    row.evaluate("(e) => e.scrollIntoView()")


def figures(tab: Any) -> None:
    """Accuracy against time and memory."""
    tab.locator("figure:visible").first.evaluate("(e) => e.scrollIntoView()")


PICTURES = {
    "page.png": ("?dataset=uwave", "light", board),
    "page-row.png": ("?dataset=uwave", "light", opened_row),
    "page-figures.png": ("", "dark", figures),
}


def main() -> None:
    """Make the page in a temporary folder, and a picture of each of its parts."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("chromium is not installed")
    text = page([collect(ROOT / RECORDS)], Options(data=ROOT / "datasets"), RECORDS, COMMAND)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        file = write_page(text, Path(folder))
        browser = running.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, (query, scheme, prepare) in PICTURES.items():
            size = {"width": WIDTH, "height": HEIGHT}
            tab = browser.new_context(viewport=size, color_scheme=scheme).new_page()
            tab.goto(file.as_uri() + query)
            prepare(tab)
            tab.screenshot(path=FIGURES / name)
            print(f"docs/figures/{name}")
        browser.close()


if __name__ == "__main__":
    main()
