"""Kernel functions: values against NumPy and scikit-learn, algebra, both precisions, Mercer's condition."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

from committee.svm.kernel_algebra import Constant, Kernel
from committee.svm.kernel_functions import (
    Gaussian,
    GramFunction,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    RowFunction,
    Sigmoid,
    make_kernel,
    settle_gamma,
)
from committee.svm.mercer import check_mercer

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(70, 5)) + 3.0, RNG.normal(size=(45, 5)) + 3.0


def min_of_rows(x: Any, z: Any) -> float:
    return float(np.minimum(x, z).sum())


KERNELS: dict[str, tuple[Kernel, Any]] = {
    "linear": (Linear(), X @ Z.T),
    "homogeneous": (Polynomial(2), (X @ Z.T) ** 2),
    "inhomogeneous": (Polynomial(3, coef0=1.0, gamma=0.1), polynomial_kernel(X, Z, 3, 0.1, 1.0)),
    "fractional degree": (Polynomial(1.5, coef0=1.0), (X @ Z.T + 1.0) ** 1.5),
    "gaussian": (Gaussian(width=2.0), rbf_kernel(X, Z, 0.25)),
    "gaussian by gamma": (Gaussian(gamma=0.7), rbf_kernel(X, Z, 0.7)),
    "laplacian": (Laplacian(width=2.0), laplacian_kernel(X, Z, 0.25)),
    "sigmoid": (Sigmoid(0.05, -1.0), sigmoid_kernel(X, Z, 0.05, -1.0)),
    "tables": (GramFunction(lambda a, b: a @ b.T), X @ Z.T),
    "rows": (RowFunction(min_of_rows), np.minimum(X[:, None], Z[None]).sum(axis=2)),
    "sum": (Linear() + Gaussian(gamma=0.5), X @ Z.T + rbf_kernel(X, Z, 0.5)),
    "sum of three": (1.0 + Linear() + Laplacian(gamma=0.1), 1.0 + X @ Z.T + laplacian_kernel(X, Z, 0.1)),
    "product": (Linear() * Gaussian(gamma=0.1), (X @ Z.T) * rbf_kernel(X, Z, 0.1)),
    "scaled": (2.5 * Gaussian(gamma=0.1), 2.5 * rbf_kernel(X, Z, 0.1)),
    "scaled from the right": (Gaussian(gamma=0.1) * 2, 2.0 * rbf_kernel(X, Z, 0.1)),
    "power": ((Linear() + 1.0) ** 4, (X @ Z.T + 1.0) ** 4),
}


@pytest.mark.parametrize("name", list(KERNELS))
def test_values(name: str) -> None:
    kernel, wanted = KERNELS[name]
    np.testing.assert_allclose(kernel(X, Z), wanted, rtol=1e-12, atol=1e-14)
    settled = kernel.settle(X)
    np.testing.assert_allclose(settled.diagonal(settled.points(X)), np.diagonal(kernel(X)), rtol=1e-12)
    for other in (
        copy.deepcopy(kernel),
        pickle.loads(pickle.dumps(kernel)) if "lambda" not in repr(kernel) else kernel,
    ):
        assert repr(other) == repr(kernel)
        np.testing.assert_array_equal(other(X, Z), kernel(X, Z))


@pytest.mark.parametrize("name", list(KERNELS))
def test_blocks_in_float32(name: str) -> None:
    kernel, wanted = KERNELS[name]
    settled = kernel.settle(X)
    left, right = settled.points(X, np.float32), settled.points(Z, np.float32)
    out = np.full((70, 45), np.nan, np.float64 if name in ("tables", "rows") else np.float32)
    settled.fill(left, right, out)
    np.testing.assert_allclose(out, wanted, rtol=2e-5, atol=1e-6)
    some = np.full((2, 3), np.nan, out.dtype)
    settled.fill(left.take(np.array([3, 9])), right.take(slice(5, 8)), some)
    np.testing.assert_allclose(some, wanted[[3, 9], 5:8], rtol=2e-5, atol=1e-6)


def test_a_given_gram_matrix() -> None:
    gram = X @ X.T
    points = Precomputed().points(gram)
    out = np.empty((3, 2))
    Precomputed().fill(points.take(np.array([1, 5, 9])), points.take(np.array([4, 2])), out)
    np.testing.assert_array_equal(out, gram[np.ix_([1, 5, 9], [4, 2])])
    with pytest.raises(ValueError, match="combine the matrices themselves"):
        Precomputed() + Linear()


def test_names_of_scikit_learn() -> None:
    assert make_kernel("rbf", gamma=2.0) == Gaussian(gamma=2.0) == make_kernel("gaussian", gamma=2.0)
    assert make_kernel("poly", degree=2, gamma=0.5, coef0=1.0) == Polynomial(2, 1.0, 0.5)
    assert make_kernel("sigmoid", gamma=0.5, coef0=1.0) == Sigmoid(0.5, 1.0)
    assert make_kernel("laplacian", gamma=0.5) == Laplacian(gamma=0.5)
    assert (make_kernel("linear"), make_kernel("precomputed")) == (Linear(), Precomputed())
    assert make_kernel(Linear()) == Linear()
    with pytest.raises(ValueError, match="kernel must be one of linear, poly"):
        make_kernel("cosine")


def test_a_function_is_asked_what_it_takes() -> None:
    of_tables, of_rows = make_kernel(rbf_kernel).settle(X), make_kernel(min_of_rows).settle(X)
    assert isinstance(of_tables, GramFunction)
    assert isinstance(of_rows, RowFunction)
    with pytest.raises(ValueError, match="must return a Gram matrix for two tables, or a number for two rows"):
        make_kernel(lambda x, z: "far").settle(X)
    with pytest.raises(ValueError, match="one number for each pair, shape \\(70, 45\\)"):
        GramFunction(lambda a, b: np.ones(3))(X, Z)
    with pytest.raises(ValueError, match="returned nan or infinity"):
        RowFunction(lambda x, z: np.nan)(X, Z)


def test_gamma() -> None:
    assert settle_gamma("auto", X) == 0.2
    assert settle_gamma("scale", X) == pytest.approx(1.0 / (5 * X.var()))
    assert settle_gamma(0.3, X) == 0.3
    assert settle_gamma("scale", np.full((4, 2), 0.1)) == 1.0
    weight = RNG.integers(0, 4, 70).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    assert settle_gamma("scale", X, weight) == pytest.approx(settle_gamma("scale", repeated), rel=1e-13)
    assert Gaussian().settle(X) == Gaussian(gamma=1.0 / (5 * X.var()))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Gaussian(width=0.0), "width s of a kernel must be a positive number, got 0.0"),
        (lambda: Gaussian(gamma=-1.0), "gamma must be 'scale', 'auto' or a number"),
        (lambda: Laplacian(gamma="auto_deprecated"), "gamma must be 'scale', 'auto'"),  # type: ignore[arg-type]
        (lambda: Polynomial(-1), "degree of a polynomial kernel must be 0 or more"),
        (lambda: -1.0 * Linear(), "must be positive and finite; got -1.0"),
        (lambda: Linear() + 0.0, "must be positive and finite; got 0.0"),
        (lambda: Linear() ** 0, "integer of at least 1, got 0"),
        (lambda: Linear() ** 0.5, "integer of at least 1, got 0.5"),  # type: ignore[operator]
    ],
)
def test_bad_parameters(make: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


def test_a_kernel_combines_with_kernels_and_numbers_only() -> None:
    with pytest.raises(TypeError, match="with a kernel or a number, not with str"):
        Linear() + "rbf"  # type: ignore[operator]


def test_what_is_known_to_be_valid() -> None:
    assert (Linear() * Gaussian() + 2.0 * Polynomial(2, 1.0)).is_psd
    assert (Laplacian() ** 2).is_psd
    assert Constant(1.0).is_psd
    assert Polynomial(2, coef0=-1.0).is_psd is None
    assert (Linear() + Sigmoid()).is_psd is None
    assert make_kernel(min_of_rows).is_psd is None


# --- Mercer ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in KERNELS if KERNELS[name][0].is_psd])
def test_valid_kernels_pass(name: str) -> None:
    result = check_mercer(KERNELS[name][0], X)
    assert result.is_psd
    assert result.verdict.startswith("Valid on this sample: on these 70 rows the Gram matrix is positive semi-definite")


def test_eigenvalues() -> None:
    result = check_mercer("linear", X)
    values = np.linalg.eigvalsh(X @ X.T)
    assert result.largest == pytest.approx(values[-1])
    assert result.smallest == pytest.approx(0.0, abs=1e-10)
    assert check_mercer("rbf", X, n_rows=20).n_rows == 20


def test_invalid_kernels_do_not_pass() -> None:
    distance = check_mercer(lambda a, b: -laplacian_kernel(a, b), X)
    assert not distance.is_psd
    assert "has the eigenvalue -" in distance.verdict
    skew = check_mercer("precomputed", np.eye(3) + np.triu(np.ones((3, 3)), 1))
    assert skew.verdict == "Not a valid kernel: on these 3 rows k(x, z) and k(z, x) differ."
    with pytest.raises(ValueError, match="Gram matrix is square"):
        check_mercer("precomputed", np.ones((3, 2)))
    with pytest.raises(ValueError, match="X must be a table"):
        check_mercer("rbf", np.ones(3))
