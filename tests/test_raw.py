"""Archives are read, never unpacked; bad ones are told in a line."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

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
    assert not raw.has(".DS_Store")
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
