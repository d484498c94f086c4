"""Exclusive or: no line separates it in the plane, a plane does after the map (x, y, xy) (I-5; S1).

    rows (1, 1) and (-1, -1) of class +1, rows (1, -1) and (-1, 1) of class -1

In the plane. A line with y_i (w x_i + b) >= 1 is a point of a linear program. By Farkas' lemma it has none iff a second
one has: weights that make a point of the convex hull of one class equal one of the other. Here both hulls contain the
origin, so no line exists, and a hard margin cannot.

With the map. In (x, y, xy) the plane w = (0, 0, 1), b = 0 separates, all rows on the margin, which is 2 wide: f = xy.

With a kernel. (<x, z> + 1)^2 is the scalar product of (1, r x, r y, x^2, y^2, r xy), r = sqrt 2. It holds the map, and
the machine of the widest margin uses nothing else: f = xy again. There |w| = 1 / r and the margin is 2 r wide: a margin
is a length in the space of the map, and other maps have other lengths.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from committee.base.array_types import Floats
from committee.svm.kernel_functions import Polynomial
from committee.svm.svc import SVC

ROWS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
LABELS = np.array([1, 1, -1, -1])

GRID = 41
"""Points along each axis of [-2, 2]^2 on which the machines are compared."""


class Separation(NamedTuple):
    """A plane between two classes, or the proof that there is none."""

    is_separable: bool
    w: Floats | None  # y_i (w x_i + b) >= 1
    b: float | None
    weights: Floats | None  # [n] sum 1 over either class: the same point of both hulls
    meeting_point: Floats | None


class XorStudy(NamedTuple):
    """What the linear programs and the machines say."""

    in_plane: Separation
    hard_margin_error: str  # of a linear machine in the plane
    mapped: Separation  # after (x, y, xy)
    w: Floats  # of the machine after the map
    b: float
    margin: float  # of the machine after the map
    kernel_margin: float  # of the machine with the polynomial kernel
    alpha: Floats  # [4] coefficients of the kernel machine
    largest_difference: float  # of the two decision functions on a grid
    mapped_machine: SVC
    kernel_machine: SVC

    @property
    def verdict(self) -> str:
        point = self.in_plane.meeting_point
        where = "" if point is None else f" (the hulls meet at {_point(point)})"
        return (
            f"in the plane {_word(self.in_plane)}{where}; with (x, y, xy) {_word(self.mapped)}, w = {_point(self.w)}, "
            f"margin {self.margin:.4g}; with the kernel (<x, z> + 1)^2 the same function, to "
            f"{self.largest_difference:.1g}, margin {self.kernel_margin:.4g}"
        )


def separate(X: Floats, y: NDArray[np.int64]) -> Separation:
    """A plane between the rows of y = +1 and y = -1, or a point that both convex hulls contain.

    >>> separate(np.array([[0.0], [1.0], [2.0]]), np.array([1, -1, 1])).meeting_point
    array([1.])
    """
    n, d = X.shape
    plane: Any = linprog(
        np.zeros(d + 1),
        A_ub=-y[:, np.newaxis] * np.column_stack([X, np.ones(n)]),
        b_ub=-np.ones(n),
        bounds=(None, None),
    )
    if plane.status == 0:
        return Separation(True, plane.x[:d], float(plane.x[d]), None, None)
    # sum over +1 of a x = sum over -1 of a x, both with sum a = 1
    sums = np.vstack([X.T * y, y > 0, y < 0])
    hulls: Any = linprog(np.zeros(n), A_eq=sums, b_eq=np.append(np.zeros(d), [1.0, 1.0]), bounds=(0.0, None))
    if hulls.status != 0:
        raise ValueError("Neither linear program has a solution: the columns differ too much in scale, scale them.")
    return Separation(False, None, None, hulls.x, hulls.x[y > 0] @ X[y > 0])


def xor_map(X: Floats) -> Floats:
    """(x, y, xy).

    >>> xor_map(np.array([[2.0, 3.0]]))
    array([[2., 3., 6.]])
    """
    return np.column_stack([X, X[:, 0] * X[:, 1]])


def xor_study() -> XorStudy:
    """Exclusive or in the plane, after the map and with a kernel.

    >>> print(xor_study().verdict)
    in the plane not separable (the hulls meet at (0, 0)); with (x, y, xy) separable, w = (0, 0, 1), margin 2; with the
    kernel (<x, z> + 1)^2 the same function, to ..., margin 2.828
    """
    try:
        SVC(C=np.inf, kernel="linear").fit(ROWS, LABELS)
        error = ""
    except ValueError as refused:
        error = str(refused)
    mapped = SVC(C=np.inf, kernel="linear").fit(xor_map(ROWS), LABELS)
    kernel = SVC(C=np.inf, kernel=Polynomial(2, coef0=1.0)).fit(ROWS, LABELS)
    axis = np.linspace(-2.0, 2.0, GRID)
    grid = np.column_stack([np.tile(axis, GRID), np.repeat(axis, GRID)])
    difference = mapped.decision_function(xor_map(grid)) - kernel.decision_function(grid)
    alpha = np.zeros(len(ROWS))
    alpha[kernel.support_] = np.abs(kernel.dual_coef_[0])
    return XorStudy(
        separate(ROWS, LABELS), error, separate(xor_map(ROWS), LABELS), mapped.coef_[0], float(mapped.intercept_[0]),
        mapped.machines_[0].margin, kernel.machines_[0].margin, alpha, float(np.abs(difference).max()), mapped, kernel,
    )  # fmt: skip


def _word(found: Separation) -> str:
    return "separable" if found.is_separable else "not separable"


def _point(values: Floats) -> str:
    return f"({', '.join(f'{value + 0.0:.4g}' for value in np.round(values, 9))})"
