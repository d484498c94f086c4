"""Kernel functions as objects: k(x, z) = <phi(x), phi(z)>. `kernel_algebra.py` combines them.

linear        <x, z>
polynomial    (gamma <x, z> + coef0)^degree, homogeneous where coef0 = 0
gaussian      exp(-|x - z|^2 / s^2),    gamma = 1 / s^2
laplacian     exp(-|x - z|_1 / s^2),    gamma = 1 / s^2
sigmoid       tanh(gamma <x, z> + coef0), positive semi-definite for no common choice of its parameters
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from committee.base.array_types import Floats
from committee.svm.kernel_algebra import Array, Kernel, Places, Points, Precision, raise_to

Gamma = float | Literal["scale", "auto"]

LOG2_E = 1.4426950408889634

FAR_APART = 50.0
"""Mean exponent of a Gaussian kernel of two points as far from each other as from the centre: beyond it float32
products lose small distances, and float64 is used."""


# --- products --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel <x, z>.

    Examples
    --------
    >>> Linear()([[1.0, 2.0]], [[3.0, 1.0]])
    array([[5.]])
    """

    @property
    def is_psd(self) -> bool:
        return True

    def fill(self, left: Points, right: Points, out: Array) -> None:
        np.dot(left.values, right.values.T, out=out)

    def diagonal(self, points: Points) -> Floats:
        return np.einsum("ij,ij->i", points.values, points.values, dtype=np.float64)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel (gamma <x, z> + coef0)^degree.

    Parameters
    ----------
    degree : float >= 0, default=3
        Degree of the polynomial.
    coef0 : float, default=0.0
        Constant term.
    gamma : float >= 0, "scale" or "auto", default=1.0
        Factor of the product; "scale" is 1 / (n_features * variance of X), "auto" is 1 / n_features.

    Examples
    --------
    >>> Polynomial(2)([[1.0, 2.0]], [[3.0, 1.0]])
    array([[25.]])
    >>> Polynomial(2, coef0=1.0)([[1.0, 2.0]], [[3.0, 1.0]])
    array([[36.]])
    """

    degree: float = 3
    coef0: float = 0.0
    gamma: Gamma = 1.0

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        if not self.degree >= 0:
            raise ValueError(f"The degree of a polynomial kernel must be 0 or more, got {self.degree}.")

    @property
    def is_psd(self) -> bool | None:
        return True if self.coef0 >= 0.0 and float(self.degree).is_integer() else None

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        return replace(self, gamma=settle_gamma(self.gamma, X, weight))

    def fill(self, left: Points, right: Points, out: Array) -> None:
        np.dot(left.values, right.values.T, out=out)
        out *= self.gamma
        out += self.coef0
        raise_to(out, self.degree)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """The sigmoid kernel tanh(gamma <x, z> + coef0), which is not positive semi-definite in general.

    Parameters
    ----------
    gamma : float >= 0, "scale" or "auto", default="scale"
        Factor of the product; "scale" is 1 / (n_features * variance of X), "auto" is 1 / n_features.
    coef0 : float, default=0.0
        Constant term.

    Examples
    --------
    >>> Sigmoid(gamma=0.1)([[1.0, 2.0]], [[3.0, 1.0]]).round(4)
    array([[0.4621]])
    """

    gamma: Gamma = "scale"
    coef0: float = 0.0

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        return replace(self, gamma=settle_gamma(self.gamma, X, weight))

    def fill(self, left: Points, right: Points, out: Array) -> None:
        np.dot(left.values, right.values.T, out=out)
        out *= self.gamma
        out += self.coef0
        np.tanh(out, out=out)


# --- distances -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Distance(Kernel):
    """A kernel of the distance: its width s or gamma = 1 / s^2, and the centre that points are moved to."""

    width: float | None = None
    gamma: Gamma = "scale"
    centre: Floats | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        if self.width is not None and not 0.0 < self.width < np.inf:
            raise ValueError(f"The width s of a kernel must be a positive number, got {self.width}.")
        if self.width is not None and self.gamma != "scale":
            raise ValueError(
                f"width={self.width} is gamma={1.0 / self.width**2:g}: set the width or gamma={self.gamma}, not both."
            )

    @property
    def is_psd(self) -> bool:
        return True

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        gamma = settle_gamma(self.gamma, X, weight) if self.width is None else 1.0 / self.width**2
        return replace(self, width=None, gamma=gamma, centre=np.average(X, axis=0, weights=weight))

    def _moved(self, X: Floats, factor: float, dtype: Precision, place: Any) -> Points:
        moved = X.copy() if self.centre is None else X - self.centre
        moved *= factor
        return super().points(moved, dtype, place)

    def _fill_exponents(self, left: Points, right: Points, out: Array) -> None:
        """The exponent before the halves of both points are subtracted."""
        raise NotImplementedError

    def fill(self, left: Points, right: Points, out: Array) -> None:
        from committee.kernels.svm import gram

        self._fill_exponents(left, right, out)
        if out.dtype == np.float32:
            gram.raise_two(out, left.halves, right.halves)
        else:
            gram.raise_e(out, left.halves, right.halves)

    def fill_rows(self, left: Points, right: Points, block: Array, out: Array, rows: Places, start: int) -> None:
        from committee.kernels.svm.gram import raise_two_into

        if not block.dtype == out.dtype == np.float32:
            super().fill_rows(left, right, block, out, rows, start)
            return
        self._fill_exponents(left, right, block)
        raise_two_into(block, left.halves, right.halves, out, rows, start)

    def diagonal(self, points: Points) -> Floats:
        return np.ones(points.n)


@dataclass(frozen=True)
class Gaussian(_Distance):
    """The Gaussian kernel exp(-|x - z|^2 / s^2) = exp(-gamma |x - z|^2).

    Parameters
    ----------
    width : float > 0, default=None
        The width s; None takes `gamma`.
    gamma : float >= 0, "scale" or "auto", default="scale"
        1 / s^2; "scale" is 1 / (n_features * variance of X), "auto" is 1 / n_features.

    Examples
    --------
    >>> Gaussian(width=2.0)([[0.0, 0.0]], [[2.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        base = LOG2_E if dtype == np.float32 else 1.0
        result = self._moved(X, np.sqrt(2.0 * float(self.gamma) * base), dtype, place)
        halves = 0.5 * np.einsum("ij,ij->i", result.values, result.values, dtype=np.float64)
        return result._replace(halves=halves.astype(dtype))

    def _fill_exponents(self, left: Points, right: Points, out: Array) -> None:
        np.dot(left.values, right.values.T, out=out)

    def is_far_apart(self, points: Points) -> bool:
        return bool(np.mean(points.halves, dtype=np.float64) > FAR_APART)


@dataclass(frozen=True)
class Laplacian(_Distance):
    """The Laplacian kernel exp(-|x - z|_1 / s^2) = exp(-gamma |x - z|_1).

    Parameters
    ----------
    width : float > 0, default=None
        The width s; None takes `gamma`.
    gamma : float >= 0, "scale" or "auto", default="scale"
        1 / s^2; "scale" is 1 / (n_features * variance of X), "auto" is 1 / n_features.

    Examples
    --------
    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[2.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        base = LOG2_E if dtype == np.float32 else 1.0
        result = self._moved(X, float(self.gamma) * base, dtype, place)
        return result._replace(halves=np.zeros(result.n, dtype))

    def _fill_exponents(self, left: Points, right: Points, out: Array) -> None:
        from committee.kernels.svm.gram import subtract_distances

        subtract_distances(left.values, np.ascontiguousarray(right.values.T), out)


# --- precomputed matrices and functions ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A given Gram matrix: rows of the table are points, its columns the training points."""

    can_combine = False

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return Points(X, np.empty(0), np.arange(len(X)) if place is None else place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        out[:] = left.values[:, right.place]

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        return np.asarray(X, np.float64)


@dataclass(frozen=True)
class _Function(Kernel):
    """A function of the user; its points are float64."""

    function: Callable[[Any, Any], Any]

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return super().points(X, np.float64, place)


@dataclass(frozen=True)
class GramFunction(_Function):
    """A function of two tables that returns their Gram matrix."""

    def fill(self, left: Points, right: Points, out: Array) -> None:
        result = np.asarray(self.function(left.values, right.values))
        if result.shape != out.shape:
            raise ValueError(
                f"The kernel function returned an array of shape {result.shape} for tables of {left.n} and {right.n} "
                f"rows: it must return one number for each pair, shape {out.shape}."
            )
        out[:] = result
        _check_finite(out)


@dataclass(frozen=True)
class RowFunction(_Function):
    """A function of two rows that returns a number."""

    def fill(self, left: Points, right: Points, out: Array) -> None:
        for a, x in enumerate(left.values):
            out[a] = [self.function(x, z) for z in right.values]
        _check_finite(out)

    def diagonal(self, points: Points) -> Floats:
        return np.array([self.function(x, x) for x in points.values], np.float64)


def _check_finite(out: Array) -> None:
    if not np.isfinite(out).all():
        raise ValueError("The kernel function returned nan or infinity: check it on the rows of X, or scale them.")


def require_finite(values: Array) -> None:
    """Raise ValueError for kernel values that cannot be compared: solvers would not end."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel is nan or infinity on rows of X: scale the columns (scale=True), or lower its degree or gamma. "
            "A power that is not an integer needs products that are not negative."
        )


# --- from names ------------------------------------------------------------------------------------------------------

NAMES = ("linear", "poly", "rbf", "gaussian", "laplacian", "sigmoid", "precomputed")


def make_kernel(kernel: Any, *, degree: float = 3, gamma: Gamma = "scale", coef0: float = 0.0) -> Kernel:
    """Make a kernel from scikit-learn's names and parameters, or from a function; return a kernel as it is."""
    if isinstance(kernel, Kernel):
        _reject_parameters(kernel, degree=degree, gamma=gamma, coef0=coef0)
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ValueError(f"{kernel.__name__} is a class of kernels: pass an object of it, {kernel.__name__}(...).")
    if callable(kernel):
        return _UnknownFunction(kernel)
    if kernel in ("rbf", "gaussian"):
        return Gaussian(gamma=gamma)
    if kernel == "poly":
        return Polynomial(degree, coef0, gamma)
    made = {"linear": Linear(), "laplacian": Laplacian(gamma=gamma), "sigmoid": Sigmoid(gamma, coef0),
            "precomputed": Precomputed()}  # fmt: skip
    if kernel not in made:
        raise ValueError(f"kernel must be one of {', '.join(NAMES)}, a Kernel or a function; got {kernel!r}.")
    return made[kernel]


def _reject_parameters(kernel: Kernel, **given: Any) -> None:
    """Raise ValueError for parameters that a kernel object would ignore."""
    usual = {"degree": 3, "gamma": "scale", "coef0": 0.0}
    for name, value in given.items():
        if value != usual[name]:
            where = f"as in {type(kernel).__name__}({name}={value!r})" if hasattr(kernel, name) else "if it has one"
            raise ValueError(
                f"{name}={value!r} is for kernels given by name; {kernel!r:.80} has its own parameters and would "
                f"ignore it: set {name} there, {where}, and leave it out here."
            )


@dataclass(frozen=True)
class _UnknownFunction(Kernel):
    """A function of two tables or of two rows: a training table will show which."""

    function: Callable[[Any, Any], Any]

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        left, right = X[[0] * 2], X[[0] * 3]
        try:
            is_gram = np.shape(self.function(left, right)) == (2, 3)
        except Exception:  # a function of rows may raise anything for tables
            is_gram = False
        if is_gram:
            return GramFunction(self.function)
        result = np.asarray(self.function(X[0], X[0]))
        if result.ndim != 0 or result.dtype.kind not in "fiub":
            raise ValueError(
                "The kernel function must return a Gram matrix for two tables, or a number for two rows; for tables of "
                f"2 and 3 rows it did not return shape (2, 3), for two rows it returned {result!r:.60}."
            )
        return RowFunction(self.function)


def settle_gamma(gamma: Gamma, X: Floats, weight: Floats | None = None) -> float:
    """gamma as a number: "scale" is 1 / (d var(X)), the variance of all cells, rows counted by weight; "auto" 1 / d."""
    if not isinstance(gamma, str):
        return float(gamma)
    d = X.shape[1]
    if gamma == "auto":
        return 1.0 / d
    mean = float(np.average(X.mean(axis=1), weights=weight))
    variance = float(np.average(((X - mean) ** 2).mean(axis=1), weights=weight))
    is_constant = variance <= (1e-14 * np.abs(X).max()) ** 2  # but for rounding
    return 1.0 if is_constant else 1.0 / (d * variance)


def _check_gamma(gamma: Any) -> None:
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"gamma must be 'scale', 'auto' or a number of at least 0, got {gamma!r}.")
    elif not 0.0 <= gamma < np.inf:
        raise ValueError(f"gamma must be 'scale', 'auto' or a number of at least 0, got {gamma!r}.")
