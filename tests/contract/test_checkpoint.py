"""A fit that was stopped at any moment continues from its checkpoint and gives the model of an uninterrupted fit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV

import committee
from committee.base.journal import Journal, Place
from committee.ensemble.incremental import BaseIncrementalEnsemble
from tests.bad_input import X
from tests.catalog import ESTIMATORS, every, make, target_of
from tests.model_content import digest

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

INCREMENTAL = [cls for cls in ESTIMATORS if issubclass(cls, BaseIncrementalEnsemble)]


@pytest.fixture(autouse=True)
def without_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    """The death of a process loses nothing that is written; that of the machine is not tested here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Killed(BaseException):
    """Stands for the death of the process: what was not saved before is lost."""


class Recorder:
    """Counts what a fit keeps, and stops it after the `last` result, if given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, last: int | None = None) -> None:
        self.n, original = 0, Journal.record

        def record(journal: Journal, place: Place, thing: Any) -> None:
            original(journal, place, thing)
            self.n += 1
            if self.n == last:
                raise Killed

        monkeypatch.setattr(Journal, "record", record)


def fit_in_checkpoint(fit: Callable[[], Any], path: Path, last: int | None = None) -> tuple[Any, int]:
    """The model, None if the fit was stopped, and the number of results that were made, not taken from the file."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        recorder = Recorder(monkeypatch, last)
        try:
            with committee.checkpoint(path, every_seconds=0):
                return fit(), recorder.n
        except Killed:
            return None, recorder.n


def assert_continues(fit: Callable[[], Any], path: Path, n_stops: int) -> None:
    """Stop the fit at `n_stops` places (all if there are fewer), and continue from each."""
    expected = digest(fit())
    model, n = fit_in_checkpoint(fit, path)
    assert digest(model) == expected
    assert not path.exists()
    assert n > 1
    for last in np.unique(np.linspace(1, n, min(n, n_stops)).astype(int)).tolist():
        assert fit_in_checkpoint(fit, path, last) == (None, last)
        again, n_made = fit_in_checkpoint(fit, path)
        assert n_made == n - last  # what the file has is not made again
        assert digest(again) == expected
        assert not path.exists()


@every(INCREMENTAL)
def test_a_fit_continues_from_any_place(cls: type[Any], tmp_path: Path) -> None:
    assert_continues(lambda: make(cls).fit(X, target_of(cls)), tmp_path / "run.ckpt", 4)


def table(n: int = 400) -> tuple[Any, Any]:
    """Numbers and two categorical columns of many categories, and a target of three classes that depends on them."""
    rng = np.random.default_rng(0)
    numbers, codes = rng.normal(size=(n, 3)).round(2), rng.integers(0, 30, size=(n, 2))
    frame = pd.DataFrame(numbers, columns=list("abc"))
    for name, column in zip("de", codes.T, strict=True):
        frame[name] = pd.Categorical([f"c{code}" for code in column])
    score = numbers[:, 0] + 0.5 * (codes[:, 0] % 3) + rng.normal(size=n)
    return frame, np.digitize(score, [0.0, 1.0])


FRAME, CLASSES = table()
WEIGHT = np.random.default_rng(1).uniform(0.5, 2.0, len(CLASSES))
Boosting, Regression = committee.GradientBoostingClassifier, committee.GradientBoostingRegressor
Forest, Bagging, AdaBoost = committee.RandomForestClassifier, committee.BaggingClassifier, committee.AdaBoostClassifier


def two(model: Any, **arguments: Any) -> Any:
    """Fit the first two columns to two of the classes."""
    return model.fit(FRAME[["a", "b"]].to_numpy(), CLASSES > 1, **arguments)


FITS: dict[str, Callable[[], Any]] = {
    "held-out rows": lambda: Boosting(early_stopping=True, n_estimators=30, random_state=0).fit(FRAME, CLASSES),
    "held-out rows, halves": lambda: Regression(early_stopping=True, learning_rate=0.3, random_state=0).fit(
        FRAME, CLASSES, WEIGHT
    ),
    "given rows": lambda: two(
        Boosting(n_estimators=15, random_state=0), X_val=FRAME[["a", "b"]].to_numpy()[:90], y_val=CLASSES[:90] > 1
    ),
    "folds, refit": lambda: Regression(early_stopping="cv", cv=3, learning_rate=0.3, random_state=0).fit(
        FRAME, CLASSES
    ),
    "folds, mean": lambda: Boosting(
        early_stopping="cv", cv=3, refit=False, learning_rate=0.5, n_estimators=40, random_state=0
    ).fit(FRAME, CLASSES, WEIGHT),
    "dropout, folds": lambda: Boosting(dropout=0.2, early_stopping="cv", cv=3, n_estimators=20, random_state=0).fit(
        FRAME, CLASSES
    ),
    "sampled": lambda: Boosting(
        subsample=0.6, colsample_bytree=0.6, max_features=0.7, n_estimators=15, random_state=0
    ).fit(FRAME, CLASSES, WEIGHT),
    "quantile": lambda: Regression(loss="quantile", n_estimators=15, random_state=0).fit(FRAME, CLASSES, WEIGHT),
    "monotone": lambda: two(Boosting(monotonic_cst=[1, 0], n_estimators=15, random_state=0)),
    "forest, automatic": lambda: two(Forest("auto", random_state=0)),
    "forest, leaves": lambda: Forest(30, keep_leaf_samples=True, ccp_alpha=0.01, random_state=0).fit(FRAME, CLASSES),
    "forest, tuned": lambda: two(Forest(4, tune="oob", random_state=0)),
    "forest, two targets": lambda: Forest(10, random_state=0).fit(FRAME, np.c_[CLASSES, CLASSES > 1]),
    "bagging, scikit-learn": lambda: two(Bagging(LogisticRegression(), random_state=0)),
    "bagging, subspaces": lambda: Bagging(max_features=0.5, random_state=0).fit(FRAME, CLASSES, WEIGHT),
    "bagging, automatic": lambda: two(Bagging(n_estimators="auto", tree_size="pruned", random_state=0)),
    "bagging, boosted": lambda: two(Bagging(AdaBoost(n_estimators=5), n_estimators=4, random_state=0)),
    "boosting, scikit-learn": lambda: two(AdaBoost(LogisticRegression(), n_estimators=8, random_state=0)),
    "boosting, samples": lambda: two(AdaBoost(weighting="resample", n_estimators=20, random_state=0)),
    "boosting, held-out rows": lambda: two(AdaBoost(early_stopping="validation", n_estimators=60, random_state=0)),
    "boosting, regression": lambda: committee.AdaBoostRegressor(Ridge(), n_estimators=8, random_state=0).fit(
        FRAME[["a", "b"]].to_numpy(), WEIGHT
    ),
    "warm start": lambda: two(
        two(AdaBoost(n_estimators=6, warm_start=True, random_state=0)).set_params(n_estimators=12)
    ),
    "warm start, trees": lambda: two(
        two(Boosting(n_estimators=6, warm_start=True, random_state=0)).set_params(n_estimators=12)
    ),
    "stack": lambda: two(
        committee.StackingClassifier(
            [("a", AdaBoost(n_estimators=3, random_state=0)), ("b", Boosting(n_estimators=3, random_state=0))],
            cv=3,
            random_state=0,
        )
    ),
    "search": lambda: (
        two(GridSearchCV(Boosting(n_estimators=5, random_state=0), {"learning_rate": [0.1, 0.5]}, cv=2)).best_estimator_
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_every_kind_of_fit_continues(name: str, tmp_path: Path) -> None:
    assert_continues(FITS[name], tmp_path / "run.ckpt", 3)
