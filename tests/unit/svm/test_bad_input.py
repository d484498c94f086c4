"""Bad and extreme input: kernel machines answer right or say what to do (the tables of tests/bad_input.py and more)."""

from __future__ import annotations

import pickle
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor

from committee.svm.kernel_functions import Gaussian, Laplacian, Linear
from committee.svm.nu_svm import NuSVC, NuSVR
from committee.svm.one_class import OneClassSVM
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from tests.bad_input import (
    LABELS,
    VALUES,
    N,
    X,
    changed,
    has_params,
    nan,
    table,
)

CLASSIFIERS: list[type[Any]] = [SVC, NuSVC]
REGRESSORS: list[type[Any]] = [SVR, NuSVR]
MACHINES = [*CLASSIFIERS, *REGRESSORS, OneClassSVM]
METHODS = ["predict", "decision_function", "score_samples"]
FRAME = pd.DataFrame(X, columns=list("abc"))


def each(classes: list[type[Any]]) -> Any:
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__name__)


def target_of(cls: type[Any]) -> Any:
    return VALUES if is_regressor(cls()) else LABELS


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return cls().fit(X, target_of(cls))


def predictions_of(model: Any, rows: Any = X) -> Any:
    return model.predict(rows) if is_regressor(model) else model.decision_function(rows)


def assert_rejected(model: Any, error: Any, text: str, *rows: Any, **more: Any) -> None:
    """fit refuses with this text and leaves the model as it was."""
    before = dict(vars(model))
    with pytest.raises(error, match=text):
        model.fit(*rows, **more)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


# --- refused ---------------------------------------------------------------------------------------------------------


UNFIT = table(
    ("nan", changed(nan), "contains NaN, which .* does not accept: fill the missing values of column x.1. in"),
    ("missing object", changed(None, dtype=object), "contains NaN, which .* does not accept"),
    ("1e200", changed(1e200), r"largest \|x\| of column x.1. is 1e\+200, too large"),
    ("all tiny", X * 1e-200, r"largest \|x\| is .*e-200, too small for products in float64: multiply"),
)


@pytest.mark.parametrize(("bad", "text"), UNFIT)
@each(MACHINES)
def test_values_that_a_kernel_cannot_take_are_rejected(cls: type[Any], bad: Any, text: str) -> None:
    assert_rejected(cls(), ValueError, text, bad, target_of(cls))
    if "too small" in text:  # to a fitted machine such rows are zeros
        np.testing.assert_allclose(fitted(cls).predict(bad), fitted(cls).predict(np.zeros_like(bad)))
        return
    with pytest.raises(ValueError, match=text):
        fitted(cls).predict(bad)


@each(CLASSIFIERS)
def test_one_class_is_rejected(cls: type[Any]) -> None:
    assert_rejected(cls(), ValueError, "number of classes has to be greater than one; got 1 class", X, np.ones(N, int))


BAD_PARAMETERS = table(
    ("kernel returns text", {"kernel": lambda a, b: "x"}, "must return a Gram matrix for two tables, or a number for"),
    ("kernel returns nan", {"kernel": lambda a, b: a @ b.T * nan}, "kernel function returned nan or infinity"),
    ("tol 0", {"tol": 0.0}, r"'tol' .* Got 0.0"),
    ("n_jobs", {"n_jobs": 0}, r"'n_jobs' .* Got 0"),
    ("class_weight negative", {"class_weight": {0: -1.0, 1: 1.0}}, "Negative values in class_weight"),
    ("class_weight zero", {"class_weight": {0: 0, 1: 0}}, "all weights are zero, .*; pass class_weight=None"),
    ("class_weight of one", {"class_weight": {0: 0, 1: 1}}, "class_weight gives class 0 no weight: leave its rows out"),
    ("class_weight nan", {"class_weight": {0: nan, 1: 1.0}}, "class_weight contains NaN"),
    ("class_weight stranger", {"class_weight": {7: 1.0}}, r"The classes, \[0, 1\], are not in class_weight"),
)


@pytest.mark.parametrize(("params", "text"), BAD_PARAMETERS)
@each(MACHINES)
def test_bad_parameters_are_rejected(cls: type[Any], params: dict[str, Any], text: str) -> None:
    if not has_params(cls, **params):
        pytest.skip("has no such parameter")
    assert_rejected(cls(**params), ValueError, text, X, target_of(cls))


# --- taken -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-6, 3.0, 1e6])
def test_a_weight_for_all_is_a_factor_of_the_penalty(size: float) -> None:
    given = SVC(C=1.0).fit(X, LABELS, sample_weight=size)
    np.testing.assert_allclose(given.decision_function(X), SVC(C=size).fit(X, LABELS).decision_function(X), atol=1e-7)
    for cls in (NuSVC, OneClassSVM):  # they take shares; the coefficients of the second are sums of weights
        unit = size if cls is OneClassSVM else 1.0
        result = predictions_of(cls().fit(X, LABELS, sample_weight=size)) / unit
        np.testing.assert_allclose(result, predictions_of(fitted(cls)), atol=1e-6)


@each(CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e90])
@pytest.mark.parametrize("scale", [False, True])
def test_constant_columns_give_a_constant(cls: type[Any], value: float, scale: bool) -> None:
    if cls is NuSVC:
        with pytest.raises(ValueError, match="leave no margin"):
            cls(scale=scale).fit(np.full((N, 3), value), LABELS)
        return
    model = cls(scale=scale).fit(np.full((N, 3), value), target_of(cls))
    predictions = predictions_of(model, np.full((N, 3), value))
    np.testing.assert_allclose(predictions, predictions[0], atol=1e-9)
    if is_classifier(model):
        assert (model.predict(np.full((2, 3), value)) == np.bincount(LABELS).argmax()).all()


@each(MACHINES)
def test_one_row(cls: type[Any]) -> None:
    if is_classifier(cls()):
        assert_rejected(cls(), ValueError, "number of classes has to be greater than one", X[:1], LABELS[:1])
        return
    model = cls().fit(X[:1], target_of(cls)[:1])
    expected = VALUES[0] if is_regressor(cls()) else 1.0
    assert model.predict(X[:1])[0] == pytest.approx(expected, abs=0.1 + 1e-9)


@each(MACHINES)
def test_columns_shifted_far_off_change_nothing(cls: type[Any]) -> None:
    """Distances do not know the origin; 1e6 costs six of the sixteen digits."""
    model = cls(gamma=0.5).fit(X + 1e6, target_of(cls))
    wanted = cls(gamma=0.5).fit(X, target_of(cls))
    np.testing.assert_allclose(predictions_of(model, X + 1e6), predictions_of(wanted), atol=1e-6)


@pytest.mark.parametrize("gamma", [1e-12, 1e12])
@each(CLASSIFIERS + REGRESSORS)
def test_extreme_widths(cls: type[Any], gamma: float) -> None:
    model = cls(gamma=gamma).fit(X, target_of(cls))
    assert np.isfinite(predictions_of(model)).all()
    if gamma > 1.0:  # every row is alone: new rows get the offset
        np.testing.assert_allclose(predictions_of(model, X + 1.0), model.intercept_[0], atol=1e-12)


@pytest.mark.parametrize("C", [1e-10, 1e10])
def test_extreme_penalties(C: float) -> None:
    model = SVC(C=C).fit(X, LABELS)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.fit_status_ == 0
    if C > 1.0:
        assert model.score(X, LABELS) == 1.0


@each(REGRESSORS)
@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_targets_of_any_size(cls: type[Any], size: float) -> None:
    params = {"epsilon": 0.1 * size} if cls is SVR else {}
    model = cls(C=size, tol=1e-3 * size, **params).fit(X, size * VALUES)
    np.testing.assert_allclose(model.predict(X) / size, fitted(cls).predict(X), atol=1e-5)


@each(MACHINES)
def test_frames_keep_their_names(cls: type[Any]) -> None:
    model = cls().fit(pl.DataFrame(X, list("abc"), orient="row"), target_of(cls))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(predictions_of(model, FRAME), predictions_of(fitted(cls)), atol=1e-9)
    with pytest.raises(ValueError, match=r"Column 'd' holds"):
        cls().fit(FRAME.assign(d=pd.Categorical(["u", "v"] * (N // 2))), target_of(cls))


@each(MACHINES)
def test_copies_and_later_parameters(cls: type[Any]) -> None:
    y = target_of(cls)
    for kernel in ("rbf", Linear() + Laplacian(), Gaussian(width=2.0) ** 2):
        model = cls(kernel=kernel).fit(X, y)
        predictions = predictions_of(model)
        for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), clone(model).fit(X, y)):
            np.testing.assert_array_equal(predictions_of(copy), predictions)
        model.set_params(kernel="linear", gamma=3.0, tol=1.0, n_jobs=2)
        np.testing.assert_array_equal(predictions_of(model), predictions)


@each(MACHINES)
def test_an_interrupted_fit_changes_nothing(cls: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from committee.svm import smo

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    model = deepcopy(fitted(cls))
    before = dict(vars(model))
    monkeypatch.setattr(smo, "_choose", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X + 1.0, target_of(cls))
    assert all(vars(model)[name] is value for name, value in before.items())
