"""Shared fixtures: the real raw data where it is, and small made-up data everywhere."""

from __future__ import annotations

import os

# Several test processes share the cores: threads of torch would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_server import FaultyServer
from misbehaving_methods import PLUGINS
from small_download import BODY

# A shell starts commands in the background with SIGINT ignored, and what they start inherits it.
signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST = [
    "test_ray.py",
    "test_slurm.py",
    "test_workers.py",
    "test_errors.py",
    "test_processes.py",
    "test_cli_tune.py",
    "test_bring_method.py",
    "test_installed.py",
]
"""Files that take a minute or more, the longest first. The first two mostly wait."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files: begun last, they would keep one core busy and the other not."""
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of the publishers' archives: TSBENCH_TEST_DATA."""
    folder = Path(os.environ.get("TSBENCH_TEST_DATA") or "unset")
    if not folder.is_dir():
        pytest.skip("TSBENCH_TEST_DATA does not name a folder with the real raw data")
    return folder


@pytest.fixture(scope="session")
def prepared_real(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four real data sets, prepared once for all test processes."""
    from tsbench.data.catalogue import card
    from tsbench.data.obtain import obtain

    folder = tmp_path_factory.getbasetemp()
    root = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "real-data"
    for name in ("uci-har", "uwave", "wisdm", "grabmyo"):
        obtain(card(name), root, real_data)
    return root


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    """Serves the archive of ``small_download``, twice."""
    with FaultyServer({"a.zip": BODY, "mirror/a.zip": BODY}) as running:
        yield running


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A file of methods, good and bad."""
    path = tmp_path / "Plug ins ü.py"
    path.write_text(PLUGINS)
    return path
