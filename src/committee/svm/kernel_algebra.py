"""The base class of kernel functions, and sums, products, multiples and powers of them.

Sums, products, integer powers and positive multiples of positive semi-definite kernels are positive semi-definite
(Shawe-Taylor and Cristianini, Kernel methods for pattern analysis, 2004, proposition 3.22).

A kernel is first settled on the training table (`settle`: gamma="scale" becomes a number, distances get a centre), then
tables become points (`points`), and blocks of the Gram matrix are filled into arrays (`fill`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats

Array = NDArray[Any]
Places = NDArray[np.int64]
Precision = type[np.float32] | type[np.float64]

DIAGONAL_BLOCK = 64


class Points(NamedTuple):
    """Rows of a table in the form of a kernel; a sum or product has one for each of its kernels in `parts`."""

    values: Array  # [n, d]
    halves: Array  # [n], subtracted by a distance; empty for other kernels
    place: Places  # [n], positions in the training table, for a precomputed Gram matrix
    parts: tuple[Points, ...] = ()

    def take(self, rows: Any) -> Points:
        """The points of some rows: a slice or positions."""
        halves = self.halves[rows] if self.halves.size else self.halves
        parts = tuple(part.take(rows) for part in self.parts) if self.parts else ()
        return Points(self.values[rows], halves, self.place[rows], parts)

    @property
    def n(self) -> int:
        return len(self.place)


class Kernel:
    """A kernel function. Call it with one or two tables for their Gram matrix in float64.

    Kernels can be combined: `k + l`, `k * l`, `2.0 * k`, `k**3`.

    Examples
    --------
    >>> from committee.svm.kernel_functions import Gaussian, Linear
    >>> kernel = 2.0 * Gaussian(width=1.0) + Linear() ** 2
    >>> kernel([[1.0, 0.0]], [[1.0, 0.0], [3.0, 1.0]]).round(4)
    array([[3.    , 9.0135]])
    """

    can_combine: ClassVar[bool] = True

    @property
    def is_psd(self) -> bool | None:
        """True if every Gram matrix is positive semi-definite by construction; None if that is unknown."""
        return None

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        """This kernel with all parameters that depend on the training table."""
        return self

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        place = np.arange(len(X)) if place is None else place
        return Points(np.ascontiguousarray(X, dtype), np.empty(0, dtype), place)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        """out[a, j] = k(left a, right j), out in C order and of the points' dtype."""
        raise NotImplementedError

    def fill_rows(self, left: Points, right: Points, block: Array, out: Array, rows: Places, start: int) -> None:
        """out[rows[a], start + j] = k(left a, right j), computed in a block of the points' dtype."""
        from committee.kernels.svm.gram import copy_rows

        self.fill(left, right, block)
        copy_rows(block, out, rows, start)

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
        """Whether float32 points are too imprecise."""
        return False

    def __call__(self, X: Any, Z: Any = None) -> Floats:
        table = np.asarray(X, np.float64)
        other = table if Z is None else np.asarray(Z, np.float64)
        if table.ndim != 2 or other.ndim != 2 or table.shape[1] != other.shape[1]:
            raise ValueError(
                "A kernel must be called with one table of rows and columns, or with two of the same columns; got "
                f"shapes {table.shape} and {other.shape}."
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


def raise_to(out: Array, degree: float) -> None:
    """out ** degree in place, integer degrees by multiplication."""
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


# --- combinations ----------------------------------------------------------------------------------------------------


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
    """Several kernels, whose values an operation combines."""

    kernels: tuple[Kernel, ...]

    _operation = np.add

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            _check_combined(kernel)

    @property
    def is_psd(self) -> bool | None:
        return True if all(kernel.is_psd for kernel in self.kernels) else None

    def is_far_apart(self, points: Points) -> bool:
        return any(kernel.is_far_apart(part) for kernel, part in zip(self.kernels, points.parts, strict=True))

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        return replace(self, kernels=tuple(kernel.settle(X, weight) for kernel in self.kernels))

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        place = np.arange(len(X)) if place is None else place
        parts = tuple(kernel.points(X, dtype, place) for kernel in self.kernels)
        return Points(np.empty((len(X), 0), dtype), np.empty(0, dtype), place, parts)

    def fill(self, left: Points, right: Points, out: Array) -> None:
        blocks = [out, *(np.empty_like(out) for _ in self.kernels[1:])]
        for kernel, part, other, block in zip(self.kernels, left.parts, right.parts, blocks, strict=True):
            kernel.fill(part, other, block)
        for block in blocks[1:]:
            self._operation(out, block, out=out)

    def diagonal(self, points: Points) -> Floats:
        parts = [kernel.diagonal(part) for kernel, part in zip(self.kernels, points.parts, strict=True)]
        return self._operation.reduce(parts, axis=0)


class Sum(_Combined):
    """k + l + ..."""


class Product(_Combined):
    """k * l * ..."""

    _operation = np.multiply


@dataclass(frozen=True)
class _Wrapped(Kernel):
    """A kernel whose values a function changes; its points are those of the kernel."""

    kernel: Kernel

    def __post_init__(self) -> None:
        _check_combined(self.kernel)

    @property
    def is_psd(self) -> bool | None:
        return self.kernel.is_psd

    def is_far_apart(self, points: Points) -> bool:
        return self.kernel.is_far_apart(points)

    def settle(self, X: Floats, weight: Floats | None = None) -> Kernel:
        return replace(self, kernel=self.kernel.settle(X, weight))

    def points(self, X: Floats, dtype: Precision = np.float64, place: Any = None) -> Points:
        return self.kernel.points(X, dtype, place)


@dataclass(frozen=True)
class Scaled(_Wrapped):
    """factor * k, with a positive factor."""

    factor: float

    def __post_init__(self) -> None:
        _check_factor(self.factor)
        super().__post_init__()

    def fill(self, left: Points, right: Points, out: Array) -> None:
        self.kernel.fill(left, right, out)
        out *= self.factor

    def diagonal(self, points: Points) -> Floats:
        return self.kernel.diagonal(points) * self.factor


@dataclass(frozen=True)
class Power(_Wrapped):
    """k ** degree, with a positive integer as degree."""

    degree: int

    def __post_init__(self) -> None:
        if not isinstance(self.degree, Integral) or self.degree < 1:
            raise ValueError(f"The power of a kernel must be an integer of at least 1, got {self.degree!r}.")
        super().__post_init__()

    def fill(self, left: Points, right: Points, out: Array) -> None:
        self.kernel.fill(left, right, out)
        raise_to(out, self.degree)

    def diagonal(self, points: Points) -> Floats:
        return self.kernel.diagonal(points) ** self.degree


def _check_combined(kernel: Kernel) -> None:
    if not kernel.can_combine:
        raise ValueError("A precomputed Gram matrix has no rows to combine with: combine the matrices themselves.")


def _check_factor(factor: float) -> None:
    if not 0.0 < factor < np.inf:
        raise ValueError(
            f"The factor of a kernel, and a number added to it, must be positive and finite; got {factor}."
        )
