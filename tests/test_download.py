"""The downloader against a server with faults: success, or one clear message, and no half data."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from faulty_server import FaultyServer

from tsbench.console import Meter
from tsbench.data import download as download_module
from tsbench.data import obtain as obtain_module
from tsbench.data.arrays import Coverage, Split, Splits
from tsbench.data.card import Card, Listing, RemoteFile
from tsbench.data.download import Fetcher
from tsbench.data.obtain import obtain
from tsbench.data.prepared import load, read_manifest
from tsbench.errors import UserError

QUICK = Fetcher(tries=3, backoff=0.01, timeout=0.5)


def series_zip() -> bytes:
    """A small archive: 8 classes × 20 series of 2 × 10 numbers, incompressible enough to cut."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        np.save(x := io.BytesIO(), np.random.default_rng(0).normal(size=(160, 2, 10)))
        archive.writestr("x.npy", x.getvalue())
    return buffer.getvalue()


def prepare(raw, tick) -> Splits:
    x = np.load(io.BytesIO(raw.find("x.npy").read())).astype(np.float32)
    y = np.repeat(np.arange(8), 20)
    tick(1, 1)
    return Splits(Split(x[::2], y[::2]), Split(x[1::2], y[1::2]), Coverage(1, 1, "files"))


BODY = series_zip()


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer({"a.zip": BODY, "mirror/a.zip": BODY}) as running:
        yield running


def make_card(*urls: str, sha256: str | None = None, strict: bool = False) -> Card:
    return Card(
        name="small",
        title="Small",
        channels=2,
        length=10,
        class_names=tuple("abcdefgh"),
        input_norm="none",
        dropout=0.0,
        memory_per_class=20,
        licence="none",
        citation="none",
        page="https://example.org/small",
        prepare=prepare,
        files=(RemoteFile("a.zip", urls, len(BODY), sha256, strict),),
        published_counts={"train": 80, "test": 80},
    )


def get(server: FaultyServer, root: Path, **options) -> dict:
    card = make_card(server.root + "a.zip", **options)
    return obtain(card, root, fetcher=QUICK)


def assert_whole(root: Path) -> None:
    dataset = load(make_card(), root)
    assert dataset.splits.digest() == dataset.digest
    assert len(dataset.splits.train) == 72  # a tenth of 80 is held out: four tasks


def assert_nothing_loads(root: Path) -> None:
    assert read_manifest(make_card(), root) is None
    with pytest.raises(UserError, match="not prepared"):
        load(make_card(), root)


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
    get(server, tmp_path)
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
    assert len(message.splitlines()) == 2
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


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from test_download import make_card, QUICK
from tsbench.data.obtain import obtain
obtain(make_card(sys.argv[1]), Path(sys.argv[2]), fetcher=QUICK)
"""


def start(server: FaultyServer, root: Path) -> subprocess.Popen:
    here = str(Path(__file__).parent)
    arguments = [sys.executable, "-c", PROGRAM, server.root + "a.zip", str(root), here]
    return subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)


def test_killed_in_the_middle_and_started_again(server, tmp_path) -> None:
    server.faults["a.zip"] = ["slow"]
    process = start(server, tmp_path)
    while server.bytes_sent < len(BODY) // 4:
        time.sleep(0.01)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert_nothing_loads(tmp_path)
    get(server, tmp_path)
    assert_whole(tmp_path)


def test_two_at_once_download_once(server, tmp_path) -> None:
    server.faults["a.zip"] = ["slow"]
    processes = [start(server, tmp_path) for _ in range(2)]
    said = "".join(process.communicate()[1] for process in processes)
    assert [process.returncode for process in processes] == [0, 0]
    assert server.requests["a.zip"] == 1
    assert "waiting" in said
    assert_whole(tmp_path)


def listing_card(server: FaultyServer, count: int) -> Card:
    listing = Listing(
        roots=(server.root + "down/", server.root + "p/"),
        sums="SHA256SUMS.txt",
        wanted=r"S1/r\d+\.npy",
        count=count,
        size=count * 1000,
    )
    return replace(make_card(), files=(), listing=listing, prepare=prepare_records)


def prepare_records(raw, tick) -> Splits:
    x = np.concatenate([np.load(io.BytesIO(f.read())) for f in raw.glob("S1/r*.npy")])
    y = np.repeat(np.arange(8), 20)
    return Splits(Split(x[::2], y[::2]), Split(x[1::2], y[1::2]), Coverage(1, 1, "files"))


def test_many_small_files_from_a_published_list(tmp_path) -> None:
    records = {}
    for i in range(8):
        np.save(out := io.BytesIO(), np.full((20, 2, 10), i, np.float32))
        records[f"S1/r{i}.npy"] = out.getvalue()
    sums = "".join(f"{hashlib.sha256(b).hexdigest()} {p}\n" for p, b in records.items())
    sums += "0" * 64 + " S2/r1.npy\n"
    files = {f"p/{path}": body for path, body in records.items()}
    files["p/SHA256SUMS.txt"] = sums.encode()
    with FaultyServer(files) as server:
        server.faults["p/S1/r3.npy"] = ["cut", "500"]
        server.faults["p/S1/r4.npy"] = ["500"] * 99
        with pytest.raises(UserError, match=r"S1/r4\.npy"):
            obtain(listing_card(server, 8), tmp_path, fetcher=QUICK)
        assert_nothing_loads(tmp_path)
        server.faults.clear()
        obtain(listing_card(server, 8), tmp_path, fetcher=QUICK)
        assert_whole(tmp_path)
        assert server.requests["p/S1/r0.npy"] == 1, "verified files are kept"
        assert not server.requests["p/S2/r1.npy"], "only what is needed"
        with pytest.raises(UserError, match="expected 9"):
            obtain(listing_card(server, 9), tmp_path / "other", fetcher=QUICK)


def test_from_a_folder_of_loose_files_or_an_archive(tmp_path) -> None:
    (tmp_path / "loose").mkdir()
    with zipfile.ZipFile(io.BytesIO(BODY)) as archive:
        (tmp_path / "loose" / "x.npy").write_bytes(archive.read("x.npy"))
    (tmp_path / "renamed.zip").write_bytes(BODY)
    first = obtain(make_card(), tmp_path / "1", source=tmp_path / "loose")
    second = obtain(make_card(), tmp_path / "2", source=tmp_path / "renamed.zip")
    assert first["digest"] == second["digest"]
    assert not (tmp_path / "1" / "small" / "raw").exists(), "the source is read where it is"


def test_force_replaces_what_is_there_at_once(tmp_path, server) -> None:
    get(server, tmp_path)
    held = load(make_card(), tmp_path)
    stop = threading.Event()
    failures: list[Exception] = []

    def read_all_the_time() -> None:
        while not stop.is_set():
            try:
                load(make_card(), tmp_path)
            except Exception as error:
                failures.append(error)

    reader = threading.Thread(target=read_all_the_time)
    reader.start()
    for _ in range(5):
        obtain(make_card(server.root + "a.zip"), tmp_path, force=True, fetcher=QUICK)
    stop.set()
    reader.join()
    assert not failures
    assert held.splits.digest() == held.digest, "who has it open keeps it"


def test_a_damaged_archive_is_fetched_again(server, tmp_path) -> None:
    server.faults["a.zip"] = ["other"]
    get(server, tmp_path)
    assert server.requests["a.zip"] == 2
    assert_whole(tmp_path)


def test_force_keeps_the_archive_when_no_source_answers(server, tmp_path) -> None:
    get(server, tmp_path)
    server.faults["a.zip"] = ["500"] * 99
    card = make_card(server.root + "a.zip")
    with pytest.raises(UserError):
        obtain(card, tmp_path, force=True, fetcher=QUICK)
    assert (tmp_path / "small" / "raw" / "a.zip").read_bytes() == BODY
    assert_whole(tmp_path)


def test_a_file_that_changed_on_the_server_is_not_spliced(server, tmp_path) -> None:
    server.faults["a.zip"] = ["cut"] + ["500"] * 9
    with pytest.raises(UserError):
        get(server, tmp_path)
    server.faults.clear()
    server.files["a.zip"] = BODY + bytes(10)  # a zip may be followed by nothing, or by zeros
    get(server, tmp_path)
    assert (tmp_path / "small" / "raw" / "a.zip").read_bytes() == BODY + bytes(10)


def test_ctrl_c_ends_all_downloads_at_once(tmp_path) -> None:
    with FaultyServer({f"{i}.zip": BODY for i in range(3)}) as server:
        server.faults = {f"{i}.zip": ["slow"] for i in range(3)}
        server.delay = 0.1
        fetcher = Fetcher(tries=3, backoff=0.01, timeout=5)
        files = [RemoteFile(f"{i}.zip", (server.root + f"{i}.zip",), 1) for i in range(3)]
        ctrl_c = (threading.main_thread().ident, signal.SIGINT)
        threading.Timer(0.5, signal.pthread_kill, ctrl_c).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt), Meter("test", 1) as meter:
            fetcher.fetch_all(files, tmp_path, meter)
        assert time.monotonic() - started < 5
    assert not list(tmp_path.glob("*.zip"))


def test_a_server_that_talks_nonsense(server, tmp_path, monkeypatch) -> None:
    server.files["a.zip"] = b"PK" + bytes(100)
    with pytest.raises(UserError, match="not a zip"):
        get(server, tmp_path)
    assert_nothing_loads(tmp_path)


def test_a_full_disk_while_storing_leaves_nothing(server, tmp_path, monkeypatch) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError("4096 requested and 0 written")  # numpy's words, without a number

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(UserError, match="disk full"):
        get(server, tmp_path)
    assert_nothing_loads(tmp_path)
    assert not list(tmp_path.rglob("arrays-*"))


def test_no_lock_on_this_file_system_is_no_reason_to_wait(server, tmp_path, monkeypatch) -> None:
    import fcntl

    def unsupported(handle: int, operation: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    get(server, tmp_path)
    assert_whole(tmp_path)


def test_progress_in_plain_lines(monkeypatch, capsys) -> None:
    from tsbench import console

    monkeypatch.setattr(console, "PLAIN_INTERVAL", 0.0)
    with Meter("x: downloading", 4_000_000, in_bytes=True) as meter:
        meter.advance(1_000_000, fresh=False)
        time.sleep(0.1)
        meter.advance(1_000_000)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("x: downloading: 2.0 MB of 4.0 MB, ")
    speed = float(last.split(", ")[1].split(" MB/s")[0])
    assert 5 < speed < 10.1, "only what this session fetched counts for the speed"
    assert last.endswith("s left")
