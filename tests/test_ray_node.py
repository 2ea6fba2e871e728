"""What a node of a Ray cluster does with a run, without Ray: data, methods, cache, refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from program import PLUGINS
from test_collection import folder, waves

from tsbench import __version__
from tsbench.bench.executor import Event
from tsbench.bench.machine import Machine, code_digest
from tsbench.bench.plan import Request, make_specs
from tsbench.bench.ray.node import Lacking, Order, cache_folder, do, find_data, pack
from tsbench.bench.run import execute
from tsbench.bench.store import comparable
from tsbench.data.own import bring
from tsbench.errors import UserError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TSBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def order(tmp_path: Path) -> Order:
    """A run on data that only the driver has, with a method from a file."""
    x, y = waves()
    names = np.array([f"gesture {c}" for c in "abcdef"])[y]
    bring(
        str(folder(tmp_path / "own", "name: gestures\ndata: all.npz", x=x, y=names)), data(tmp_path)
    )
    file = tmp_path / "plugins.py"
    file.write_text(PLUGINS)
    (spec,) = make_specs(Request([f"{file}:Good"], ["gestures"], [1234]), data(tmp_path))
    machine = Machine(tmp_path / "nowhere")
    return Order(spec, machine, None, file.read_bytes(), __version__, code_digest())


def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_what_the_node_lacks_is_brought_once(tmp_path: Path, cache: Path, order: Order) -> None:
    fetched, told = [], []

    def fetch():
        fetched.append(1)
        return pack("gestures", data(tmp_path))

    with pytest.raises(Lacking):
        do(order, lambda: None, told.append)
    assert not told
    Path(order.spec.method.rpartition(":")[0]).unlink()  # nodes see no disk of ours
    first, second = do(order, fetch, told.append), do(order, fetch, told.append)
    assert len(fetched) == 1
    assert [event.kind for event in told] == ["started", "done"] * 2
    assert isinstance(told[0], Event)
    assert told[0].spec == order.spec
    assert comparable(first) == comparable(second)
    assert [path.name for path in cache.glob("run-*")] == []
    Path(order.spec.method.rpartition(":")[0]).write_bytes(order.source)
    here = execute(order.spec, Machine(data(tmp_path)), lambda *_: None)
    assert comparable(first) == comparable(here)


def test_the_nodes_own_copy_is_used_if_it_is_the_same(tmp_path: Path, cache, order: Order) -> None:
    same = replace(order, machine=Machine(data(tmp_path)))
    assert find_data(same, cache, lambda: None) == data(tmp_path)
    other = replace(order.spec, data_digest="0" * 64)
    with pytest.raises(Lacking):
        find_data(replace(same, spec=other), cache, lambda: None)
    with pytest.raises(UserError, match="prepared anew"):
        find_data(replace(same, spec=other), cache, lambda: pack("gestures", data(tmp_path)))


def test_a_damaged_copy_is_brought_again(tmp_path: Path, cache, order: Order, monkeypatch) -> None:
    root = find_data(order, cache, lambda: pack("gestures", data(tmp_path)))
    (path,) = root.glob("gestures/*/train.x.npy")
    good = path.read_bytes()
    path.write_bytes(good[:-4] + b"oops")
    monkeypatch.setattr("tsbench.bench.ray.node._known", set())  # as in a new process
    with pytest.raises(Lacking):
        find_data(order, cache, lambda: None)
    find_data(order, cache, lambda: pack("gestures", data(tmp_path)))
    assert path.read_bytes() == good


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"version": "9.9"}, "not 9.9 as"), ({"digest": "0"}, "with other code")],
)
def test_another_version_is_refused(cache: Path, order: Order, changes, words) -> None:
    with pytest.raises(UserError, match=words):
        do(replace(order, **changes), lambda: None, lambda event: None)
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
