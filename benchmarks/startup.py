"""What a fresh process pays: imports, the command's help, first fits with and without compiled kernels; sizes."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.harness import Benchmark, Call, Goal, Memory, Setup, Skip, no_quality
from benchmarks.tables import Scale

ROOT = Path(__file__).parents[1]
IMPORTS = {
    "committee": "import committee",
    "committee estimator": "from committee import DecisionTreeClassifier",
    "sklearn": "import sklearn",
    "sklearn estimator": "from sklearn.tree import DecisionTreeClassifier",
}
FIRST_FIT = """
import numpy as np
from {module} import {name}
X = np.random.default_rng(0).normal(size=(1000, 10))
{name}().fit(X, X[:, 0] > X[:, 1]).predict(X)
"""
COMMAND = "from committee.cli import main; main([{argument!r}])"


class Family(NamedTuple):
    """One of our classes at its default parameters, what its first fit may take, and its peers (module and name)."""

    name: str
    shipped: float
    """Seconds with the kernels of the wheel."""
    peers: dict[str, tuple[str, str]]


FAMILIES = {
    "tree": Family("DecisionTreeClassifier", 2.2, {"sklearn": ("sklearn.tree", "DecisionTreeClassifier")}),
    "forest": Family("RandomForestClassifier", 2.5, {"sklearn": ("sklearn.ensemble", "RandomForestClassifier")}),
    "extra-trees": Family("ExtraTreesClassifier", 2.5, {"sklearn": ("sklearn.ensemble", "ExtraTreesClassifier")}),
    "bagging": Family("BaggingClassifier", 2.5, {"sklearn": ("sklearn.ensemble", "BaggingClassifier")}),
    "adaboost": Family("AdaBoostClassifier", 2.5, {"sklearn": ("sklearn.ensemble", "AdaBoostClassifier")}),
    "gradient-boosting": Family(
        "GradientBoostingClassifier",
        2.5,
        {
            "sklearn": ("sklearn.ensemble", "HistGradientBoostingClassifier"),
            "lightgbm": ("lightgbm", "LGBMClassifier"),
            "xgboost": ("xgboost", "XGBClassifier"),
        },
    ),
    "svm": Family("SVC", 2.5, {"sklearn": ("sklearn.svm", "SVC")}),
    "linear-svm": Family("LinearSVC", 2.5, {"sklearn": ("sklearn.svm", "LinearSVC")}),
    "mixture": Family("MixtureOfExpertsClassifier", 2.5, {"sklearn": ("sklearn.neural_network", "MLPClassifier")}),
}
WARM = ("tree", "forest", "adaboost", "gradient-boosting", "svm")
"""Families whose first fit with compiled kernels is compared with scikit-learn's import."""
SIZES = {
    "committee": ("committee",),
    "committee with numba": ("committee", "numba", "llvmlite"),
    "scikit-learn": ("scikit-learn",),
    "lightgbm": ("lightgbm",),
    "xgboost": ("xgboost",),
    "catboost": ("catboost",),
}


def benchmarks(scale: Scale) -> list[Benchmark]:
    """Processes are as they are: `scale` changes nothing."""
    first_fits = [_first_fit(label, family) for label, family in FAMILIES.items()]
    return [_imports(), _help(), *first_fits, _warm_fits(), _warmup(), _wheel_size(), _install_size()]


def _imports() -> Benchmark:
    return Benchmark(
        name="startup/import",
        task="CPU seconds of a process that only imports; estimator: with the tree classifier",
        contenders={name: partial(_process, program) for name, program in IMPORTS.items()},
        quality=no_quality,
        clock="process",
        goals=(
            Goal("committee", 0.03, kind="seconds"),
            Goal("committee estimator", 0.25, "sklearn estimator", "difference"),
        ),
    )


def _help() -> Benchmark:
    return Benchmark(
        name="startup/help",
        task="committee --help",
        contenders={"committee": partial(_process, COMMAND.format(argument="--help"))},
        quality=no_quality,
        clock="wall",
        goals=(Goal("committee", 0.08, kind="seconds"),),
    )


def _warm_fits() -> Benchmark:
    """In turn with scikit-learn's import: without the cold processes there are more repeats."""
    fits = {f"committee {label}": FIRST_FIT.format(module="committee", name=FAMILIES[label].name) for label in WARM}
    return Benchmark(
        name="startup/warm-fit",
        task="CPU seconds of a process that imports an estimator, fits 1000 x 10 and predicts, with all kernels in the "
        "user's cache; sklearn: that only imports it",
        contenders={
            **{name: partial(_warm_process, program) for name, program in fits.items()},
            "sklearn": partial(_process, IMPORTS["sklearn"]),
            "sklearn estimator": partial(_process, IMPORTS["sklearn estimator"]),
        },
        quality=no_quality,
        clock="process",
        goals=tuple(Goal(name, 0.25, "sklearn", "difference") for name in fits),
    )


def _first_fit(label: str, family: Family) -> Benchmark:
    ours = FIRST_FIT.format(module="committee", name=family.name)
    contenders: dict[str, Setup] = {
        "committee cold": partial(_cold_process, ours),
        "committee warm": partial(_warm_process, ours),
        "committee wheel": partial(_shipped_process, ours),
    }
    for name, (module, peer) in family.peers.items():
        contenders[name] = partial(_process, FIRST_FIT.format(module=module, name=peer))
    return Benchmark(
        name=f"startup/first-fit-{label}",
        task=f"CPU seconds of a process that imports {family.name}, fits 1000 x 10 and predicts; cold: no kernel is "
        "compiled; warm: all are in the user's cache; wheel: all come with the package, the user's cache is empty",
        contenders=contenders,
        quality=no_quality,
        clock="process",
        goals=(Goal("committee wheel", family.shipped, kind="seconds"),),
        covers=(family.name,),
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
        goals=(Goal("committee cold", 35.0, kind="seconds"),),  # the compile budget of all families
    )


def _wheel_size() -> Benchmark:
    return Benchmark(
        name="startup/wheel-size",
        task="size of the wheel file; pure: without kernels, platform: with those for one level and version of Python",
        contenders={
            "committee pure": lambda: lambda: _megabytes([next(_built().glob("pure/*.whl"))]),
            "committee platform": lambda: lambda: _megabytes([next(_built().glob("platform/*.whl"))]),
        },
        quality=no_quality,
        clock="memory",
    )


def _install_size() -> Benchmark:
    return Benchmark(
        name="startup/install-size",
        task="size of the installed files; ours are those of the platform wheel, compiled .pyc files aside",
        contenders={name: partial(_installed, names) for name, names in SIZES.items()},
        quality=no_quality,
        clock="memory",
    )


def _process(program: str) -> Call:
    return partial(_run, program)


def _cold_process(program: str) -> Call:
    def call() -> None:
        with TemporaryDirectory() as empty:
            _run(program, COMMITTEE_CACHE_DIR=empty)

    return call


def _warm_process(program: str) -> Call:
    filled = Path(_temporary().name) / "kernel cache"  # one for all programs: each adds what it is the first to need
    _run(program, COMMITTEE_CACHE_DIR=str(filled))
    return partial(_run, program, COMMITTEE_CACHE_DIR=str(filled))


def _shipped_process(program: str) -> Call:
    """With the package of the platform wheel in place of the checkout, and an empty cache of the user."""
    package = _built() / "installed"

    def call() -> None:
        with TemporaryDirectory() as empty:
            _run(program, COMMITTEE_CACHE_DIR=empty, PYTHONPATH=str(package))

    return call


def _run(program: str, **environment: str) -> None:
    """Run `program` in a fresh interpreter that keeps the bytecode of modules, as those of users do."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the process failed: {done.stderr.strip()}")


@cache
def _temporary() -> TemporaryDirectory[str]:
    """Removed when the process ends."""
    return TemporaryDirectory()


@cache
def _built() -> Path:
    """A directory with the pure wheel, the platform wheel and the latter installed."""
    directory = Path(_temporary().name)
    pip = [sys.executable, "-m", "pip", "--quiet"]
    wheel = [*pip, "wheel", "--no-deps", "--wheel-dir"]
    kernels = str(directory / "kernels")
    subprocess.run([sys.executable, ROOT / "tools/compile_kernels.py", kernels], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*wheel, directory / "pure", ROOT], check=True)
    subprocess.run([*wheel, directory / "platform", ROOT], check=True, env={**os.environ, "COMMITTEE_KERNELS": kernels})
    (built,) = directory.glob("platform/*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", directory / "installed", built], check=True)
    return directory


def _installed(names: tuple[str, ...]) -> Call:
    """Megabytes of the files that the packages of these names brought along."""

    def call() -> Memory:
        paths: list[Path] = []
        for name in names:
            if name == "committee":
                paths += [path for path in (_built() / "installed").rglob("*") if path.is_file()]
            else:
                paths += [Path(str(file.locate())) for file in files(name) or ()]
        return _megabytes([path for path in paths if path.suffix != ".pyc" and path.is_file()])

    try:
        for name in names:
            files(name)
    except PackageNotFoundError as error:
        raise Skip(f"{error.name} is not installed") from error
    return call


def _megabytes(paths: list[Path]) -> Memory:
    size = sum(path.stat().st_size for path in paths) / 1e6
    return Memory(size, size)
