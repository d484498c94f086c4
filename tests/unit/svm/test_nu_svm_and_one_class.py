"""SVR, NuSVC, NuSVR and OneClassSVM: the properties their papers promise, and scikit-learn's answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.svm as reference
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from committee.svm.kernel_functions import Linear
from committee.svm.nu_svm import NuSVC, NuSVR, fill_up
from committee.svm.one_class import OneClassSVM
from committee.svm.svc import SVC
from committee.svm.svr import SVR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
VALUES = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * RNG.normal(size=160)
LABELS = (VALUES > 0.1).astype(int)
THREE = np.digitize(VALUES, [-0.5, 0.5])


def tube_cost(model: Any, epsilon: float, C: float) -> float:
    """1/2 |w|^2 + C sum of what lies outside the tube."""
    beyond = np.maximum(0.0, np.abs(VALUES - model.predict(X)) - epsilon)
    return 0.5 * model.binary_svms_[0].squared_norm + C * float(beyond.sum())


@pytest.mark.parametrize("kernel", ["rbf", "linear", "laplacian"])
def test_regression_closes_the_duality_gap(kernel: str) -> None:
    model = SVR(kernel=kernel, C=2.0, epsilon=0.1).fit(X, VALUES)
    machine = model.binary_svms_[0]
    assert tube_cost(model, 0.1, 2.0) == pytest.approx(-machine.objective, rel=1e-8)
    assert machine.duality_gap < 1e-7
    error = VALUES - model.predict(X)
    coef = np.zeros(160)
    coef[model.support_] = model.dual_coef_[0]
    assert (np.abs(error[coef == 0.0]) <= 0.1 + 1e-7).all()
    is_free = (coef != 0.0) & (np.abs(coef) < 2.0)
    np.testing.assert_allclose(error[is_free], 0.1 * np.sign(coef[is_free]), atol=1e-7)
    assert (np.abs(error[np.abs(coef) == 2.0]) >= 0.1 - 1e-7).all()


@pytest.mark.parametrize(
    ("ours", "theirs", "y"),
    [
        (SVR(C=3.0, epsilon=0.05), reference.SVR(C=3.0, epsilon=0.05, tol=1e-7), VALUES),
        (SVR(kernel="poly", degree=2, coef0=1.0), reference.SVR(kernel="poly", degree=2, coef0=1.0, tol=1e-7), VALUES),
        (NuSVR(nu=0.3, C=2.0), reference.NuSVR(nu=0.3, C=2.0, tol=1e-7), VALUES),
        (NuSVC(nu=0.25), reference.NuSVC(nu=0.25, tol=1e-7), LABELS),
        (NuSVC(nu=0.25), reference.NuSVC(nu=0.25, tol=1e-7), THREE),
        (OneClassSVM(nu=0.2), reference.OneClassSVM(nu=0.2, tol=1e-7), None),
    ],
    ids=["SVR", "SVR poly", "NuSVR", "NuSVC", "NuSVC of three classes", "OneClassSVM"],
)
def test_as_scikit_learn(ours: Any, theirs: Any, y: Any) -> None:
    ours, theirs = ours.fit(X, y), theirs.fit(X, y)
    method = "decision_function" if hasattr(ours, "decision_function") else "predict"
    np.testing.assert_allclose(getattr(ours, method)(X), getattr(theirs, method)(X), atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
    if ours.kernel == "rbf":  # other kernels here have fewer dimensions than rows, and many solutions
        np.testing.assert_array_equal(np.sort(ours.support_), np.sort(theirs.support_))
        np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3)
    if hasattr(ours, "score_samples"):
        np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-5)
        np.testing.assert_allclose(ours.offset_, theirs.offset_, atol=1e-5)


@pytest.mark.parametrize("nu", [0.1, 0.3, 0.6])
def test_nu_bounds_errors_and_support_vectors(nu: float) -> None:
    """Schoelkopf et al. 2000, proposition 5: share of margin errors <= nu <= share of support vectors."""
    model = NuSVC(nu=nu).fit(X, LABELS)
    margin = np.where(LABELS == 1, 1.0, -1.0) * model.decision_function(X)
    assert (margin < 1.0 - 1e-7).mean() <= nu <= len(model.support_) / 160
    tube = NuSVR(nu=nu, C=2.0).fit(X, VALUES)
    assert (np.abs(VALUES - tube.predict(X)) > tube.epsilon_ + 1e-7).mean() <= nu <= len(tube.support_) / 160
    one = OneClassSVM(nu=nu).fit(X)
    assert (one.predict(X) == -1).mean() <= nu <= len(one.support_) / 160


def test_a_nu_machine_is_the_machine_of_its_own_penalty() -> None:
    nu = NuSVC(nu=0.3).fit(X, LABELS)
    same = SVC(C=1.0 / nu.binary_svms_[0].scale).fit(X, LABELS)
    np.testing.assert_allclose(nu.decision_function(X), same.decision_function(X), atol=1e-5)
    tube = NuSVR(nu=0.3, C=2.0).fit(X, VALUES)
    given = SVR(C=2.0, epsilon=tube.epsilon_).fit(X, VALUES)
    np.testing.assert_allclose(tube.predict(X), given.predict(X), atol=1e-5)


def test_too_large_a_nu_is_lowered_with_a_word() -> None:
    rare = np.append(np.flatnonzero(LABELS == 0)[:60], np.flatnonzero(LABELS == 1)[:6])
    with pytest.warns(UserWarning, match=r"nu=0.5 is infeasible .* 0.0909 .*nu=0.18 is used"):
        model = NuSVC(nu=0.5).fit(X[rare], LABELS[rare])
    same = NuSVC(nu=0.18).fit(X[rare], LABELS[rare])
    np.testing.assert_allclose(model.decision_function(X), same.decision_function(X), atol=1e-6)


def test_a_kernel_without_a_margin_is_rejected() -> None:
    with pytest.raises(ValueError, match="leave no margin under this kernel and nu: raise nu"):
        NuSVC(nu=0.5, kernel="linear").fit(np.zeros((10, 2)), np.arange(10) % 2)


def test_variables_are_filled_up_in_order() -> None:
    np.testing.assert_allclose(fill_up(np.array([1.0, 2.0, 3.0]), 2.5), [1.0, 1.5, 0.0])
    np.testing.assert_allclose(fill_up(np.array([1.0, 2.0, 3.0]), 6.0), [1.0, 2.0, 3.0])


def test_outliers() -> None:
    far = np.vstack([X, [[9.0, 9.0, 9.0]]])
    model = OneClassSVM(nu=0.1, gamma=0.1).fit(X)
    assert model.predict(far)[-1] == -1
    assert model.score_samples(far)[-1] == model.score_samples(far).min()
    K = rbf_kernel(X, X, 0.1)
    alpha = np.zeros(160)
    alpha[model.support_] = model.dual_coef_[0]
    assert alpha.sum() == pytest.approx(16.0)
    np.testing.assert_allclose(model.score_samples(X), K @ alpha, atol=1e-7)
    is_free = (alpha > 0.0) & (alpha < 1.0)
    np.testing.assert_array_equal(model.decision_function(X)[is_free], 0.0)  # on the boundary, and no outliers
    np.testing.assert_array_equal(OneClassSVM(nu=0.1, gamma=0.1).fit_predict(X), model.predict(X))


def test_kernels_add_in_regression_too() -> None:
    model = SVR(kernel=Linear() + 1.0, C=1.0).fit(X, VALUES)
    np.testing.assert_allclose(model.predict(X), SVR(kernel="linear").fit(X, VALUES).predict(X), atol=1e-6)


LINEAR: list[tuple[Any, Any]] = [
    (SVC(kernel="linear"), LABELS),
    (SVC(kernel="linear", decision_function_shape="ovo"), THREE),
    (SVC(kernel="linear", multi_class="ovr"), THREE),
    (NuSVC(kernel="linear", nu=0.75), LABELS),
    (SVR(kernel="linear"), VALUES),
    (NuSVR(kernel="linear"), VALUES),
    (OneClassSVM(kernel="linear", nu=0.2), None),
]


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize(("model", "y"), LINEAR, ids=[type(model).__name__ for model, _ in LINEAR])
def test_coef_and_intercept_are_for_the_columns_as_they_come(model: Any, y: Any, scale: bool) -> None:
    """With scale=True they were those of the scaled columns."""
    table = np.column_stack([X * [1.0, 3.0, 0.5] + [5.0, -2.0, 0.0], np.full(len(X), 7.0)])
    fitted: Any = clone(model)
    fitted.set_params(scale=scale).fit(table, y)
    ask = fitted.decision_function if hasattr(fitted, "decision_function") else fitted.predict
    by_hand = table @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(by_hand.reshape(ask(table).shape), ask(table), atol=1e-10)
    if scale and y is not None:  # the mean of the rows is the origin, which no plane leaves on one side
        assert np.abs(fitted.intercept_ - [machine.offset for machine in fitted.binary_svms_]).max() > 1e-3
    if y is None:
        assert fitted.offset_[0] == -fitted.binary_svms_[0].offset


def test_an_earlier_model_that_was_scaled_says_so() -> None:
    """Its intercept_, which stands in the file, is that of the scaled columns, and would not fit coef_."""
    model = SVC(kernel="linear", scale=True).fit(X + 3.0, LABELS)
    before = model.decision_function(X)
    model.intercept_ = model._expansion.offset
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="earlier version"):
        _ = model.coef_
    np.testing.assert_array_equal(model.decision_function(X), before)
