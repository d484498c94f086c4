"""What a fresh process pays: imports, the command's help, the first fit with and without compiled kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory

from benchmarks.harness import Benchmark, Call, Goal, no_quality
from benchmarks.tables import Scale

IMPORTS = {
    "committee": "import committee",
    "committee estimator": "from committee import DecisionTreeClassifier",
    "sklearn": "import sklearn",
    "sklearn estimator": "from sklearn.tree import DecisionTreeClassifier",
}
FIRST_FIT = """
import numpy as np
from {library} import DecisionTreeClassifier
X = np.random.default_rng(0).normal(size=(1000, 10))
DecisionTreeClassifier(random_state=0).fit(X, X[:, 0] > X[:, 1]).predict(X)
"""
COMMAND = "from committee.cli import main; main([{argument!r}])"


def benchmarks(scale: Scale) -> list[Benchmark]:
    """Processes are as they are: `scale` changes nothing."""
    return [_imports(), _help(), _first_fit(), _warmup()]


def _imports() -> Benchmark:
    return Benchmark(
        name="startup/import",
        task="CPU seconds of a process that only imports; estimator: with the tree classifier",
        contenders={name: partial(_process, program) for name, program in IMPORTS.items()},
        quality=no_quality,
        clock="process",
        goals=tuple(Goal(name, 0.3, "sklearn", "difference") for name in ("committee", "committee estimator")),
    )


def _help() -> Benchmark:
    return Benchmark(
        name="startup/help",
        task="committee --help",
        contenders={"committee": partial(_process, COMMAND.format(argument="--help"))},
        quality=no_quality,
        clock="wall",
    )


def _first_fit() -> Benchmark:
    ours, theirs = FIRST_FIT.format(library="committee"), FIRST_FIT.format(library="sklearn.tree")
    return Benchmark(
        name="startup/first-fit",
        task="CPU seconds of a process that imports, fits 1000 x 10 and predicts; cold: no kernel is compiled",
        contenders={
            "committee cold": partial(_cold_process, ours),
            "committee warm": partial(_warm_process, ours),
            "sklearn": partial(_process, theirs),
        },
        quality=no_quality,
        clock="process",
        covers=("DecisionTreeClassifier",),
    )


def _warmup() -> Benchmark:
    program = COMMAND.format(argument="warmup")
    return Benchmark(
        name="startup/warmup",
        task="CPU seconds of committee warmup: every kernel; cold: none is compiled",
        contenders={
            "committee cold": partial(_cold_process, program),
            "committee warm": partial(_warm_process, program),
        },
        quality=no_quality,
        clock="process",
        goals=(Goal("committee cold", 60.0, kind="seconds"),),  # the compile budget of all families
    )


def _process(program: str) -> Call:
    return partial(_run, program)


def _cold_process(program: str) -> Call:
    def call() -> None:
        with TemporaryDirectory() as empty:
            _run(program, empty)

    return call


def _warm_process(program: str) -> Callable[[], None]:
    cache = TemporaryDirectory()
    _run(program, cache.name)

    def call() -> None:
        _run(program, cache.name)

    return call


def _run(program: str, cache: str | None = None) -> None:
    """Run `program` in a fresh interpreter, with its compiled kernels in `cache`."""
    environment = os.environ if cache is None else {**os.environ, "COMMITTEE_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the process failed: {done.stderr.strip()}")
