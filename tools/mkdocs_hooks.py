"""Hooks of mkdocs.yml."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links to files outside docs/ work on the code host only; on the site keep their text.

    >>> on_page_markdown("[`er.py`](../baselines/er.py) and [Tuning](tuning.md)")
    '`er.py` and [Tuning](tuning.md)'
    """
    if "<!-- notebook -->" in markdown:
        notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
        markdown = markdown.replace("<!-- notebook -->", as_markdown(notebook))
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", markdown)


def as_markdown(notebook: dict[str, Any]) -> str:
    """The notebook as a page of the documentation."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(f"![figure](data:image/png;base64,{data['image/png']})")
            elif "text/html" in data:
                parts.append("".join(data["text/html"]))
            else:
                text = "".join(data.get("text/plain", output.get("text", "")))
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts)
