"""Linear models with the penalty chosen by cross-validation, beside scikit-learn's: dense, sparse, many classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn.linear_model as peer
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import log_loss, r2_score

import committee
from benchmarks import tables
from benchmarks.harness import OURS, Benchmark, Call, Setup
from benchmarks.tables import Scale, size

SKLEARN = "sklearn"
LEVELS = (20, 300, 300, 12, 31, 7)
"""Levels of the categories of a table like one of flights."""


class Rows(NamedTuple):
    """A table to fit and a table to score."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


def benchmarks(scale: Scale) -> list[Benchmark]:
    n, d = scale.rows(20_000), 50
    wide, chess = scale.rows(75_000), scale.rows(20_000)
    logistic, ridge = "LogisticRegressionCV", "RidgeCV"
    return [
        _row(f"two-classes-{size(n, d)}", f"logistic regression, two classes, {size(n, d)}, 10 penalties, 5 folds",
             logistic, partial(tables.classes, n, d)),
        _row(f"one-hot-{size(wide, 678)}", f"logistic regression, sparse one-hot columns, {size(wide, 678)}", logistic,
             partial(one_hot, wide)),
        _row(f"18-classes-{size(chess, 40)}", f"logistic regression, 18 classes, {size(chess, 40)}", logistic,
             partial(many_classes, chess)),
        _row(f"ridge-{size(n, d)}", f"ridge regression, {size(n, d)}, leave-one-out", ridge,
             partial(tables.values, n, d)),
    ]  # fmt: skip


def one_hot(n: int) -> Rows:
    """Eight numbers and six categories with rare levels as a sparse table; one row of five in the second class."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(2 * n, 8))
    score = 0.3 * numbers @ rng.normal(size=8) - 1.5
    blocks = [sparse.csr_array(numbers)]
    for n_levels in LEVELS:
        level = np.minimum(rng.zipf(1.3, 2 * n) - 1, n_levels - 1)
        score = score + 0.4 * rng.normal(size=n_levels)[level]
        ones = (np.ones(2 * n), (np.arange(2 * n), level))
        blocks.append(sparse.csr_array(ones, shape=(2 * n, n_levels)))
    X = sparse.csr_array(sparse.hstack(blocks))
    y = (rng.random(2 * n) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    return Rows(X[:n], y[:n], X[n:], y[n:])


def many_classes(n: int) -> Rows:
    """Six categories as columns of 0 and 1, 18 classes."""
    rng = np.random.default_rng(0)
    X = np.hstack([np.eye(k)[rng.integers(0, k, 2 * n)] for k in (4, 4, 8, 8, 8, 8)])
    score = 2.0 * X @ rng.normal(size=(X.shape[1], 18)) + rng.gumbel(size=(2 * n, 18))
    y = score.argmax(axis=1)
    return Rows(X[:n], y[:n], X[n:], y[n:])


def _makers(kind: str) -> Mapping[str, Callable[[], Any]]:
    if kind == "RidgeCV":
        return {OURS: committee.RidgeCV, SKLEARN: partial(peer.RidgeCV, alphas=np.logspace(-4.0, 4.0, 25))}
    theirs = partial(peer.LogisticRegressionCV, Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000)
    return {OURS: partial(committee.LogisticRegressionCV, random_state=0), SKLEARN: theirs}


def _row(name: str, task: str, kind: str, load: Callable[[], Any]) -> Benchmark:
    def setup(make: Callable[[], Any]) -> Setup:
        def prepare() -> Call:
            rows = load()
            return lambda: make().fit(rows.X, rows.y)

        return prepare

    def quality(model: Any) -> Mapping[str, float]:
        rows = load()
        if kind == "RidgeCV":
            return {"R2": float(r2_score(rows.y_test, model.predict(rows.X_test)))}
        return {"log loss": float(log_loss(rows.y_test, model.predict_proba(rows.X_test), labels=model.classes_))}

    contenders = {contender: setup(make) for contender, make in _makers(kind).items()}
    return Benchmark(f"linear/{name}", task, contenders, quality, covers=(kind,))
