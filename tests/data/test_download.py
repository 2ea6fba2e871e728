"""The downloader against a server with faults: success, or one clear message, and no half data."""

from __future__ import annotations

import hashlib
import io
import time
import zipfile
from dataclasses import replace

import pytest
from faulty_server import FaultyServer
from small_download import (
    BODY,
    QUICK,
    assert_nothing_loads,
    assert_whole,
    get,
    make_card,
)

from tsbench.console import Meter
from tsbench.data import download as download_module
from tsbench.data import obtain as obtain_module
from tsbench.data.card import RemoteFile
from tsbench.data.download import Fetcher
from tsbench.data.manifest import read_manifest
from tsbench.data.obtain import obtain
from tsbench.errors import UserError


def test_downloads_verifies_prepares_and_then_does_nothing(server, tmp_path) -> None:
    get(server, tmp_path, sha256=hashlib.sha256(BODY).hexdigest())
    assert_whole(tmp_path)
    manifest = (tmp_path / "small" / "manifest.json").read_bytes()
    get(server, tmp_path)
    assert server.requests["a.zip"] == 1
    assert (tmp_path / "small" / "manifest.json").read_bytes() == manifest
    assert not list(tmp_path.rglob("*.part*")) + list(tmp_path.rglob("*.tmp"))


def test_a_cut_line_is_resumed_where_it_broke(server, tmp_path) -> None:
    server.faults["a.zip"] = ["cut", "cut"]
    get(server, tmp_path)
    assert_whole(tmp_path)
    assert server.range_headers[0] == f"bytes={len(BODY) // 2}-"
    assert server.bytes_sent == len(BODY), "nothing is sent twice"


def test_a_server_without_ranges_is_asked_from_the_start(tmp_path) -> None:
    with FaultyServer({"a.zip": BODY}, ranges=False) as server:
        server.faults["a.zip"] = ["cut"]
        get(server, tmp_path)
    assert_whole(tmp_path)


def test_500_twice_then_fine(server, tmp_path) -> None:
    server.faults["a.zip"] = ["500", "503"]
    get(server, tmp_path)
    assert_whole(tmp_path)


def test_a_slow_server_and_one_that_hangs(server, tmp_path) -> None:
    server.faults["a.zip"] = ["hang", "slow"]
    card = make_card(server.root + "a.zip")
    obtain(card, tmp_path, fetcher=replace(QUICK, timeout=0.5))
    assert server.requests["a.zip"] >= 2, "the one that hung was given up"
    assert_whole(tmp_path)


@pytest.mark.parametrize("fault", ["404", "html"])
def test_the_next_source_is_tried(server, tmp_path, fault) -> None:
    server.faults["a.zip"] = [fault] * 9
    card = make_card(server.root + "a.zip", server.root + "mirror/a.zip")
    obtain(card, tmp_path, fetcher=QUICK)
    assert_whole(tmp_path)
    assert server.requests["a.zip"] == 1, "an answer that will not change is not asked for again"


def test_an_alternative_file_stands_in(server, tmp_path) -> None:
    card = make_card(server.root + "gone.zip")
    other = RemoteFile("other.zip", (server.root + "mirror/a.zip",), len(BODY))
    card = replace(card, files=(replace(card.files[0], alternatives=(other,)),))
    obtain(card, tmp_path, fetcher=QUICK)
    assert_whole(tmp_path)


@pytest.mark.parametrize("fault", ["404", "500", "html", "cut"])
def test_no_source_names_the_file_the_page_and_the_command(server, tmp_path, fault) -> None:
    server.faults["a.zip"] = [fault] * 99
    if fault == "cut":
        server.ranges = False
    with pytest.raises(UserError) as error:
        get(server, tmp_path)
    message = str(error.value)
    assert "a.zip" in message
    assert "https://example.org/small" in message
    assert "tsbench download small --from" in message
    assert len(message.splitlines()) == 1
    assert_nothing_loads(tmp_path)


def test_an_unknown_host_is_not_asked_again(tmp_path) -> None:
    card = make_card("http://tsbench-test.invalid/a.zip")
    started = time.monotonic()
    with pytest.raises(UserError, match="--from"):
        obtain(card, tmp_path, fetcher=Fetcher(backoff=30))
    assert time.monotonic() - started < 25


def test_another_digest_is_a_warning_that_names_both(server, tmp_path, capsys) -> None:
    get(server, tmp_path, sha256="0" * 64)
    said = capsys.readouterr().err
    assert "0" * 64 in said
    assert hashlib.sha256(BODY).hexdigest() in said
    assert_whole(tmp_path)
    assert read_manifest(make_card(), tmp_path)["sources"][0]["as_published"] is False


def test_a_strict_digest_is_an_error_and_damage_is_fetched_again(server, tmp_path) -> None:
    with pytest.raises(UserError, match="wrong SHA-256"):
        get(server, tmp_path, sha256="0" * 64, strict=True)
    assert_nothing_loads(tmp_path)
    assert not list(tmp_path.rglob("a.zip*"))
    server.faults["a.zip"] = ["other"]
    get(server, tmp_path, sha256=hashlib.sha256(BODY).hexdigest(), strict=True)
    assert_whole(tmp_path)


def test_an_archive_that_lacks_a_file_is_told_and_leaves_nothing(server, tmp_path) -> None:
    server.files["a.zip"] = (lambda b: (zipfile.ZipFile(b, "w").close(), b.getvalue())[1])(
        io.BytesIO()
    )
    with pytest.raises(UserError, match=r"small: 'x\.npy' is not in"):
        get(server, tmp_path)
    assert_nothing_loads(tmp_path)


def test_a_full_disk_stops_with_a_message_and_keeps_what_is_there(
    server, tmp_path, monkeypatch
) -> None:
    usage = (10**9, 10**9, 5)
    real = obtain_module.shutil.disk_usage
    fake = type(real("."))(*usage)
    monkeypatch.setattr(obtain_module.shutil, "disk_usage", lambda path: fake)
    with pytest.raises(UserError, match="5 B free"):
        get(server, tmp_path)
    assert not server.requests, "told before starting"
    monkeypatch.setattr(obtain_module.shutil, "disk_usage", real)

    chunk_size = download_module.CHUNK
    monkeypatch.setattr(download_module, "CHUNK", 1000)
    advance, count = Meter.advance, 0

    def full_after_a_while(meter, n, fresh=True):
        nonlocal count
        count += 1
        if count == 5:
            raise OSError(28, "No space left on device")
        advance(meter, n, fresh)

    monkeypatch.setattr(Meter, "advance", full_after_a_while)
    with pytest.raises(UserError, match="disk is full"):
        get(server, tmp_path)
    monkeypatch.setattr(Meter, "advance", advance)
    monkeypatch.setattr(download_module, "CHUNK", chunk_size)
    assert_nothing_loads(tmp_path)
    get(server, tmp_path)
    assert server.range_headers, "goes on where it stopped"
    assert_whole(tmp_path)


def test_a_folder_that_cannot_be_written(server, tmp_path) -> None:
    (tmp_path / "small").write_text("a file where a folder should be")
    with pytest.raises(UserError, match="cannot use"):
        get(server, tmp_path)
