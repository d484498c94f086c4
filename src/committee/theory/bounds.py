"""What theory promises of boosting: bounds of the training error, of margins and of the error on new data.

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
    "GeneralisationBound", "GuaranteedMargin", "TrainingErrorBounds", "boosted_vc_dimension",
    "majority_of_three_bound", "margin_bound", "margin_edge_bound", "margin_error_bound", "rounds_to_zero_error",
    "smallest_guaranteed_margin", "star_rounds", "stump_vc_dimension", "training_error_bounds", "tree_vc_dimension",
    "vc_bound",
]  # fmt: skip


class TrainingErrorBounds(NamedTuple):
    """Bounds of the training error after every round, the closer one first."""

    product: Floats  # [T], of the normalisers Z_t, for AdaBoost the mean exponential loss itself
    exponential: Floats  # [T]


class GuaranteedMargin(NamedTuple):
    """Lower bounds of the minimum margin that AdaBoost reaches in the end."""

    half: float
    sharp: float


class GeneralisationBound(NamedTuple):
    """With probability 1 - delta the error on new data is at most `value` = the share on the sample + `penalty`."""

    value: float
    penalty: float
    is_vacuous: bool  # value >= 1 says nothing
    note: str


def majority_of_three_bound(p: float) -> float:
    """Error of Schapire's first booster: at most 3 p^2 - 2 p^3, p the largest error of the three (E-1; Schapire 1990).

    >>> round(majority_of_three_bound(0.3), 3)
    0.216
    """
    if not 0.0 <= p <= 0.5:
        raise ValueError(f"p must lie in [0, 1/2], got {p}: turn a hypothesis round that errs more often than not.")
    return p * p * (3.0 - 2.0 * p)


def training_error_bounds(edges: Numbers) -> TrainingErrorBounds:
    """Training error <= prod Z_t <= prod sqrt(1 - r_t^2) <= exp(-sum r_t^2 / 2) (E-7; Freund and Schapire 1997).

    With answers in {-1, +1} Z_t = sqrt(1 - r_t^2) = 2 sqrt(e_t (1 - e_t)). With initial weights other than 1/n it is
    the training error under these. Leaves with log-ratio confidences (a = 1) are bound by their own Z_t only.

    >>> training_error_bounds(np.array([0.6, 0.8])).product
    array([0.8 , 0.48])
    """
    r = _read_edges(edges)
    return TrainingErrorBounds(np.cumprod(np.sqrt(1.0 - r * r), dtype=np.float64), np.exp(-np.cumsum(r * r) / 2.0))


def rounds_to_zero_error(gamma: float, smallest_weight: float) -> int:
    """Rounds that leave no training error: ceil(ln(1 / min w) / (2 g^2)) + 1 (E-8).

    `gamma` is the smallest advantage 1/2 - e of any round, `smallest_weight` the smallest initial weight of an example,
    1/n when all weigh the same: an error below it is no error.

    >>> rounds_to_zero_error(0.1, 1 / 1000)
    347
    """
    if not 0.0 < gamma <= 0.5:
        raise ValueError(f"gamma must lie in (0, 1/2], got {gamma}: without an advantage there is no promise.")
    return math.ceil(_log_inverse(smallest_weight) / (2.0 * gamma**2)) + 1


def star_rounds(nu: float, smallest_weight: float) -> int:
    """Rounds after which AdaBoost*_nu has a minimum margin above rho* - nu: ceil(2 ln(1 / min w) / nu^2) + 1.

    Needs a learner whose every edge is at least rho* (F-4; Rätsch and Warmuth 2005).

    >>> star_rounds(0.1, 1 / 200)
    1061
    """
    if not 0.0 < nu <= 1.0:
        raise ValueError(f"nu must lie in (0, 1], got {nu}.")
    return math.ceil(2.0 * _log_inverse(smallest_weight) / nu**2) + 1


def margin_error_bound(errors: Numbers, theta: float) -> Floats:
    """Share of normalised margins <= theta: at most prod 2 sqrt(e_t^(1 - theta) (1 - e_t)^(1 + theta)) (E-11).

    It falls exponentially while every e_t < 1/2 - theta (Schapire et al. 1998, theorem 5). An error above 1/2 counts as
    that of the hypothesis turned round, as its negative coefficient does.

    >>> margin_error_bound(np.array([0.2, 0.1]), 0.1).round(4)
    array([0.8574, 0.5742])
    """
    return margin_edge_bound(1.0 - 2.0 * np.asarray(errors, np.float64), theta)


def margin_edge_bound(edges: Numbers, theta: float) -> Floats:
    """The same by edges, for answers in [-1, 1] too: prod sqrt((1 - |r_t|)^(1 - theta) (1 + |r_t|)^(1 + theta)).

    Holds for the coefficients of AdaBoost, a_t = 1/2 ln((1 + r_t) / (1 - r_t)).

    >>> margin_edge_bound(np.array([0.6, 0.8]), 0.1).round(4)
    array([0.8574, 0.5742])
    """
    if not -1.0 <= theta <= 1.0:
        raise ValueError(f"theta must lie in [-1, 1], as margins do; got {theta}.")
    r = np.abs(_read_edges(edges))
    return np.cumprod(np.sqrt((1.0 - r) ** (1.0 - theta) * (1.0 + r) ** (1.0 + theta)), dtype=np.float64)


def smallest_guaranteed_margin(largest_margin: float) -> GuaranteedMargin:
    """Minimum margin of AdaBoost in the end, given the largest possible one rho* (E-11).

    It is at least -ln(1 - rho*^2) / ln((1 + rho*) / (1 - rho*)), which is at least rho*/2 (Rätsch and Warmuth 2005),
    when every round finds an edge of at least rho*, as a learner that maximises the edge does.

    >>> smallest_guaranteed_margin(0.6)
    GuaranteedMargin(half=0.3, sharp=0.32192809488736235)
    """
    rho = largest_margin
    if not 0.0 <= rho <= 1.0:
        raise ValueError(f"largest_margin must lie in [0, 1], got {rho}: below 0 there is no promise.")
    if rho in (0.0, 1.0):  # the limits of the quotient
        return GuaranteedMargin(rho / 2.0, rho)
    return GuaranteedMargin(rho / 2.0, -math.log1p(-rho * rho) / (2.0 * math.atanh(rho)))


def vc_bound(training_error: float, n: int, d: float, delta: float = 0.05) -> GeneralisationBound:
    """Error <= training error + sqrt((d (ln(2n/d) + 1) + ln(4/delta)) / n), d the VC dimension (E-12; Vapnik 1995).

    The constants are Vapnik's. The term in d rises up to d = 2n and is held there, for more hypotheses cannot be safer.

    >>> round(vc_bound(0.05, n=10_000, d=10).value, 4)
    0.1451
    """
    _check_sample(training_error, n, d, delta)
    held = min(d, 2.0 * n)
    penalty = math.sqrt((held * (math.log(2.0 * n / held) + 1.0) + math.log(4.0 / delta)) / n)
    return _judged(training_error, penalty, delta)


def margin_bound(share_below_theta: float, theta: float, n: int, d: float, delta: float = 0.05) -> GeneralisationBound:
    """Error <= P_S(y f <= theta) + O(sqrt((d ln^2(n/d) / theta^2 + ln(1/delta)) / n)) (E-12; Schapire et al. 1998).

    d is the VC dimension of the base hypotheses, whatever their number; holds for all theta > 0 at once. The theorem
    leaves the constant of the O() open and it is taken as 1 here: read the value as a trend, not as a guarantee. The
    term in d rises up to d = n / e^2 and is held there, for more hypotheses cannot be safer; for d > n, where the
    theorem is silent, the bound is infinite.

    >>> round(margin_bound(0.05, theta=0.5, n=100_000, d=2).value, 4)
    0.1469
    """
    _check_sample(share_below_theta, n, d, delta)
    if not 0.0 < theta <= 1.0:
        raise ValueError(f"theta must lie in (0, 1], got {theta}.")
    if d > n:
        return _judged(share_below_theta, math.inf, delta)
    held = min(d, n / math.e**2)
    penalty = math.sqrt((held * (math.log(n / held) / theta) ** 2 + math.log(1.0 / delta)) / n)
    bound = _judged(share_below_theta, penalty, delta)
    return bound if bound.is_vacuous else bound._replace(note="a trend: the theorem leaves its constant open")


def boosted_vc_dimension(base_dimension: float, rounds: int) -> float:
    """VC dimension of votes of T hypotheses: at most 2 (d + 1) (T + 1) log2(e (T + 1)) (Freund and Schapire 1997).

    The theorem (number 8) asks for d >= 2; a smaller d counts as 2.

    >>> round(boosted_vc_dimension(2, 10), 1)
    323.5
    """
    if base_dimension < 0 or rounds < 1:
        raise ValueError(f"Needs a dimension >= 0 and a round, got {base_dimension} and {rounds}.")
    return 2.0 * (max(base_dimension, 2.0) + 1.0) * (rounds + 1) * math.log2(math.e * (rounds + 1))


def stump_vc_dimension(n_features: int) -> int:
    """Upper bound of the VC dimension of decision stumps on d numeric features without missing values.

    Stumps label n points in at most 2 (1 + d (n - 1)) ways: constant, or one of n - 1 cuts of a feature, and either
    polarity. They can shatter n points only if this reaches 2^n; the bound is the largest such n, exact for d <= 2.

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
    """Upper bound of the VC dimension of binary trees with so many leaves on d numeric features without missing values.

    Of N = n_leaves - 1 inner nodes there are Catalan(N) shapes; each has one of d features and one of at most n - 1
    cuts between n points, and each leaf one of two answers. Trees can shatter n points only if
    Catalan(N) (d (n - 1))^N 2^(N + 1) reaches 2^n; the bound is the largest such n.

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


def _log_inverse(smallest_weight: float) -> float:
    if not 0.0 < smallest_weight <= 1.0:
        raise ValueError(f"smallest_weight must lie in (0, 1], got {smallest_weight}: normalise, drop zero weights.")
    return -math.log(smallest_weight)


def _check_sample(share: float, n: int, d: float, delta: float) -> None:
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"The share of the sample must lie in [0, 1], got {share}.")
    if n < 1 or not d >= 1.0 or not 0.0 < delta < 1.0:
        raise ValueError(f"Needs n >= 1, d >= 1 and delta in (0, 1), got {n}, {d} and {delta}.")


def _judged(share: float, penalty: float, delta: float) -> GeneralisationBound:
    value = share + penalty
    is_vacuous = value >= 1.0
    note = "vacuous: every error is at most 1" if is_vacuous else f"with probability at least {1.0 - delta:g}"
    return GeneralisationBound(value, penalty, is_vacuous, note)
