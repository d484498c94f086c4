"""Models and comparisons for the tests of the report, fitted once."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from committee import (
    AdaBoostClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.datasets import Dataset, load_dataset
from committee.evaluation.comparison import Comparison, MethodResult
from committee.report.context import Context, Inputs, make_context

N_FOLDS = 4


@cache
def sample(name: str) -> Dataset:
    found = load_dataset(name, as_frame=True)
    return found._replace(X=found.X.iloc[:, :16])  # enough columns to see, few enough to be quick


@cache
def booster() -> Any:
    sonar = sample("sonar")
    return AdaBoostClassifier(n_estimators=25).fit(sonar.X, sonar.y)


@cache
def forest() -> Any:
    glass = sample("glass")
    return RandomForestClassifier(n_estimators=25, random_state=0).fit(glass.X, glass.y)


@cache
def regression_forest() -> Any:
    ozone = sample("ozone")
    return RandomForestRegressor(n_estimators=25, random_state=0).fit(ozone.X, ozone.y)


@cache
def gradient() -> Any:
    ozone = sample("ozone")
    return GradientBoostingRegressor(n_estimators=30, early_stopping=True, random_state=0).fit(ozone.X, ozone.y)


def context_of(model: Any, X: Any, y: Any, **options: Any) -> Context:
    return make_context(Inputs(model, X, y, **options))


def of_booster(**options: Any) -> Context:
    return context_of(booster(), sample("sonar").X, sample("sonar").y, **options)


def of_forest(**options: Any) -> Context:
    return context_of(forest(), sample("glass").X, sample("glass").y, **options)


def of_regression(**options: Any) -> Context:
    return context_of(regression_forest(), sample("ozone").X, sample("ozone").y, **options)


def split(n: int) -> tuple[Any, Any, Any]:
    """Rows compared, their folds, and rows held out."""
    order = np.random.default_rng(0).permutation(n)
    held_out, rows = np.sort(order[: n // 5]), np.sort(order[n // 5 :])
    return rows, np.arange(rows.size) % N_FOLDS, held_out


def result(name: str, errors: list[float], out_of_fold: Any, **changes: Any) -> MethodResult:
    """Result of one method, with times that are whole numbers."""
    found = np.array(errors)
    ones = np.ones(found.size)
    made = MethodResult(name, "Some", {}, found, {"error": found}, ones, ones / 100.0, out_of_fold, "done", "")
    return made._replace(**changes)


def glass_comparison(best: float = 0.2) -> Comparison:
    """A random forest with the error rate `best`, a tree, and a method that failed."""
    glass = sample("glass")
    classes, codes = np.unique(glass.y, return_inverse=True)
    rows, fold, held_out = split(codes.size)
    rng = np.random.default_rng(1)
    good, bad = (_predictions(codes[rows], classes.size, rate, rng) for rate in (best, 0.4))
    nothing = np.full(good.shape, np.nan)
    results = (
        result("pruned tree", [0.42, 0.38, 0.41, 0.39], bad),
        result("random forest", [best, best + 0.02, best - 0.02, best], good),
        result("slow method", [np.nan] * N_FOLDS, nothing, status="out of time", note="it would take too long"),
    )
    return Comparison(
        "classification", "error", tuple(classes.tolist()), rows, fold, held_out, results, "random forest",
        {"error": 0.25}, 0.05, 0.22, 0.03, 0, 12.5, {"methods": ["pruned tree", "random forest", "slow method"]},
    )  # fmt: skip


def _predictions(codes: Any, k: int, wrong: float, rng: np.random.Generator) -> Any:
    predicted = np.where(rng.random(codes.size) < wrong, (codes + 1) % k, codes)
    return 0.7 * np.eye(k)[predicted] + 0.3 * rng.dirichlet(np.ones(k), codes.size)


def ozone_comparison() -> Comparison:
    """Predictions of two methods: the truth plus noise of known standard deviations."""
    ozone = sample("ozone")
    y = np.asarray(ozone.y, np.float64)
    rows, fold, held_out = split(y.size)
    rng = np.random.default_rng(2)
    near, far = (y[rows] + rng.normal(0.0, size, rows.size) for size in (2.0, 6.0))
    results = (
        result("random forest", [2.0, 2.1, 1.9, 2.0], near, metric_losses={"rmse": np.full(N_FOLDS, 2.0)}),
        result("pruned tree", [6.0, 6.5, 5.5, 6.0], far, metric_losses={"rmse": np.full(N_FOLDS, 6.0)}),
    )
    return Comparison(
        "regression", "rmse", (), rows, fold, held_out, results, "random forest",
        {"rmse": 2.2}, 0.3, 2.1, 0.2, 0, 3.0, {},
    )  # fmt: skip
