"""The leaderboard of a protocol as HTML: one part per data set, one row per method."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tsbench.console import amount
from tsbench.data.catalogue import DATASETS, card
from tsbench.protocol.rules import streams_of, task_labels
from tsbench.report.leaderboard import SUBMITTED, Board, Standing, brief_seconds, machines
from tsbench.report.page.context import Context
from tsbench.report.page.markup import Html, scrolling, sortable_head, tag, written
from tsbench.report.ranking import HOLM
from tsbench.report.records import Results
from tsbench.report.summary import Figure
from tsbench.report.table import Cell
from tsbench.report.titles import dataset_title

COLUMNS = (
    ("rank", "Rank"),
    ("method", "Method"),
    ("A_T", "A_T, % ↑"),
    ("", "A_T by seed"),
    ("F_T", "F_T, % ↓"),
    ("seconds", "Time, s ↓"),
    ("memory", "Memory ↓"),
    ("seeds", "Seeds"),
    ("data", "Data"),
)
"""Key in the address of the page, empty for what cannot be sorted by, and title."""
STRIP = 140


def leaderboard(runs: Results, board: Board, context: Context, first_row: int) -> Html:
    """The table; its rows have numbers from ``first_row`` on, by which their details are found."""
    heads = [
        sortable_head(title, data_key=key) if key else tag("th", written(title), scope="col")
        for key, title in COLUMNS
    ]
    parts = []
    for dataset, standings in board.items():
        low = _axis_start(standings)
        rows = [
            _row(each, context, first_row + i, low, machines(board))
            for i, each in enumerate(standings)
        ]
        first_row += len(rows)
        heading = tag(
            "tr",
            tag("th", dataset_title(dataset), colspan=3, scope="rowgroup"),
            tag("td", _axis(low)),
            tag("td", tag("small", *_size(dataset, runs)), colspan=len(COLUMNS) - 4),
            class_="heading",
        )
        parts.append(tag("tbody", heading, *rows, data_d=dataset))
    table = tag(
        "table",
        tag("caption", f"Leaderboard of protocol {runs.protocol}", class_="unseen"),
        tag("thead", tag("tr", *heads)),
        *parts,
        class_="board sortable",
    )
    return scrolling(table, "Leaderboard")


def _size(dataset: str, runs: Results) -> list[Html | str]:
    """How large a data set is, and how much of it there was."""
    words: list[Html | str] = []
    if dataset in DATASETS.builtin:
        about = card(dataset)
        classes = streams_of(range(about.classes), runs.rules.classes_per_task)[runs.rules.stream]
        tasks = len(task_labels(len(classes), runs.rules.classes_per_task))
        words.append(f"{len(classes)} classes in {tasks} tasks, ")
        words.append(f"{about.channels} channels × {about.length} steps")
    if partial := runs.coverage(dataset):
        words.append(tag("b", f" · partial data: {partial}", class_="warn"))
    return words


def _row(each: Standing, context: Context, number: int, low: int, on: Sequence[str]) -> Html:
    seconds = each.seconds.get(on[0]) if on else None
    kept = each.kept
    rank = each.rank
    place = (rank.first + rank.last) / 2 if rank else None
    is_first = rank is not None and rank.last == 1
    badges = [tag("span", "submitted", class_="badge", title=SUBMITTED)] if each.submitted else []
    if each.stale:
        badges.append(tag("span", "other settings", class_="badge", title=each.stale))
    if each.entry.failed:
        badges.append(tag("span", f"{len(each.entry.failed)} failed", class_="badge bad"))
    name = tag(
        "button",
        context.swatch(each.entry.method),
        tag("span", each.title),
        type="button",
        class_="open",
        aria_expanded="false",
    )
    return tag(
        "tr",
        tag("td", tag("b", rank) if is_first else str(rank or "–"), data_v=place, class_="rank"),
        tag("th", name, *badges, scope="row", data_v=each.title.lower()),
        _figure(each.accuracy, context, "failed"),
        tag("td", _strip(each, context, low)),
        _figure(each.forgetting, context, "N.A." if each.entry.finished else "–"),
        _cell(*seconds_cell(seconds, each), class_="seconds"),
        _cell(amount(kept.mean) if kept else "–", kept.mean if kept else None),
        _cell(each.seeds, len(each.entry.finished)),
        _cell(each.coverage, None, class_="" if each.coverage == "all" else "warn"),
        class_="row" + ("" if rank else " unranked") + ("" if each.full else " pale"),
        data_m=each.entry.method,
        data_row=number,
    )


def seconds_cell(found: Figure | None, each: Standing) -> tuple[str, float | None]:
    """Seconds on one machine, with the number of runs where that is not all of them."""
    if found is None:
        return "–", None
    count = "" if found.seeds == len(each.entry.finished) else f" ({found.seeds})"
    return brief_seconds(found.mean) + count, found.mean


def _cell(text: str, value: float | None, class_: str = "") -> Html:
    shown = None if value is None else f"{value:.6g}"
    return tag("td", text, data_v=shown, class_=class_ or None)


def _figure(found: Figure | None, context: Context, word: str) -> Html:
    if found is None:
        return _cell(word, None)
    mean, width = context.parts(Cell(found))
    spread = tag("small", f"± {width}") if width else None
    return tag("td", tag("span", mean), spread, data_v=f"{found.mean:.6g}", class_="figure")


def _axis_start(standings: Sequence[Standing]) -> int:
    """Where the axis of the points begins: methods that fail badly do not stretch it."""
    means = [each.accuracy.mean for each in standings if each.accuracy]
    near = [mean for mean in means if mean >= max(means) / 2]
    return min(90, 10 * math.floor(min(near, default=0) / 10))


def _at(value: float, low: float) -> float:
    return round(6 + (STRIP - 12) * (value - low) / (100 - low), 1)


def _axis(low: int) -> Html:
    """The ends of the axis that all rows of a data set share."""
    ends = [
        tag("text", low, x=0, y=12),
        tag("text", 100, x=STRIP, y=12, text_anchor="end"),
    ]
    return tag("svg", *ends, class_="strip", viewBox=f"0 0 {STRIP} 16", aria_hidden="true")


def _strip(each: Standing, context: Context, low: int) -> Html | None:
    """A point per seed, and a line at the mean; an arrow for what is left of the axis."""
    values = each.entry.values("A_T")
    if each.accuracy is None:
        return None
    marks = [tag("circle", cx=_at(v, low), cy=8, r=2.7) for v in values if v >= low]
    if len(marks) < len(values):
        marks.append(tag("path", d="M0,8L6,4V12Z", class_="left"))
    if each.accuracy.mean >= low:
        marks.append(tag("path", d=f"M{_at(each.accuracy.mean, low)},2V14", class_="mean"))
    return tag(
        "svg",
        tag("path", d=f"M6,8H{STRIP - 6}", class_="rail"),
        *marks,
        class_=f"strip own m{context.number(each.entry.method)}",
        viewBox=f"0 0 {STRIP} 16",
        role="img",
        aria_label=", ".join(f"{v:.1f}" for v in values),
    )


def notes(board: Board, context: Context) -> Html:
    """What the columns mean, below the table."""
    standings = [each for found in board.values() for each in found]
    lines = [
        f"Rank: by A_T on each data set; {HOLM}. Naive and Offline are bounds and not ranked.",
        "Grey rows, (n): not all seeds have been run, so the method is not ranked.",
        f"A_T average accuracy and F_T forgetting after the last task: {context.options.mean}. "
        "Each dot is a seed.",
        "Time: seconds of learning per run on one machine, (n) where only n of the runs were made "
        "there; runs on a machine with other work are left out. "
        "Memory: everything that is kept between tasks.",
    ]
    if any(each.stale for each in standings):
        lines.append("Other settings: made with other settings than the current defaults.")
    if any(each.submitted for each in standings):
        lines.append(f"Submitted: {SUBMITTED}.")
    return tag("ul", *(tag("li", written(line)) for line in lines), class_="notes")
