"""Methods validate within their training rows as the comparison does: whole groups, blocks of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import GradientBoostingRegressor
from committee.evaluation._inner_validation import inner_splits
from committee.evaluation.comparison import compare
from committee.evaluation.row_order import fold_rows
from committee.linear.ridge import RidgeCV
from committee.members.numeric_pipeline import NumericPipelineRegressor

N_GROUPS, REPEATS = 40, 6
GROUPS = np.repeat(np.arange(N_GROUPS), REPEATS)
SEEN: list[tuple[Any, Any]] = []


class Recorder(RegressorMixin, BaseEstimator):
    """Keeps the splits that it is fitted with; the first column is the number of the row."""

    def __init__(self, cv: Any = 5) -> None:
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Recorder:
        SEEN.append((np.asarray(X)[:, 0].astype(int), self.cv))
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


def table(seed: int = 0) -> tuple[Any, Any]:
    """Rows of one group have nearly equal features and the same effect, which the features do not tell otherwise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_GROUPS, 4))[GROUPS] + rng.normal(0, 0.02, (GROUPS.size, 4))
    y = X[:, 0] + rng.normal(0, 3.0, N_GROUPS)[GROUPS] + rng.normal(0, 0.3, GROUPS.size)
    return np.column_stack([np.arange(GROUPS.size), X]), y


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def wrapped(kind: str, cv: Any = 5) -> Any:
    recorder = Recorder(cv)
    return make_pipeline(StandardScaler(with_mean=False, with_std=False), recorder) if kind == "pipeline" else recorder


@pytest.mark.parametrize("kind", ["alone", "pipeline"])
def test_groups_stay_together_in_inner_splits(kind: str):
    X, y = table()
    _, model = compare(X, y, methods={"recorder": wrapped(kind)}, groups=GROUPS, cv=3)
    assert len(SEEN) == 6  # three folds, two last fits and one on half of the groups
    for rows, splits in SEEN:
        tested = np.concatenate([test for _, test in splits])
        assert np.array_equal(np.sort(tested), np.arange(rows.size))
        for train, test in splits:
            assert not set(GROUPS[rows[train]]) & set(GROUPS[rows[test]])
    last = model if kind == "alone" else model.steps[-1][1]
    assert last.cv == 5  # positions of training rows are no parameters of the model


def test_inner_splits_are_blocks_of_time():
    X, y = table()
    times = np.random.default_rng(1).permutation(np.repeat(np.arange(60), 4))
    compare(X, y, methods={"recorder": Recorder()}, time=times, cv=3)
    for rows, splits in SEEN:
        assert len(splits) == 5
        for train, test in splits:
            inside = times[rows[test]]
            outside = times[rows[train]]
            assert not np.any((outside >= inside.min()) & (outside <= inside.max()))


@pytest.mark.parametrize("cv", [KFold(2), [(np.arange(10), np.arange(10, 20))]])
def test_a_splitter_of_the_users_own_stays(cv: Any):
    X, y = table()
    compare(X, y, methods={"recorder": Recorder(cv)}, groups=GROUPS, cv=3)
    assert all(splits is not None and type(splits) is type(cv) and len(np.shape(splits)) < 4 for _, splits in SEEN)


def test_independent_rows_keep_the_number_of_folds():
    X, y = table()
    compare(X, y, methods={"recorder": Recorder(7)}, groups=None, time=None, cv=3)
    assert {splits for _, splits in SEEN} == {7}


@pytest.mark.slow
def test_gradient_boosting_stops_earlier_and_predicts_new_groups_better():
    numbered, y = table()
    X = numbered[:, 1:]
    boosting = {"gradient boosting": GradientBoostingRegressor(random_state=0)}
    by_group, model = compare(X, y, methods=boosting, groups=GROUPS, cv=3)
    shuffled = GradientBoostingRegressor(random_state=0).fit(X, y)
    assert model.n_estimators_ < shuffled.n_estimators_
    fold_losses: list[float] = []
    for k in range(3):
        train, test = by_group.rows[by_group.fold != k], by_group.rows[by_group.fold == k]
        predicted = GradientBoostingRegressor(random_state=0).fit(X[train], y[train]).predict(X[test])
        fold_losses.append(float(np.sqrt(np.mean((predicted - y[test]) ** 2))))
    assert by_group.result("gradient boosting").losses.mean() < np.mean(fold_losses)


def test_a_numeric_pipeline_hands_the_splits_on_and_does_not_keep_them():
    X, y = table()
    ridge = {"ridge": NumericPipelineRegressor(RidgeCV())}
    found, model = compare(X[:, 1:], y, methods=ridge, groups=GROUPS, cv=3)
    assert model.estimator.cv is None
    assert model.estimator_.cv is None
    fit_alone = NumericPipelineRegressor(RidgeCV()).fit(X[:, 1:], y)
    assert model.estimator_.alpha_ != fit_alone.estimator_.alpha_
    assert found.result("ridge").parameters.get("estimator__cv") is None


def test_splits_without_a_class_or_weight_in_training_are_left_out():
    n = 60
    rows, codes = np.arange(n), (np.arange(n) >= 46).astype(np.int64)
    folding = fold_rows(rows[:, None], codes, is_classes=False, cv=3, held_out=0.0, groups=None, times=rows, seed=0)
    assert len(inner_splits(folding, rows, codes, np.ones(n), 0) or []) == 5  # two rows of the class are in block 3
    codes = (rows >= 48).astype(np.int64)
    splits = inner_splits(folding, rows, codes, np.ones(n), 0)
    assert [int(test.min()) for _, test in splits or []] == [0, 12, 24, 36]
    weight = np.ones(n)
    weight[:12] = 0.0
    assert len(inner_splits(folding, rows, None, weight, 0) or []) == 4
