"""What methods, data sets and classes are called in tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tsbench.console import printable
from tsbench.data.catalogue import DATASETS, card
from tsbench.protocol.rules import PAPER_METHODS
from tsbench.runs.record import Record


def base_name(label: str) -> str:
    """A method's name without what was tuned or set by hand.

    >>> base_name("er+tuned,replay=8")
    'er'
    """
    return label.partition("+")[0]


def method_title(label: str, about: Mapping[str, str]) -> str:
    """A method's name in tables, from the label and the section ``method`` of a record.

    >>> method_title("er+tuned,replay=8", {"title": "ER"}), method_title("dt2w", {})
    ('ER (tuned, replay=8)', 'DT2W')
    """
    known = PAPER_METHODS.get(base_name(label))
    title = about.get("title") or (known.title if known else base_name(label))
    by_hand = label.partition("+")[2].replace(",", ", ")
    return printable(f"{title} ({by_hand})" if by_hand else title)


def class_titles(record: Record, classes: Sequence[int]) -> list[str]:
    """Names of classes of a run's data set; numbers where the names are not known."""
    dataset = record["spec"]["dataset"]
    own = (record["data"].get("card") or {}).get("class_names")
    known = card(dataset).class_names if dataset in DATASETS.builtin else own
    names = known if isinstance(known, list | tuple) else ()
    return [printable(str(names[c])) if c < len(names) else f"class {c}" for c in classes]


def dataset_title(name: str) -> str:
    """A data set's name in tables."""
    return card(name).title if name in DATASETS.builtin else printable(name)
