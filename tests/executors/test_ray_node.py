"""What a node of a Ray cluster does with a run, without Ray: data, methods, cache, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from misbehaving_methods import PLUGINS
from own_series import folder, waves

from tsbench.data.custom.prepare import prepare_custom
from tsbench.errors import UserError
from tsbench.executors.base import Event
from tsbench.executors.ray.node import (
    DataFiles,
    Order,
    cache_folder,
    execute_order,
    find_data,
    read_data,
)
from tsbench.runs.execute import execute
from tsbench.runs.machine import Machine, code_digest
from tsbench.runs.plan import Request, plan
from tsbench.runs.record import comparable


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TSBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def order(tmp_path: Path) -> Order:
    """A run on data that only the driver has, with a method from a file."""
    x, y = waves()
    names = np.array([f"gesture {c}" for c in "abcdef"])[y]
    prepare_custom(
        str(folder(tmp_path / "own", "name: gestures\ndata: all.npz", x=x, y=names)), data(tmp_path)
    )
    file = tmp_path / "plugins.py"
    file.write_text(PLUGINS)
    (spec,) = plan(Request([f"{file}:Good"], ["gestures"], [1234]), data(tmp_path)).specs
    machine = Machine(tmp_path / "nowhere", digest=code_digest())
    return Order(spec, machine, file.read_bytes())


def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


class Fetch:
    """Brings the data, and counts how often it was asked."""

    def __init__(self, root: Path) -> None:
        self.root, self.asked = root, 0

    def __call__(self) -> DataFiles:
        self.asked += 1
        return read_data("gestures", self.root)


def test_what_the_node_lacks_is_sent_to_it_once(tmp_path: Path, cache: Path, order: Order) -> None:
    fetch, events = Fetch(data(tmp_path)), []
    Path(order.spec.method.rpartition(":")[0]).unlink()  # nodes do not see our disk
    first = execute_order(order, fetch, events.append)
    second = execute_order(order, fetch, events.append)
    assert fetch.asked == 1
    assert [event.kind for event in events] == ["started", "done"] * 2
    assert isinstance(events[0], Event)
    assert events[0].spec == order.spec
    assert comparable(first) == comparable(second)
    assert [path.name for path in cache.glob("run-*")] == []
    Path(order.spec.method.rpartition(":")[0]).write_bytes(order.source)
    here = execute(order.spec, Machine(data(tmp_path)), lambda *_: None)
    assert comparable(first) == comparable(here)


def test_the_nodes_own_copy_is_used_if_it_is_the_same(tmp_path: Path, cache, order: Order) -> None:
    fetch = Fetch(data(tmp_path))
    same = replace(order, machine=Machine(data(tmp_path)))
    assert find_data(same, cache, fetch) == data(tmp_path)
    assert fetch.asked == 0
    other = replace(order.spec, data_digest="0" * 64)
    with pytest.raises(UserError, match="prepared again"):
        find_data(replace(same, spec=other), cache, fetch)
    assert fetch.asked == 1


def test_a_damaged_copy_is_sent_again(tmp_path: Path, cache, order: Order) -> None:
    fetch = Fetch(data(tmp_path))
    root = find_data(order, cache, fetch)
    (path,) = root.glob("gestures/*/train.x.npy")
    good = path.read_bytes()
    path.write_bytes(good[:-4] + b"oops")
    find_data(order, cache, fetch)
    assert fetch.asked == 2
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"version": "9.9"}, "not 9.9"), ({"digest": "0"}, "with other code")],
)
def test_another_version_is_refused(cache: Path, order: Order, changes, words) -> None:
    with pytest.raises(UserError, match=words):
        machine = replace(order.machine, **changes)
        execute_order(replace(order, machine=machine), Fetch(cache), lambda event: None)
    assert not cache.exists()


def test_a_cache_that_others_can_write_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("TSBENCH_CACHE", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = cache_folder()
    assert made.stat().st_mode & 0o777 == 0o700
    made.chmod(0o777)
    with pytest.raises(UserError, match="TSBENCH_CACHE"):
        cache_folder()
    made.rmdir()
    (tmp_path / "elsewhere").mkdir()
    made.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="TSBENCH_CACHE"):
        cache_folder()
