"""The tables and figures of the README and of docs/evidence.md, made from the committed records.

    python tests/readme.py    # after new records: writes them anew

A block between ``<!-- tsbench … -->`` and ``<!-- end -->`` holds what that command prints, one
between ``<!-- runs -->`` and ``<!-- end -->`` how many runs there are, from which machine and code.
Figures are made by the commands of ``FIGURES``; a line tells the records that they were made from.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

from program import PROGRAM

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = (README, ROOT / "docs" / "evidence.md")
RECORDS = ROOT / "results" / "reference"
BLOCK = re.compile(r"<!-- (tsbench [^>]*) -->\n.*?<!-- end -->", re.DOTALL)
RUNS = re.compile(r"<!-- runs -->\n.*?<!-- end -->", re.DOTALL)
MADE_FROM = re.compile(r"<!-- figures of records \w* -->")
FIGURES = (
    "tsbench figure curves --results results/reference --out docs/figures/curves.svg",
    "tsbench figure time --results results/reference --out docs/figures/time.svg",
    "tsbench figure pareto --results results/reference --out docs/figures/pareto.svg",
)


def output(command: str) -> str:
    """What a command prints."""
    words = [PROGRAM, *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    if done.returncode not in (0, 1):  # verify ends with 1 when a cell is worse
        raise RuntimeError(f"{command}: {done.stderr}")
    return done.stdout.strip()


def runs() -> str:
    """A sentence on the records."""
    found = [json.loads(p.read_text(encoding="utf-8")) for p in RECORDS.rglob("seed-*.json")]
    records = [record for record in found if record["spec"]["stream"] == "exp"]
    hours = sum(record["time"]["total"] for record in found) / 3600
    machines = sorted({(r["environment"]["cpu"], r["environment"]["torch"]) for r in found})
    commits = Counter(record["environment"]["commit"][:7] for record in records)
    made = "; ".join(f"{cpu}, torch {version}" for cpu, version in machines)
    code = ", ".join(f"`{commit}` ({n})" for commit, n in sorted(commits.items()))
    trials = f"{len(found) - len(records)} trials of tuning"
    return (
        f"{len(records)} runs at commits {code}, and {trials}; {hours:.1f} hours in sum ({made})."
    )


def with_tables(text: str) -> str:
    """A page with its tables made anew."""
    text = RUNS.sub(lambda _: f"<!-- runs -->\n{runs()}\n<!-- end -->", text)
    return BLOCK.sub(lambda m: f"<!-- {m[1]} -->\n{output(m[1])}\n<!-- end -->", text)


def with_digest(text: str) -> str:
    """The README with the digest of the records of today beside the figures."""
    digest = hashlib.sha256()
    for path in sorted(RECORDS.rglob("seed-*.json")):
        digest.update(path.relative_to(RECORDS).as_posix().encode() + path.read_bytes())
    return MADE_FROM.sub(f"<!-- figures of records {digest.hexdigest()[:16]} -->", text)


def cells_off() -> set[tuple[str, str]]:
    """(method, data set) of what is told apart from the paper, or is two of its spreads away."""
    found = set()
    table = json.loads(output("tsbench verify --results results/reference --format json"))
    for row in table["rows"]:
        _, dataset, method, _ = row["headers"]
        _, paper, difference, verdict = row["cells"]
        if verdict["text"] not in ("match", "better", "worse"):  # not judged, or partial data
            continue
        spread = (paper["figure"] or {}).get("std")
        far = spread is not None and abs(difference["value"]) > 2 * spread
        if far or verdict["text"] in ("better", "worse"):
            found.add((method, dataset))
    return found


def main() -> None:
    """Write the pages and the figures anew."""
    for command in FIGURES:
        output(command)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(with_digest(with_tables(text)), encoding="utf-8")


if __name__ == "__main__":
    main()
