"""``--executor ray`` without Ray, or without a cluster where one should be."""

from __future__ import annotations

import importlib.util
import socket
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tsbench.cli.main import app


def told(tmp_path: Path, *arguments: str) -> str:
    command = ["run", "--method", "naive", "--dataset", "demo", "--executor", "ray", *arguments]
    result = CliRunner().invoke(app, [*command, "--results", str(tmp_path)])
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return result.stderr.splitlines()[-1]


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'tsbench[ray]'" in told(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_no_cluster_at_the_address(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # but it does not listen
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert f"no Ray cluster answers at {address}" in told(tmp_path, "--address", address)
    with socket.create_server(("127.0.0.1", 0)) as other:
        answering = threading.Thread(target=_answer_in_plain_http, args=(other,), daemon=True)
        answering.start()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        assert "something else answers" in told(tmp_path, "--address", address)
    assert "is not host:port" in told(tmp_path, "--address", "somewhere")
    assert "no Ray cluster answers" in told(tmp_path, "--address", "127.0.0.1:99999")


def _answer_in_plain_http(server: socket.socket) -> None:
    caller, _ = server.accept()
    with caller:
        caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
