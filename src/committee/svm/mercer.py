"""Mercer's condition on a sample: is the Gram matrix positive semi-definite?

k(x, z) is a scalar product <phi(x), phi(z)> in some space iff every Gram matrix (k(x_i, x_j)) is symmetric and positive
semi-definite. A sample cannot prove it, but one negative eigenvalue disproves it.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from committee.base.blas_threads import one_blas_thread
from committee.base.stacklevel import level_of_caller
from committee.svm.kernel_algebra import Kernel, Points
from committee.svm.kernel_functions import Gamma, Precomputed, make_kernel, require_finite

ROUNDING = 1e-10
"""Of the largest eigenvalue: smaller negative eigenvalues are rounding errors."""

FIT_ROWS = 200
"""Number of rows on which a kernel that is not known to be valid is checked in `fit`."""


class MercerCheck(NamedTuple):
    """The eigenvalues of a Gram matrix, and whether it is positive semi-definite."""

    is_psd: bool
    smallest: float
    largest: float
    asymmetry: float  # largest |K - K'|
    n_rows: int
    verdict: str


def check_mercer(
    kernel: Any,
    X: Any,
    *,
    n_rows: int = 1000,
    random_state: int | None = 0,
    degree: float = 3,
    gamma: Gamma = "scale",
    coef0: float = 0.0,
) -> MercerCheck:
    """Check whether the Gram matrix of X, or of a random sample of its rows, is positive semi-definite.

    Parameters
    ----------
    kernel : str, Kernel or callable
        The kernel, as in `SVC`.
    X : array-like of shape (n_samples, n_features)
        The rows, or a square Gram matrix for the kernel "precomputed".
    n_rows : int, default=1000
        Maximum number of rows; of more, a random sample is drawn.
    random_state : int, default=0
        Seed of the sample.
    degree : float, default=3
        Degree of the "poly" kernel.
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the "rbf", "laplacian", "poly" and "sigmoid" kernels.
    coef0 : float, default=0.0
        Constant term of the "poly" and "sigmoid" kernels.

    Returns
    -------
    MercerCheck
        Whether the matrix is positive semi-definite, its extreme eigenvalues and the result as a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> check_mercer("rbf", X).is_psd
    True
    >>> print(check_mercer("sigmoid", X, gamma=1.0, coef0=1.0).verdict)
    Not a valid kernel: on these 50 rows the Gram matrix has the eigenvalue -5.49, the largest being 26.8.
    """
    if sparse.issparse(X):
        raise TypeError("X is sparse, a dense table is required: pass X.toarray().")
    table = np.asarray(X, np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"X must be a table of rows and columns, got shape {table.shape}.")
    if not np.isfinite(table).all():
        raise ValueError("X contains nan or infinity: fill missing values in, or drop these rows.")
    if n_rows < 1:
        raise ValueError(f"n_rows must be at least 1, got {n_rows}.")
    made = make_kernel(kernel, degree=degree, gamma=gamma, coef0=coef0)
    if isinstance(made, Precomputed) and table.shape[0] != table.shape[1]:
        raise ValueError(f"A precomputed Gram matrix is square, X has shape {table.shape}.")
    settled = made.settle(table)
    return check_points(settled, settled.points(table), n_rows, random_state)


def check_points(kernel: Kernel, points: Points, n_rows: int, random_state: int | None = 0) -> MercerCheck:
    """Check the Gram matrix of points of a settled kernel."""
    if points.n > n_rows:
        points = points.take(np.sort(np.random.default_rng(random_state).choice(points.n, n_rows, replace=False)))
    with one_blas_thread():
        gram = np.empty((points.n, points.n), points.values.dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # raises in the next line
            kernel.fill(points, points, gram)
        require_finite(gram)
        gram = gram.astype(np.float64)
        asymmetry = float(np.abs(gram - gram.T).max())
        eigenvalues = np.linalg.eigvalsh(0.5 * (gram + gram.T))
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    size = max(abs(smallest), abs(largest), np.finfo(np.float64).tiny)
    is_symmetric = asymmetry <= 1e-8 * size
    is_psd = is_symmetric and smallest >= -ROUNDING * size
    return MercerCheck(
        is_psd, smallest, largest, asymmetry, points.n, _verdict(is_symmetric, smallest, largest, size, points.n)
    )


def warn_of_invalid(kernel: Kernel, points: Points) -> None:
    """Warn of a settled kernel whose Gram matrix of some training points is not positive semi-definite."""
    if kernel.is_psd:
        return
    check = check_points(kernel, points, FIT_ROWS)
    if not check.is_psd:
        warnings.warn(
            f"{check.verdict} The optimum is then not unique, and the solution may be poor: choose another "
            "kernel or other parameters.",
            UserWarning,
            stacklevel=level_of_caller(),
        )


def _verdict(is_symmetric: bool, smallest: float, largest: float, size: float, n: int) -> str:
    if not is_symmetric:
        return f"Not a valid kernel: on these {n} rows k(x, z) and k(z, x) differ."
    if smallest < -ROUNDING * size:
        return (
            f"Not a valid kernel: on these {n} rows the Gram matrix has the eigenvalue {smallest:.3g}, the largest "
            f"being {largest:.3g}."
        )
    return (
        f"Valid on this sample: on these {n} rows the Gram matrix is positive semi-definite (smallest eigenvalue "
        f"{smallest:.3g}, largest {largest:.3g})."
    )
