"""Rewrite records of an earlier schema in a results folder as records of the current one.

    python tools/upgrade_records.py results/reference

Readers upgrade old records in memory, but know the title and family of the paper's methods only;
this takes them from the methods themselves. Results, times and hashes stay as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tsbench.disk import write_whole
from tsbench.errors import UserError
from tsbench.runs.execute import about
from tsbench.runs.record import SCHEMA, validate
from tsbench.runs.store import Store


def main(root: Path) -> None:
    """Upgrade what is in ``root``; says how many records were rewritten."""
    count = 0
    for path in Store(root).files():
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["schema"] == SCHEMA:
            continue
        try:
            record = {**validate(content), "method": about(content["spec"]["method"])}
        except UserError as error:
            print(f"{path}: {error}; left as it is", file=sys.stderr)
            continue
        text = json.dumps(validate(record), indent=1, ensure_ascii=False)
        write_whole(path, text.encode())
        count += 1
    print(f"{count} record(s) upgraded to schema {SCHEMA}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
