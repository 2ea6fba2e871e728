"""The notebook of the documentation runs as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import notebook

RUN = """
import json, sys, notebook
content = json.load(sys.stdin)
notebook.run(content)
print(json.dumps(content))
"""


def kinds(content: dict) -> list[list[str]]:
    """What each output is made of."""
    outputs = [o for cell in content["cells"] for o in cell.get("outputs", ())]
    return [list(output.get("data", {"stdout": None})) for output in outputs]


def test_the_notebook_runs_and_shows_what_is_stored(tmp_path: Path) -> None:
    stored = notebook.NOTEBOOK.read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=stored, capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(notebook.__file__).parent)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert kinds(json.loads(done.stdout)) == kinds(json.loads(stored)), "python tools/notebook.py"
