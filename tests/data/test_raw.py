"""Archives are read, never unpacked; bad ones are told in a line."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tsbench.data import raw as raw_module
from tsbench.data.raw import RawFiles
from tsbench.errors import UserError


def make_zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_finds_files_in_folders_archives_and_archives_in_archives(tmp_path: Path) -> None:
    inner = make_zip({"top/train/y.txt": b"inner", "__MACOSX/top/train/y.txt": b"junk"})
    (tmp_path / "outer.zip").write_bytes(make_zip({"data.zip": inner, "top/.DS_Store": b"x"}))
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "z.txt").write_bytes(b"plain")
    raw = RawFiles(tmp_path)
    assert raw.find("train/y.txt").read() == b"inner"
    assert raw.find("z.txt").read() == b"plain"
    assert [f.path for f in raw.glob("train/*.txt")] == ["top/train/y.txt"]
    assert not raw.glob(".DS_Store")
    assert RawFiles(tmp_path / "outer.zip").find("train/y.txt").read() == b"inner"


def test_the_end_of_a_path_is_matched_by_whole_parts(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(make_zip({"x/notrain/y.txt": b"no", "x/train/y.txt": b"yes"}))
    assert RawFiles(tmp_path).find("train/y.txt").read() == b"yes"


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil.txt", "a/../../evil", "C:\\evil.txt"])
def test_members_that_point_outside_are_refused(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "a.zip"
    archive.write_bytes(make_zip({name: b"x", "train/y.txt": b"y"}))
    with pytest.raises(UserError, match="points outside"):
        RawFiles(archive)
    with pytest.raises(UserError, match="points outside"):
        RawFiles(tmp_path).find("train/y.txt")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip"]


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    whole = make_zip({"train/y.txt": os.urandom(5000)})
    (tmp_path / "cut.zip").write_bytes(whole[:3000])
    with pytest.raises(UserError, match="not a readable zip"):
        RawFiles(tmp_path / "cut.zip")
    flipped = bytearray(whole)
    flipped[2000] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(flipped)
    with pytest.raises(UserError, match="damaged"):
        RawFiles(tmp_path / "flipped.zip").find("train/y.txt").read()


def test_a_bad_neighbour_does_not_hide_a_good_archive(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(b"PK nonsense")
    (tmp_path / "good.zip").write_bytes(make_zip({"y.txt": b"y"}))
    assert RawFiles(tmp_path).find("y.txt").read() == b"y"
    with pytest.raises(UserError, match=r"bad\.zip"):
        RawFiles(tmp_path).find("z.txt")


def test_absurd_sizes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "bomb.zip"
    archive.write_bytes(make_zip({"y.txt": bytes(1 << 20)}))
    monkeypatch.setattr(raw_module, "MAX_MEMBER", 1 << 19)
    with pytest.raises(UserError, match="too large"):
        RawFiles(archive).find("y.txt").read()
    monkeypatch.setattr(raw_module, "MAX_UNPACKED", 1 << 19)
    with pytest.raises(UserError, match="would unpack"):
        RawFiles(archive)


def test_a_folder_without_permission_and_a_path_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="does not exist"):
        RawFiles(tmp_path / "nowhere")

    def denied(path: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", denied)  # root may read everything
    with pytest.raises(UserError, match="Permission denied"):
        RawFiles(tmp_path)


@pytest.mark.parametrize("name", [".", "a\nb\n../../x", "x/\x1b[31m.txt"])
def test_odd_member_names_are_harmless(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "odd.zip"
    archive.write_bytes(make_zip({name: b"x", "y.txt": b"y"}))
    try:
        assert RawFiles(archive).find("y.txt").read() == b"y"
    except UserError as error:
        assert len(str(error).splitlines()) == 1


def test_random_damage_never_raises_anything_else(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    wholes = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as out:
            out.writestr("y.txt", b"some text " * 50)
            out.writestr("in.zip", make_zip({"z.txt": b"z"}))
        wholes.append(buffer.getvalue())
    archive = tmp_path / "a.zip"
    told = 0
    for i in range(400):
        damaged = bytearray(wholes[i % 4])
        for place in random.integers(len(damaged), size=3):
            damaged[place] = random.integers(256)
        archive.write_bytes(damaged[random.integers(20) * (i % 3 == 0) :])
        try:
            raw = RawFiles(archive)
            raw.find("y.txt").read()
            raw.find("z.txt").read()
        except UserError:
            told += 1
    assert told > 100


def test_a_member_that_lies_about_its_size_stays_small(tmp_path: Path) -> None:
    """200 MB of zeros that announce themselves as 100 bytes."""
    archive = tmp_path / "liar.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_LZMA) as out, out.open("y.txt", "w") as member:
        for _ in range(200):
            member.write(bytes(1 << 20))
    data = bytearray(archive.read_bytes())
    size = struct.pack("<I", 200 << 20)
    assert data.count(size) >= 1
    archive.write_bytes(data.replace(size, struct.pack("<I", 100)))
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from tsbench.data.raw import RawFiles\n"
        "from tsbench.errors import UserError\n"
        "def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "before = peak()\n"
        "try: RawFiles(Path(sys.argv[1])).find('y.txt').read()\n"
        "except UserError: pass\n"
        "print(peak() - before)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(archive)], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) < 50, "megabytes"


def test_links_are_followed_and_dead_ones_passed_over(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "y.txt").write_bytes(b"y")
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "from" / "dead").symlink_to(tmp_path / "gone")
    (tmp_path / "real" / "loop").symlink_to(tmp_path / "from")
    assert RawFiles(tmp_path / "from").find("y.txt").read() == b"y"
