"""Write the settings that runs use by default to tsbench/report/defaults.json.

    python tools/write_defaults.py

Reports compare records with them and must not import torch, which the methods' own files do. A test
fails when the file is out of date.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tsbench.data.catalogue import DATASETS
from tsbench.learn.registry import METHODS, effective_settings

FILE = Path(__file__).resolve().parents[1] / "tsbench" / "report" / "defaults.json"


def defaults() -> dict[str, dict[str, dict[str, Any]]]:
    """Method → data set → settings; under ``""`` those of all other data sets."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for method, kind in METHODS.builtin.items():
        general = asdict(kind.Settings())
        found[method] = {"": general}
        for dataset in DATASETS.builtin:
            here = asdict(effective_settings(method, dataset))
            changed = {name: value for name, value in here.items() if value != general[name]}
            if changed:
                found[method][dataset] = changed
    return found


def text() -> str:
    """One line per method."""
    lines = [f" {json.dumps(name)}: {json.dumps(about)}" for name, about in defaults().items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
