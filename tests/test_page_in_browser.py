"""The page in a real browser: what a reader sees, presses and copies."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_results import AWFUL, OPTIONS, fill, many

from tsbench.report.page.build import page
from tsbench.report.published import paper
from tsbench.report.records import collect
from tsbench.report.render import latex, markdown
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_table, verdicts

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


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
    path.write_text(page(collect(results), OPTIONS, "std"))
    return path


@pytest.fixture
def visit(browser, file: Path) -> Iterator:
    """Opens the page; at the end nothing was fetched and nothing went wrong."""
    wrong: list[str] = []
    contexts = []

    def opened(width: int = 1400, path: Path = file, **options: object):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: wrong.append(message.text))
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.on("dialog", lambda dialog: wrong.append("a dialog") or dialog.dismiss())
        tab.on("request", lambda r: r.url.startswith("file:") or wrong.append(r.url))
        tab.goto(path.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


def column(tab, section: str, place: int) -> list[str]:
    """The visible words of a column."""
    cells = tab.locator(f"#{section} tbody tr:not(.details) > :nth-child({place})")
    return [words for words in cells.all_inner_texts() if words]


def press(tab, section: str, name: str) -> None:
    tab.locator(f"#{section}").get_by_role("button", name=name, exact=True).click()


def copied(tab, section: str, name: str) -> str:
    button = tab.locator(f"#{section} .copies [aria-label$='as {name}']")
    button.click()
    button.get_by_text("Copied").wait_for()
    return tab.evaluate("navigator.clipboard.readText()")


def box(tab, name: str):
    """The checkbox of a filter."""
    return tab.locator(f"#filters input[value='{name}']")


def tip(tab) -> list[str]:
    """The lines beside the point that is read."""
    return tab.locator("#tip:visible > *").all_inner_texts()


def test_it_opens_and_names_stay_names(visit) -> None:
    tab = visit()
    assert tab.locator("main h2").all_inner_texts()[1:4] == [
        "Accuracy and forgetting", "Accuracy by task", "Learning time",
    ]  # fmt: skip
    assert tab.locator("main img").count() == 0
    press(tab, "runs", "Sort by Method")
    for place in ("#main tbody", "#filters", "#runs tbody", "#curves .legend"):
        assert AWFUL in tab.locator(place).inner_text()
    assert tab.locator("#summary .tiles dd").first.inner_text() == "33 2 failed"
    assert "WISDM is partial data: 22 of 51 subjects" in tab.locator("#summary").inner_text()


def test_without_scripts_there_is_the_main_table(visit, results: Path) -> None:
    shown = visit(java_script_enabled=False).locator("noscript pre").inner_text()
    assert shown.strip() == markdown(TABLES["main"](collect(results), OPTIONS), "std", 2).strip()


def test_copies_are_what_the_command_writes(visit, results: Path) -> None:
    runs = collect(results)
    tables = [make_table(runs, OPTIONS) for name, make_table in TABLES.items() if name != "ranks"]
    judged = [*verdicts(runs, paper()), *verdicts(runs, paper(), tuned=True)]
    judged = [j for j in judged if j.verdict != "not run"]
    tab = visit()
    for table in [*tables, verdict_table(judged)]:
        assert copied(tab, table.name, "LaTeX") == latex(table, "std", 2), table.name
        assert copied(tab, table.name, "Markdown") == markdown(table, "std", 2), table.name


def test_copies_of_what_filters_leave_have_new_winners(visit, results: Path) -> None:
    tab = visit()
    hidden = ["TS-ACL", "TS-ACL-E", "TS-ACL (tuned)", "WISDM"]
    for name in hidden:
        box(tab, name).uncheck()
    gone = ("ts-acl", "ts-acl-e", "ts-acl+tuned")
    methods = [m for m in collect(results).methods if m not in gone]
    runs = collect(results, datasets=["uwave"], methods=methods)
    for name in ("main", "time", "memory", "curves"):
        table = TABLES[name](runs, OPTIONS)
        if name == "time":  # relative to TS-ACL, which is only hidden here
            assert "TS-ACL-E" not in copied(tab, name, "Markdown").split("\n", 1)[1]
            continue
        assert copied(tab, name, "LaTeX") == latex(table, "std", 2)
    assert tab.locator("#main tr", has_text="DER").locator("strong").all_inner_texts() == [
        "85.50", "11.25",
    ]  # fmt: skip
    box(tab, "A_T").uncheck()
    lines = copied(tab, "main", "Markdown").splitlines()
    assert [line[:21] for line in lines if line.startswith("| UWave")] == [r"| UWave | F\_T ↓ | 98"]
    assert not [line for line in lines if r"A\_T ↑" in line]
    tab.get_by_role("button", name="Show all").click()
    assert copied(tab, "main", "LaTeX") == latex(
        TABLES["main"](collect(results), OPTIONS), "std", 2
    )


def test_sorting(visit) -> None:
    tab = visit()
    before = column(tab, "main", 1)
    assert before[:3] == ["Naive", "Offline", "LwF"]
    head = tab.locator("#main thead tr:last-child th").nth(1)
    ways = []
    for _ in range(3):
        press(tab, "main", "Sort by UWave A_T ↑")
        ways.append((head.get_attribute("aria-sort"), column(tab, "main", 1)))
    falling = ["Naive", "Offline", "TS-ACL-E", "TS-ACL", "DER", "ER", "Deep", "MAS", AWFUL, "LwF"]
    rising = [*falling[-2::-1], "LwF"]
    falling, rising = [*falling, "TS-ACL (tuned)"], [*rising, "TS-ACL (tuned)"]
    assert ways == [("descending", falling), ("ascending", rising), ("none", before)]
    press(tab, "main", "Sort by UWave F_T ↓")
    assert column(tab, "main", 1)[0] == "TS-ACL-E", "less forgetting comes first"
    box(tab, "TS-ACL-E").uncheck()
    assert column(tab, "main", 1)[0] == "TS-ACL", "a filter keeps the order"
    press(tab, "memory", "Sort by Method")
    assert column(tab, "memory", 2) == sorted(column(tab, "memory", 2), key=str.lower)


def test_filters_reach_everything(visit) -> None:
    tab = visit()
    assert tab.locator("#curves .panel").count() == 2
    box(tab, "UWave").uncheck()
    assert tab.locator("#curves .panel h4").all_inner_texts() == ["WISDM†"]
    assert column(tab, "runs", 2) == ["TS-ACL", "TS-ACL (tuned)"]
    assert "1 of 2 data sets" in tab.locator("#narrowed").inner_text()
    tab.get_by_role("button", name="none methods").click()
    assert "Nothing is left" in tab.locator("#main").inner_text()
    assert "No runs are left" in tab.locator("#runs").inner_text()
    tab.get_by_role("button", name="Show all").click()
    assert tab.locator("#curves .panel").count() == 2
    assert tab.locator("#narrowed").is_hidden()
    box(tab, "A_T").uncheck()
    heads = tab.locator("#main thead tr:last-child th").all_inner_texts()
    assert [h.replace("\n", "") for h in heads] == ["Method", "FT ↓", "FT ↓"]


def test_details_of_a_run(visit) -> None:
    tab = visit()
    rows = tab.locator("#runs tbody tr:not(.details)")
    finished = rows.filter(has_text="MAS").filter(has_text="1234")
    button = finished.get_by_role("button")
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    shown = tab.locator("#runs .details:visible")
    words = " ".join(shown.inner_text().split())
    for expected in ("strength 7", "cpu A", "learn 5 5", "after 2 49.0 51.0", "order 2 1 6 0"):
        assert expected in words
    shown.get_by_role("button", name="Copy").click()
    assert tab.evaluate("navigator.clipboard.readText()") == (
        "tsbench run --method mas --dataset uwave --seed 1234 --stream exp --epochs 100 --norm ln"
    )
    button.click()
    assert shown.count() == 0
    press(tab, "runs", "Show 21 more of 33")
    rows.filter(has_text="(tuned)").get_by_role("button").click()
    assert "--norm ln --tuned" in shown.inner_text()
    rows.filter(has_text="(tuned)").get_by_role("button").click()
    press(tab, "runs", "Sort by status")
    rows.first.get_by_role("button").click()
    assert "no luck" in shown.inner_text()


def test_figures_tell_their_values(visit) -> None:
    tab = visit()
    plot = tab.locator("#curves .plot").first
    plot.focus()
    tab.keyboard.press("ArrowRight")
    assert tip(tab) == ["Naive", "100.00 ± 0.00 · 5 seeds", "after task 1"]
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    assert tip(tab)[:2] == ["Offline", "96.00 ± 0.00 · 5 seeds"]
    assert "Offline" in tab.locator("#told").inner_text()
    tab.keyboard.press("Escape")
    assert not tip(tab)
    tab.locator("#time .time [data-method] .marker").first.hover()
    assert tip(tab) == ["Naive", "10 ± 0 s · 5 seeds"]
    assert tab.locator("#time .pareto .front").count() == 1


def test_the_front_holds_what_nothing_beats(visit) -> None:
    """Cheapest TS-ACL beats all others at 92.00; the front needs no second point but TS-ACL-E's."""
    tab = visit()
    box(tab, "TS-ACL").uncheck()
    found = tab.evaluate("costPanels(shownTimes(), 'x', plain, plain).map((p) => p.front)")
    assert found[0] == [[10, 92.001]]
    box(tab, "TS-ACL").check()
    found = tab.evaluate("costPanels(shownTimes(), 'x', plain, plain).map((p) => p.front)")
    assert found == [[[2, 92], [10, 92.001]], [[10, 85.5]], [[10, 88]]]


def test_a_tap_shows_a_value(visit) -> None:
    tab = visit(390, has_touch=True)
    tab.locator("#time .time .marker").first.tap()
    assert tip(tab)[0] == "Naive"


def test_the_keyboard_is_enough(visit) -> None:
    tab = visit()
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.locator("#main .scroll").focus()
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    focused = tab.evaluate(
        "[document.activeElement.ariaLabel, getComputedStyle(document.activeElement).outlineWidth]"
    )
    assert focused == ["Sort by UWave A_T ↑", "2px"]
    tab.keyboard.press("Enter")
    assert column(tab, "main", 1)[2] == "TS-ACL-E"
    assert tab.evaluate("document.activeElement.ariaLabel") == "Sort by UWave A_T ↑"


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
    assert dark.locator("aside").is_hidden() and dark.locator(".copies").first.is_hidden()


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_screen_never_scrolls_sideways(visit, width: int) -> None:
    tab = visit(width)
    tab.locator("#runs .open").first.click()
    assert tab.evaluate("document.documentElement.scrollWidth") == width
    table = tab.locator("#main .scroll")
    table.evaluate("(e) => (e.scrollLeft = 60)")
    first = tab.locator("#main tbody th").first.bounding_box()["x"]
    assert first == pytest.approx(table.bounding_box()["x"], abs=1), "names stay in sight"


def test_long_tables_fold_on_the_screen_only(visit, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    path.write_text(page(many(2000), OPTIONS, "std"))
    tab = visit(path=path)
    rows = tab.locator("#memory tbody tr:visible")
    assert rows.count() == 12
    press(tab, "memory", "Show all 96 rows")
    assert rows.count() == 96
    assert tab.locator("#runs tbody tr:not(.details)").count() == 12
    press(tab, "runs", "Sort by seed")
    press(tab, "runs", "Sort by seed")
    assert column(tab, "runs", 3)[0] == "1999"
    assert tab.evaluate("document.querySelectorAll('*').length") < 12_000
    tab.emulate_media(media="print")
    assert tab.locator("#curves tbody tr:visible").count() == 96
