"""The kernel cache: kept between processes, repaired when damaged, placed where writing is allowed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, cast

import numba
import pytest

from committee.base import jit, kernel_cache

RUN = """
import numpy as np
from committee.kernels.trees.sampling import draw_order
order = np.empty(5, np.int64)
draw_order(np.uint64(7), order)
print(*order, sum(draw_order.stats.cache_hits.values()), sum(draw_order.stats.cache_misses.values()))
"""


def run_kernel(cache: Path) -> tuple[list[str], int, int]:
    """The kernel's answer in a new process, and whether its machine code came from the cache."""
    result = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**os.environ, "COMMITTEE_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert all("compiling its kernels" in line for line in result.stderr.splitlines())
    *order, hits, misses = result.stdout.split()
    return order, int(hits), int(misses)


@pytest.mark.slow
def test_machine_code_is_kept_between_processes(tmp_path):
    first, hits, misses = run_kernel(tmp_path)
    assert (hits, misses) == (0, 1)
    second, hits, misses = run_kernel(tmp_path)
    assert (hits, misses) == (1, 0)
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "noise"])
def test_a_damaged_cache_is_repaired_in_silence(tmp_path, damage):
    expected, _, _ = run_kernel(tmp_path)
    (path,) = tmp_path.glob("*/*.kernel")
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) * 2 // 3] ^= 0xFF
    path.write_bytes(
        {"cut": content[: len(content) // 2], "empty": b"", "flip": content, "noise": b"\x80\x05junk"}[damage]
    )
    assert run_kernel(tmp_path)[0] == expected
    assert run_kernel(tmp_path) == (expected, 1, 0)


@pytest.mark.parametrize(
    "source", ["kernels/a.py", "kernels/trees/a.py", "records/growth.py", "base/_kernel_compiler.py"]
)
def test_the_cache_is_named_by_the_sources_that_kernels_compile_in(source, monkeypatch, tmp_path):
    path = tmp_path / source
    path.parent.mkdir(parents=True)
    monkeypatch.setattr(kernel_cache, "PACKAGE", tmp_path)
    names = set()
    for text in ("x = 1", "x = 2"):
        path.write_text(text)
        kernel_cache.hash_sources.cache_clear()
        names.add(kernel_cache.directory_name())
    kernel_cache.hash_sources.cache_clear()
    assert len(names) == 2


@pytest.mark.parametrize(("name", "value"), [("BOUNDSCHECK", 1), ("CPU_NAME", "x86-64-v2"), ("CPU_FEATURES", "")])
def test_the_cache_is_named_by_the_flags_of_the_compiler(name, value, monkeypatch):
    usual = kernel_cache.directory_name()
    monkeypatch.setattr(numba.config, name, value)
    assert kernel_cache.directory_name() != usual


@pytest.fixture
def fresh_cache_directory():
    kernel_cache.cache_directory.cache_clear()
    yield
    kernel_cache.cache_directory.cache_clear()


@pytest.mark.usefixtures("fresh_cache_directory")
@pytest.mark.parametrize(
    ("system", "variable", "below"),
    [("linux", "XDG_CACHE_HOME", ""), ("linux", "HOME", ".cache"), ("darwin", "HOME", "Library/Caches"),
     ("win32", "LOCALAPPDATA", ""), ("win32", "HOME", "AppData/Local")],
)  # fmt: skip
def test_kernels_are_stored_where_the_platform_keeps_caches(system, variable, below, monkeypatch, tmp_path):
    for name in ("COMMITTEE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr(sys, "platform", system)
    directory = kernel_cache.cache_directory()
    assert directory is not None
    assert directory.parent == tmp_path / below / "committee"
    assert directory.is_dir()


@pytest.mark.usefixtures("fresh_cache_directory")
def test_nothing_is_stored_inside_the_package(monkeypatch, tmp_path):
    monkeypatch.delenv("COMMITTEE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = kernel_cache.cache_directory()
    assert directory is not None
    assert kernel_cache.PACKAGE not in directory.parents


@pytest.mark.usefixtures("fresh_cache_directory")
@pytest.mark.parametrize("home", ["a file", "nothing"])
def test_without_a_place_for_it_there_is_no_cache(home, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")  # no directory can be made below a file, even by root
    for name in ("COMMITTEE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    if home == "nothing":
        monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home directory")))
    monkeypatch.setenv("HOME", str(blocked))
    assert kernel_cache.cache_directory() is None
    assert kernel_cache.remove_stale_caches() == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permission bits on this platform")
@pytest.mark.usefixtures("fresh_cache_directory")
def test_a_directory_that_others_can_write_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv("COMMITTEE_CACHE_DIR", str(tmp_path))
    directory = tmp_path / kernel_cache.directory_name()
    directory.mkdir()
    for mode, is_used in ((0o755, True), (0o777, False), (0o757, False), (0o555, True)):
        directory.chmod(mode)
        kernel_cache.cache_directory.cache_clear()
        assert (kernel_cache.cache_directory() is not None) is is_used, oct(mode)


class Status(NamedTuple):
    st_mode: int
    st_uid: int
    st_gid: int


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permission bits on this platform")
@pytest.mark.parametrize(
    ("mode", "owner", "group", "expected"),
    [(0o755, 1000, 1000, True), (0o775, 1000, 1000, True), (0o775, 1000, 100, False), (0o755, 1001, 1001, False),
     (0o755, 0, 0, True), (0o775, 0, 0, True), (0o757, 1000, 1000, False)],
)  # fmt: skip
def test_only_this_user_the_superuser_and_a_private_group_are_trusted(mode, owner, group, expected, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(kernel_cache, "PACKAGE", fake_path(Status(0o755, 1000, 1000)))
    assert kernel_cache.only_trusted_can_write(fake_path(Status(mode, owner, group))) is expected


def fake_path(status: Status) -> Path:
    class FakePath:
        def stat(self) -> Status:
            return status

    return cast(Path, FakePath())


def test_where_permissions_have_no_bits_the_directories_of_the_user_are_trusted(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "geteuid", raising=False)  # Windows
    tmp_path.chmod(0o777)
    assert kernel_cache.only_trusted_can_write(tmp_path)


def run_with_cache(cache: Path, before: str = "") -> str:
    """What a process that needs two specialisations of a kernel prints to stderr."""
    code = before + RUN + "\ndraw_order(np.uint64(7), np.empty(5, np.int32))"
    environment = {**os.environ, "COMMITTEE_CACHE_DIR": str(cache)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return run.stderr


@pytest.mark.slow
def test_compilation_is_announced_once_and_only_when_it_happens(tmp_path):
    first = run_with_cache(tmp_path / "cache")
    assert first.count("compiling its kernels") == 1
    assert str(tmp_path / "cache") in first
    assert "committee warmup" in first
    assert run_with_cache(tmp_path / "cache") == ""


def test_without_a_writable_cache_the_advice_is_another_and_the_kernels_run(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    said = run_with_cache(blocked)
    assert said.count("COMMITTEE_CACHE_DIR") == said.count("compiling its kernels") == 1


FULL_DISK = """
import errno, os
from pathlib import Path
def full(self, content):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
Path.write_bytes = full
"""


@pytest.mark.slow
def test_a_full_disk_loses_the_cache_and_nothing_else(tmp_path):
    said = run_with_cache(tmp_path, FULL_DISK)
    assert said.count("No space left on device") == said.count("cannot store its compiled kernels") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_a_read_only_cache_is_read(tmp_path):
    expected, _, _ = run_kernel(tmp_path)
    (directory,) = tmp_path.iterdir()
    directory.chmod(0o555)
    assert run_kernel(tmp_path) == (expected, 1, 0)


READ_ONLY = """
import errno, os
from committee.base import _kernel_compiler
def refuse(path):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
_kernel_compiler.atomic_write = refuse
"""


@pytest.mark.slow
def test_kernels_missing_from_a_read_only_cache_are_compiled_in_every_process(tmp_path):
    said = run_with_cache(tmp_path, READ_ONLY)
    assert said.count("Read-only file system") == said.count("cannot store its compiled kernels") == 1


def test_a_part_cannot_be_called_from_python():
    from committee.kernels.trees.sampling import mix

    with pytest.raises(TypeError, match="mix is a part of kernels"):
        mix(3)


def test_caches_of_older_sources_are_removed_after_a_day(tmp_path, monkeypatch):
    old, new, used = (tmp_path / f"kernels-{name}" for name in ("old", "new", "used"))
    for directory in (old, new, used):
        directory.mkdir()
        (directory / "file").write_text("machine code")
    two_days_ago = time.time() - 2 * 86_400
    for directory in (old, used):
        os.utime(directory, (two_days_ago, two_days_ago))
    monkeypatch.setattr(kernel_cache, "cache_directory", lambda: used)
    assert kernel_cache.remove_stale_caches() == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels-new", "kernels-used"]


@pytest.mark.parametrize("is_on", [True, False])
def test_the_collector_rests_while_a_kernel_is_compiled_and_is_then_as_before(is_on):
    seen = []

    class Dispatcher:
        def compile(self, signature):
            seen.append(gc.isenabled())

    was_on = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        jit.compiled_whole(Dispatcher()).compile(None)
        assert seen == [False]
        assert gc.isenabled() == is_on
    finally:
        (gc.enable if was_on else gc.disable)()


WITHOUT = """
import numpy as np
import {module}
del {module}.{name}
from committee.base import jit
from committee.kernels.trees.binning import bin_columns
from committee.kernels.trees.sampling import draw_order
order, codes = np.empty(5, np.int64), np.empty((1, 3), np.uint8)
draw_order(np.uint64(7), order)
edges = np.full((1, 256), np.inf)
edges[0, :2] = 1.0, 2.0
bin_columns(np.array([[0.5, 1.5, np.nan]]), edges, np.array([3]), 0, codes)
print(jit.own_compiler is None, *order, *codes[0])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "numba.core.codegen JITCodeLibrary",
        "numba.core.compiler CompileResult._rebuild",
        "numba.core.typed_passes NativeLowering",
    ],
)
def test_kernels_are_compiled_the_plain_way_where_numba_lacks_a_private_name(name, tmp_path):
    module, _, attribute = name.rpartition(" ")
    code = WITHOUT.format(module=module, name=attribute)
    environment = {**os.environ, "COMMITTEE_CACHE_DIR": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    is_plain, *values = run.stdout.split()
    assert is_plain == "True"
    assert values[:5] == run_kernel(tmp_path / "own")[0]
    assert values[5:] == ["0", "1", "3"]
    assert any(tmp_path.rglob("*.nbi"))  # numba's own
