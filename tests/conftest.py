"""Shared fixtures: the real raw data where it is, and small made-up data everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_server import FaultyServer
from program import PLUGINS
from small_download import BODY

TOGETHER = {"test_cli_tune", "test_page_in_browser", "test_ray", "test_real_data", "test_slurm"}
"""Files whose tests share what is slow to make: a cluster, a browser, prepared data."""
REAL = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each test goes to the next worker that is free, those of a file in TOGETHER to one."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if Path(file).stem in TOGETHER else nodeid

    return Together(config, log)


@pytest.fixture(scope="session")
def real_data() -> Path:
    if not REAL.is_dir():
        pytest.skip("the real raw data (../shared/data) is not on this machine")
    return REAL


@pytest.fixture(scope="session")
def prepared_real(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The four real data sets, prepared once a session."""
    from tsbench.data.catalogue import card
    from tsbench.data.obtain import obtain

    root = tmp_path_factory.mktemp("data")
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
    path = tmp_path / "Plug ins ü.py"
    path.write_text(PLUGINS)
    return path
