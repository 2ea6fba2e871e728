"""One file from the template, the style, the scripts and the contents.

Text from records is escaped where it becomes HTML. The policy in the page's head lets a browser run
exactly these scripts and this style, and fetch nothing, whatever a record holds.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from datetime import date
from importlib import metadata, resources
from pathlib import Path
from shlex import quote
from string import Template
from typing import Any

from tsbench import __version__
from tsbench.disk import save
from tsbench.protocol.rules import CLASSES_PER_TASK, Protocol
from tsbench.report.leaderboard import Board, board, leaderboard_table, machines
from tsbench.report.page.commands import report_command
from tsbench.report.page.context import Context, make_context
from tsbench.report.page.details import Store, row_details
from tsbench.report.page.leaderboard import leaderboard, notes, seconds_cell
from tsbench.report.page.markers import symbol_id, symbols
from tsbench.report.page.markup import Html, copyable, joined, tag
from tsbench.report.page.plots import figures
from tsbench.report.page.tables import files, other_tables
from tsbench.report.protocols import TITLES as SPLIT_TITLES
from tsbench.report.records import Results
from tsbench.report.table import Options
from tsbench.report.titles import dataset_title

SCRIPTS = ("dom.js", "plot.js", "details.js", "table.js", "filters.js")
PAPERS = {
    "TS-ACL": "https://arxiv.org/abs/2410.15954",
    "The published benchmark": "https://arxiv.org/abs/2402.12035",
}
FIGURES = {
    "time": ("Accuracy against time", "The line is the Pareto front of the ranked methods: none of "
             "them is both faster and more accurate. Pale methods lack seeds and are not ranked."),
    "memory": ("Accuracy against memory", "Everything that a method keeps between tasks: samples, "
               "generator, statistics, weights. Offline is left out: it needs all data at once."),
    "curves": ("Accuracy by task", "Average accuracy on all tasks so far. The star is Offline, "
               "which learns all classes at once."),
}  # fmt: skip


def page(
    protocols: Sequence[Results],
    options: Options,
    results: Path = Path("results"),
    command: str = "",
    made_on: date | None = None,
) -> str:
    """The whole page; ``command`` is what made it. The same arguments give the same bytes."""
    context = make_context(protocols, options, results)
    store = Store()
    rows: list[Any] = []
    sections, about = [], []
    for number, runs in enumerate(protocols):
        standings = board(runs, options.shared_seeds)
        sections.append(_section(runs, standings, context, number, len(rows)))
        about.append(_about(runs, standings, context))
        rows += [row_details(s, context, store) for found in standings.values() for s in found]
    contents = {
        "methods": [
            {"name": m, "title": title, "symbol": symbol_id(context.looks[m].marker)}
            for m, title in context.titles.items()
        ],
        "protocols": about,
        "quoted": {n: q for n in [*context.datasets, *context.titles] if (q := quote(n)) != n},
        "rows": rows,
        "blocks": list(store.blocks),
        "plots": store.plots,
    }
    style = _file("page.css") + _colours(context)
    script = "\n".join(_file(name) for name in SCRIPTS)
    policy = [
        "default-src 'none'",
        f"script-src '{_digest(script)}'",
        f"style-src '{_digest(style)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return Template(_file("page.html")).substitute(
        policy="; ".join(policy),
        style=style,
        script=script,
        symbols=symbols(look.marker for look in context.looks.values()),
        summary=_summary(protocols),
        filters=_filters(protocols, context),
        sections=joined(*sections),
        footer=_footer(command, made_on or date.today()),
        contents=embedded(contents),
    )


def write_page(text: str, out: Path) -> Path:
    """Write it to ``out`` if that is an HTML file's name, else to index.html in that folder."""
    path = out if out.suffix.lower() in (".html", ".htm") else out / "index.html"
    save(path, text.encode())
    return path


def _about(runs: Results, standings: Board, context: Context) -> dict[str, Any]:
    """What the scripts need of a protocol: its figures, and its times on each machine."""
    on = machines(standings)
    return {
        "name": runs.protocol,
        "machines": on,
        "seconds": [
            [seconds_cell(each.seconds.get(machine), each) for machine in on]
            for found in standings.values()
            for each in found
        ],
        "figures": figures(standings, context),
    }


def _section(
    runs: Results, standings: Board, context: Context, number: int, first_row: int
) -> Html:
    command = report_command("leaderboard", runs.protocol, context.results)
    problems = [tag("li", f"Left out: {problem}") for problem in runs.problems]
    return tag(
        "section",
        tag("h2", "Protocol ", tag("code", runs.protocol), class_="protocol-title"),
        tag("p", protocol_words(runs.rules), class_="lead"),
        leaderboard(runs, standings, context, first_row),
        tag(
            "div",
            copyable(command, "the command for this table", data_report=command),
            files(leaderboard_table(runs, context.options), context),
            class_="actions",
        ),
        notes(standings, context),
        _machine(machines(standings)),
        tag("ul", *problems, class_="notes warn") if problems else None,
        *(
            tag(
                "figure",
                tag("figcaption", tag("h3", title), tag("p", words, class_="caption")),
                tag("div", class_="panels", data_figure=name),
            )
            for name, (title, words) in FIGURES.items()
        ),
        tag("h3", "All tables"),
        *other_tables(runs, context),
        class_="protocol",
        data_protocol=number,
    )


def _machine(on: list[str]) -> Html | None:
    """Which machine the times are from, to choose where there are several."""
    if len(on) < 2:
        return tag("p", f"Times are from {on[0]}.", class_="notes") if on else None
    options = [tag("option", machine) for machine in on]
    select = tag("select", *options, class_="machine")
    return tag("p", tag("label", "Times are from ", select), class_="notes machine")


def protocol_words(rules: Protocol) -> str:
    """A protocol in words.

    >>> protocol_words(Protocol(split="subject"))
    'Experiment stream, unseen subjects, layer norm in the encoder, at most 100 epochs per task'
    """
    words = ["Experiment stream" if rules.stream == "exp" else "Validation stream"]
    if rules.split != "published":
        words.append(SPLIT_TITLES[rules.split])
    if rules.classes_per_task != CLASSES_PER_TASK:
        words.append(f"{rules.classes_per_task} classes per task")
    words.append(f"{'layer' if rules.norm == 'ln' else 'batch'} norm in the encoder")
    return ", ".join([*words, f"at most {rules.epochs} epochs per task"])


def _summary(protocols: Sequence[Results]) -> Html:
    entries = [entry for runs in protocols for entry in runs.entries.values()]
    runs_, failed = sum(len(e.finished) for e in entries), sum(len(e.failed) for e in entries)
    counts = [
        (runs_, "run"),
        (len({e.method for e in entries}), "method"),
        (len({e.dataset for e in entries}), "data set"),
    ]
    words = [f"{count:,} {name}{'' if count == 1 else 's'}" for count, name in counts]
    words += [f"{failed} failed"] if failed else []
    return tag("p", " · ".join(words), class_="counts")


def _filters(protocols: Sequence[Results], context: Context) -> Html:
    """Buttons that choose; without scripts they are hidden, and everything is shown."""
    groups = [
        _chips("Data sets", "dataset", [(d, dataset_title(d), None) for d in context.datasets]),
        _chips(
            "Methods",
            "method",
            [(m, title, context.swatch(m)) for m, title in context.titles.items()],
        ),
    ]
    if len(protocols) > 1:
        names = [(str(i), runs.protocol, None) for i, runs in enumerate(protocols)]
        groups.insert(0, _chips("Protocol", "protocol", names))
    return joined(*groups)


def _chips(title: str, axis: str, items: Sequence[tuple[str, str, Html | None]]) -> Html:
    chips = [
        tag("button", mark, words, type="button", class_="chip", value=name, aria_pressed="false")
        for name, words, mark in items
    ]
    return tag("div", tag("span", title), tag("div", *chips), role="group", aria_label=title,
               class_="chips", data_axis=axis)  # fmt: skip


def _footer(command: str, made_on: date) -> Html:
    links = list(PAPERS.items())
    try:
        urls = metadata.metadata("tsbench").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        urls = []
    links += [(n.strip(), a.strip()) for n, _, a in (u.partition(",") for u in urls)]
    return joined(
        tag("p", f"Made by tsbench {__version__} on {made_on.isoformat()}"),
        copyable(command, "the command that made this page") if command else None,
        tag("p", *(tag("a", name, href=url, rel="noreferrer") for name, url in links),
            class_="links"),
    )  # fmt: skip


def _colours(context: Context) -> str:
    """Colours as rules."""
    looks = [context.looks[m] for m in context.titles]
    return "\n".join(
        f".m{i}{{--light:{look.colour};--dark:{look.dark}}}" for i, look in enumerate(looks)
    )


def embedded(data: Any) -> str:
    r"""JSON that can stand in a script element, which only these would end.

    >>> print(embedded("</script><!--"))
    "<\/script><\u0021--"
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("</", r"<\/").replace("<!--", r"<\u0021--")


def _file(name: str) -> str:
    return (resources.files("tsbench.report.page") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What a content security policy knows an inline element by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
