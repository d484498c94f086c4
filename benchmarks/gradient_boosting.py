"""Gradient boosting: the whole call of `fit`, binning included, prediction and memory, against the libraries for it."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks import tables
from benchmarks.gradient_boosters import (
    Make,
    catboost_model,
    lightgbm_model,
    our_model,
    sklearn_model,
    xgboost_model,
)
from benchmarks.harness import Benchmark, Call, Clock, Goal, Memory, Quality, Setup, Skip, no_quality
from benchmarks.quality import Load, of_numbers, of_shares
from benchmarks.tables import Scale, size

LIGHTGBM, QUANTISED, XGBOOST = "lightgbm", "lightgbm quantised", "xgboost"
ONE_THREAD = {LIGHTGBM: 0.35, XGBOOST: 0.35, QUANTISED: 0.45}
TWO_THREADS = {LIGHTGBM: 0.45, XGBOOST: 0.45}

MAIN_SHAPES = ((500_000, 28), (50_000, 300), (5_000, 20))
UNTUNED_SHAPES = ((70_000, 45), (200_000, 9), (20_000, 130))
ROOT = Path(__file__).resolve().parents[1]
FORM = "100 trees of 31 leaves"


def benchmarks(scale: Scale) -> list[Benchmark]:
    return [
        *_two_classes(scale),
        _seven_classes(scale),
        _regression(scale),
        _missing(scale),
        _categories(scale),
        *_two_threads(scale),
        _own_loss(scale),
        *_small(scale),
        *_predict(scale),
        _memory(scale),
    ]


def _goals(limits: Mapping[str, float], contender: str = "committee") -> tuple[Goal, ...]:
    return tuple(Goal(contender, most, peer) for peer, most in limits.items())


# --- fits ------------------------------------------------------------------------------------------------------------


def _rivals(is_class: bool, n_jobs: int = 1) -> dict[str, Make]:
    """Those that goals are about, after ours."""
    return {
        "committee": partial(our_model, is_class, n_jobs),
        LIGHTGBM: partial(lightgbm_model, is_class, n_jobs),
        QUANTISED: partial(lightgbm_model, is_class, n_jobs, use_quantized_grad=True),
        XGBOOST: partial(xgboost_model, is_class, n_jobs),
    }


def _all_rivals(is_class: bool) -> dict[str, Make]:
    beside = {"sklearn": partial(sklearn_model, is_class), "catboost": partial(catboost_model, is_class)}
    return {**_rivals(is_class), **beside}


def _two_classes(scale: Scale) -> list[Benchmark]:
    rows: list[Benchmark] = []
    for shapes, makers, note in (
        (MAIN_SHAPES, _all_rivals(True), ""),
        (UNTUNED_SHAPES, _rivals(True), ", a shape nobody tuned for"),
    ):
        for n_full, d in shapes:
            n = scale.rows(n_full)
            task = f"two classes, {size(n, d)}, {FORM}{note}"
            load = partial(tables.collisions, n, d)
            rows.append(_fit(f"two-classes-{size(n, d)}", task, load, makers, True, _goals(ONE_THREAD)))
    return rows


def _seven_classes(scale: Scale) -> Benchmark:
    n, d = scale.rows(100_000), 20
    load = partial(tables.collision_kinds, n, d, 7)
    task = f"seven classes, {size(n, d)}, {FORM} for each class"
    return _fit(f"seven-classes-{size(n, d)}", task, load, _all_rivals(True), True, _goals(ONE_THREAD))


def _regression(scale: Scale) -> Benchmark:
    n, d = scale.rows(200_000), 28
    load = partial(tables.collision_energies, n, d)
    task = f"regression, {size(n, d)}, {FORM}"
    return _fit(f"regression-{size(n, d)}", task, load, _all_rivals(False), False, _goals(ONE_THREAD))


def _missing(scale: Scale) -> Benchmark:
    n, d = scale.rows(200_000), 28
    load = partial(tables.collisions_with_holes, n, d)
    task = f"two classes, {size(n, d)}, a fifth of the cells missing, {FORM}"
    makers = {**_rivals(True), "sklearn": partial(sklearn_model, True)}
    return _fit(f"missing-{size(n, d)}", task, load, makers, True, _goals(ONE_THREAD))


def _categories(scale: Scale) -> Benchmark:
    n, d, n_categorical, n_categories = scale.rows(100_000), 20, 10, 50
    load = partial(tables.collisions_with_categories, n, d, n_categorical, n_categories)
    task = f"two classes, {size(n, d)}, {n_categorical} columns of {n_categories} categories, {FORM}"
    names = [f"category_{j}" for j in range(n_categorical)]
    beside = {"sklearn": partial(sklearn_model, True), "catboost": partial(catboost_model, True, cat_features=names)}
    return _fit(f"categories-{size(n, d)}", task, load, {**_rivals(True), **beside}, True, _goals(ONE_THREAD))


def _two_threads(scale: Scale) -> list[Benchmark]:
    loads: dict[str, tuple[Load, bool]] = {}
    for n_full, d in MAIN_SHAPES:
        n = scale.rows(n_full)
        loads[f"two classes, {size(n, d)}"] = partial(tables.collisions, n, d), True
    n = scale.rows(100_000)
    loads[f"seven classes, {size(n, 20)}"] = partial(tables.collision_kinds, n, 20, 7), True
    n = scale.rows(200_000)
    loads[f"regression, {size(n, 28)}"] = partial(tables.collision_energies, n, 28), False
    return [
        _fit(
            f"two-threads-{what.replace(', ', '-').replace(' ', '-')}", f"{what}, {FORM}, two threads", load,
            _rivals(is_class, n_jobs=2), is_class, _goals(TWO_THREADS), "wall",
        )
        for what, (load, is_class) in loads.items()
    ]  # fmt: skip


# --- a loss of the user's own ----------------------------------------------------------------------------------------


def own_value(y: float, score: float) -> float:
    return max(score, 0.0) - y * score + math.log1p(math.exp(-abs(score)))


def own_gradient(y: float, score: float) -> float:
    return 1.0 / (1.0 + math.exp(-score)) - y


def own_hessian(y: float, score: float) -> float:
    share = 1.0 / (1.0 + math.exp(-score))
    return share * (1.0 - share)


def own_objective(y: NDArray[Any], score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The same loss as LightGBM takes it."""
    share = expit(score)
    return share - y, share * (1.0 - share)


def _own_loss(scale: Scale) -> Benchmark:
    n, d = scale.rows(200_000), 28
    load = partial(tables.collisions, n, d)
    built_in, theirs = "committee built in", "lightgbm own loss"
    ours = {
        "committee own loss": partial(our_model, True, loss=(own_value, own_gradient, own_hessian)),
        "committee own loss, value only": partial(our_model, True, loss=own_value),
    }
    makers = {
        **ours, built_in: partial(our_model, True), theirs: partial(lightgbm_model, True, objective=own_objective),
    }  # fmt: skip
    task = f"log-loss as a function in Python, {size(n, d)}, {FORM}; compiled before"
    goals = tuple(Goal(name, 1.5, built_in) for name in ours)
    row = _fit(f"own-loss-{size(n, d)}", task, load, makers, True, goals)
    return row._replace(peers=(built_in, theirs))


# --- small tables and predictions ------------------------------------------------------------------------------------


def _small(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(200), 10
    load = partial(tables.collisions, n, d)
    makers = _all_rivals(True)
    del makers[QUANTISED]
    fit = _fit(f"small-{size(n, d)}", f"two classes, {size(n, d)}, {FORM}", load, makers, True, _goals({LIGHTGBM: 0.6}))
    one_row = _asking("one-row", f"predict of one row, fitted on {size(n, d)}", load, makers, "predict", no_quality, 1)
    return [fit, one_row._replace(goals=_goals({LIGHTGBM: 0.5}))]


def _predict(scale: Scale) -> list[Benchmark]:
    n, n_asked, d = scale.rows(50_000), scale.rows(200_000), 28
    load = partial(tables.collisions, n, d, n_asked)
    makers = _all_rivals(True)
    del makers[QUANTISED]
    what = f"of {size(n_asked, d)}, by {FORM} fitted on {size(n, d)}"

    def evaluate(share: NDArray[Any]) -> Mapping[str, float]:
        return of_shares(load().y_test, share)

    goals = _goals({LIGHTGBM: 0.15, XGBOOST: 0.5})
    row = _asking(f"predict-{size(n_asked, d)}", f"predict_proba {what}", load, makers, "predict_proba", evaluate)
    return [row._replace(goals=goals)]


def _asking(
    name: str,
    task: str,
    load: Load,
    makers: Mapping[str, Make],
    method: str,
    quality: Quality,
    n_asked: int | None = None,
) -> Benchmark:
    def asking(make: Make) -> Setup:
        def setup() -> Call:
            split = load()
            X, predict = split.X_test[:n_asked], getattr(make().fit(split.X, split.y), method)
            return lambda: predict(X)

        return setup

    return Benchmark(
        name=f"gradient-boosting/{name}",
        task=task,
        contenders={contender: asking(make) for contender, make in makers.items()},
        quality=quality,
        covers=("GradientBoostingClassifier",),
    )


# --- memory ----------------------------------------------------------------------------------------------------------

MEMORY_PROGRAM = """
import sys
import numpy as np
from benchmarks.gradient_boosters import {make}

def megabytes(name):
    with open("/proc/self/status") as lines:
        return next(float(line.split()[1]) for line in lines if line.startswith(name + ":")) / 1024

X, y = (np.load(f"{{sys.argv[1]}}/{{name}}.npy") for name in "Xy")
{make}(True).fit(X[:500], y[:500])  # what the library itself takes is there before the start
start = megabytes("VmRSS")
{make}(True).fit(X, y)
print(megabytes("VmHWM"), start)
"""


def _memory(scale: Scale) -> Benchmark:
    """Each fit in a process of its own, which reads the table from a file.

    VmHWM belongs to the process alone; the ru_maxrss of a child holds also what its parent had when it began it.
    """
    n, d = scale.rows(500_000), 28
    load = partial(tables.collisions, n, d)
    makers = {"committee": "our_model", LIGHTGBM: "lightgbm_model", XGBOOST: "xgboost_model"}
    return Benchmark(
        name=f"gradient-boosting/memory-{size(n, d)}",
        task=f"peak memory of a process that fits two classes, {size(n, d)}, {FORM}",
        contenders={name: partial(_memory_setup, make, load) for name, make in makers.items()},
        quality=lambda memory: {"MB above the start of the fit": round(memory.above_start)},
        clock="memory",
        goals=_goals({LIGHTGBM: 2.0}),
        covers=("GradientBoostingClassifier",),
    )


def _memory_setup(make: str, load: Load) -> Call:
    if not Path("/proc/self/status").exists():
        raise Skip("peak memory is read from /proc, which this system does not have")
    folder, split = TemporaryDirectory(), load()
    for name, array in (("X", split.X), ("y", split.y)):
        np.save(f"{folder.name}/{name}.npy", array)

    def call() -> Memory:
        command = [sys.executable, "-c", MEMORY_PROGRAM.format(make=make), folder.name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the process failed: {done.stderr.strip()}")
        peak, start = map(float, done.stdout.split())
        return Memory(peak, peak - start)

    return call


# --- from a model to a row -------------------------------------------------------------------------------------------


def _fit(
    name: str,
    task: str,
    load: Load,
    makers: Mapping[str, Make],
    is_class: bool,
    goals: tuple[Goal, ...] = (),
    clock: Clock = "cpu",
) -> Benchmark:
    return Benchmark(
        name=f"gradient-boosting/{name}",
        task=task,
        contenders={contender: _fit_setup(make, load) for contender, make in makers.items()},
        quality=partial(_evaluate, load, is_class),
        clock=clock,
        goals=goals,
        covers=("GradientBoostingClassifier" if is_class else "GradientBoostingRegressor",),
    )


def _fit_setup(make: Make, load: Load) -> Setup:
    def setup() -> Callable[[], Any]:
        split = load()
        make().fit(split.X[:500], split.y[:500])  # imports the library and compiles a user's loss
        return lambda: make().fit(split.X, split.y)

    return setup


def _evaluate(load: Load, is_class: bool, model: Any) -> Mapping[str, float]:
    split = load()
    if not is_class:
        return of_numbers(split.y_test, model.predict(split.X_test))
    share = model.predict_proba(split.X_test)
    if share.ndim == 1:  # LightGBM does not know the link of a user's loss
        share = np.stack([expit(-share), expit(share)], axis=1)
    return of_shares(split.y_test, share)
