"""Write the generated parts of README.md and docs/*.md: tables, sentences and figures.

    python tools/update_docs.py            # after a change of the code, or after new records
    python tools/update_docs.py --code     # only what is made from the code
    python tools/update_docs.py --check    # only say what is out of date

A generated part stands between ``<!-- NAME -->`` and ``<!-- end -->``. NAME is a key of
``FROM_CODE`` or ``FROM_RECORDS``, or a ``tsbench …`` command whose output belongs there. Tests
check the parts that are made from code; those made from records change with every new record.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import class_orders
import code_tables
import evidence

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PART = re.compile(r"<!-- (?!end\b)([^>\n]+) -->\n(.*?)<!-- end -->", re.DOTALL)

FROM_CODE: Mapping[str, Callable[[], str]] = {
    "the methods": code_tables.methods,
    "the methods by family": code_tables.families,
    "the settings": code_tables.settings,
    "the settings per data set": code_tables.dataset_settings,
    "the numbers of trials": code_tables.trials,
    "the data sets": code_tables.datasets,
    "the data sets in short": code_tables.short_datasets,
    "the citations": code_tables.citations,
    "the keys of the card": code_tables.recipe_keys,
    "the template": code_tables.template,
    "the columns": code_tables.columns,
}
FROM_RECORDS: Mapping[str, Callable[[], str]] = {
    "the runs": evidence.runs,
    "the verdict": evidence.verdict,
    "the differences": evidence.differences,
    "the machines": evidence.machines,
    "the splits": evidence.splits,
    "CLOPS with beta rounded": evidence.rounding,
    "GR by class order": evidence.replayed,
    "the class orders": class_orders.table,
}


def content(name: str) -> str:
    """What belongs into the part called ``name``."""
    if name.startswith("tsbench "):
        return evidence.output(name)
    return {**FROM_CODE, **FROM_RECORDS}[name]()


def updated(text: str, wanted: Callable[[str], bool] = lambda name: True) -> str:
    """A page with its generated parts made again, those that ``wanted`` accepts."""

    def part(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- {name} -->\n\n{content(name)}\n\n<!-- end -->" if wanted(name) else match[0]

    return PART.sub(part, text)


def main(arguments: list[str]) -> int:
    """Update pages and figures; see the top of this file for the options."""
    stale, only_code = 0, "--code" in arguments
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = updated(text, wanted=lambda name: name in FROM_CODE or not only_code)
        if new != text:
            stale += 1
            print(f"{'out of date' if '--check' in arguments else 'updated'}: {page.name}")
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    if "--check" in arguments:
        return int(stale > 0)
    if not only_code:
        evidence.draw_figures()
    class_orders.draw()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
