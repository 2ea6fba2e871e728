"""The page: one file that needs nothing else, and works in a real browser."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from handmade import ENVIRONMENT, fail, make
from typer.testing import CliRunner

from tsbench.bench.spec import RunSpec
from tsbench.cli.main import app
from tsbench.report.page.build import embedded, page
from tsbench.report.published import paper
from tsbench.report.records import Collection, Group, collect
from tsbench.report.render import latex, markdown
from tsbench.report.table import Options
from tsbench.report.tables import TABLES
from tsbench.report.verdict import verdict_table, verdicts

AWFUL = "a_b<c>&$\"'</script><img src=x onerror=alert(1)>"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
OPTIONS = Options(data=Path("nowhere"))


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Ties, a failure, one seed, partial data, two machines, and a plugin with an awful name."""
    root = tmp_path_factory.mktemp("results")
    for i, seed in enumerate(range(1234, 1239)):
        make(root, "naive", seed, 99.0 + i / 10, 98.0)
        make(root, "offline", seed, 96.0)
        make(root, "er", seed, 80.0 + i, 20.0 - i)
        make(root, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0)
        make(root, "ts-acl-e", seed, 90.001 + i, 2.0)
    make(root, "der", 1234, 85.5, 11.25, cpu="B")
    make(root, "mas", 1234, 50.0, 30.0, about={"settings": {"strength": 7}})
    make(root, "ts-acl-deep", 1234, 60.0, 12.0)
    fail(root, "mas", 1235)
    fail(root, "lwf", 1234)
    make(root, "ts-acl", 1234, 88.0, 4.0, dataset="wisdm", complete=False)
    tuned = {"tuned": {"stream": "val"}}
    make(root, "ts-acl", 1234, 87.0, 4.0, dataset="wisdm", complete=False, about=tuned)
    make(root, "odd", 1234, 10.0, 90.0)
    path = next(root.rglob("odd/*.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "label": AWFUL}))
    return root


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


def many(count: int) -> Collection:
    """Runs of 16 methods on six data sets, in memory."""
    groups: dict[tuple[str, str], Group] = {}
    for i in range(count):
        dataset, method = f"data{i % 6}", f"method{i // 6 % 16}"
        spec = RunSpec(dataset, "d", method, i, settings={"rate": 0.001, "batch": 64})
        matrix = [[50 + (i * 7 + j) % 50 + 1 / 3 for j in range(t + 1)] for t in range(6)]
        record = {
            "status": "ok", "hash": f"{i:016x}", "label": method, "spec": spec.as_dict(),
            "data": {"digest": "d", "complete": True, "coverage": "all"},
            "class_order": list(range(12)),
            "result": {"accuracy": matrix, "A_T": 60 + i % 7 / 3, "F_T": 5 + i % 5 / 3,
                       "curve": [90 - t / 3 for t in range(6)]},
            "time": {"learn": [10 + i % 9 / 7] * 6, "evaluate": [0.123456] * 6, "total": 61.2345},
            "memory": {"kept_bytes": {"raw": 1, "generator": 2, "statistics": 3, "parameters": 4},
                       "parameters": 123456, "peak_bytes": 400_000_000 + i},
            "environment": {**ENVIRONMENT, "commit": "abc"},
        }  # fmt: skip
        groups.setdefault((dataset, method), Group(dataset, method)).finished.append(record)
    return Collection("exp-ln-100", groups, [])


def test_ten_thousand_runs_take_seconds_and_few_bytes() -> None:
    runs = many(10_000)
    started = time.process_time()
    made = page(runs, OPTIONS, "std")
    assert time.process_time() - started < 6
    assert len(made) < 500 * 10_000


# In a browser.


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
def file(text: str, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(text)
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
