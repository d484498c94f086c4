"""The kernel cache: kept between processes, repaired when damaged, placed where writing is allowed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

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
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "noise"])
def test_a_damaged_cache_is_repaired_in_silence(tmp_path, suffix, damage):
    expected, _, _ = run_kernel(tmp_path)
    (path,) = tmp_path.glob(f"*/*{suffix}")
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
        kernel_cache.source_hash.cache_clear()
        names.add(kernel_cache.source_hash())
    kernel_cache.source_hash.cache_clear()
    assert len(names) == 2


def test_a_read_only_install_falls_back_to_other_places(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")  # no directory can be made below a file, even by root
    monkeypatch.delenv("COMMITTEE_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_cache, "PACKAGE", blocked)
    monkeypatch.setattr(kernel_cache, "source_hash", lambda: "hash")
    for home, parent in ((tmp_path / "home", tmp_path / "home" / "committee"), (blocked, None)):
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        kernel_cache.cache_directory.cache_clear()
        directory = kernel_cache.cache_directory()
        assert directory.is_dir()
        if parent is not None:
            assert directory.parent == parent
        assert directory.stat().st_mode & 0o077 == 0
    kernel_cache.cache_directory.cache_clear()


def run_with_cache(cache: Path, temporary: Path) -> str:
    """What a process that needs two specialisations of a kernel prints to stderr."""
    code = RUN + "\ndraw_order(np.uint64(7), np.empty(5, np.int32))"
    environment = {**os.environ, "COMMITTEE_CACHE_DIR": str(cache), "TMPDIR": str(temporary)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return run.stderr


@pytest.mark.slow
def test_compilation_is_announced_once_and_only_when_it_happens(tmp_path):
    first = run_with_cache(tmp_path / "cache", tmp_path)
    assert first.count("compiling its kernels") == 1
    assert str(tmp_path / "cache") in first
    assert "committee warmup" in first
    assert run_with_cache(tmp_path / "cache", tmp_path) == ""


def test_without_a_writable_cache_the_advice_is_another_and_nothing_stays_behind(tmp_path):
    blocked, temporary = tmp_path / "file", tmp_path / "tmp"
    blocked.write_text("")  # no directory can be made below a file, even by root
    temporary.mkdir()
    assert "set COMMITTEE_CACHE_DIR" in run_with_cache(blocked, temporary)
    assert list(temporary.iterdir()) == []


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
    ["numba.core.codegen JITCodeLibrary", "numba.core.caching _CacheLocator", "numba.core.typed_passes NativeLowering"],
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
    assert any(tmp_path.rglob("*.nbi"))
