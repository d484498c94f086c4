"""Kernel machines at the ends of float64: weights, shifts, kernel widths, penalties and targets."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

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
    assert_rejected,
    changed,
)
from tests.catalog import among, every, fitted, make, predictions_of, target_of

CLASSIFIERS: list[type[Any]] = [SVC, NuSVC]

REGRESSORS: list[type[Any]] = [SVR, NuSVR]

MACHINES = [*CLASSIFIERS, *REGRESSORS, OneClassSVM]


@every(among("committee.svm"))
def test_columns_beyond_squares_raise_by_name(cls: type[Any]) -> None:
    assert_rejected(make(cls), ValueError, r"x\[1\] is 1e\+200, too large", changed(1e200), target_of(cls))


@every(MACHINES)
def test_tables_below_squares_raise_in_fit_and_are_zeros_in_predict(cls: type[Any]) -> None:
    assert_rejected(cls(), ValueError, "e-200, too small", X * 1e-200, target_of(cls))
    np.testing.assert_allclose(fitted(cls).predict(X * 1e-200), fitted(cls).predict(np.zeros_like(X)))


@pytest.mark.parametrize("size", [1e-6, 3.0, 1e6])
def test_a_weight_for_all_is_a_factor_of_the_penalty(size: float) -> None:
    given = SVC(C=1.0).fit(X, LABELS, sample_weight=size)
    np.testing.assert_allclose(given.decision_function(X), SVC(C=size).fit(X, LABELS).decision_function(X), atol=1e-7)
    for cls in (NuSVC, OneClassSVM):  # they take fractions; the coefficients of the second are sums of weights
        unit = size if cls is OneClassSVM else 1.0
        result = predictions_of(cls().fit(X, LABELS, sample_weight=size)) / unit
        np.testing.assert_allclose(result, predictions_of(fitted(cls)), atol=1e-6)


@every(MACHINES[:-1])
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


@every(MACHINES)
def test_columns_shifted_far_off_change_nothing(cls: type[Any]) -> None:
    """Distances do not know the origin; 1e6 costs six of the sixteen digits."""
    model = cls(gamma=0.5).fit(X + 1e6, target_of(cls))
    wanted = cls(gamma=0.5).fit(X, target_of(cls))
    np.testing.assert_allclose(predictions_of(model, X + 1e6), predictions_of(wanted), atol=1e-6)


@pytest.mark.parametrize("gamma", [1e-12, 1e12])
@every(MACHINES[:-1])
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


@every(REGRESSORS)
@pytest.mark.parametrize("size", [1e-8, 1e8])
def test_targets_of_any_size(cls: type[Any], size: float) -> None:
    params = {"epsilon": 0.1 * size} if cls is SVR else {}
    model = cls(C=size, tol=1e-3 * size, **params).fit(X, size * VALUES)
    np.testing.assert_allclose(model.predict(X) / size, fitted(cls).predict(X), atol=1e-5)


@pytest.mark.parametrize("kernel", [Linear() + Laplacian(), Gaussian(width=2.0) ** 2], ids=repr)
@every(MACHINES)
def test_copies_of_combined_kernels(cls: type[Any], kernel: Any) -> None:
    model = cls(kernel=kernel).fit(X, target_of(cls))
    for copy in (pickle.loads(pickle.dumps(model)), deepcopy(model), clone(model).fit(X, target_of(cls))):
        np.testing.assert_array_equal(predictions_of(copy), predictions_of(model))
