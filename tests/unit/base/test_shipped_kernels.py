"""Kernels that come with a wheel: which ones are used, and that none is read that could be another's work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from committee.base import shipped_kernels
from committee.base.shipped_kernels import LEVELS, MANIFEST, ShippedKernels, directory_tag, host_levels, write_manifest

HASWELL = [
    "avx", "avx2", "bmi", "bmi2", "cmov", "cx16", "cx8", "f16c", "fma", "fxsr", "lzcnt", "mmx", "movbe", "popcnt",
    "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave",
]  # fmt: skip
NEHALEM = [name for name in HASWELL if name not in ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")]


@pytest.mark.parametrize(
    ("machine", "system", "features", "expected"),
    [
        ("x86_64", "linux", HASWELL, ["x86-64-v3", "x86-64-v2"]),
        ("AMD64", "win32", HASWELL, ["x86-64-v3", "x86-64-v2"]),
        ("x86_64", "linux", [*HASWELL, "avx512f"], ["x86-64-v3", "x86-64-v2"]),
        ("x86_64", "linux", NEHALEM, ["x86-64-v2"]),
        ("x86_64", "linux", ["sse2"], []),
        ("x86_64", "linux", [], []),
        ("arm64", "darwin", [], ["apple-m1", "armv8-a"]),
        ("aarch64", "linux", ["neon"], ["armv8-a"]),
        ("ARM64", "win32", [], ["armv8-a"]),
        ("riscv64", "linux", [], []),
    ],
)
def test_a_machine_runs_the_levels_whose_instructions_it_has(machine, system, features, expected):
    found = shipped_kernels.runnable_levels(machine, system, features)
    assert [level.name for level in found] == expected


def test_the_names_of_levels_are_their_own():
    assert len({level.name for level in LEVELS}) == len(LEVELS)


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """A directory with one pretended kernel for this process, and its manifest."""
    directory = tmp_path / "_compiled" / f"{host_levels()[0].name}-{directory_tag()}"
    directory.mkdir(parents=True)
    (directory / "add-1.kernel").write_bytes(b"machine code")
    write_manifest(directory)
    return directory


def test_kernels_are_read_as_they_were_compiled(shipped):
    kernels = ShippedKernels(shipped.parent)
    assert kernels.level == host_levels()[0]
    assert kernels.read("add-1.kernel") == b"machine code"
    assert kernels.read("add-2.kernel") is None
    assert kernels.read("../add-1.kernel") is None
    assert kernels.refusal == ""


def test_without_kernels_in_the_package_there_is_nothing_to_say(tmp_path):
    kernels = ShippedKernels(tmp_path / "_compiled")
    assert (kernels.level, kernels.refusal) == (None, "")


def test_a_better_level_is_preferred(shipped, monkeypatch):
    best, second = LEVELS[:2]
    monkeypatch.setattr(shipped_kernels, "host_levels", lambda: [best, second])
    shipped.rename(shipped.parent / f"{second.name}-{directory_tag()}")
    assert ShippedKernels(shipped.parent).level == second
    shipped = shipped.parent / f"{second.name}-{directory_tag()}"
    (shipped.parent / f"{best.name}-{directory_tag()}").mkdir()
    for path in shipped.iterdir():
        (shipped.parent / f"{best.name}-{directory_tag()}" / path.name).write_bytes(path.read_bytes())
    assert ShippedKernels(shipped.parent).level == best


@pytest.mark.parametrize("content", [b"", b"machine c0de", b"machine code and more"])
def test_a_kernel_that_is_not_what_the_manifest_says_is_not_read(shipped, content):
    (shipped / "add-1.kernel").write_bytes(content)
    kernels = ShippedKernels(shipped.parent)
    assert kernels.read("add-1.kernel") is None
    assert "damaged" in kernels.refusal
    assert kernels.level is None


def test_a_missing_kernel_is_a_reason_too(shipped):
    (shipped / "add-1.kernel").unlink()
    kernels = ShippedKernels(shipped.parent)
    assert kernels.read("add-1.kernel") is None
    assert "cannot be read" in kernels.refusal


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"sources": 1}', "\x00", '{"sources": null, "kernels": []}'])
def test_a_manifest_that_is_none_is_refused(shipped, text):
    (shipped / MANIFEST).write_text(text)
    kernels = ShippedKernels(shipped.parent)
    assert kernels.level is None
    assert kernels.refusal


def test_kernels_of_other_sources_are_refused(shipped, monkeypatch):
    monkeypatch.setattr(shipped_kernels, "hash_sources", lambda: "another")
    kernels = ShippedKernels(shipped.parent)
    assert kernels.level is None
    assert "other sources" in kernels.refusal


def test_kernels_for_another_python_or_numba_are_refused_by_name(shipped, monkeypatch):
    tag = directory_tag()
    monkeypatch.setattr(shipped_kernels, "directory_tag", lambda: "py399-numba9.99")
    refusal = ShippedKernels(shipped.parent).refusal
    assert tag in refusal
    assert "py399-numba9.99" in refusal


def test_whoever_sets_flags_of_the_compiler_gets_code_compiled_with_them(shipped, monkeypatch):
    monkeypatch.setattr(shipped_kernels, "compiler_flags", lambda: {"BOUNDSCHECK": 1})
    kernels = ShippedKernels(shipped.parent)
    assert (kernels.level, kernels.refusal) == (None, "")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no permission bits on this platform")
@pytest.mark.parametrize("which", ["directory", "root"])
def test_kernels_in_a_directory_that_others_can_write_are_refused(shipped, which):
    changed = shipped if which == "directory" else shipped.parent
    changed.chmod(0o777)
    kernels = ShippedKernels(shipped.parent)
    changed.chmod(0o755)
    assert kernels.level is None
    assert "others can write" in kernels.refusal


RUN = """
import sys
from pathlib import Path
from committee.base import shipped_kernels
shipped_kernels.PACKAGE = Path(sys.argv[1])
import numpy as np
from committee.base.kernel_cache import COMPILING
from committee.kernels.trees.sampling import draw_order
order = np.empty(5, np.int64)
draw_order(np.uint64(7), order)
print(*order, COMPILING.seconds == 0.0)
"""


def run_kernel(package: Path, cache: Path, **environment: str) -> tuple[str, str, str]:
    """The results of a kernel in a new process, whether nothing was compiled, and what was said."""
    run = subprocess.run(
        [sys.executable, "-c", RUN, str(package)],
        env={**os.environ, "COMMITTEE_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    *order, is_shipped = run.stdout.split()
    return " ".join(order), is_shipped, run.stderr


@pytest.mark.slow
def test_shipped_machine_code_runs_and_a_damaged_one_is_compiled_again_with_one_line(tmp_path):
    level = host_levels()[0]
    flags = {"NUMBA_CPU_NAME": level.cpu, "NUMBA_CPU_FEATURES": ""}
    expected, is_shipped, said = run_kernel(tmp_path, tmp_path / "build", **flags)
    assert is_shipped == "False"
    directory = tmp_path / "_compiled" / f"{level.name}-{directory_tag()}"
    directory.parent.mkdir()
    (compiled,) = (tmp_path / "build").iterdir()
    compiled.rename(directory)
    write_manifest(directory)
    assert run_kernel(tmp_path, tmp_path / "cache") == (expected, "True", "")
    assert list((tmp_path / "cache").rglob("*.kernel")) == []

    (kernel,) = directory.glob("*.kernel")
    content = bytearray(kernel.read_bytes())
    content[len(content) * 2 // 3] ^= 0xFF
    kernel.write_bytes(content)
    order, is_shipped, said = run_kernel(tmp_path, tmp_path / "cache")
    assert (order, is_shipped) == (expected, "False")
    assert len(said.splitlines()) == said.count("damaged") == 1
    assert run_kernel(tmp_path, tmp_path / "cache") == (expected, "True", "")  # the user's own

    for path in (kernel, directory / MANIFEST):  # a whole file, but not of a kernel that this numba can read
        path.unlink()
    kernel.write_bytes(b"x" * 100)
    write_manifest(directory)
    order, is_shipped, said = run_kernel(tmp_path, tmp_path / "other")
    assert (order, is_shipped) == (expected, "False")
    assert "do not fit numba" in said
