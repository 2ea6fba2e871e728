"""Records that somebody sends in: marked with who sent them, and checked before they are accepted.

A record in itself is checked by ``validate``. Here it is held against what else is known: the data,
the class order of its seed, its own confusion matrix, and the code that made it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from tsbench.data.card import Card
from tsbench.data.catalogue import DATASETS, card
from tsbench.disk import write_whole
from tsbench.errors import UserError
from tsbench.protocol.rules import Protocol, class_order, streams_of, task_labels
from tsbench.runs.record import Record, read_record, title_of
from tsbench.runs.store import Store

TOLERANCE = 1e-6
"""Between an accuracy and the same from the confusion matrix, in percentage points."""
COMMIT = re.compile(r"[0-9a-f]{7,40}")
URL = re.compile(r"https?://\S+")


def mark(folder: Path, by: str, url: str) -> int:
    """Mark all finished records of a results folder as submitted; returns how many there are."""
    if not by.strip():
        raise UserError("say who submits the records: --by NAME")
    if not URL.fullmatch(url):
        raise UserError(f"--url '{url}' is not a web address such as https://…")
    paths = [path for path in Store(folder).files() if read_record(path)["status"] == "ok"]
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["submitted"] = {"by": by, "url": url}
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(path, text.encode())
    return len(paths)


def check_submission(folder: Path) -> list[str]:
    """What is wrong with a folder of submitted records, one line per problem."""
    records, problems = Store(folder).records()
    if not records and not problems:
        return [f"there are no records in '{folder}'"]
    known = _known_digests()
    for record in records:
        problems += [f"{title_of(record)}: {problem}" for problem in _problems(record, known)]
    return problems


def unknown_data(folder: Path) -> list[str]:
    """Data sets of a submission whose complete data has no known digest to compare with."""
    known = _known_digests()
    records, _ = Store(folder).records()
    return sorted({r["spec"]["dataset"] for r in records if r["spec"]["dataset"] not in known})


def _known_digests() -> dict[str, set[str]]:
    """Digests of complete data: from the cards, and from our own reference runs."""
    known: dict[str, set[str]] = defaultdict(set)
    for name in DATASETS.builtin:
        if digest := card(name).official_digest:
            known[name].add(digest)
    reference = Path(str(resources.files("tsbench.reference")))
    for record in Store(reference).records()[0]:
        if record["status"] == "ok" and record["data"]["complete"]:
            known[record["spec"]["dataset"]].add(record["data"]["digest"])
    return known


def _problems(record: Record, known: dict[str, set[str]]) -> Iterator[str]:
    if record["status"] != "ok":
        yield "it failed; submit finished runs only"
        return
    sender = record.get("submitted") or {"by": "", "url": ""}
    if not sender["by"].strip() or not URL.fullmatch(sender["url"]):
        yield "submitted.by and submitted.url must say who sent it and where to ask"
    commit = record["environment"].get("commit") or ""
    if not COMMIT.fullmatch(commit):
        yield f"environment.commit is '{commit}'; run it from a commit without local changes"
    spec, data = record["spec"], record["data"]
    if spec["method"].partition(":")[0].endswith(".py") and not spec.get("code"):
        yield "spec.code has no digest of the method's file"
    if spec["data_digest"] != data["digest"]:
        yield "spec.data_digest and data.digest differ"
    digests = known.get(spec["dataset"])
    if data["complete"] and digests and data["digest"] not in digests:
        yield f"the data differs from the official data: its digest is {data['digest'][:16]}…"
    published = Protocol.from_dict(spec).split == Protocol.split  # others may lose a class
    if spec["dataset"] in DATASETS.builtin and data["complete"] and published:
        yield from _stream_problems(record, card(spec["dataset"]))
    yield from _confusion_problems(record)


def _stream_problems(record: Record, about: Card) -> Iterator[str]:
    """Tasks and classes that are not those of the seed; only complete data has all of them."""
    spec, protocol = record["spec"], Protocol.from_dict(record["spec"])
    order = class_order(spec["seed"], about.classes)
    expected = streams_of(order, protocol.classes_per_task)[protocol.stream]
    tasks = len(task_labels(len(expected), protocol.classes_per_task))
    if len(record["result"]["accuracy"]) != tasks:
        yield f"it has {len(record['result']['accuracy'])} tasks, the stream has {tasks}"
    elif record.get("class_order") != expected:
        yield f"class_order is not that of seed {spec['seed']}"


def _confusion_problems(record: Record) -> Iterator[str]:
    """The last row of the accuracy matrix must follow from the confusion matrix."""
    rows, accuracy = record["result"].get("confusion"), record["result"]["accuracy"][-1]
    if rows is None:
        yield "result.confusion is missing"
        return
    size = len(record.get("class_order") or rows)
    tasks = task_labels(size, Protocol.from_dict(record["spec"]).classes_per_task)
    if (
        len(tasks) != len(accuracy)
        or len(rows) != size
        or any(len(row) != size or min(row) < 0 for row in rows)
    ):
        yield f"result.confusion is not a {size} × {size} matrix of counts"
        return
    for task, (mine, stored) in enumerate(zip(tasks, accuracy, strict=True)):
        total = sum(sum(rows[c]) for c in mine)
        if stored is None or not total:
            continue
        derived = 100 * sum(rows[c][c] for c in mine) / total
        if abs(derived - stored) > TOLERANCE:
            yield f"accuracy on task {task + 1} is {stored}, the confusion matrix says {derived}"
