"""Where a machine cannot be what was asked for: it ends, and says so in words that help."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from committee.svm.kernel_algebra import Sum
from committee.svm.kernel_functions import Gaussian, Laplacian, Linear, Polynomial, Precomputed
from committee.svm.linear_svm import LinearSVC
from committee.svm.mercer import check_mercer
from committee.svm.nu_svm import NuSVC
from committee.svm.nystroem_svm import NystroemSVC, NystroemSVR
from committee.svm.svc import SVC
from committee.svm.svr import SVR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=60) > 0.0).astype(int)


def negative(a: Any, b: Any) -> Any:
    return -(a @ b.T)


@pytest.mark.parametrize("machine", [SVC, SVR, NystroemSVC, NystroemSVR])
@pytest.mark.parametrize("params", [{"degree": 300, "gamma": 1e3}, {"degree": 301, "gamma": 1e3, "coef0": -1.0}])
def test_kernel_values_beyond_float64_are_rejected(machine: Any, params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="The kernel is nan or infinity on rows of X: scale the columns"):
        machine(kernel="poly", **params).fit(X, Y)


def test_a_power_that_is_not_whole_is_rejected_where_products_are_negative() -> None:
    with pytest.raises(ValueError, match="A power that is not an integer needs products that are not negative"):
        SVC(kernel=Polynomial(2.5)).fit(X, Y)


@pytest.mark.parametrize(
    ("machine", "y"), [(SVC(kernel="poly", degree=50), Y), (SVR(kernel="poly", degree=50), X[:, 1])]
)
def test_steps_below_the_rounding_of_huge_kernel_values_end(machine: Any, y: Any) -> None:
    table = np.abs(X) * [1.0, 1.0, 100.0]  # kernel values up to 1e50: the run would have had 10 million idle blocks
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The columns of X differ in scale")
        with pytest.warns(ConvergenceWarning, match="the KKT gap is"):
            machine.fit(table, y)
    assert machine.binary_svms_[0].n_steps < 1_000_000


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_nu_machine_whose_margin_is_rounding_is_rejected(kernel: str) -> None:
    # Opposite labels of equal rows: the hulls meet whatever nu allows, and rho is zero but for rounding
    table = np.repeat(X[:20] / 3.0, 2, axis=0)
    with pytest.raises(ValueError, match="leave no margin under this kernel and nu"):
        NuSVC(nu=0.3, kernel=kernel, gamma=0.7).fit(table, np.tile([0, 1], 20))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noise, labels = rng.normal(size=(50, 4)), np.arange(50) % 2
        with pytest.raises(ValueError, match="leave no margin under this kernel and nu"):
            NuSVC(nu=0.05, kernel="linear").fit(noise, labels)


def test_a_hard_margin_under_an_invalid_kernel_is_rejected() -> None:
    with (
        pytest.warns(UserWarning, match="Not a valid kernel"),
        pytest.raises(ValueError, match="The classes cannot be separated under this kernel"),
    ):
        SVC(kernel="precomputed", C=np.inf).fit(negative(X[:, :2], X[:, :2]), Y)


@pytest.mark.parametrize("machine", [SVC, SVR, NystroemSVC, NystroemSVR])
def test_every_machine_warns_of_an_invalid_kernel(machine: Any) -> None:
    with pytest.warns(UserWarning, match="Not a valid kernel: on these 60 rows") as caught:
        machine(kernel="sigmoid", gamma=1.0, coef0=1.0).fit(X, Y)
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.warns(UserWarning, match="Not a valid kernel: on these 60 rows"):
        machine(kernel=negative).fit(X, Y)


def test_rows_near_zero_are_predicted() -> None:
    model = SVC().fit(X, Y)
    near = model.decision_function([[1e-200, 0.0, 0.0]])
    np.testing.assert_allclose(near, model.decision_function(np.zeros((1, 3))))


@pytest.mark.parametrize(
    ("machine", "table", "words", "absent"),
    [
        (SVC(max_iter=2), X, "scale=True", "lower C"),
        (SVC(max_iter=2, scale=True), X, "or a smaller C", "scale"),
        (SVC(max_iter=2, kernel="precomputed"), X @ X.T, "or a smaller C", "scale"),
        (SVR(max_iter=2, C=np.inf), X, "set a finite C", "scale"),
    ],
)
def test_advice_fits_what_was_asked(machine: Any, table: Any, words: str, absent: str) -> None:
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        machine.fit(table, Y)
    assert absent not in str(caught[0].message)


@pytest.mark.parametrize("machine", [LinearSVC, NystroemSVC])
def test_errors_of_large_machines_name_what_was_passed(machine: Any) -> None:
    with pytest.raises(ValueError, match="Negative values in class_weight"):
        machine(class_weight={0: -1.0}).fit(X, Y)
    with pytest.raises(ValueError, match=r"is for SVC\(kernel='(linear|rbf)'\)"):
        machine(C=np.inf).fit(X, Y)


# --- kernels ---------------------------------------------------------------------------------------------------------


def test_kernels_add_up_by_sum() -> None:
    result = sum([Linear(), Gaussian(2.0)])
    assert isinstance(result, Sum)
    np.testing.assert_allclose(result(X), X @ X.T + Gaussian(2.0)(X))


@pytest.mark.parametrize("kind", [Gaussian, Laplacian])
def test_a_width_and_a_gamma_are_one_too_many(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"width=2.0 is gamma=0.25: set the width or gamma=3.0, not both"):
        kind(width=2.0, gamma=3.0)


@pytest.mark.parametrize("make", [lambda: 2.0 * Precomputed(), lambda: Precomputed() ** 2])
def test_a_given_matrix_is_no_part_of_another_kernel(make: Any) -> None:
    with pytest.raises(ValueError, match="combine the matrices themselves"):
        make()


def test_a_class_or_a_matrix_for_rows_is_no_kernel() -> None:
    with pytest.raises(ValueError, match=r"Gaussian is a class of kernels: pass an object of it, Gaussian\(...\)"):
        SVC(kernel=Gaussian).fit(X, Y)
    with pytest.raises(ValueError, match="must return a Gram matrix for two tables, or a number for two rows"):
        SVC(kernel=lambda a, b: np.zeros((1, 1))).fit(X, Y)


def test_a_kernel_is_called_with_tables() -> None:
    with pytest.raises(ValueError, match=r"got shapes \(3,\) and \(3,\)"):
        Linear()(X[0])
    with pytest.raises(ValueError, match=r"got shapes \(60, 3\) and \(60, 2\)"):
        Linear()(X, X[:, :2])


@pytest.mark.parametrize(
    ("table", "n_rows", "error", "words"),
    [
        (sparse.csr_matrix(X), 10, TypeError, r"pass X.toarray\(\)"),
        (np.where(X > 2.0, np.nan, X), 10, ValueError, "X contains nan or infinity"),
        (X, 0, ValueError, "n_rows must be at least 1, got 0"),
    ],
)
def test_the_check_of_a_kernel_says_what_is_wrong(table: Any, n_rows: int, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        check_mercer("rbf", table, n_rows=n_rows)
