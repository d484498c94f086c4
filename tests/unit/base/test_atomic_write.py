"""Files appear complete or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from committee.base import atomic_write as module
from committee.base.atomic_write import atomic_write, write_text


def test_the_file_appears_when_the_block_ends(tmp_path: Path):
    path = tmp_path / "out.csv.gz"
    with atomic_write(path) as draft:
        draft.write_text("new")
        assert draft.suffix == ".gz"
        assert draft.parent == tmp_path
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_an_exception_leaves_the_old_file_and_no_draft(tmp_path: Path, error: type[BaseException]):
    path = tmp_path / "out.txt"
    path.write_text("old")

    def interrupted() -> None:
        with atomic_write(path) as draft:
            draft.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_to_rename_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise PermissionError(13, "in use")

    monkeypatch.setattr(module.os, "replace", fail)
    with pytest.raises(PermissionError):
        write_text(tmp_path / "out.txt", "new")
    assert list(tmp_path.iterdir()) == []


def test_the_content_is_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    calls = list[str]()
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(module.os, "fsync", lambda fd: (calls.append("fsync"), fsync(fd))[1])
    monkeypatch.setattr(module.os, "replace", lambda a, b: (calls.append("replace"), replace(a, b))[1])
    write_text(tmp_path / "out.txt", "new")
    assert calls == ["fsync", "replace"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX")
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions_follow_the_umask(tmp_path: Path, mask: int):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "out.txt", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.txt").stat().st_mode) == 0o666 & ~mask


def test_an_error_names_the_file_and_not_the_draft(tmp_path: Path):
    with pytest.raises(FileNotFoundError) as caught:
        write_text(tmp_path / "missing" / "out.txt", "new")
    assert caught.value.filename == str(tmp_path / "missing" / "out.txt")


def test_text_is_utf_8_with_unix_line_ends(tmp_path: Path):
    write_text(tmp_path / "out.txt", "é\n±\n")
    assert (tmp_path / "out.txt").read_bytes() == "é\n±\n".encode()
