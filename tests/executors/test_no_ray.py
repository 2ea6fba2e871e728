"""``--executor ray`` without Ray, or without a cluster where one should be."""

from __future__ import annotations

import importlib.util
import socket
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app


def refused(tmp_path: Path, *arguments: str) -> str:
    command = ["run", "--method", "naive", "--dataset", "demo", "--executor", "ray", *arguments]
    result = CliRunner().invoke(app, [*command, "--results", str(tmp_path)])
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr.splitlines()[-1]


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'tsbench[ray]'" in refused(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_no_cluster_at_the_address(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # but it does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"no Ray cluster answers at {address}" in refused(tmp_path, "--address", address)
    assert "is not host:port" in refused(tmp_path, "--address", "somewhere")
    assert "no Ray cluster answers" in refused(tmp_path, "--address", "127.0.0.1:99999")
