"""Downloads that are killed, repeated, forced, or two at once; lists of files, odd disks."""

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
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
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
from tsbench.data import manifest
from tsbench.data.card import Card, Listing, RemoteFile
from tsbench.data.download import Fetcher
from tsbench.data.obtain import obtain
from tsbench.data.prepared import load
from tsbench.errors import UserError
from tsbench.protocol.samples import Coverage, Split, Splits

PROGRAM = """
import sys
import threading
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from small_download import make_card, QUICK
from tsbench.data.obtain import obtain
obtain(make_card(sys.argv[1]), Path(sys.argv[2]), fetcher=QUICK)
"""


def run_program(program: str, *arguments: str, **options) -> subprocess.Popen:
    command = [sys.executable, "-c", program, *arguments, str(Path(__file__).parents[1])]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)


def start(server: FaultyServer, root: Path) -> subprocess.Popen:
    return run_program(PROGRAM, server.root + "a.zip", str(root))


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
    server.faults["a.zip"] = ["held"]
    first = start(server, tmp_path)
    while not server.requests["a.zip"]:
        time.sleep(0.01)
        assert first.poll() is None
    second = start(server, tmp_path)
    assert second.stderr is not None
    assert "waiting: another process" in second.stderr.readline()
    server.release.set()
    said = [process.communicate()[1] for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], said
    assert server.requests["a.zip"] == 1
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


READER = """
import sys
import threading
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from small_download import make_card
from tsbench.data.prepared import load
count = 0
while not Path(sys.argv[1], "stop").exists():
    load(make_card(), Path(sys.argv[1]))
    count += 1
    if count == 1:
        print("reading", flush=True)
print(count)
"""


def test_a_manifest_that_is_replaced_while_it_is_read(tmp_path, server, monkeypatch) -> None:
    """Its arrays are gone when they are looked for: the new manifest is read."""
    get(server, tmp_path)
    look = manifest._problem

    def look_too_late(found: dict, folder: Path) -> str:
        monkeypatch.setattr(manifest, "_problem", look)
        obtain(make_card(server.root + "a.zip"), tmp_path, force=True, fetcher=QUICK)
        problems.append(look(found, folder))
        return problems[0]

    problems: list[str] = []
    monkeypatch.setattr(manifest, "_problem", look_too_late)
    found = manifest.read_manifest(make_card(), tmp_path)
    assert problems == ["the folder of its arrays is missing"]
    assert found is not None and (tmp_path / "small" / found["folder"]).is_dir()


def test_force_replaces_what_is_there_at_once(tmp_path, server) -> None:
    get(server, tmp_path)
    held = load(make_card(), tmp_path)
    # A process, not a thread: CPython 3.11 may fail when two threads parse at once, as numpy does
    # for the header of each array ("AST constructor recursion depth mismatch").
    reader = run_program(READER, str(tmp_path), stdout=subprocess.PIPE)
    assert reader.stdout is not None and reader.stdout.readline() == "reading\n"
    for _ in range(5):
        obtain(make_card(server.root + "a.zip"), tmp_path, force=True, fetcher=QUICK)
    (tmp_path / "stop").touch()
    printed, errors = reader.communicate()
    assert reader.returncode == 0, errors
    assert int(printed) > 5, "it read all the time"
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

    clock = SimpleNamespace(monotonic=lambda: seconds)
    monkeypatch.setattr(console, "time", clock)
    monkeypatch.setattr(console, "PLAIN_INTERVAL", 0.0)
    seconds = 100.0
    with Meter("x: downloading", 4_000_000, in_bytes=True) as meter:
        meter.advance(1_000_000, fresh=False)
        seconds += 2.5
        meter.advance(1_000_000)
    last = capsys.readouterr().err.strip().splitlines()[-1]
    # Only what this session fetched counts for the speed.
    assert last == "x: downloading: 2.0 MB of 4.0 MB, 400.0 kB/s, 5 s left"
