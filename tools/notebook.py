"""Run docs/notebook.ipynb from its first cell to its last, and store what the cells show in it.

    python tools/notebook.py

Plain Python in place of Jupyter, which the project does not need otherwise.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"
SHOWN = {"image/png": "_repr_png_", "text/html": "_repr_html_"}
"""What a notebook shows of a value, and the method that makes it; best first."""


def run(notebook: dict[str, Any]) -> None:
    """Run all cells in one namespace, each with the output of this run."""
    names: dict[str, Any] = {"__name__": "__main__"}
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(codes, start=1):
        tree = ast.parse("".join(cell["source"]))
        if isinstance(last := tree.body[-1], ast.Expr):
            kept = ast.Assign([ast.Name("_", ast.Store())], last.value)
            tree.body[-1] = ast.copy_location(kept, last)
        names["_"] = None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.fix_missing_locations(tree), f"cell {number}", "exec"), names)
        value = names["_"]
        outputs: list[dict[str, Any]] = []
        if text := printed.getvalue():
            outputs.append({"output_type": "stream", "name": "stdout", "text": lines(text)})
        if value is not None:
            outputs.append(
                {"output_type": "execute_result", "execution_count": number, "metadata": {},
                 "data": shown(value)}
            )  # fmt: skip
        cell |= {"execution_count": number, "outputs": outputs}


def shown(value: Any) -> dict[str, Any]:
    """A value as a notebook stores it."""
    data: dict[str, Any] = {"text/plain": lines(repr(value))}
    for kind, method in SHOWN.items():
        if hasattr(value, method):
            made = getattr(value, method)()
            text = base64.b64encode(made).decode() if isinstance(made, bytes) else lines(made)
            return {kind: text, **data}
    return data


def lines(text: str) -> list[str]:
    """Text as a notebook stores it."""
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    run(content)
    NOTEBOOK.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
