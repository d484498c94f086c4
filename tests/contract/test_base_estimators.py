"""Ensembles of any base estimator: what they refuse of it, and that its errors come through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from tests.bad_input import LABEL_KINDS, LABELS, N, X, assert_rejected, changed, inf, nan, table
from tests.catalog import (
    CLASSIFIERS,
    ESTIMATORS,
    MISSING_VALUES,
    MULTICLASS,
    REGRESSORS,
    among,
    assert_unchanged,
    every,
    except_for,
    has_params,
    make,
    predictions_of,
    target_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BASE_PARAMETERS = ("estimator", "expert", "estimators")
ENSEMBLES = [cls for cls in ESTIMATORS if any(has_params(cls, **{name: None}) for name in BASE_PARAMETERS)]


def of(cls: type[Any], base: Any, **params: Any) -> Any:
    """The ensemble of this base estimator."""
    name = next(name for name in BASE_PARAMETERS if has_params(cls, **{name: None}))
    return make(cls, **{name: [("a", base), ("b", base)] if name == "estimators" else base, **params})


CHECKED = except_for(ENSEMBLES, among("committee.voting", "committee.members.numeric_pipeline"))
"""They check the predictions of their members in fit."""


def plain(cls: type[Any]) -> Any:
    """A base estimator of scikit-learn that accepts no missing values."""
    if hasattr(cls, "partial_fit"):
        return Perceptron() if cls in CLASSIFIERS else SGDRegressor()
    return LogisticRegression() if cls in CLASSIFIERS else LinearRegression()


class Base(BaseEstimator):
    """Predicts what it is given."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Base:
        self.classes_ = np.unique(y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Base:
        return self.fit(X, y if classes is None else classes)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.predictions(len(X)))


def failing(cls: type[Any], error: BaseException, first: int = 1) -> Any:
    """A base estimator that raises in every fit, or from the given one on."""
    n_fits = 0

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, **more: Any) -> Any:
        nonlocal n_fits
        n_fits += 1
        if n_fits >= first:
            raise error
        return kind.fit(self, X, y)

    kind = type(plain(cls))
    return type("Failing", (kind,), {"fit": fit, "partial_fit": fit})()


class Unclonable:
    """fit and predict, but no parameters."""

    def fit(self, X: Any, y: Any) -> None: ...

    def predict(self, X: Any) -> None: ...


BAD_PREDICTIONS = table(
    ("too few", lambda n: np.zeros(3)),
    ("too many", lambda n: np.zeros(n + 1)),
    ("two columns", lambda n: np.zeros((n, 2))),
    ("nan", lambda n: np.full(n, nan)),
    ("inf", lambda n: np.full(n, inf)),
)


@pytest.mark.parametrize("predictions", BAD_PREDICTIONS)
@every(except_for(CHECKED, among("MixtureOfExpertsClassifier", "HierarchicalMixtureOfExpertsClassifier")))
def test_bad_predictions_of_a_base_estimator_raise(cls: type[Any], predictions: Callable[[int], Any]) -> None:
    assert_rejected(of(cls, Base(predictions)), ValueError, "Base must predict", X, target_of(cls))


@pytest.mark.parametrize("n_classes", [2, 3])
@every([cls for cls in CHECKED if cls in MULTICLASS and cls not in among("committee.experts")])
def test_predictions_that_are_no_classes_raise(cls: type[Any], n_classes: int) -> None:
    model = of(cls, Base(lambda n: np.full(n, 7)))
    assert_rejected(model, ValueError, r"class.*\[7, 7", X, np.arange(N) % n_classes)


@every(ENSEMBLES)
def test_base_estimators_of_the_wrong_kind_raise(cls: type[Any]) -> None:
    wrong = SGDRegressor() if cls in CLASSIFIERS else SGDClassifier()
    assert_rejected(of(cls, wrong), ValueError, "SGD.*(classifier|regressor)", X, LABELS)
    if cls not in among("committee.voting"):
        assert_rejected(of(cls, SGDClassifier), TypeError, "class SGDClassifier.*instance", X, LABELS)
        assert_rejected(of(cls, Unclonable()), (TypeError, ValueError), "Unclonable", X, LABELS)


@every([cls for cls in ENSEMBLES if hasattr(cls, "partial_fit")])
def test_base_estimators_without_partial_fit_raise(cls: type[Any]) -> None:
    base = LogisticRegression() if cls in CLASSIFIERS else LinearRegression()
    assert_rejected(of(cls, base), ValueError, "partial_fit", X, target_of(cls))


@pytest.mark.parametrize("error", [RuntimeError("the third row"), KeyboardInterrupt()], ids=repr)
@every(ENSEMBLES)
def test_errors_of_a_base_estimator_leave_the_model_as_it_was(cls: type[Any], error: BaseException) -> None:
    y = target_of(cls)
    model = of(cls, plain(cls)).fit(X, y)
    before = predictions_of(model)
    model.set_params(**of(cls, failing(cls, error)).get_params(deep=False))
    assert_rejected(model, type(error), None, X, y)
    np.testing.assert_array_equal(predictions_of(model), before)


@every([cls for cls in CHECKED if cls in REGRESSORS])
def test_an_error_in_a_later_fit_comes_through(cls: type[Any]) -> None:
    model = of(cls, failing(cls, RuntimeError("the third fit"), first=3), on_worse_than_chance="restart")
    assert_rejected(model, RuntimeError, "the third fit", X, target_of(cls))


@every(except_for(ENSEMBLES, among("committee.members.numeric_pipeline")))  # which fills them in
def test_missing_values_raise_where_the_base_estimator_does_not_accept_them(cls: type[Any]) -> None:
    model = of(cls, plain(cls))
    assert_rejected(model, ValueError, "NaN", changed(nan), target_of(cls))
    model.fit(X, target_of(cls))
    with pytest.raises(ValueError, match="NaN"):
        model.predict(changed(nan))


@every(ENSEMBLES)
def test_a_base_estimator_set_after_the_fit_changes_nothing(cls: type[Any]) -> None:
    rows = changed(nan) if cls in MISSING_VALUES else X
    model = make(cls).fit(rows, target_of(cls))
    before, predictions = dict(vars(model)), predictions_of(model, rows)
    model.set_params(**of(cls, plain(cls)).get_params(deep=False))
    np.testing.assert_array_equal(predictions_of(model, rows), predictions)
    assert_unchanged(model, {**before, **model.get_params(deep=False)})


@pytest.mark.parametrize("names", [case for case in LABEL_KINDS if case.id != "dates"])  # not for scikit-learn
@pytest.mark.parametrize("base", [GaussianNB(), KNeighborsClassifier(3)], ids=["weighted", "resampled"])
@every([cls for cls in ENSEMBLES if cls in MULTICLASS and cls not in among("committee.experts", "Online")])
def test_labels_of_other_base_estimators_come_back_as_they_were(cls: type[Any], base: Any, names: Any) -> None:
    model, expected = of(cls, base).fit(X, names[LABELS]), of(cls, base).fit(X, LABELS)
    np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])
