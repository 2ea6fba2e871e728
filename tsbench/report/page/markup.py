"""HTML from Python: text stays text, whatever a record holds."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from typing import Any
from urllib.parse import quote


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, *children: Any, **attributes: Any) -> Html:
    """An element. Children that are not ``Html`` are escaped; None and False leave out.

    >>> tag("b", "a<b", None, class_="x y", data_m="er", hidden=True, title=None)
    '<b class="x y" data-m="er" hidden>a&lt;b</b>'
    """
    written = "".join(
        [
            f" {_name(key)}" if value is True else f' {_name(key)}="{escape(str(value))}"'
            for key, value in attributes.items()
            if value is not None and value is not False
        ]
    )
    return Html(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: Any) -> Html:
    """Several children, one after the other."""
    return Html(
        "".join(
            [
                child if isinstance(child, Html) else escape(str(child), quote=False)
                for child in children
                if child is not None
            ]
        )
    )


@lru_cache
def written(text: str) -> Html:
    """Text with A_T, F_T and A_t as mathematics.

    >>> written("A_T < 5")
    '<i class="symbol">A<sub>T</sub></i> &lt; 5'
    """
    parts = re.split(r"\b([AF]_[Tt])\b", text)
    return joined(
        *(
            tag("i", part[0], tag("sub", part[2]), class_="symbol") if i % 2 else part
            for i, part in enumerate(parts)
        )
    )


def sortable_head(text: str, **attributes: Any) -> Html:
    """The title of a column, with a button that sorts by it."""
    button = tag("button", written(text), type="button", class_="sort")
    return tag("th", button, scope="col", aria_sort="none", **attributes)


def scrolling(table: Html, label: str) -> Html:
    """A table that scrolls sideways where it is wider than the page."""
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


def copyable(command: str, label: str, **attributes: Any) -> Html:
    """A command with a button that copies it."""
    return tag(
        "div",
        tag("code", command, **attributes),
        tag("button", "Copy", type="button", class_="copy", aria_label=f"Copy {label}"),
        class_="command",
    )


def download(label: str, name: str, kind: str, content: str) -> Html:
    """A link that saves a file whose content is in the link."""
    address = f"data:{kind};charset=utf-8,{quote(content)}"
    return tag("a", label, download=name, href=address, class_="button")


@lru_cache
def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
