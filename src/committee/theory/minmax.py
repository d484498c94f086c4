"""The game of margins and edges: the largest minimum margin by linear programming.

By von Neumann's theorem the largest minimum margin over all votes of the given hypotheses equals the smallest maximum
edge over all weights of the rows: max_a min_i sum_t a_t u_it = min_w max_t sum_i w_i u_it.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.stacklevel import level_of_caller
from committee.theory.margins import Numbers, minimum_margin, read_agreement

__all__ = ["MinMax", "Stumps", "all_stumps", "distance_to_optimum", "largest_minimum_margin", "minmax_over_stumps"]

CONSTANT = -1
"""In the place of a feature: the hypothesis that looks at none."""

LARGEST = float(np.finfo(np.float64).max)
"""The threshold with every present value on its left, as in the trees of the engine."""

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""The smallest that HiGHS takes: both sides of the duality are used here."""


GAP = 1e-6
"""Difference of the two sides' values that counts as rounding."""


class MinMax(NamedTuple):
    """The value of the game and an optimal choice on both sides.

    Attributes
    ----------
    value : float
        The largest minimum margin, which is the smallest maximum edge.
    coefficients : ndarray of shape (n_hypotheses,)
        A vote with the largest minimum margin; the coefficients are >= 0 and sum to 1.
    weights : ndarray of shape (n_samples,)
        Weights of the rows with the smallest maximum edge; they are >= 0 and sum to 1.
    """

    value: float
    coefficients: Floats
    weights: Floats


class Stumps(NamedTuple):
    """Decision stumps: stump t predicts `polarity` if x > threshold and -`polarity` if x <= threshold.

    The second half of the stumps are those of the first half with the opposite polarity.

    Attributes
    ----------
    predictions : ndarray of shape (n_samples, n_stumps)
        Predictions, -1 or +1.
    feature : ndarray of shape (n_stumps,)
        Position of the feature, -1 for the stump that predicts `polarity` everywhere.
    threshold : ndarray of shape (n_stumps,)
        Threshold, nan for the constant stump.
    missing_left : ndarray of shape (n_stumps,)
        Whether missing values count as x <= threshold.
    polarity : ndarray of shape (n_stumps,)
        -1 or +1.
    """

    predictions: NDArray[np.int8]
    feature: NDArray[np.int32]
    threshold: Floats
    missing_left: NDArray[np.bool_]
    polarity: NDArray[np.int8]


def largest_minimum_margin(agreement: Numbers, soft: float | None = None) -> MinMax:
    """Maximise rho - D sum xi_i with sum_t a_t u_it >= rho - xi_i, sum a = 1, a >= 0, xi >= 0 (Grove, Schuurmans 1998).

    Parameters
    ----------
    agreement : ndarray of shape (n_samples, n_hypotheses)
        y_i h_t(x_i), in [-1, 1]. For votes with negative coefficients add the negated columns.
    soft : float, default=None
        D >= 1/n: no row then weighs more than D, and the value is the smallest maximum edge under such weights (Demiriz
        et al. 2002). None allows no slacks xi, and the value is the largest minimum margin.

    Returns
    -------
    MinMax
        The value and both optimal strategies.

    Examples
    --------
    >>> majority = largest_minimum_margin(np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1]]))
    >>> round(majority.value, 4), majority.weights.round(4)
    (0.3333, array([0.3333, 0.3333, 0.3333]))
    """
    u = read_agreement(agreement)
    n, n_hypotheses = u.shape
    if soft is not None and not soft * n >= 1.0 - 1e-12:
        raise ValueError(f"soft must be at least 1/n = {1.0 / n:.3g}, got {soft}: weights below it cannot sum to 1.")
    result = _solve(_programme(u, None if soft is None else max(soft, 1.0 / n)))
    coefficients, weights = _simplex(result.x[:n_hypotheses]), _simplex(-result.ineqlin.marginals)
    warn_of_gap(duality_gap(u, coefficients, weights, None if soft is None else np.full(n, max(soft, 1.0 / n))))
    return MinMax(-float(result.fun), coefficients, weights)


def duality_gap(agreement: Floats, coefficients: Floats, weights: Floats, cap: Floats | None = None) -> float:
    """Return the value of the weights less that of the vote, each from its own side of the game; 0 at the optimum.

    `cap` [n] are the largest weights of the soft margin. The value of a vote is then the largest of
    rho - sum_i cap_i max(0, rho - margin_i), which is attained at one of the margins.

    >>> u = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> duality_gap(u, np.array([0.5, 0.5]), np.array([0.5, 0.5])), duality_gap(u, np.array([1.0, 0.0]), np.ones(2) / 2)
    (0.0, 1.0)
    """
    margins = agreement @ coefficients
    value = float(margins.min())
    if cap is not None:
        order = np.argsort(margins, kind="stable")
        m, c = margins[order], cap[order]
        below = (np.cumsum(c) - c) * m - (np.cumsum(c * m) - c * m)
        value = float(np.max(m - below))
    return float(np.max(weights @ agreement)) - value


def warn_of_gap(gap: float) -> None:
    """Warn if a linear programme was not solved to rounding."""
    if gap > GAP:
        warnings.warn(
            f"The linear programme was not solved exactly: the duality gap is {gap:.2g}, {GAP:g} was required. Use "
            "fewer hypotheses, or a larger nu.",
            ConvergenceWarning,
            stacklevel=level_of_caller(),
        )


def all_stumps(X: Numbers) -> Stumps:
    """List all stumps polarity * sgn(x_j - threshold) that differ on the rows of X, and the two constants.

    Cuts lie midway between neighbouring values; missing values (nan) go to either side, or are separated from the
    present ones. Of stumps with equal predictions on all rows the first is kept.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numeric features, nan where missing.

    Returns
    -------
    Stumps
        The stumps and their predictions.

    Examples
    --------
    >>> all_stumps(np.array([[1.0], [2.0], [4.0]])).threshold
    array([nan, 1.5, 3. , nan, 1.5, 3. ])
    """
    table = np.asarray(X, np.float64)
    if table.ndim != 2 or table.shape[0] == 0 or np.isinf(table).any():
        raise ValueError(f"X must be a table with a row at least and no infinity, got the shape {table.shape}.")
    parts = [_constant(table.shape[0]), *(_cuts(table[:, j], j) for j in range(table.shape[1]))]
    fields = zip(*parts, strict=True)
    predictions, feature, threshold, missing_left, polarity = (np.concatenate(field, axis=-1) for field in fields)
    sides = np.packbits(predictions == predictions[0], axis=0)  # the same for a stump and its negative
    first = np.sort(np.unique(sides, axis=1, return_index=True)[1])
    both = np.tile(first, 2)
    sign = np.repeat(np.array([1, -1], np.int8), first.size)
    return Stumps(
        predictions[:, both] * sign, feature[both], threshold[both], missing_left[both], polarity[both] * sign
    )


def minmax_over_stumps(X: Numbers, y: Numbers) -> MinMax:
    """Compute the largest minimum margin rho* over all votes of the stumps of `all_stumps(X)`.

    It is never below 0, since a stump and its negative cancel out; 0 means that no vote of stumps separates the
    classes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numeric features, nan where missing.
    y : ndarray of shape (n_samples,)
        Classes, -1 or +1.

    Returns
    -------
    MinMax
        The value; the coefficients belong to the stumps of `all_stumps(X)`.

    Examples
    --------
    >>> interval = np.array([[1.0], [2.0], [3.0]]), np.array([-1, 1, -1])
    >>> round(minmax_over_stumps(*interval).value, 4)
    0.3333
    """
    stumps = all_stumps(X)
    if y.shape != (stumps.predictions.shape[0],) or not np.all(np.abs(y) == 1):
        raise ValueError("y must hold -1 or +1 for every row of X.")
    return largest_minimum_margin(stumps.predictions * np.asarray(y, np.int8)[:, None])


def distance_to_optimum(margins: Numbers, value: float) -> float:
    """Compute rho* - min_i margin_i, by which the minimum margin is below the largest possible one.

    Parameters
    ----------
    margins : ndarray of shape (n_samples,)
        Margins of a vote.
    value : float
        rho*, such as the value of `minmax_over_stumps`.

    Returns
    -------
    float
        The distance, >= 0 up to rounding if rho* is that of all hypotheses.

    Examples
    --------
    >>> round(distance_to_optimum(np.array([0.5, 0.2]), 1 / 3), 4)
    0.1333
    """
    return value - minimum_margin(margins)


def _programme(u: Floats, soft: float | None) -> dict[str, Any]:
    """The linear programme with the unknowns a [T], s [T], rho, and with `soft` xi [n].

    Neighbouring stumps differ on few rows, so the vote is written by its differences, with s_t = a_t + ... + a_T:

        sum_t a_t u_t = u_1 s_1 + (u_2 - u_1) s_2 + ... + (u_T - u_{T-1}) s_T,    s_t - s_{t+1} = a_t,    s_1 = 1

    which leaves n entries per feature where the table of stumps has n^2: twenty times as fast with 400 rows.
    """
    n, m = u.shape
    steps = sparse.csc_array(np.diff(u, axis=1, prepend=0.0))
    below = [sparse.csc_array((n, m)), -steps, sparse.csc_array(np.ones((n, 1)))]
    chain = [sparse.eye_array(m), sparse.eye_array(m, k=1) - sparse.eye_array(m), sparse.csc_array((m, 1))]
    start = np.zeros((1, 2 * m + 1))
    start[0, m] = 1.0
    equal = sparse.vstack([sparse.hstack(chain), sparse.csc_array(start)])
    cost = np.append(np.zeros(2 * m), -1.0)
    low = np.concatenate([np.zeros(m), np.full(m + 1, -np.inf)])
    if soft is not None:
        below.append(-sparse.eye_array(n))
        equal = sparse.hstack([equal, sparse.csc_array((m + 1, n))])
        cost, low = np.append(cost, np.full(n, soft)), np.append(low, np.zeros(n))
    return {
        "c": cost,
        "A_ub": sparse.hstack(below).tocsc(),
        "b_ub": np.zeros(n),
        "A_eq": equal.tocsc(),
        "b_eq": np.append(np.zeros(m), 1.0),
        "bounds": np.column_stack([low, np.full(low.size, np.inf)]),
    }


def _solve(programme: dict[str, Any]) -> Any:
    """Interior points, the faster here by far; the simplex method should they fail."""
    result: Any = None
    for method in ("highs-ipm", "highs-ds"):
        result = linprog(**programme, method=method, options=TIGHT)
        if result.status == 0:
            return result
    raise RuntimeError(f"HiGHS found no optimum: {result.message}")


def _simplex(values: Floats) -> Floats:
    positive = np.maximum(values, 0.0)  # rounding leaves -1e-13
    return positive / positive.sum()


def _constant(n: int) -> Stumps:
    one = np.ones(1, np.int8)
    feature, threshold = np.full(1, CONSTANT, np.int32), np.full(1, np.nan)
    return Stumps(np.ones((n, 1), np.int8), feature, threshold, np.zeros(1, bool), one)


def _cuts(x: Floats, feature: int) -> Stumps:
    """All cuts of one feature with polarity +1: missing values right, then, where there are any, left."""
    is_missing = np.isnan(x)
    value, code = np.unique(x[~is_missing], return_inverse=True)
    rank = np.full(x.size, value.size)
    rank[~is_missing] = code
    middle = value[:-1] / 2.0 + value[1:] / 2.0
    threshold = np.where((middle >= value[1:]) | (middle < value[:-1]), value[:-1], middle)
    last, missing_left = np.arange(threshold.size), np.zeros(threshold.size, bool)
    if is_missing.any() and value.size > 0:
        missing_left = np.repeat([False, True], [value.size, threshold.size])
        last = np.concatenate([last, [threshold.size], last])
        threshold = np.concatenate([threshold, [LARGEST], threshold])
    is_right = np.where(is_missing[:, None], ~missing_left, rank[:, None] > last)
    predictions = np.where(is_right, np.int8(1), np.int8(-1))
    m = threshold.size
    return Stumps(predictions, np.full(m, feature, np.int32), threshold, missing_left, np.ones(m, np.int8))
