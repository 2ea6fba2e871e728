"""How long runs will take, estimated from finished ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from tsbench.runs.record import Record
from tsbench.runs.spec import RunSpec

Kind = tuple[str, str, str]
"""Protocol, data set, method."""


class Estimate:
    """Seconds per run, from finished runs: of the same kind, else of the same method or data set.

    A method that has not run on a data set is guessed from how it compares with the other methods
    elsewhere, so GR is not taken for an average method.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.seen: dict[Kind, list[float]] = defaultdict(list)
        for record in records:
            if record["status"] == "ok":
                spec = record["spec"]
                kind = (spec["protocol"], spec["dataset"], record["label"])
                self.add(kind, record["time"]["total"])

    def add(self, kind: Kind, seconds: float) -> None:
        """A run of this kind took so long."""
        self.seen[kind].append(seconds)

    def seconds(self, kind: Kind) -> float | None:
        """How long a run will probably take; None if nothing like it has run."""
        protocol, dataset, label = kind
        if kind in self.seen:
            return self._mean(lambda k: k == kind)
        here = self._mean(lambda k: k[:2] == (protocol, dataset))
        if here is None:
            return self._mean(lambda k: k[0] == protocol)
        elsewhere = {k[1] for k in self.seen if k[0] == protocol and k[2] == label}
        method = self._mean(lambda k: k[0] == protocol and k[1] in elsewhere and k[2] == label)
        others = self._mean(lambda k: k[0] == protocol and k[1] in elsewhere)
        return here * method / others if method and others else here

    def left(self, specs: Iterable[RunSpec], workers: int = 1) -> float | None:
        """Seconds for all of these runs; None if nothing is known about one of them."""
        total = 0.0
        for kind, count in Counter(spec.kind for spec in specs).items():
            guess = self.seconds(kind)
            if guess is None:
                return None
            total += count * guess
        return total / workers

    def _mean(self, wanted: Callable[[Kind], bool]) -> float | None:
        means = [sum(times) / len(times) for kind, times in self.seen.items() if wanted(kind)]
        return sum(means) / len(means) if means else None
