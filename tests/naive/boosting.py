"""The boosting algorithms from their papers, in plain NumPy: one loop to learn, the rest replay given answers.

Notation: y in {-1, +1} (or class codes 0..K-1), w the weights (sum 1), h_t the answers of round t, e_t their weighted
error, r_t = sum w y h_t their edge, a_t the coefficient, f = sum a_t h_t. In every variant u_i says how right the
answer to row i is (+1 right, -1 wrong, y h in between), and the weights follow w_i <- w_i exp(-a_t u_i) / Z_t.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from .binning import midpoint

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIE = 1e-12  # edges (coefficients, shares) closer than this are equal
STEEP = 512.0  # a line search that is still falling here has no minimum; exp(512) is still a number

# ---------------------------------------------------------------------------------------------------------- stumps


class Stumps(NamedTuple):
    """Every stump: `polarity` where x[feature] > threshold, else -polarity. Feature -1 is a constant."""

    predictions: Floats  # [S, n]
    feature: Ints
    threshold: Floats
    polarity: Ints


class BestStump(NamedTuple):
    edge: float
    predictions: Floats  # [n]
    feature: int
    threshold: float
    polarity: int
    ties: list[tuple[int, float, int]]  # (feature, threshold, polarity) of all within TIE of the best, itself first


def all_stumps(X: Floats) -> Stumps:
    """The two constants, then by feature, threshold (half-way between neighbours), polarity +1 before -1."""
    rows = [(np.ones(len(X)), -1, -np.inf, +1), (-np.ones(len(X)), -1, -np.inf, -1)]
    for j in range(X.shape[1]):
        for low, high in pairwise(np.unique(X[:, j]).tolist()):
            threshold = midpoint(low, high)
            predictions = np.where(X[:, j] > threshold, 1.0, -1.0)
            rows += [(predictions, j, threshold, +1), (-predictions, j, threshold, -1)]
    return Stumps(*(np.array(column) for column in zip(*rows, strict=True)))


def best_stump(X: Floats, y: Floats, w: Floats, stumps: Stumps | None = None) -> BestStump:
    """The stump of the largest edge sum w y h, the first of ties."""
    stumps = all_stumps(X) if stumps is None else stumps
    edges = stumps.predictions @ (w * y)
    tied = np.flatnonzero(edges >= edges.max() - TIE)
    named = [(int(stumps.feature[s]), float(stumps.threshold[s]), int(stumps.polarity[s])) for s in tied]
    return BestStump(float(edges[tied[0]]), stumps.predictions[tied[0]], *named[0], ties=named)


# ---------------------------------------------------------------------------------------------- AdaBoost, learning


class Run(NamedTuple):
    """What happened in each round; a round that stops the run is not in it."""

    error: Floats  # [T] weight of the rows with u <= 0, before the update
    edge: Floats  # [T]
    theta: Floats  # [T] the margin target of the round (AdaBoost 0, SAMME 2/K - 1)
    coefficient: Floats  # [T] half scale: w_i is multiplied by exp(-a u_i)
    Z: Floats  # [T]
    weights: Floats  # [T, n] after the round
    f: Floats  # [T, n] after the round; [T, n, K] scores of the classes for SAMME and M1
    margin: Floats  # [T] smallest margin of f / sum |a| over the rows with w0 > 0
    stopped: str  # "rounds" | "weak" (no edge over theta) | "perfect" (infinite coefficient)


def _normalised(w0: ArrayLike) -> Floats:
    w0 = np.asarray(w0, np.float64)
    return w0 / w0.sum()


def _as_run(rounds: list[tuple], stopped: str) -> Run:
    columns = zip(*rounds, strict=True) if rounds else [[]] * 8
    return Run(*(np.array(column) for column in columns), stopped=stopped)


def adaboost(
    X: Floats, y: Floats, w0: ArrayLike, rounds: int, negate: bool = False, stumps: Stumps | None = None
) -> tuple[Run, list[BestStump]]:
    """Discrete AdaBoost (Freund and Schapire 1997) with the stump of the largest edge.

    With `negate`, a hypothesis of error above 1/2 stays, with a negative coefficient.
    """
    stumps = all_stumps(X) if stumps is None else stumps
    w0 = w = _normalised(w0)
    f, total, done, chosen, stopped = np.zeros(len(y)), 0.0, [], [], "rounds"
    for _ in range(rounds):
        best = best_stump(X, y, w, stumps)
        h = best.predictions
        e = w[h != y].sum()
        if abs(e - 1 / 2) <= TIE or (e > 1 / 2 and not negate):
            stopped = "weak"
            break
        if e == 0 or w[h == y].sum() == 0:
            stopped = "perfect"
            break
        a = 1 / 2 * np.log((1 - e) / e)
        Z = np.sum(w * np.exp(-a * y * h))
        w = w * np.exp(-a * y * h) / Z
        f = f + a * h
        total += abs(a)
        margin = np.min((y * f)[w0 > 0]) / total
        done.append((e, best.edge, 0.0, a, Z, w, f, margin))
        chosen.append(best)
    return _as_run(done, stopped), chosen


def boost_stumps(
    X: Floats, y: Floats, w0: ArrayLike, rounds: int, replay: Callable[[Floats], Run]
) -> tuple[Run, list[BestStump]]:
    """Learn with any of the replays: `replay(answers)` of what is known so far gives the weights of the next round."""
    stumps, w, chosen = all_stumps(X), _normalised(w0), []
    run = _as_run([], "rounds")
    for t in range(rounds):
        chosen.append(best_stump(X, y, w, stumps))
        run = replay(np.array([best.predictions for best in chosen]))
        if len(run.error) == t:  # stopped
            return run, chosen[:-1]
        w = run.weights[-1]
    return run, chosen


# ----------------------------------------------------------------------------------------------- the common replay

# (weights, u of this round, edges up to this round, minimum margin so far) -> (theta, coefficient)
Step = Callable[[Floats, Floats, list[float], float], tuple[float, float]]


def _replay(
    u: Floats, votes: Floats, margins: Callable[[Floats], Floats], w0: ArrayLike, step: Step, negate: bool = False
) -> Run:
    w0 = w = _normalised(w0)
    f, total, margin, edges, done = np.zeros(votes.shape[1:]), 0.0, 0.0, [], []
    for u_t, vote in zip(u, votes, strict=True):
        edges.append(float(w @ u_t))
        theta, a = step(w, u_t, edges, margin)
        if abs(a) <= TIE or (a < 0 and not negate):
            return _as_run(done, "weak")
        if np.isinf(a):
            return _as_run(done, "perfect")
        error = w[u_t <= 0].sum()
        Z = np.sum(w * np.exp(-a * u_t))
        w = w * np.exp(-a * u_t) / Z
        f = f + a * vote
        total += abs(a)
        margin = float(np.min(margins(f)[w0 > 0])) / total
        done.append((error, edges[-1], theta, a, Z, w, f, margin))
    return _as_run(done, "rounds")


def _two_classes(predictions: ArrayLike, y: ArrayLike, w0: ArrayLike, step: Step, negate: bool = False) -> Run:
    h, y = np.asarray(predictions, np.float64), np.asarray(y, np.float64)
    return _replay(y * h, h, lambda f: y * f, w0, step, negate)


def _many_classes(predictions: ArrayLike, y: ArrayLike, n_classes: int, w0: ArrayLike, step: Step) -> Run:
    """A class scores a for each vote; the margin is the true class's score less the best of the others."""
    predictions, y = np.asarray(predictions), np.asarray(y)
    is_true = np.eye(n_classes, dtype=bool)[y]

    def margins(f: Floats) -> Floats:
        return f[is_true] - np.where(is_true, -np.inf, f).max(axis=1)

    return _replay(np.where(predictions == y, 1.0, -1.0), np.eye(n_classes)[predictions], margins, w0, step)


def _half_log_odds(w: Floats, u: Floats) -> float:
    """1/2 ln((1 + r) / (1 - r)); for answers of +-1 that is 1/2 ln((1 - e) / e)."""
    with np.errstate(divide="ignore"):
        return float(1 / 2 * np.log(np.sum(w * (1 + u)) / np.sum(w * (1 - u))))


def _log_shift(theta: float) -> float:
    return float(1 / 2 * np.log((1 + theta) / (1 - theta)))


# ----------------------------------------------------------------------------------------------------- two classes


def replay_adaboost(predictions: ArrayLike, y: ArrayLike, w0: ArrayLike, negate: bool = False) -> Run:
    """a = 1/2 ln((1 - e) / e)."""

    def step(w: Floats, u: Floats, edges: list[float], margin: float) -> tuple[float, float]:
        return 0.0, _half_log_odds(w, u)

    return _two_classes(predictions, y, w0, step, negate)


def replay_theta(predictions: ArrayLike, y: ArrayLike, w0: ArrayLike, theta: float, negate: bool = False) -> Run:
    """AdaBoost_theta (Raetsch and Warmuth 2005, their AdaBoost_rho): the fixed margin target theta."""

    def step(w: Floats, u: Floats, edges: list[float], margin: float) -> tuple[float, float]:
        return theta, _half_log_odds(w, u) - _log_shift(theta)

    return _two_classes(predictions, y, w0, step, negate)


def replay_arc_gv(predictions: ArrayLike, y: ArrayLike, w0: ArrayLike) -> Run:
    """arc-gv (Breiman 1999): the target is the minimum margin so far, at least 0."""

    def step(w: Floats, u: Floats, edges: list[float], margin: float) -> tuple[float, float]:
        theta = max(0.0, margin)
        return theta, _half_log_odds(w, u) - _log_shift(theta)

    return _two_classes(predictions, y, w0, step)


def replay_star(predictions: ArrayLike, y: ArrayLike, w0: ArrayLike, nu: float) -> Run:
    """AdaBoost*_nu (Raetsch and Warmuth 2005): the target is the smallest edge so far less nu."""

    def step(w: Floats, u: Floats, edges: list[float], margin: float) -> tuple[float, float]:
        theta = min(edges) - nu
        return theta, _half_log_odds(w, u) - _log_shift(theta)

    return _two_classes(predictions, y, w0, step)


def replay_confidence(
    values: ArrayLike, y: ArrayLike, w0: ArrayLike, form: str = "closed", negate: bool = False
) -> Run:
    """Confidence-rated AdaBoost (Schapire and Singer 1999).

    "closed": a = 1/2 ln((1 + r) / (1 - r)), values in [-1, 1]; "numeric": the a that minimises Z; "unit": a = 1, for
    leaves whose values are log-ratios already.
    """

    def step(w: Floats, u: Floats, edges: list[float], margin: float) -> tuple[float, float]:
        if form == "closed":
            return 0.0, _half_log_odds(w, u)
        if form == "numeric":
            side = 1.0 if edges[-1] > 0 else -1.0  # the minimum lies on the side of the edge
            return 0.0, side * _zero(lambda a: float(np.sum(w * side * u * np.exp(-a * side * u))))
        if form == "unit":
            return 0.0, 1.0
        raise ValueError(form)

    if form == "closed" and np.max(np.abs(values)) > 1:
        raise ValueError("the closed form needs values in [-1, 1]")
    return _two_classes(values, y, w0, step, negate)


def _zero(slope: Callable[[float], float]) -> float:
    """Where a function that starts above zero crosses it, by doubling and bisection; 0 if it starts below."""
    if slope(0.0) <= 0:
        return 0.0
    high = 1.0
    while slope(high) > 0:
        high *= 2
        if high > STEEP:
            return np.inf
    return float(brentq(slope, 0.0, high, xtol=1e-15, rtol=1e-15))


def confidence_tree_values(leaf_of_row: ArrayLike, y: Floats, w: Floats, smoothing: float) -> Floats:
    """values[leaf] = 1/2 ln((W+ + eps) / (W- + eps)) from the leaf's weights; 0 for a leaf without rows."""
    leaf_of_row = np.asarray(leaf_of_row)
    values = np.zeros(leaf_of_row.max() + 1)
    for leaf in np.unique(leaf_of_row):
        plus = w[(leaf_of_row == leaf) & (y > 0)].sum()
        minus = w[(leaf_of_row == leaf) & (y < 0)].sum()
        with np.errstate(divide="ignore"):  # a pure leaf without smoothing is infinitely sure
            values[leaf] = 1 / 2 * (np.log(plus + smoothing) - np.log(minus + smoothing))
    return values


# ---------------------------------------------------------------------------------------------------- many classes


def replay_m1(predictions: ArrayLike, y: ArrayLike, n_classes: int, w0: ArrayLike) -> Run:
    """AdaBoost.M1 (Freund and Schapire 1996): half of ln((1 - e) / e), stops at e >= 1/2."""

    def step(w: Floats, u: Floats, edges: list[float], margin: float) -> tuple[float, float]:
        return 0.0, _half_log_odds(w, u)

    return _many_classes(predictions, y, n_classes, w0, step)


def replay_samme(predictions: ArrayLike, y: ArrayLike, n_classes: int, w0: ArrayLike) -> Run:
    """SAMME (Zhu, Zou, Rosset, Hastie 2009): half of ln((1 - e) / e) + ln(K - 1), stops at e >= 1 - 1/K."""

    def step(w: Floats, u: Floats, edges: list[float], margin: float) -> tuple[float, float]:
        return 2 / n_classes - 1, _half_log_odds(w, u) + 1 / 2 * np.log(n_classes - 1)

    return _many_classes(predictions, y, n_classes, w0, step)


# ------------------------------------------------------------------------------------------------------ regression


class DruckerRun(NamedTuple):
    losses: Floats  # [T, n]
    mean_loss: Floats  # [T]
    beta: Floats  # [T]
    coefficient: Floats  # [T] ln(1 / beta); 0 for a member left out before a restart
    weights: Floats  # [T, n] after the round
    stopped: str  # as in Run


def drucker_r2(
    predictions: ArrayLike, y: ArrayLike, loss: str = "linear", w0: ArrayLike | None = None, restart: bool = False
) -> DruckerRun:
    """AdaBoost.R2 (Drucker 1997): losses of each member on all rows, relative to its largest error.

    At a mean loss of 1/2 or more: stop, or with `restart` leave the member out and go back to the first weights.
    """
    y = np.asarray(y, np.float64)
    w0 = w = _normalised(np.ones(len(y)) if w0 is None else w0)
    done, stopped = [], "rounds"
    for p in np.asarray(predictions, np.float64):
        largest = np.abs(p - y)[w0 > 0].max()
        if largest == 0:
            stopped = "perfect"
            break
        relative = np.abs(p - y) / largest
        L = {"linear": relative, "square": relative**2, "exponential": 1 - np.exp(-relative)}[loss]
        mean = w @ L
        beta = mean / (1 - mean) if mean < 1 else np.inf  # where every error is the largest, and the sum of w is 1
        if mean >= 1 / 2 - TIE:
            if not restart:
                stopped = "weak"
                break
            w = w0
            done.append((L, mean, beta, 0.0, w))
            continue
        w = w * beta ** (1 - L)
        w = w / w.sum()
        done.append((L, mean, beta, np.log(1 / beta), w))
    columns = zip(*done, strict=True) if done else [[]] * 5
    return DruckerRun(*(np.array(column) for column in columns), stopped=stopped)


def weighted_median(predictions: ArrayLike, coefficients: ArrayLike) -> Floats:
    """For each column of [T, n] the smallest prediction whose coefficients and those below reach half of all."""
    predictions, c = np.asarray(predictions, np.float64), np.asarray(coefficients, np.float64)
    medians = []
    for column in predictions.T:
        order = np.argsort(column, kind="stable")
        reached = np.cumsum(c[order]) >= (1 / 2 - TIE) * c.sum()
        medians.append(column[order][np.argmax(reached)])
    return np.array(medians)


class StagewiseRun(NamedTuple):
    coefficient: Floats  # [T] of the line search, before shrinkage
    F: Floats  # [T, n] after the round
    residual: Floats  # [T, n] after the round: what the next member is fitted to
    loss: Floats  # [T] weighted mean squared residual after the round


def stagewise(
    members: ArrayLike, y: ArrayLike, shrinkage: float = 1.0, w0: ArrayLike | None = None, start: float = 0.0
) -> StagewiseRun:
    """Forward stagewise additive model, squared loss (Hastie et al., algorithm 10.2), given the fitted members.

    A member that is zero everywhere has coefficient 0.
    """
    y = np.asarray(y, np.float64)
    w = _normalised(np.ones(len(y)) if w0 is None else w0)
    F, done = np.full(len(y), float(start)), []
    for b in np.asarray(members, np.float64):
        size = np.sum(w * b * b)
        c = np.sum(w * (y - F) * b) / size if size > 0 else 0.0
        F = F + shrinkage * c * b
        done.append((c, F, y - F, np.sum(w * (y - F) ** 2)))
    return StagewiseRun(*(np.array(column) for column in zip(*done, strict=True)))


# ------------------------------------------------------------------------------------ the first booster, any loss


class Schapire1990(NamedTuple):
    distributions: Floats  # [k, n], k <= 3: as many as were needed
    predictions: Floats  # [k, n]
    errors: Floats  # [k] of each hypothesis under its own distribution
    vote: Floats  # [n]
    error: float  # of the vote under the first distribution
    bound: float  # 3p^2 - 2p^3 with p the largest of the errors


def schapire_1990(learn: Callable[[Floats], Floats], y: Floats, w0: ArrayLike | None = None) -> Schapire1990:
    """Schapire's first booster with exact distributions; `learn(weights)` gives answers in {-1, +1}.

    If h1 has no error, or all errors, or h1 and h2 agree everywhere, h1 is the vote.
    """
    D1 = _normalised(np.ones(len(y)) if w0 is None else w0)
    h1 = learn(D1)
    distributions, predictions, vote = [D1], [h1], h1
    e1 = D1[h1 != y].sum()
    if 0 < e1 and D1[h1 == y].sum() > 0:
        D2 = np.where(h1 != y, D1 / (2 * e1), D1 / (2 * (1 - e1)))  # half the weight where h1 is wrong
        h2 = learn(D2)
        distributions, predictions = [*distributions, D2], [*predictions, h2]
        if D1[h1 != h2].sum() > 0:
            D3 = _normalised(np.where(h1 != h2, D1, 0.0))
            h3 = learn(D3)
            distributions, predictions, vote = [*distributions, D3], [*predictions, h3], np.sign(h1 + h2 + h3)
    errors = np.array([D[h != y].sum() for D, h in zip(distributions, predictions, strict=True)])
    p = errors.max()
    error = float(D1[vote != y].sum())
    return Schapire1990(np.array(distributions), np.array(predictions), errors, vote, error, float(3 * p**2 - 2 * p**3))


class AnyBoostRun(NamedTuple):
    edge: Floats  # [T]
    coefficient: Floats  # [T]
    weights: Floats  # [T, n] after the round, proportional to -L'(y F)
    F: Floats  # [T, n] after the round
    risk: Floats  # [T] weighted mean of L(y F) after the round
    stopped: str  # as in Run
    chosen: list[BestStump]


def anyboost(
    X: Floats,
    y: Floats,
    rounds: int,
    loss: Callable[[Floats], Floats],
    derivative: Callable[[Floats], Floats],
    w0: ArrayLike | None = None,
) -> AnyBoostRun:
    """AnyBoost (Mason et al. 2000), a convex falling loss of the margin y F, its derivative given."""
    stumps = all_stumps(X)
    w0 = _normalised(np.ones(len(y)) if w0 is None else w0)
    F, done, chosen, stopped = np.zeros(len(y)), [], [], "rounds"
    w = _normalised(-w0 * derivative(y * F))
    for _ in range(rounds):
        best = best_stump(X, y, w, stumps)
        h = best.predictions
        if best.edge <= TIE:
            stopped = "weak"
            break
        a = _zero(lambda a, h=h, F=F: -np.sum(w0 * y * h * derivative(y * (F + a * h))))  # d risk / d a = 0
        if np.isinf(a):
            stopped = "perfect"
            break
        F = F + a * h
        w = _normalised(-w0 * derivative(y * F))
        done.append((best.edge, a, w, F, np.sum(w0 * loss(y * F))))
        chosen.append(best)
    columns = zip(*done, strict=True) if done else [[]] * 5
    return AnyBoostRun(*(np.array(column) for column in columns), stopped=stopped, chosen=chosen)
