"""Losses L(y, s) of gradient boosting: what the score s means, where it starts, how its leaves are optimised.

The formulas stand in kernels/boosting/derivatives.py. A model has one score per row, or one for each class or quantile:
its heads, each with a loss of its own; only the classes of the multinomial log-loss are differentiated together.

`bend` bounds the third derivative, |L'''| <= bend * L'': with it, leaves/cannot_rise knows without looking that a
Newton step does not raise the loss of its leaf. It is 1 for the losses of e^s (log-loss: p (1 - p) |1 - 2 p|), 0 for
a quadratic, -1 where there is no such bound.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import run
from committee.kernels.boosting import derivatives as d

Leaf = Literal["newton", "quantile", "huber"]

NO_WEIGHTS = np.empty(0)


class Head(NamedTuple):
    """The loss of one score. `own` is a user's compiled loss, which then takes the place of `code`."""

    code: int
    p: float = 0.0
    leaf: Leaf = "newton"
    bend: float = -1.0
    has_unit_hessian: bool = False
    own: Any = None  # kernels.user_functions.OwnLoss


_UNIT = Head(d.SQUARED, bend=0.0, has_unit_hessian=True)

HEADS: dict[str, Head] = {
    "squared_error": _UNIT,
    "absolute_error": _UNIT._replace(code=d.ABSOLUTE, p=0.5, leaf="quantile"),
    "huber": _UNIT._replace(code=d.HUBER, p=0.9, leaf="huber"),
    "quantile": _UNIT._replace(code=d.QUANTILE, p=0.5, leaf="quantile"),
    "expectile": Head(d.EXPECTILE, 0.5),
    "log_loss": Head(d.LOG_LOSS, bend=1.0),
    "exponential": Head(d.EXPONENTIAL, bend=1.0),
    "poisson": Head(d.POISSON, bend=1.0),
    "gamma": Head(d.GAMMA, bend=1.0),
    "tweedie": Head(d.TWEEDIE, 1.5, bend=1.0),
    "squared_hinge": Head(d.SQUARED_HINGE),
    "savage": Head(d.SAVAGE),
    "tangent": Head(d.TANGENT),
}

LOG_LINK = ("poisson", "gamma", "tweedie")
"""Losses whose prediction is e^s."""


class LossError(ValueError):
    """A user's loss raised, or gave a number that is not finite."""


class OwnValues:
    """The loss of every row by a user's function; at the scores of the last call they are known already."""

    def __init__(self, own: Any, y: Floats) -> None:
        self.own, self.y = own, y
        self.at = np.full(y.size, np.nan)
        self.values, self.spare = np.empty(y.size), np.empty(y.size)

    def __call__(self, score: Floats) -> Floats:
        """Stay as they are until the call after the next."""
        if not np.array_equal(score, self.at):
            self.values, self.spare = self.spare, self.values
            self.at.fill(np.nan)  # should the user's code raise
            _call_own(self.own, self.own.values, self.y, score, self.values)
            np.copyto(self.at, score)
        return self.values


def _call_own(own: Any, loop: Any, *arguments: Floats) -> None:
    try:
        loop(*arguments)
    except Exception as error:  # the user's code may raise anything
        raise LossError(f"the loss {own.name!r} raised {type(error).__name__}: {error}") from error


def fill_own(known: OwnValues, score: Floats, weight: Floats, g: Floats, h: Floats, sums: Floats) -> None:
    """OwnLoss.fill, whose faults become a LossError."""
    own = known.own
    _call_own(own, own.fill, known.y, score, known(score), weight, g, h, sums)
    for what, total in zip(("value", "gradient", "hessian"), sums.sum(axis=0), strict=True):
        if not math.isfinite(total):
            raise LossError(
                f"the {what} of the loss {own.name!r} is not finite for some row: it must be a finite number for every "
                "target and every score"
            )


class Slope:
    """Negative gradients and hessians at the current scores, with the sums that quantisation needs.

    The arrays are written over in every round. Blocks of rows are summed by themselves and then in order, so the
    number of threads changes nothing.
    """

    def __init__(self, heads: tuple[Head, ...], y: NDArray[Any], weight: Floats, is_multinomial: bool) -> None:
        n, n_heads = y.size, len(heads)
        self.heads, self.y, self.weight, self.is_multinomial = list(heads), y, weight, is_multinomial
        self.n_blocks = -(-n // d.BLOCK)
        self.g, self.h = np.empty((n_heads, n)), np.empty((n_heads, n))
        self.sums = np.empty((n_heads, self.n_blocks, 3))
        self.all_sums = np.empty((self.n_blocks, 1 + 2 * n_heads)) if is_multinomial else np.empty((0, 0))
        self.sizes: list[tuple[float, float]] = []  # weighted sums of |g| and of h of every head
        self.total_weight = float(weight.sum()) if weight.size else float(n)
        self.scratch = [np.empty((2, d.BLOCK))]
        self.own_values = [OwnValues(head.own, y) if head.own is not None else None for head in heads]

    def update(self, score: Floats, threads: int = 1) -> float:
        """Differentiate at score [heads, n]; return the mean loss, summed over the heads."""
        if self.is_multinomial:
            return self._update_together(score, threads)
        total = 0.0
        self.sizes = []
        for k, head in enumerate(self.heads):
            g, h, sums = self.g[k], self.h[k], self.sums[k]
            if (own_values := self.own_values[k]) is not None:
                fill_own(own_values, score[k], self.weight, g, h, sums)
            else:
                call = (head.code, head.p, self.y, score[k], self.weight)
                self._run(d.differentiate, call, (g, h, sums), threads)
            loss, size_g, size_h = column_sums(sums)
            total += loss
            self.sizes.append((size_g, size_h))
        return total / self.total_weight

    def _update_together(self, score: Floats, threads: int) -> float:
        n_heads = len(self.heads)
        factor = n_heads / (n_heads - 1.0)
        call = (self.y, score, self.weight, factor)
        self._run(d.softmax_derivatives, call, (self.g, self.h, self.all_sums), threads)
        loss, *sizes = column_sums(self.all_sums)
        self.sizes = list(zip(sizes[::2], sizes[1::2], strict=True))
        return loss / self.total_weight

    def _run(self, kernel: Any, given: tuple[Any, ...], out: tuple[Any, ...], threads: int) -> None:
        """Every thread takes a range of blocks and scratch of its own."""
        if threads == 1:
            kernel(*given, 0, self.n_blocks, *out, self.scratch[0])
            return
        while len(self.scratch) < threads:
            self.scratch.append(np.empty((2, d.BLOCK)))
        ends = [self.n_blocks * i // threads for i in range(threads + 1)]
        run(kernel, [(*given, a, b, *out, self.scratch[i]) for i, (a, b) in enumerate(pairwise(ends))], threads)


def column_sums(sums: Floats) -> list[float]:
    return (sums[0] if len(sums) == 1 else sums.sum(axis=0)).tolist()


def mean_loss(head: Head, y: Floats, score: Floats, weight: Floats) -> float:
    """Mean loss of one head at these scores."""
    return Slope((head,), y, weight, False).update(score[np.newaxis])


# --- where the scores start ------------------------------------------------------------------------------------------


def exact_mean(y: Floats, weight: Floats) -> float:
    """Weighted mean that does not depend on the order of the rows, nor on whether a row is repeated or weighs more."""
    if not weight.size:
        return math.fsum(y) / y.size
    share, exponent = np.frexp(y)
    high = np.ldexp(np.rint(share * 2.0**26), exponent - 26)  # half the digits: times a whole weight they stay exact
    products = np.concatenate([high * weight, (y - high) * weight])
    return math.fsum(products) / math.fsum(weight)


def weighted_quantile(values: Floats, weight: Floats, q: float) -> float:
    """The smallest value with at least a share q of the weight at or below it; half-way to the next at equality."""
    order = np.argsort(values, kind="stable")
    w = np.cumsum(weight[order]) if weight.size else np.arange(1.0, values.size + 1.0)
    target = q * w[-1]
    i = min(int(np.searchsorted(w, target * (1.0 - 1e-12))), values.size - 1)
    value = float(values[order[i]])
    if abs(w[i] - target) <= 1e-9 * w[-1]:
        later = np.flatnonzero(w > w[i])
        if later.size:
            value = 0.5 * (value + float(values[order[later[0]]]))
    return value


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-12), 1.0 - 1e-12)
    return math.log(share / (1.0 - share))


def start_score(head: Head, y: Floats, weight: Floats) -> float:
    """The constant score of smallest loss; for Huber's loss the median, as its bend is known only from a score."""
    if head.own is None:
        if head.code == d.SQUARED:
            return exact_mean(y, weight)
        if head.code in (d.ABSOLUTE, d.HUBER):
            return weighted_quantile(y, weight, 0.5)
        if head.code == d.QUANTILE:
            return weighted_quantile(y, weight, head.p)
        if head.code == d.LOG_LOSS:
            return _log_odds(exact_mean(y, weight))
        if head.code in (d.EXPONENTIAL, d.SAVAGE):
            return 0.5 * _log_odds(0.5 + 0.5 * exact_mean(y, weight))
        if head.code in (d.POISSON, d.GAMMA, d.TWEEDIE):
            mean = exact_mean(y, weight)
            return math.log(mean if mean > 0.0 else 1e-12)
        if head.code == d.SQUARED_HINGE:
            return exact_mean(y, weight)
        if head.code == d.EXPECTILE:  # the minimiser has the scale of y; products of huge numbers would overflow
            size = 2.0 ** math.floor(math.log2(max(float(np.abs(y).max()), 1e-300)))
            return size * smallest_constant(head, y / size, weight)
    return smallest_constant(head, y, weight)


def smallest_constant(head: Head, y: Floats, weight: Floats) -> float:
    """The constant score of smallest loss, by Brent's method from a bracket around zero and the targets."""
    from scipy.optimize import minimize_scalar

    def at(s: float) -> float:
        try:
            value = mean_loss(head, y, np.full(y.size, s), weight)
        except LossError:  # the first round will say so
            return 1e300
        return value if math.isfinite(value) else 1e300

    low, high = float(y.min()), float(y.max())
    found: Any = minimize_scalar(at, bracket=(low - 1e-3, high + 1e-3), options={"maxiter": 60})
    return _polished(head, y, weight, float(found.x))


def _polished(head: Head, y: Floats, weight: Floats, s: float) -> float:
    """Newton steps from a minimum that is known to half of the digits, as long as its slope gets smaller."""
    slope = Slope((head,), y, weight, False)
    best, smallest = s, math.inf
    for _ in range(10):
        try:
            slope.update(np.full((1, y.size), s))
        except LossError:
            break
        g, h = (exact_mean(part, weight) for part in (slope.g[0], slope.h[0]))
        if not abs(g) < smallest:
            break
        best, smallest = s, abs(g)
        if not h > 0.0:
            break
        s += g / h
    return best


def best_shift(heads: tuple[Head, ...], y: NDArray[Any], weight: Floats, score: Floats, is_multinomial: bool) -> Floats:
    """What to add to given scores [heads, n], one number per head, for the smallest loss."""
    from scipy.optimize import minimize

    if not is_multinomial and all(head.own is None and head.code <= d.EXPECTILE for head in heads):
        return np.array([start_score(head, y - s, weight) for head, s in zip(heads, score, strict=True)])
    slope = Slope(heads, y, weight, is_multinomial)

    def at(shift: Floats) -> tuple[float, Floats]:
        loss = slope.update(score + shift[:, np.newaxis])
        g = -(slope.g @ weight if weight.size else slope.g.sum(axis=1)) / slope.total_weight
        return (loss, g) if math.isfinite(loss) else (1e300, np.zeros(len(heads)))

    found: Any = minimize(at, np.zeros(len(heads)), jac=True, method="L-BFGS-B", options={"gtol": 1e-9})
    return np.asarray(found.x, np.float64)
