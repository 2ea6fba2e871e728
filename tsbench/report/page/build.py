"""One file from the template, the style, the scripts and the contents.

The policy in its head lets a browser run these very scripts and this style and nothing else, and
fetch nothing: whatever a record may hold, it stays text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from tsbench.disk import write_whole
from tsbench.errors import UserError
from tsbench.report.page.contents import contents
from tsbench.report.records import Collection
from tsbench.report.render import markdown
from tsbench.report.summary import SpreadName
from tsbench.report.table import Options
from tsbench.report.tables import main_table

STYLES = ("page.css", "table.css", "figure.css", "media.css")
SCRIPTS = (
    "elements.js", "table.js", "copy.js", "scale.js", "plot.js", "figures.js", "runs.js",
    "filter.js", "page.js",
)  # fmt: skip


def page(runs: Collection, options: Options, spread: SpreadName) -> str:
    """The whole page; the same records give the same bytes."""
    style = "\n".join(_file(name) for name in STYLES)
    script = "\n".join(_file(name) for name in SCRIPTS)
    return Template(_file("page.html")).substitute(
        policy="; ".join(
            [
                "default-src 'none'",
                f"script-src '{_digest(script)}'",
                f"style-src '{_digest(style)}'",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        ),
        style=style,
        script=script,
        protocol=html.escape(runs.protocol),
        without_script=html.escape(markdown(main_table(runs, options), spread, options.digits)),
        contents=embedded(contents(runs, options, spread)),
    )


def write_page(text: str, out: Path) -> Path:
    """Write it to ``out`` if that is a name of an HTML file, else to index.html in that folder."""
    path = out if out.suffix.lower() in (".html", ".htm") else out / "index.html"
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from error
    return path


def embedded(data: Any) -> str:
    r"""JSON in which HTML sees no markup.

    >>> embedded("</script>&")
    '"\\u003c/script\\u003e\\u0026"'
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _file(name: str) -> str:
    return (resources.files("tsbench.report.page") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What a content security policy knows an inline element by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
