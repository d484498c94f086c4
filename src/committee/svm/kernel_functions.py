"""Kernel functions as objects: k(x, z) = <phi(x), phi(z)>, with `+`, `*`, positive factors and powers (I-3, I-4).

    linear        <x, z>
    polynomial    (gamma <x, z> + coef0)^degree, homogeneous where coef0 = 0
    gaussian      exp(-|x - z|^2 / s^2),    gamma = 1 / s^2
    laplacian     exp(-|x - z|_1 / s^2),    gamma = 1 / s^2
    sigmoid       tanh(gamma <x, z> + coef0), positive semi-definite for no common choice of its parameters

Sums, products, whole powers and positive multiples of positive semi-definite kernels are positive semi-definite
(Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, proposition 3.22).

A kernel is first settled on the training table (`settle`: gamma="scale" becomes a number, distances get a centre), then
tables become points (`points`), and blocks of the Gram matrix are filled into arrays (`fill`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats

Array = NDArray[Any]
Places = NDArray[np.int64]
Gamma = float | Literal["scale", "auto"]
Precision = type[np.float32] | type[np.float64]

LOG2_E = 1.4426950408889634
DIAGONAL_BLOCK = 64

FAR_APART = 50.0
"""Mean exponent of a gaussian of two points as far from each other as from the centre: beyond it the float32 products
lose the small distances, and float64 ones are taken."""


class Points(NamedTuple):
    """Rows of a table as a kernel wants them; a sum or product has one for each of its kernels in `parts`."""

    values: Array  # [n, d]
    halves: Array  # [n], what a distance subtracts; empty where there is none
    place: Places  # [n], positions in the training table, for a Gram matrix that is given
    parts: tuple[Points, ...] = ()

    def take(self, rows: Any) -> Points:
        """Some of them: a slice or positions."""
        halves = self.halves[rows] if self.halves.size else self.halves
        parts = tuple(part.take(rows) for part in self.parts) if self.parts else ()
        return Points(self.values[rows], halves, self.place[rows], parts)

    @property
    def n(self) -> int:
        return len(self.place)


class Kernel:
    """A kernel function. Call it with one table or two for their Gram matrix in float64."""

    @property
    def is_psd(self) -> bool | None:
        """True where every Gram matrix is positive semi-definite by construction; None where nobody knows."""
        return None

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        """This kernel with all it has to learn from a training table."""
        return self

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        place = np.arange(len(X)) if place is None else place
        return Points(np.ascontiguousarray(X, dtype), np.empty(0, dtype), place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        """out[a, j] = k(left a, right j), out in C order and of the points' dtype."""
        raise NotImplementedError

    def fill_rows(self, left: Points, right: Points, room: Array, out: Array, rows: Places, start: int) -> None:
        """out[rows[a], start + j] = k(left a, right j), by way of a block of the points' dtype to work in."""
        from committee.kernels.svm.gram import copy_rows

        self.fill(left, right, room)
        copy_rows(room, out, rows, start)

    def diagonal(self, points: Points) -> Floats:
        """k(x, x) of every point."""
        result = np.empty(points.n)
        block = np.empty((DIAGONAL_BLOCK, DIAGONAL_BLOCK), points.values.dtype)
        for start in range(0, points.n, DIAGONAL_BLOCK):
            some = points.take(slice(start, start + DIAGONAL_BLOCK))
            out = block.reshape(-1)[: some.n * some.n].reshape(some.n, some.n)
            self.fill(some, some, out)
            result[start : start + some.n] = np.diagonal(out)
        return result

    def is_far_apart(self, points: Points) -> bool:
        """Do float32 points lose too much?"""
        return any(kernel.is_far_apart(part) for kernel, part in zip(self._kernels(), points.parts, strict=True))

    def _kernels(self) -> tuple[Kernel, ...]:
        return ()

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        table = np.asarray(X, np.float64)
        other = table if Z is None else np.asarray(Z, np.float64)
        if table.ndim != 2 or other.ndim != 2 or table.shape[1] != other.shape[1]:
            raise ValueError(
                "A kernel is called with one table of rows and columns, or with two of the same columns; got shapes "
                f"{table.shape} and {other.shape}."
            )
        settled = self.settle(table)
        left = settled.points(table)
        right = left if Z is None else settled.points(other)
        out = np.empty((left.n, right.n))
        settled.fill(left, right, out)
        return out

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum((self, _as_kernel(other)))

    def __radd__(self, other: float) -> Kernel:
        return self if isinstance(other, int) and other == 0 else Sum((_as_kernel(other), self))

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Scaled(self, float(other)) if isinstance(other, Real) else Product((self, _as_kernel(other)))

    def __rmul__(self, other: float) -> Kernel:
        return Scaled(self, float(other))

    def __pow__(self, degree: int) -> Kernel:
        return Power(self, degree)


def _as_kernel(other: Any) -> Kernel:
    if isinstance(other, Kernel):
        return other
    if isinstance(other, Real):
        return Constant(float(other))
    raise TypeError(f"A kernel can be combined with a kernel or a number, not with {type(other).__name__}.")


# --- products --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Linear(Kernel):
    """<x, z>."""

    @property
    def is_psd(self) -> bool:
        return True

    def fill(self, left: Points, right: Points, out: Array) -> None:
        np.dot(left.values, right.values.T, out=out)

    def diagonal(self, points: Points) -> Floats:
        return np.einsum("ij,ij->i", points.values, points.values, dtype=np.float64)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(gamma <x, z> + coef0)^degree.

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
        _raise_to(out, self.degree)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """tanh(gamma <x, z> + coef0)."""

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


def _raise_to(out: Array, degree: float) -> None:
    """out ** degree in place, whole degrees by multiplication."""
    if not float(degree).is_integer():
        np.power(out, out.dtype.type(degree), out=out)
        return
    base, left = out.copy(), int(degree)
    out.fill(1.0)
    while left:
        if left % 2:
            out *= base
        left //= 2
        if left:
            base *= base


# --- distances -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Distance(Kernel):
    """Kernels of the distance: its width s or gamma = 1 / s^2, and the centre that points are moved to."""

    width: float | None = None
    gamma: Gamma = "scale"
    centre: Floats | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        if self.width is not None and not 0.0 < self.width < np.inf:
            raise ValueError(f"The width s of a kernel must be a positive number, got {self.width}.")
        if self.width is not None and self.gamma != "scale":
            raise ValueError(
                f"width={self.width} is gamma={1.0 / self.width**2:g}: give the width or gamma={self.gamma}, not both."
            )

    @property
    def is_psd(self) -> bool:
        return True

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        gamma = settle_gamma(self.gamma, X, weight) if self.width is None else 1.0 / self.width**2
        return replace(self, width=None, gamma=gamma, centre=np.average(X, axis=0, weights=weight))

    def _centred(self, X: Floats, factor: float) -> Floats:
        moved = X.copy() if self.centre is None else X - self.centre
        moved *= factor
        return moved

    def diagonal(self, points: Points) -> Floats:
        return np.ones(points.n)


@dataclass(frozen=True)
class Gaussian(_Distance):
    """exp(-|x - z|^2 / s^2) with s the `width`, or exp(-gamma |x - z|^2).

    >>> Gaussian(width=2.0)([[0.0, 0.0]], [[2.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        base = LOG2_E if dtype == np.float32 else 1.0
        result = super().points(self._centred(X, np.sqrt(2.0 * float(self.gamma) * base)), dtype, place)
        halves = 0.5 * np.einsum("ij,ij->i", result.values, result.values, dtype=np.float64)
        return result._replace(halves=halves.astype(dtype))

    def fill(self, left: Points, right: Points, out: Array) -> None:
        from committee.kernels.svm import gram

        np.dot(left.values, right.values.T, out=out)
        if out.dtype == np.float32:
            gram.raise_two(out, left.halves, right.halves)
        else:
            gram.raise_e(out, left.halves, right.halves)

    def fill_rows(self, left: Points, right: Points, room: Array, out: Array, rows: Places, start: int) -> None:
        from committee.kernels.svm.gram import raise_two_into

        if not room.dtype == out.dtype == np.float32:
            super().fill_rows(left, right, room, out, rows, start)
            return
        np.dot(left.values, right.values.T, out=room)
        raise_two_into(room, left.halves, right.halves, out, rows, start)

    def is_far_apart(self, points: Points) -> bool:
        return bool(np.mean(points.halves, dtype=np.float64) > FAR_APART)


@dataclass(frozen=True)
class Laplacian(_Distance):
    """exp(-|x - z|_1 / s^2) with s the `width`, or exp(-gamma |x - z|_1).

    >>> Laplacian(gamma=0.5)([[0.0, 0.0]], [[2.0, 0.0]]).round(4)
    array([[0.3679]])
    """

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        base = LOG2_E if dtype == np.float32 else 1.0
        result = super().points(self._centred(X, float(self.gamma) * base), dtype, place)
        return result._replace(halves=np.zeros(result.n, dtype))

    def fill(self, left: Points, right: Points, out: Array) -> None:
        from committee.kernels.svm import gram

        gram.subtract_distances(left.values, np.ascontiguousarray(right.values.T), out)
        if out.dtype == np.float32:
            gram.raise_two(out, left.halves, right.halves)
        else:
            gram.raise_e(out, left.halves, right.halves)

    def fill_rows(self, left: Points, right: Points, room: Array, out: Array, rows: Places, start: int) -> None:
        from committee.kernels.svm import gram

        if not room.dtype == out.dtype == np.float32:
            super().fill_rows(left, right, room, out, rows, start)
            return
        gram.subtract_distances(left.values, np.ascontiguousarray(right.values.T), room)
        gram.raise_two_into(room, left.halves, right.halves, out, rows, start)


# --- what is given ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The table is the Gram matrix: rows are points, columns the training points."""

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return Points(X, np.empty(0), np.arange(len(X)) if place is None else place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        out[:] = left.values[:, right.place]

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        return np.asarray(X, np.float64)


@dataclass(frozen=True)
class GramFunction(Kernel):
    """A function of two tables that returns their Gram matrix."""

    function: Callable[[Any, Any], Any]

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return super().points(X, np.float64, place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        result = np.asarray(self.function(left.values, right.values))
        if result.shape != out.shape:
            raise ValueError(
                f"The kernel function returned an array of shape {result.shape} for tables of {left.n} and {right.n} "
                f"rows: it must return one number for each pair, shape {out.shape}."
            )
        out[:] = result
        _require_finite(out)


@dataclass(frozen=True)
class RowFunction(Kernel):
    """A function of two rows that returns a number."""

    function: Callable[[Any, Any], Any]

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return super().points(X, np.float64, place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        for a, x in enumerate(left.values):
            out[a] = [self.function(x, z) for z in right.values]
        _require_finite(out)

    def diagonal(self, points: Points) -> Floats:
        return np.array([self.function(x, x) for x in points.values], np.float64)


def _require_finite(out: Array) -> None:
    if not np.isfinite(out).all():
        raise ValueError("The kernel function returned nan or infinity: look at it on the rows of X, or scale them.")


def require_finite(values: Array) -> None:
    """Raise ValueError for kernel values that cannot be compared: solvers would not end."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The kernel is nan or infinity on rows of X: scale the columns (scale=True), or lower its degree or gamma. "
            "A power that is not whole needs products that are not negative."
        )


# --- algebra ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant(Kernel):
    """The same number for every pair."""

    value: float

    def __post_init__(self) -> None:
        _check_factor(self.value)

    @property
    def is_psd(self) -> bool:
        return True

    def fill(self, left: Points, right: Points, out: Array) -> None:
        out.fill(self.value)


@dataclass(frozen=True)
class _Combined(Kernel):
    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            _reject_given(kernel)

    @property
    def is_psd(self) -> bool | None:
        return True if all(kernel.is_psd for kernel in self.kernels) else None

    def _kernels(self) -> tuple[Kernel, ...]:
        return self.kernels

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        return replace(self, kernels=tuple(kernel.settle(X, weight) for kernel in self.kernels))

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        place = np.arange(len(X)) if place is None else place
        parts = tuple(kernel.points(X, dtype, place) for kernel in self.kernels)
        return Points(np.empty((len(X), 0), dtype), np.empty(0, dtype), place, parts)

    def _fill_first(self, left: Points, right: Points, out: Array) -> list[Array]:
        """The first kernel into out, the blocks of the others."""
        blocks = [out, *(np.empty_like(out) for _ in self.kernels[1:])]
        for kernel, part, other, block in zip(self.kernels, left.parts, right.parts, blocks, strict=True):
            kernel.fill(part, other, block)
        return blocks[1:]


@dataclass(frozen=True)
class Sum(_Combined):
    """k + l + ..."""

    def fill(self, left: Points, right: Points, out: Array) -> None:
        for block in self._fill_first(left, right, out):
            out += block

    def diagonal(self, points: Points) -> Floats:
        parts = [kernel.diagonal(part) for kernel, part in zip(self.kernels, points.parts, strict=True)]
        return np.sum(parts, axis=0)


@dataclass(frozen=True)
class Product(_Combined):
    """k * l * ..."""

    def fill(self, left: Points, right: Points, out: Array) -> None:
        for block in self._fill_first(left, right, out):
            out *= block

    def diagonal(self, points: Points) -> Floats:
        parts = [kernel.diagonal(part) for kernel, part in zip(self.kernels, points.parts, strict=True)]
        return np.prod(parts, axis=0)


@dataclass(frozen=True)
class Scaled(Kernel):
    """factor * k, the factor positive."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        _check_factor(self.factor)
        _reject_given(self.kernel)

    @property
    def is_psd(self) -> bool | None:
        return self.kernel.is_psd

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        return replace(self, kernel=self.kernel.settle(X, weight))

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return self.kernel.points(X, dtype, place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        self.kernel.fill(left, right, out)
        out *= self.factor

    def diagonal(self, points: Points) -> Floats:
        return self.kernel.diagonal(points) * self.factor

    def is_far_apart(self, points: Points) -> bool:
        return self.kernel.is_far_apart(points)


@dataclass(frozen=True)
class Power(Kernel):
    """k ** degree, the degree whole and positive."""

    kernel: Kernel
    degree: int

    def __post_init__(self) -> None:
        if not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"A kernel can be raised to a whole power of at least 1, got {self.degree!r}.")
        _reject_given(self.kernel)

    @property
    def is_psd(self) -> bool | None:
        return self.kernel.is_psd

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        return replace(self, kernel=self.kernel.settle(X, weight))

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return self.kernel.points(X, dtype, place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        self.kernel.fill(left, right, out)
        _raise_to(out, self.degree)

    def diagonal(self, points: Points) -> Floats:
        return self.kernel.diagonal(points) ** self.degree

    def is_far_apart(self, points: Points) -> bool:
        return self.kernel.is_far_apart(points)


def _reject_given(kernel: Kernel) -> None:
    if isinstance(kernel, Precomputed):
        raise ValueError("A precomputed Gram matrix has no rows to combine with: combine the matrices themselves.")


def _check_factor(factor: float) -> None:
    if not 0.0 < factor < np.inf:
        raise ValueError(f"A kernel can only be scaled by, or get added, a positive number; got {factor}.")


# --- from names ------------------------------------------------------------------------------------------------------

NAMES = ("linear", "poly", "rbf", "gaussian", "laplacian", "sigmoid", "precomputed")


def make_kernel(kernel: Any, *, degree: float = 3, gamma: Gamma = "scale", coef0: float = 0.0) -> Kernel:
    """A kernel from scikit-learn's names and parameters, from a function, or as it is."""
    if isinstance(kernel, Kernel):
        _reject_parameters(kernel, degree=degree, gamma=gamma, coef0=coef0)
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ValueError(f"{kernel.__name__} is a class of kernels: make an object of it, {kernel.__name__}(...).")
    if callable(kernel):
        return _Unseen(kernel)
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
    """A kernel object has parameters of its own: others next to it would be ignored."""
    usual = {"degree": 3, "gamma": "scale", "coef0": 0.0}
    for name, value in given.items():
        if value != usual[name]:
            where = f"as in {type(kernel).__name__}({name}={value!r})" if hasattr(kernel, name) else "if it has one"
            raise ValueError(
                f"{name}={value!r} is for kernels given by name; {kernel!r:.80} is an object with parameters of its "
                f"own and would not see it: set {name} there, {where}, and leave it out here."
            )


@dataclass(frozen=True)
class _Unseen(Kernel):
    """A user's function before it has met a table: of two tables, or of two rows?"""

    function: Callable[[Any, Any], Any]

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        left, right = X[[0] * 2], X[[0] * 3]
        try:
            is_gram = np.shape(self.function(left, right)) == (2, 3)
        except Exception:  # a function of rows may do anything when it meets tables
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
