"""The page in a real browser: what a reader sees, presses and copies."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from page_records import AWFUL, OPTIONS, fill, many
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.report.page.build import page
from tsbench.report.records import collect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
ROWS = "section.protocol:visible .board tr.row:visible"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    return fill(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def file(results: Path, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "index.html"
    runs = collect(results)
    path.write_text(page([runs, *runs.others], OPTIONS, results, "x y"))
    return path


@pytest.fixture
def visit(browser, file: Path) -> Iterator:
    """Opens the page; at the end nothing was fetched and nothing went wrong."""
    wrong: list[str] = []
    contexts = []

    def opened(width: int = 1280, path: Path = file, query: str = "", **options: object):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: wrong.append(message.text))
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("dialog", lambda dialog: wrong.append("a dialog") or dialog.dismiss())
        tab.on("request", lambda r: r.url.startswith("file:") or wrong.append(r.url))
        tab.goto(path.as_uri() + query)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


def column(tab, place: int) -> list[str]:
    """The visible words of a column of the leaderboard."""
    return [
        words.strip() for words in tab.locator(f"{ROWS} > :nth-child({place})").all_inner_texts()
    ]


def names(tab) -> list[str]:
    return [words.splitlines()[0] for words in column(tab, 2)]


def sort_by(tab, key: str):
    head = tab.locator(f"section.protocol:visible th[data-key='{key}']")
    head.get_by_role("button").click()
    return head


def chip(tab, name: str):
    return tab.locator(f"#filters .chip[value='{name}']")


def address(tab) -> dict[str, list[str]]:
    return parse_qs(urlsplit(tab.url).query)


def copied(tab, button) -> str:
    button.click()
    button.get_by_text("Copied").wait_for()
    return tab.evaluate("navigator.clipboard.readText()")


def open_row(tab, method: str):
    tab.locator(f"{ROWS}[data-m='{method}'] > td.rank").first.click()
    return tab.locator("tr.details:visible")


def tip(tab) -> list[str]:
    """The lines beside the point that is read."""
    return tab.locator("#tip:visible > *").all_inner_texts()


UWAVE = [
    "TS-ACL-E",
    "TS-ACL",
    "ER",
    "ASER",
    "Offline",
    "Naive",
    "DER",
    "MAS (strength=7)",
    AWFUL,
    "LwF",
]


def test_the_leaderboard_comes_first(visit) -> None:
    tab = visit()
    assert names(tab) == [*UWAVE, "TS-ACL", "TS-ACL (tuned)"]
    assert column(tab, 1)[:5] == ["1", "2", "3", "4", "–"]
    assert column(tab, 8)[5:7] == ["5", "(1)"], "few seeds are in parentheses"
    assert column(tab, 9)[-1] == "22 of 51 subjects"
    grey = tab.locator(f"{ROWS}.pale").count()
    assert grey == 4, "methods with few seeds are grey"
    row = tab.locator(f"{ROWS}[data-m='odd']")
    assert "submitted, not reproduced by us" in tab.locator(".notes:visible").first.inner_text()
    assert row.locator(".badge").get_attribute("title") == "submitted, not reproduced by us"
    assert tab.locator("main img").count() == 0


def test_without_scripts_there_are_the_tables(visit) -> None:
    tab = visit(java_script_enabled=False)
    assert names(tab)[: len(UWAVE)] == UWAVE
    assert tab.locator("#filters").is_hidden()


def test_sorting_is_kept_in_the_address(visit) -> None:
    tab = visit()
    ways = []
    for _ in range(3):
        head = sort_by(tab, "F_T")
        ways.append((head.get_attribute("aria-sort"), names(tab)[:2], address(tab).get("sort")))
    assert ways == [
        ("ascending", ["TS-ACL-E", "TS-ACL"], ["F_T"]),
        ("descending", [AWFUL, "Naive"], ["-F_T"]),
        ("none", ["TS-ACL-E", "TS-ACL"], None),
    ]
    sort_by(tab, "method")
    assert [n.lower() for n in names(tab)[:10]] == sorted(n.lower() for n in UWAVE)
    again = visit(query=f"?{urlsplit(tab.url).query}")
    assert names(again) == names(tab)


def test_filters_reach_everything_and_are_kept_in_the_address(visit, results: Path) -> None:
    tab = visit()
    assert tab.locator("[data-figure=curves] .panel:visible").count() == 2
    chip(tab, "uwave").click()
    chip(tab, "er").click()
    chip(tab, "ts-acl").click()
    assert names(tab) == ["TS-ACL", "ER"]
    assert address(tab) == {"dataset": ["uwave"], "method": ["er", "ts-acl"]}
    assert tab.locator("[data-figure=curves] .panel:visible h4").all_inner_texts() == ["UWave"]
    drawn = tab.locator("[data-figure=curves] .series:visible")
    assert drawn.count() == 2
    tab.locator("summary", has_text="Accuracy and forgetting").first.click()
    table = tab.locator("details.table[open] table")
    assert table.locator("tbody tr:visible th[scope=row]").all_inner_texts() == ["ER", "TS-ACL"]
    again = visit(query=f"?{urlsplit(tab.url).query}")
    assert names(again) == ["TS-ACL", "ER"]
    tab.get_by_role("button", name="Show everything").click()
    assert len(names(tab)) == 12 and address(tab) == {}


def test_the_command_prints_what_the_filters_leave(visit, results: Path) -> None:
    tab = visit()
    chip(tab, "uwave").click()
    chip(tab, "er").click()
    button = tab.get_by_role("button", name="Copy the command for this table").first
    words = shlex.split(copied(tab, button))
    assert words[:4] == ["tsbench", "report", "--table", "leaderboard"]
    assert words[-4:] == ["--dataset", "uwave", "--method", "er"]
    printed = CliRunner().invoke(app, [*words[1:], "--format", "markdown"])
    assert printed.exit_code == 0
    lines = [line for line in printed.stdout.splitlines() if line.startswith("| UWave")]
    assert len(lines) == 1 and "ER" in lines[0]


def test_a_row_opens_by_click_and_by_keyboard(visit) -> None:
    tab = visit()
    shown = open_row(tab, "ts-acl")
    button = tab.locator(f"{ROWS}[data-m='ts-acl']").first.get_by_role("button")
    assert button.get_attribute("aria-expanded") == "true"
    titles = shown.locator("h4").all_inner_texts()
    assert titles[0].startswith("Average accuracy by task") and "Repeat these runs" in titles
    assert shown.locator(".series").count() == 5, "one line per seed"
    shown.get_by_role("button", name="Seed 1235").click()
    words = " ".join(shown.inner_text().split())
    for expected in ("after task 2 91.0 91.0", "90 10", "commit 0123456789ab", "total 2"):
        assert expected in words, expected
    button.focus()
    tab.keyboard.press("Enter")
    assert shown.count() == 0 and button.get_attribute("aria-expanded") == "false"
    tab.keyboard.press("Space")
    assert shown.count() == 1
    assert tab.evaluate("document.activeElement.className") == "open"


def test_an_opened_row_has_class_names_settings_and_the_command(visit) -> None:
    tab = visit()
    shown = open_row(tab, "mas+strength=7")
    words = " ".join(shown.inner_text().split())
    assert "gesture 3 (1) 90 10" in words, "classes by name in the order of learning"
    assert "strength 7 set by hand" in words
    command = copied(tab, shown.get_by_role("button", name="Copy repeat this run"))
    assert command == (
        "git checkout 0123456789ab\ntsbench run --method mas --dataset uwave --seed 1234 "
        "--stream exp --epochs 100 --norm ln --set strength=7"
    )
    open_row(tab, "lwf")
    assert "no luck" in tab.locator("tr.details:visible").last.inner_text()


def test_sorting_keeps_an_opened_row_below_its_own(visit) -> None:
    tab = visit()
    open_row(tab, "er")
    sort_by(tab, "method")
    above = tab.evaluate("document.querySelector('tr.details').previousSibling.dataset.m")
    assert above == "er"
    chip(tab, "ts-acl").click()
    assert tab.locator("tr.details:visible").count() == 0


def test_times_of_another_machine(visit) -> None:
    tab = visit()
    assert column(tab, 6)[3:7] == ["30 (4)", "10", "10", "–"]
    tab.locator("select.machine:visible").select_option(index=1)
    assert column(tab, 6)[3:7] == ["–", "–", "–", "10"]
    assert address(tab) == {"machine": ["2"]}
    assert tab.locator("[data-figure=time] .series:visible").count() == 1


def test_another_protocol(visit) -> None:
    tab = visit()
    assert tab.locator("section.protocol:visible").count() == 1
    chip(tab, "1").click()
    assert names(tab) == ["ER"] and address(tab) == {"protocol": ["exp-bn-100"]}
    assert names(visit(query="?protocol=exp-bn-100")) == ["ER"]


def test_an_address_that_fits_no_longer_shows_everything(visit) -> None:
    tab = visit(query="?dataset=gone&method=gone&machine=9&sort=gone&protocol=gone")
    assert len(names(tab)) == 12


def test_figures_tell_their_values(visit) -> None:
    tab = visit()
    plot = tab.locator("[data-figure=curves] .plot:visible").first
    plot.focus()
    tab.keyboard.press("ArrowRight")
    assert tip(tab) == ["TS-ACL-E", "94.00 ± 1.58 %", "after task 1", "5 seeds"]
    tab.keyboard.press("ArrowDown")
    assert tip(tab)[0] == "TS-ACL"
    assert "TS-ACL" in tab.locator("#announced").inner_text()
    tab.keyboard.press("Escape")
    assert not tip(tab)
    tab.locator("[data-figure=time] .marker:visible").first.hover()
    assert len(tip(tab)) == 4


def test_every_method_on_the_front_is_labelled(visit) -> None:
    tab = visit()
    winners = tab.locator("[data-figure=time] .panel:visible").first.locator(".winner")
    assert sorted(winners.all_text_contents()) == ["TS-ACL", "TS-ACL-E"]
    titles = tab.locator("[data-figure=time] .panel:visible").first.locator(".axis")
    assert titles.all_text_contents() == ["seconds of learning (log scale)", "average accuracy, %"]
    star = tab.locator("[data-figure=curves] .panel:visible").first.locator("[data-method]").last
    assert tab.evaluate("report.methods.map((m) => m.title)")[
        int(star.get_attribute("data-method"))
    ] == "Offline", "on top of the others"  # fmt: skip


def test_a_tap_shows_a_value(visit) -> None:
    tab = visit(390, has_touch=True)
    tab.locator("[data-figure=time] .marker:visible").first.tap()
    assert len(tip(tab)) == 4


def test_the_keyboard_is_enough(visit) -> None:
    tab = visit()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.locator("section.protocol:visible .scroll").first.focus()
    for _ in range(3):
        tab.keyboard.press("Tab")
    script = "getComputedStyle(document.activeElement).outlineWidth"
    assert tab.evaluate("document.activeElement.parentElement.dataset.key") == "A_T"
    assert tab.evaluate(script) == "2px"
    tab.keyboard.press("Enter")
    assert names(tab)[0] == "Offline", "highest accuracy first"


def brightness(tab, script: str) -> float:
    return sum(int(n) for n in re.findall(r"\d+", tab.evaluate(script))[:3]) / 3


def test_dark_light_and_paper(visit) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.body).color"
    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    assert brightness(light, background) > 240 > 60 > brightness(light, ink)
    assert brightness(dark, background) < 60 < 200 < brightness(dark, ink)
    marker = "getComputedStyle(document.querySelector('.marker')).fill"
    assert light.evaluate(marker) != dark.evaluate(marker)
    dark.emulate_media(media="print")
    assert brightness(dark, background) > 240, "paper is white"
    assert dark.locator("#filters").is_hidden() and dark.locator(".copy").first.is_hidden()


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_screen_never_scrolls_sideways(visit, width: int) -> None:
    tab = visit(width)
    open_row(tab, "er")
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    if width > 500:
        return
    table = tab.locator("section.protocol:visible .scroll").first
    table.evaluate("(e) => (e.scrollLeft = 200)")
    first = tab.locator(f"{ROWS} > th").first.bounding_box()["x"]
    assert first == pytest.approx(table.bounding_box()["x"], abs=1), "names stay in sight"


def test_many_runs_make_a_page_that_opens(visit, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    path.write_text(page([many(500)], OPTIONS))
    tab = visit(path=path)
    assert tab.locator(ROWS).count() == 96
    open_row(tab, "method3")
    assert tab.locator("tr.details .tabs .chip").count() > 5
