"""Exclusive or: no line separates it in the plane, a plane does after the map (x, y, xy).

Minsky and Papert, Perceptrons, 1969.

    rows (1, 1) and (-1, -1) of class +1, rows (1, -1) and (-1, 1) of class -1

In the plane. A line with y_i (w x_i + b) >= 1 is a solution of a linear program. By Farkas' lemma there is none iff a
second program has one: weights that make a point of the convex hull of one class equal one of the other. Here both
hulls contain the origin, so no line exists, and a hard-margin SVM has no solution.

With the map. In (x, y, xy) the plane w = (0, 0, 1), b = 0 separates, all rows on the margin, which is 2 wide: f = xy.

With a kernel. (<x, z> + 1)^2 is the scalar product of (1, r x, r y, x^2, y^2, r xy), r = sqrt 2. It contains the map,
and the SVM of the widest margin uses nothing else: f = xy again. There |w| = 1 / r and the margin is 2 r wide: a margin
is a length in the space of the map, and other maps have other lengths.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from committee.base.array_types import Floats
from committee.plots._style import BLUE, GREY, INK, VERMILION, grid_rows, pyplot
from committee.svm.kernel_functions import Polynomial
from committee.svm.svc import SVC
from committee_reproductions.results import Claim, Outcome, ReproductionResult, Row, gather_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
LABELS = np.array([1, 1, -1, -1])

AXIS = np.linspace(-2.0, 2.0, 41)
"""Along each side of the square on which the SVMs are compared."""

PUBLISHED = {"margin": 2.0, "weight": 1.0, "kernel margin": 2.0 * math.sqrt(2.0)}
"""What follows from the argument above."""

ROUNDING = 1e-8

SIDES = ((1, VERMILION, "o"), (-1, BLUE, "s"))
"""Label, colour and marker of the two classes."""


class Separation(NamedTuple):
    """A plane between two classes, or the proof that there is none."""

    is_separable: bool
    w: Floats | None  # y_i (w x_i + b) >= 1
    b: float | None
    weights: Floats | None  # [n] sum 1 over either class: the same point of both hulls
    meeting_point: Floats | None


class ExclusiveOr(NamedTuple):
    """Results of the linear programs and of the SVMs."""

    in_plane: Separation
    hard_margin_error: str  # of a linear SVM in the plane
    mapped: Separation  # after (x, y, xy)
    w: Floats  # of the SVM after the map
    b: float
    margin: float  # of the SVM after the map
    kernel_margin: float  # of the SVM with the polynomial kernel
    alpha: Floats  # [4] coefficients of the kernel SVM
    largest_difference: float  # of the two decision functions on a grid
    mapped_svm: SVC
    kernel_svm: SVC

    @property
    def verdict(self) -> str:
        """Whether exclusive or is separable in each way, with the numbers."""
        point = self.in_plane.meeting_point
        where = "" if point is None else f" (the hulls meet at {_point(point)})"
        return (
            f"in the plane {_separability(self.in_plane)}{where}; with (x, y, xy) {_separability(self.mapped)}, "
            f"w = {_point(self.w)}, margin {self.margin:.4g}; with the kernel (<x, z> + 1)^2 the same function, to "
            f"{self.largest_difference:.1g}, margin {self.kernel_margin:.4g}"
        )


def separate(X: Floats, y: NDArray[np.int64]) -> Separation:
    """Find a plane between the rows of y = +1 and y = -1, or a point that both convex hulls contain.

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
    """Return (x, y, xy).

    >>> xor_map(np.array([[2.0, 3.0]]))
    array([[2., 3., 6.]])
    """
    return np.column_stack([X, X[:, 0] * X[:, 1]])


def exclusive_or() -> ExclusiveOr:
    """Separate exclusive or in the plane, after the map and with a kernel.

    >>> print(exclusive_or().verdict)
    in the plane not separable (the hulls meet at (0, 0)); with (x, y, xy) separable, w = (0, 0, 1), margin 2; with the
    kernel (<x, z> + 1)^2 the same function, to ..., margin 2.828
    """
    try:
        SVC(C=np.inf, kernel="linear").fit(ROWS, LABELS)
        error = ""
    except ValueError as unsolvable:
        error = str(unsolvable)
    mapped = SVC(C=np.inf, kernel="linear").fit(xor_map(ROWS), LABELS)
    kernel = SVC(C=np.inf, kernel=Polynomial(2, coef0=1.0)).fit(ROWS, LABELS)
    grid = grid_rows(AXIS, AXIS)
    difference = mapped.decision_function(xor_map(grid)) - kernel.decision_function(grid)
    alpha = np.zeros(len(ROWS))
    alpha[kernel.support_] = np.abs(kernel.dual_coef_[0])
    return ExclusiveOr(
        separate(ROWS, LABELS), error, separate(xor_map(ROWS), LABELS), mapped.coef_[0], float(mapped.intercept_[0]),
        mapped.binary_svms_[0].margin, kernel.binary_svms_[0].margin, alpha, float(np.abs(difference).max()), mapped,
        kernel,
    )  # fmt: skip


def _separability(found: Separation) -> str:
    return "separable" if found.is_separable else "not separable"


def _point(values: Floats) -> str:
    return f"({', '.join(f'{value + 0.0:.4g}' for value in np.round(values, 9))})"


def reproduce(quick: bool = False, verbose: int = 0) -> Outcome:
    """Compute and compare; exact, so that `quick` changes nothing."""
    measured = exclusive_or()
    rows = (
        Row("margin after (x, y, xy)", measured.margin, published=PUBLISHED["margin"], digits=6),
        Row("weight of xy after the map", float(measured.w[2]), published=PUBLISHED["weight"], digits=6),
        Row("margin of the kernel (<x, z> + 1)^2", measured.kernel_margin, published=PUBLISHED["kernel margin"],
            digits=6),
    )  # fmt: skip
    hard = "has no solution" if measured.hard_margin_error else "is fitted"
    difference = measured.largest_difference
    claims = (
        Claim("no line separates it in the plane", not measured.in_plane.is_separable,
              f"the linear program has no solution; a hard-margin SVM {hard}"),
        Claim("a plane does after (x, y, xy)", measured.mapped.is_separable, f"w = {np.round(measured.w, 9).tolist()}"),
        Claim("the kernel (<x, z> + 1)^2 gives the same function", difference < ROUNDING,
              f"largest difference {difference:.1g}"),
    )  # fmt: skip
    curves = gather_curves([("multipliers", "kernel SVM", range(4), measured.alpha, 0.0)])
    return Outcome(rows, claims, curves, measured.verdict, measured)


def draw(result: ReproductionResult) -> Figure:
    """Draw the plane, the map and the kernel in three panels."""
    measured: ExclusiveOr = result.data
    figure = pyplot().figure(figsize=(12.6, 4.2), layout="constrained")
    plane, mapped, kernel = (figure.add_subplot(1, 3, k + 1, projection="3d" if k == 1 else None) for k in range(3))
    _draw_hulls(plane, measured)
    _draw_map(mapped, measured)
    _draw_kernel(kernel, measured)
    return figure


def _draw_hulls(ax: Any, measured: ExclusiveOr) -> None:
    for side, color, marker in SIDES:
        ax.plot(*ROWS[side == LABELS].T, color=color, marker=marker, markersize=9, linewidth=2.0)
    point = measured.in_plane.meeting_point
    if point is not None:
        ax.plot(*point, marker="x", color=INK, markersize=10, markeredgewidth=2.0, linestyle="none")
    ax.set_title("plane: the hulls of the classes meet,\nno line separates them", fontsize="medium")
    _label_square(ax)


def _draw_map(ax: Any, measured: ExclusiveOr) -> None:
    table = xor_map(ROWS)
    across, up = np.meshgrid([-1.3, 1.3], [-1.3, 1.3])
    ax.plot_surface(across, up, np.zeros_like(across), color=GREY, alpha=0.25)
    for side, color, marker in SIDES:
        own = table[side == LABELS]
        ax.scatter(*own.T, color=color, marker=marker, s=60, depthshade=False)
        for x, y, z in own:
            ax.plot([x, x], [y, y], [0.0, z], color=color, linestyle=":", linewidth=1.0)
    ax.set_zlabel("xy")
    ax.set_xlabel("x")
    ax.set_ylabel("y")
    ax.set_title(f"after (x, y, xy): the plane xy = 0,\nmargin {measured.margin:.3g}", fontsize="medium")


def _draw_kernel(ax: Any, measured: ExclusiveOr) -> None:
    axis = np.linspace(-2.0, 2.0, 200)
    f = measured.kernel_svm.decision_function(grid_rows(axis, axis)).reshape(axis.size, axis.size)
    ax.contourf(axis, axis, f, levels=[-9.0, 0.0, 9.0], colors=[BLUE, VERMILION], alpha=0.15)
    style: dict[str, Any] = {"linestyles": ["--", "-", "--"], "linewidths": [1.0, 1.8, 1.0]}
    ax.contour(axis, axis, f, levels=[-1.0, 0.0, 1.0], colors=INK, **style)
    for side, color, marker in SIDES:
        ax.plot(*ROWS[side == LABELS].T, color=color, marker=marker, markersize=9, linestyle="none")
    margin = f"margin {measured.kernel_margin:.3g} in its own space"
    ax.set_title(f"kernel (<x, z> + 1)^2: f = xy,\n{margin}", fontsize="medium")
    _label_square(ax)


def _label_square(ax: Any) -> None:
    ax.set_aspect("equal")
    ax.set_xlim(-2.0, 2.0)
    ax.set_ylim(-2.0, 2.0)
    ax.set_xlabel("x")
    ax.set_ylabel("y")
