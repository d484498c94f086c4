"""Bounds of boosting: of the training error, of margins and of the error on new data.

Notation: e_t is the weighted error of round t, g_t = 1/2 - e_t its advantage over chance, r_t = 2 g_t = 1 - 2 e_t its
edge. Bounds over rounds are cumulative: entry t holds after round t.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.theory.margins import ROUNDING, Numbers

__all__ = [
    "GeneralisationBound",
    "GuaranteedMargin",
    "TrainingErrorBounds",
    "boosted_vc_dimension",
    "guaranteed_margin",
    "majority_of_three_bound",
    "margin_bound",
    "margin_edge_bound",
    "margin_error_bound",
    "rounds_to_zero_error",
    "star_rounds",
    "stump_vc_dimension",
    "training_error_bounds",
    "tree_vc_dimension",
    "vc_bound",
]  # fmt: skip


class TrainingErrorBounds(NamedTuple):
    """Bounds of the training error after every round, the tighter one first.

    Attributes
    ----------
    product : ndarray of shape (n_rounds,)
        Product of the normalizers Z_t, for AdaBoost the mean exponential loss itself.
    exponential : ndarray of shape (n_rounds,)
        exp(-sum r_t^2 / 2).
    """

    product: Floats
    exponential: Floats


class GuaranteedMargin(NamedTuple):
    """Lower bounds of the minimum margin that AdaBoost converges to.

    Attributes
    ----------
    half : float
        rho* / 2.
    sharp : float
        The larger bound by Rätsch and Warmuth.
    """

    half: float
    sharp: float


class GeneralisationBound(NamedTuple):
    """Bound of the error on new data, which holds with probability 1 - delta.

    Attributes
    ----------
    value : float
        The bound: the fraction measured on the sample + `penalty`.
    penalty : float
        What the bound adds to the measured fraction.
    is_vacuous : bool
        Whether `value` is at least 1.
    note : str
        The probability with which the bound holds, or why it is vacuous.
    """

    value: float
    penalty: float
    is_vacuous: bool
    note: str


def majority_of_three_bound(p: float) -> float:
    """Bound the error of Schapire's first booster by 3 p^2 - 2 p^3 (Schapire 1990).

    Parameters
    ----------
    p : float
        The largest error of the three hypotheses, at most 1/2.

    Returns
    -------
    float
        The largest possible error of their majority vote.

    Examples
    --------
    >>> round(majority_of_three_bound(0.3), 3)
    0.216
    """
    if not 0.0 <= p <= 0.5:
        raise ValueError(f"p must lie in [0, 1/2], got {p}: negate a hypothesis that is wrong more often than right.")
    return p * p * (3.0 - 2.0 * p)


def training_error_bounds(edges: Numbers) -> TrainingErrorBounds:
    """Bound the training error: prod Z_t <= prod sqrt(1 - r_t^2) <= exp(-sum r_t^2 / 2) (Freund and Schapire 1997).

    Parameters
    ----------
    edges : ndarray of shape (n_rounds,)
        Edges of the hypotheses.

    Returns
    -------
    TrainingErrorBounds
        Both bounds after every round.

    Notes
    -----
    With predictions in {-1, +1} Z_t = sqrt(1 - r_t^2) = 2 sqrt(e_t (1 - e_t)). With initial weights other than 1/n the
    training error under these weights is bounded. Leaves with log-ratio confidences are bounded by their own Z_t only.

    Examples
    --------
    >>> training_error_bounds(np.array([0.6, 0.8])).product
    array([0.8 , 0.48])
    """
    r = _read_edges(edges)
    return TrainingErrorBounds(np.cumprod(np.sqrt(1.0 - r * r), dtype=np.float64), np.exp(-np.cumsum(r * r) / 2.0))


def rounds_to_zero_error(gamma: float, min_weight: float) -> int:
    """Compute the number of rounds after which no training error is left: ceil(ln(1 / min w) / (2 g^2)) + 1.

    Parameters
    ----------
    gamma : float
        The smallest advantage 1/2 - e_t of any round.
    min_weight : float
        The smallest initial weight of an example, 1/n for equal weights: a smaller weighted error is zero.

    Returns
    -------
    int
        Number of rounds.

    Examples
    --------
    >>> rounds_to_zero_error(0.1, 1 / 1000)
    347
    """
    if not 0.0 < gamma <= 0.5:
        raise ValueError(f"gamma must lie in (0, 1/2], got {gamma}: without an advantage nothing is guaranteed.")
    return math.ceil(_log_inverse(min_weight) / (2.0 * gamma**2)) + 1


def star_rounds(nu: float, min_weight: float) -> int:
    """Compute the rounds after which the minimum margin of AdaBoost*_nu exceeds rho* - nu.

    Their number is ceil(2 ln(1 / min w) / nu^2) + 1. The learner must find an edge of at least rho* in every round
    (Rätsch and Warmuth 2005).

    Parameters
    ----------
    nu : float
        Accuracy, in (0, 1].
    min_weight : float
        The smallest initial weight of an example, 1/n for equal weights.

    Returns
    -------
    int
        Number of rounds.

    Examples
    --------
    >>> star_rounds(0.1, 1 / 200)
    1061
    """
    if not 0.0 < nu <= 1.0:
        raise ValueError(f"nu must lie in (0, 1], got {nu}.")
    return math.ceil(2.0 * _log_inverse(min_weight) / nu**2) + 1


def margin_error_bound(errors: Numbers, theta: float) -> Floats:
    """Bound the fraction of margins <= theta by prod 2 sqrt(e_t^(1 - theta) (1 - e_t)^(1 + theta)).

    The bound decreases exponentially while every e_t < 1/2 - theta (Schapire et al. 1998, theorem 5). An error above
    1/2 counts as that of the negated hypothesis, as its negative coefficient does.

    Parameters
    ----------
    errors : ndarray of shape (n_rounds,)
        Weighted errors of the hypotheses.
    theta : float
        Normalised margin, in [-1, 1].

    Returns
    -------
    ndarray of shape (n_rounds,)
        The bound after every round.

    Examples
    --------
    >>> margin_error_bound(np.array([0.2, 0.1]), 0.1).round(4)
    array([0.8574, 0.5742])
    """
    return margin_edge_bound(1.0 - 2.0 * np.asarray(errors, np.float64), theta)


def margin_edge_bound(edges: Numbers, theta: float) -> Floats:
    """Bound the fraction of margins <= theta by edges: prod sqrt((1 - |r_t|)^(1 - theta) (1 + |r_t|)^(1 + theta)).

    It holds for the coefficients of AdaBoost, a_t = 1/2 ln((1 + r_t) / (1 - r_t)), and for predictions in [-1, 1] too.

    Parameters
    ----------
    edges : ndarray of shape (n_rounds,)
        Edges of the hypotheses.
    theta : float
        Normalised margin, in [-1, 1].

    Returns
    -------
    ndarray of shape (n_rounds,)
        The bound after every round.

    Examples
    --------
    >>> margin_edge_bound(np.array([0.6, 0.8]), 0.1).round(4)
    array([0.8574, 0.5742])
    """
    if not -1.0 <= theta <= 1.0:
        raise ValueError(f"theta must lie in [-1, 1], as margins do; got {theta}.")
    r = np.abs(_read_edges(edges))
    return np.cumprod(np.sqrt((1.0 - r) ** (1.0 - theta) * (1.0 + r) ** (1.0 + theta)), dtype=np.float64)


def guaranteed_margin(largest_margin: float) -> GuaranteedMargin:
    """Bound the minimum margin that AdaBoost converges to from below, given the largest possible one, rho*.

    It is at least -ln(1 - rho*^2) / ln((1 + rho*) / (1 - rho*)), which is at least rho*/2 (Rätsch and Warmuth 2005), if
    every round finds an edge of at least rho*, as a learner that maximises the edge does.

    Parameters
    ----------
    largest_margin : float
        rho*, in [0, 1]; see `committee.theory.minmax.largest_minimum_margin`.

    Returns
    -------
    GuaranteedMargin
        Both bounds.

    Examples
    --------
    >>> guaranteed_margin(0.6)
    GuaranteedMargin(half=0.3, sharp=0.32192809488736235)
    """
    rho = largest_margin
    if not 0.0 <= rho <= 1.0:
        raise ValueError(f"largest_margin must lie in [0, 1], got {rho}: below 0 nothing is guaranteed.")
    if rho in (0.0, 1.0):  # the limits of the quotient
        return GuaranteedMargin(rho / 2.0, rho)
    return GuaranteedMargin(rho / 2.0, -math.log1p(-rho * rho) / (2.0 * math.atanh(rho)))


def vc_bound(training_error: float, n: int, d: float, delta: float = 0.05) -> GeneralisationBound:
    """Bound the error by the training error + sqrt((d (ln(2n/d) + 1) + ln(4/delta)) / n) (Vapnik 1995).

    Parameters
    ----------
    training_error : float
        Fraction of the training rows that are misclassified.
    n : int
        Number of training rows.
    d : float
        VC dimension. Beyond d = 2n its term stays constant, since more hypotheses cannot make the bound smaller.
    delta : float, default=0.05
        Probability with which the bound may fail.

    Returns
    -------
    GeneralisationBound
        The bound, with Vapnik's constants.

    Examples
    --------
    >>> round(vc_bound(0.05, n=10_000, d=10).value, 4)
    0.1451
    """
    _check_sample(training_error, n, d, delta)
    held = min(d, 2.0 * n)
    penalty = math.sqrt((held * (math.log(2.0 * n / held) + 1.0) + math.log(4.0 / delta)) / n)
    return _bound(training_error, penalty, delta)


def margin_bound(
    fraction_below_theta: float, theta: float, n: int, d: float, delta: float = 0.05
) -> GeneralisationBound:
    """Bound the error by P_S(y f <= theta) + O(sqrt((d ln^2(n/d) / theta^2 + ln(1/delta)) / n)) (Schapire et al. 1998).

    Parameters
    ----------
    fraction_below_theta : float
        Fraction of the training rows with a normalised margin of at most theta.
    theta : float
        Normalised margin in (0, 1]; the bound holds for all theta at once.
    n : int
        Number of training rows.
    d : float
        VC dimension of the base hypotheses; their number does not matter.
    delta : float, default=0.05
        Probability with which the bound may fail.

    Returns
    -------
    GeneralisationBound
        The bound.

    Notes
    -----
    The theorem leaves the constant of the O() open and it is taken as 1 here: read the value as a trend, not as a
    guarantee. Beyond d = n / e^2 the term in d stays constant, since more hypotheses cannot make the bound smaller; for
    d > n, which the theorem does not cover, the bound is infinite.

    Examples
    --------
    >>> round(margin_bound(0.05, theta=0.5, n=100_000, d=2).value, 4)
    0.1469
    """
    _check_sample(fraction_below_theta, n, d, delta)
    if not 0.0 < theta <= 1.0:
        raise ValueError(f"theta must lie in (0, 1], got {theta}.")
    if d > n:
        return _bound(fraction_below_theta, math.inf, delta)
    held = min(d, n / math.e**2)
    penalty = math.sqrt((held * (math.log(n / held) / theta) ** 2 + math.log(1.0 / delta)) / n)
    bound = _bound(fraction_below_theta, penalty, delta)
    return bound if bound.is_vacuous else bound._replace(note="a trend: the theorem leaves its constant open")


def boosted_vc_dimension(base_dimension: float, rounds: int) -> float:
    """Bound the VC dimension of votes of T hypotheses by 2 (d + 1) (T + 1) log2(e (T + 1)) (Freund and Schapire 1997).

    Parameters
    ----------
    base_dimension : float
        VC dimension d of the hypotheses. Theorem 8 requires d >= 2; a smaller d counts as 2.
    rounds : int
        Number T of hypotheses.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> round(boosted_vc_dimension(2, 10), 1)
    323.5
    """
    if base_dimension < 0 or rounds < 1:
        raise ValueError(f"Needs a dimension >= 0 and a round, got {base_dimension} and {rounds}.")
    return 2.0 * (max(base_dimension, 2.0) + 1.0) * (rounds + 1) * math.log2(math.e * (rounds + 1))


def stump_vc_dimension(n_features: int) -> int:
    """Bound the VC dimension of decision stumps on d numeric features without missing values.

    Stumps label n points in at most 2 (1 + d (n - 1)) ways: constant, or one of n - 1 cuts of a feature, and either
    polarity. They can shatter n points only if this reaches 2^n; the bound is the largest such n, exact for d <= 2.

    Parameters
    ----------
    n_features : int
        Number d of features.

    Returns
    -------
    int
        The bound.

    Examples
    --------
    >>> stump_vc_dimension(1), stump_vc_dimension(2), stump_vc_dimension(100)
    (2, 3, 10)
    """
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, got {n_features}.")
    n = 1
    while 2 ** (n + 1) <= 2 * (1 + n_features * n):
        n += 1
    return n


def tree_vc_dimension(n_features: int, n_leaves: int) -> int:
    """Bound the VC dimension of binary trees on d numeric features without missing values.

    Of N = n_leaves - 1 inner nodes there are Catalan(N) shapes; each has one of d features and one of at most n - 1
    cuts between n points, and each leaf one of two predictions. Trees can shatter n points only if Catalan(N) (d (n -
    1))^N 2^(N + 1) reaches 2^n; the bound is the largest such n.

    Parameters
    ----------
    n_features : int
        Number d of features.
    n_leaves : int
        Number of leaves, at least 2.

    Returns
    -------
    int
        The bound.

    Examples
    --------
    >>> tree_vc_dimension(2, 2), tree_vc_dimension(10, 4), tree_vc_dimension(10, 16)
    (5, 31, 204)
    """
    if n_features < 1 or n_leaves < 2:
        raise ValueError(f"Needs a feature and two leaves, got {n_features} and {n_leaves}.")
    inner = n_leaves - 1
    shapes = math.lgamma(2 * inner + 1) - math.lgamma(inner + 1) - math.lgamma(inner + 2)  # ln Catalan(N)

    def can_shatter(n: int) -> bool:
        ways = shapes + inner * math.log(n_features * (n - 1)) + (inner + 1) * math.log(2.0)
        return n * math.log(2.0) <= ways + ROUNDING

    n = 2
    while can_shatter(2 * n):
        n *= 2
    return max(k for k in range(n, 2 * n) if can_shatter(k))


def _read_edges(edges: Numbers) -> Floats:
    r = np.asarray(edges, np.float64)
    if r.ndim != 1 or not np.all(np.abs(r) <= 1.0 + ROUNDING):
        raise ValueError("Needs one edge in [-1, 1] (or error in [0, 1]) per round.")
    return np.clip(r, -1.0, 1.0)


def _log_inverse(min_weight: float) -> float:
    if not 0.0 < min_weight <= 1.0:
        raise ValueError(f"min_weight must lie in (0, 1], got {min_weight}: normalise, drop zero weights.")
    return -math.log(min_weight)


def _check_sample(fraction: float, n: int, d: float, delta: float) -> None:
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"The fraction of the sample must lie in [0, 1], got {fraction}.")
    if n < 1 or not d >= 1.0 or not 0.0 < delta < 1.0:
        raise ValueError(f"Needs n >= 1, d >= 1 and delta in (0, 1), got {n}, {d} and {delta}.")


def _bound(fraction: float, penalty: float, delta: float) -> GeneralisationBound:
    value = fraction + penalty
    is_vacuous = value >= 1.0
    note = "vacuous: every error is at most 1" if is_vacuous else f"with probability at least {1.0 - delta:g}"
    return GeneralisationBound(value, penalty, is_vacuous, note)
