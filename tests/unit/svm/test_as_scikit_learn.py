"""Arguments that scikit-learn's machines take, and those that mean nothing here."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.svm as reference
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics.pairwise import rbf_kernel

from committee import SVC, SVR, NuSVC, NuSVR, NystroemSVC, OneClassSVM
from committee.explain.svm_geometry import svm_geometry
from committee.svm import _shrinking as shrinking
from committee.svm.kernel_functions import Gaussian, Linear
from committee.svm.tuning import tune_svc

MACHINES = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)


def noisy(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    y[: n // 30] = 1 - y[: n // 30]
    return X, y


@pytest.mark.parametrize("machine", MACHINES)
def test_every_parameter_of_scikit_learn_is_there(machine: type) -> None:
    theirs = inspect.signature(getattr(reference, machine.__name__)).parameters
    missing = {"class_weight"} if machine is NuSVC else set()  # it has no effect in scikit-learn's
    assert set(theirs) - missing <= set(inspect.signature(machine).parameters)


@pytest.mark.slow
def test_values_are_right_at_a_large_penalty() -> None:
    X, y = noisy(3000)
    asked = np.random.default_rng(1).normal(size=(5000, 4))
    model = SVC(C=1e4, gamma=0.5).fit(X, y)
    f = rbf_kernel(asked, X[model.support_], gamma=0.5) @ model.dual_coef_[0] + model.intercept_
    assert np.abs(model.decision_function(asked) - f).max() < 1e-8  # 0.06 in float32
    np.testing.assert_array_equal(model.predict(asked), (f > 0.0).astype(int))
    # The solver measures the gap of a pair, the geometry a row's distance from its margin
    assert svm_geometry(model, X, y).kkt_violation <= model.binary_svms_[0].kkt_gap + 1e-9


@pytest.mark.parametrize("penalty", [0.05, 1.0, 10.0])
def test_values_of_small_penalties_stay_fast_and_are_right_to_a_small_part_of_the_margin(penalty: float) -> None:
    X, y = noisy(2500)
    model = SVC(C=penalty, gamma=0.5).fit(X, y)
    expansion = model._expansion
    assert expansion.points.values.dtype == np.float32
    assert (expansion._sums() == np.float32) == (penalty < 10.0)
    assert np.abs(model.decision_function(X) - model.exact_values(X)[:, 0]).max() < 1e-4


def test_geometry_is_float64_where_predictions_are_float32() -> None:
    X, y = noisy(2500)
    model = SVC(gamma=0.5).fit(X, y)
    K = rbf_kernel(X, X[model.support_], gamma=0.5)
    f = K @ model.dual_coef_[0] + model.intercept_
    np.testing.assert_allclose(svm_geometry(model, X, y).rows.decision, f, atol=1e-11)


def test_shrinking_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy(2500)
    shrunk: list[int] = []
    monkeypatch.setattr(shrinking, "EARLY", 1.0)
    real = shrinking.descend_among
    monkeypatch.setattr(shrinking, "descend_among", lambda *args: shrunk.append(1) or real(*args))
    on, off = (SVC(cache_size=4.0, shrinking=is_on).fit(X, y) for is_on in (True, False))
    n_shrunk = len(shrunk)
    SVC(cache_size=4.0, shrinking=False).fit(X, y)
    assert n_shrunk == len(shrunk) > 0
    np.testing.assert_allclose(on.decision_function(X), off.decision_function(X), atol=5e-3)
    tune_svc(X, y, C=[1.0], gamma=[0.5], cv=2, estimator=SVC(cache_size=4.0, shrinking=False))
    assert n_shrunk == len(shrunk)


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_random_state_deals_the_folds_of_the_probabilities(machine: Any) -> None:
    X, y = noisy(200)
    usual, again, first, same, second = (
        machine(probability=True, random_state=seed).fit(X, y).platt_.slope[0] for seed in (None, None, 1, 1, 2)
    )
    assert usual == again
    assert first == same
    assert len({usual, first, second}) == 3


def test_probabilities_of_nu_machines() -> None:
    X, y = noisy(300)
    model = NuSVC(nu=0.5, gamma=0.5, probability=True).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    by_row = NuSVC(nu=0.5, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), by_row.decision_function(X), atol=1e-8)
    A, f = model.probA_[0], model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(A * f + model.probB_[0])))
    assert by_row.probA_.size == by_row.probB_.size == 0


@pytest.mark.parametrize("machine", [*MACHINES, NystroemSVC])
def test_the_degree_is_a_whole_number(machine: Any) -> None:
    X, y = noisy(60)
    for degree in (2.5, -1):
        with pytest.raises(ValueError, match=r"'degree' parameter of \w+ must be an int in the range \[0, inf\)"):
            machine(kernel="poly", degree=degree).fit(X, y)


@pytest.mark.parametrize("machine", [SVC, NystroemSVC])
@pytest.mark.parametrize(
    ("given", "words"),
    [({"gamma": 5.0}, r"as in Gaussian\(gamma=5.0\)"), ({"degree": 2}, "if it has one"), ({"coef0": 1.0}, "coef0")],
)
def test_parameters_next_to_a_kernel_object_are_rejected(machine: Any, given: dict[str, Any], words: str) -> None:
    X, y = noisy(60)
    with pytest.raises(ValueError, match=words):
        machine(kernel=Gaussian(), **given).fit(X, y)
    machine(kernel=Linear() + Gaussian(gamma=2.0)).fit(X, y)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_parameters_set_later_change_no_fitted_model(multi_class: Any) -> None:
    X, y = noisy(120)
    y = y + 2 * (X[:, 3] > 0)
    model = SVC(multi_class=multi_class).fit(X, y)
    before, rows = model.predict(X), svm_geometry(model, X, y).rows.row
    model.set_params(multi_class="ovr" if multi_class == "ovo" else "ovo")
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(svm_geometry(model, X, y).rows.row, rows)


SIGMOID: dict[str, Any] = {"kernel": "sigmoid", "gamma": 2.0, "coef0": 1.0}


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (SVC(**SIGMOID), UserWarning, "Not a valid"), (NuSVR(**SIGMOID), UserWarning, "Not a valid"),
        (OneClassSVM(**SIGMOID), UserWarning, "Not a valid"), (NuSVC(nu=0.99), UserWarning, "infeasible"),
        (NuSVC(nu=0.99, probability=True), UserWarning, "infeasible"),
        (SVC(), DataConversionWarning, "column-vector"), (SVR(), DataConversionWarning, "column-vector"),
    ],
)  # fmt: skip
def test_warnings_point_at_the_line_of_the_user(model: Any, kind: type[Warning], words: str) -> None:
    X, y = noisy(100)
    y[20:] = 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y.reshape(-1, 1) if kind is DataConversionWarning else y)
    result = [warning for warning in said if issubclass(warning.category, kind) and words in str(warning.message)]
    assert result
    assert all(warning.filename == __file__ for warning in result)
