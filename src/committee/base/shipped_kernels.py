"""Kernels compiled ahead of time, which a platform wheel brings along: read only, checked, looked up first.

The CPU that a cache of numba's is for is the exact model of the machine. These are for a level: the instructions that
all CPUs of the last decade have. A directory holds the kernels for one level, Python minor and numba minor, and a
manifest with their digests and the hash of the sources they were compiled from. `tools/compile_kernels.py` makes them.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba

from committee.base.kernel_cache import PACKAGE, compiler_flags, hash_sources, only_trusted_can_write

MANIFEST = "manifest.json"


class Level(NamedTuple):
    """A set of instructions that kernels are compiled for."""

    name: str
    cpu: str
    """LLVM's name of the CPU with just these instructions."""
    machines: tuple[str, ...]
    """Names that operating systems give to machines of this kind, in lower case."""
    features: frozenset[str] = frozenset()
    """Features by LLVM's names that the CPU must have, beyond those of every such machine."""
    system: str | None = None


_X86 = ("x86_64", "amd64")
_ARM = ("arm64", "aarch64")
_V2 = frozenset(["cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"])
_V3 = _V2 | frozenset(["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"])

LEVELS = (
    Level("x86-64-v3", "x86-64-v3", _X86, _V3),
    Level("x86-64-v2", "x86-64-v2", _X86, _V2),
    Level("apple-m1", "apple-m1", _ARM, system="darwin"),
    Level("armv8-a", "generic", _ARM),
)
"""The better of two that a machine can run comes first."""


def runnable_levels(machine: str, system: str, features: Collection[str]) -> list[Level]:
    """The levels that a machine can run, the best one first."""
    return [
        level
        for level in LEVELS
        if machine.lower() in level.machines and level.features <= set(features) and level.system in (None, system)
    ]


def host_levels() -> list[Level]:
    """The levels that this machine can run, the best one first."""
    from llvmlite.binding import get_host_cpu_features  # here: numba has loaded LLVM by the time a kernel is wanted

    try:
        features = [name for name, has in get_host_cpu_features().items() if has]
    except RuntimeError:  # LLVM does not know on every platform
        features = []
    return runnable_levels(platform.machine(), sys.platform, features)


def directory_tag() -> str:
    """What a directory of kernels is for besides its level: Python's minor version and ABI, and numba's minor."""
    python = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
    return f"{python}-numba{'.'.join(numba.__version__.split('.')[:2])}"


def write_manifest(directory: Path) -> None:
    """Describe the kernels in a directory, before it goes into a wheel."""
    kernels = {path.name: _digest(path.read_bytes()) for path in sorted(directory.iterdir()) if path.name != MANIFEST}
    manifest = {"sources": hash_sources(), "kernels": kernels}
    (directory / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8", newline="\n")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class ShippedKernels:
    """The kernels in the package that this process can use; none, and why, if something about them does not match."""

    def __init__(self, root: Path) -> None:
        self.level: Level | None = None
        self.refusal = ""
        """Why kernels that are there are not used, for the notice that others are compiled."""
        self._directory, self._digests = root, dict[str, str]()
        if root.is_dir() and not compiler_flags():  # whoever sets these flags wants other code
            try:
                self._choose(root)
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                self.refuse(f"are damaged: {error}")

    def read(self, name: str) -> bytes | None:
        """The content of a file, None if it is not there or not what the manifest says."""
        expected = self._digests.get(name)
        if expected is None:
            return None
        try:
            content = (self._directory / name).read_bytes()
        except OSError as error:
            self.refuse(f"cannot be read: {error}")
            return None
        if _digest(content) != expected:
            self.refuse(f"are damaged: {self._directory / name}")
            return None
        return content

    def _choose(self, root: Path) -> None:
        there = [level for level in host_levels() if (root / f"{level.name}-{directory_tag()}").is_dir()]
        if not there:
            names = ", ".join(sorted(path.name for path in root.iterdir() if path.is_dir()))
            self.refuse(f"are for {names}, not for {directory_tag()} on this machine")
            return
        directory = root / f"{there[0].name}-{directory_tag()}"
        if not (only_trusted_can_write(root) and only_trusted_can_write(directory)):
            self.refuse(f"are not used, since others can write to {directory}")
            return
        manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        if manifest["sources"] != hash_sources():
            self.refuse("were compiled from other sources")
            return
        self.level, self._directory, self._digests = there[0], directory, dict(manifest["kernels"])

    def refuse(self, reason: str) -> None:
        """Use none of the kernels from now on."""
        self.level, self._digests = None, {}
        self.refusal = f"those of the installed wheel {reason}"


@cache
def shipped_kernels() -> ShippedKernels:
    """The kernels of this installation."""
    return ShippedKernels(PACKAGE / "_compiled")
