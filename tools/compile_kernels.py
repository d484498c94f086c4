"""Compile the kernels for a level of CPUs with this interpreter, into the form in which a wheel brings them along.

    python tools/compile_kernels.py [--level x86-64-v3]... build/kernels

Without `--level` it is the best level that this machine can run. Run it once with every version of Python that the
wheel is for; `make wheel` then puts all of `build/kernels` into it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from committee.base.kernel_cache import hash_sources
from committee.base.shipped_kernels import LEVELS, MANIFEST, Level, directory_tag, host_levels, write_manifest


def compile_level(level: Level, destination: Path) -> Path:
    """Run every kernel in a process that compiles for `level`; return the directory with the results."""
    directory = destination / f"{level.name}-{directory_tag()}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "COMMITTEE_CACHE_DIR": cache,
            "NUMBA_CPU_NAME": level.cpu,
            "NUMBA_CPU_FEATURES": "",  # none but those that the name stands for
        }
        subprocess.run([sys.executable, "-m", "committee", "warmup"], env=environment, check=True)
        (compiled,) = Path(cache).iterdir()
        for path in compiled.iterdir():
            shutil.copy(path, directory)
    write_manifest(directory)
    return directory


def remove_stale(destination: Path) -> None:
    """Remove kernels that were compiled from other sources."""
    for manifest in destination.glob(f"*/{MANIFEST}"):
        if json.loads(manifest.read_text(encoding="utf-8"))["sources"] != hash_sources():
            shutil.rmtree(manifest.parent)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    runnable = {level.name: level for level in host_levels()}
    parser.add_argument("--level", action="append", choices=[level.name for level in LEVELS])
    parser.add_argument("destination", type=Path)
    arguments = parser.parse_args()
    remove_stale(arguments.destination)
    for name in arguments.level or list(runnable)[:1]:
        if name not in runnable:
            parser.error(f"this machine cannot run {name}: the kernels are compiled by running them once")
        print(compile_level(runnable[name], arguments.destination))


if __name__ == "__main__":
    main()
