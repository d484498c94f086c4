"""AnyBoost: boosting as descent in function space, for any differentiable loss of the margin.

Mason, Baxter, Bartlett and Frean, "Functional gradient techniques for combining hypotheses" (2000). With margins
m_i = y_i F(x_i), initial weights w0 (sum 1) and the risk R(F) = sum w0_i L(m_i), each round

    w_i  =  w0_i max(-L'(m_i), 0) / sum                    the negative gradient, as weights
    h    =  hypothesis of large edge sum w_i y_i h(x_i)    stop when the edge is not positive
    a    =  argmin sum w0_i L(m_i + a y_i h(x_i))          line search, or a fixed step
    F   <-  F + a h

For L(m) = exp(-m) the weights are AdaBoost's, and the line search ends at a = 1/2 ln((1 - e) / e): AdaBoost exactly.

A weight cannot be negative: rows where L rises again (tangent, m > tan(1/2)) get the weight 0 and count only in the
line search. A loss that is not convex may have several minima on the line; the search takes one that lowers the risk.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root_scalar
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.parameters import fitted, one_of, param, positive
from committee.base.stacklevel import level_of_caller
from committee.boosting._weak_learners import TrainingRows
from committee.boosting.classifier_base import BaseMultiplicativeBooster, Settings, ValidationVotes
from committee.boosting.multiplicative_weights import ONLY_MEMBER, Round, State, Step, Turn, weighted_error
from committee.boosting.samme import CHANCE, perfect
from committee.boosting.votes import BinaryVotes, Votes
from committee.losses.classification import EXPONENTIAL, MARGIN_LOSSES
from committee.losses.custom import MarginFunction, margin_loss
from committee.losses.loss import Loss
from committee.members.member import WeakLearner
from committee.records.history import History

FIRST_REACH, LAST_REACH = 0.25, 128.0
"""Coefficients of the line search; a risk that still decreases at the last one has its minimum at infinity."""

StepSize = Callable[[Round, NDArray[np.float64]], Step]
"""From a hypothesis of positive edge and the margins m before the round to the coefficient."""


class Descent(NamedTuple):
    """Measurements of a round: a row of `history_`."""

    round: int
    error: float
    edge: float
    coefficient: float
    loss: float  # the risk sum w0 L(m) after the round
    exponential_risk: float  # sum w0 exp(-m), which bounds the training error whatever the loss
    train_error: float
    min_margin: float
    max_weight: float
    validation_error: float


def anyboost(
    weak_learner: WeakLearner,
    votes: BinaryVotes,
    state: State,
    loss: Loss,
    step_size: StepSize,
    seeds: Sequence[int],
    *,
    learning_rate: float = 1.0,
) -> Iterator[Turn]:
    """Descend round by round; `state.weight` and `votes.score` are changed in place.

    Notation: m the margins y F(x), w the weights, u = y h(x), a the coefficient, e the weighted error, r = 1 - 2 e.
    """
    w, w0, y = state.weight, state.start, votes.y
    total = float(np.sum(np.abs(state.coefficients)))
    m = y * votes.score
    has_weight = reweight(loss, m, w0, w) if state.records else True
    for t, seed in enumerate(seeds if has_weight else (), start=len(state.records) + 1):
        # Step 1: a hypothesis of large edge under the weights, in the direction of the negative gradient
        h = weak_learner(w, seed)
        u = votes.agreement(h.predictions)
        e = weighted_error(w, u)
        r = 1.0 - 2.0 * e
        # Step 2: stop if it is no descent direction, else its coefficient
        this = Round(e, r, np.nan, np.nan, 2, float(w0.min()), u, w)
        step = step_size(this, m) if r > CHANCE else Step(0.0, stop=f"the edge {r:.4f} is no better than chance")
        a = learning_rate * step.coefficient
        if a == 0.0 and total == 0.0:
            a = ONLY_MEMBER  # the only hypothesis
        # Step 3: F <- F + a h
        votes.add(a, h.predictions)
        total += abs(a)
        m = y * votes.score
        # Step 4: the negative gradient at the new F
        has_weight = reweight(loss, m, w0, w)
        stop = step.stop or ("" if has_weight else "every row has weight zero: the loss is constant at every margin")
        # Step 5: the record
        record = Descent(
            t, e, r, a, mean_loss(loss, m, w0), mean_loss(EXPONENTIAL, m, w0), float((w0 * votes.wrong()).sum()),
            float(votes.margins(total).min()), float(w.max()), np.nan,
        )  # fmt: skip
        yield Turn(record, h.member if a != 0.0 else None, stop, step.is_perfect)
        if stop:
            return


class FixedStep:
    """A step size that is the same in every round."""

    def __init__(self, step: float) -> None:
        self.step = step

    def __call__(self, this: Round, m: NDArray[np.float64]) -> Step:
        return Step(self.step)


class LineSearch:
    """A step size at a minimum of sum w0 L(m + a u), or as in AdaBoost where the minimum is at infinity."""

    def __init__(self, loss: Loss, w0: NDArray[np.float64], stop_at_perfect: bool = True) -> None:
        self.loss, self.w0, self.stop_at_perfect = loss, w0, stop_at_perfect

    def __call__(self, this: Round, m: NDArray[np.float64]) -> Step:
        u = this.agreement

        def slope(a: float) -> float:  # of the risk in a; for a shift-free loss up to a positive factor
            return -float(np.sum(self.w0 * u * self.loss.pull(m + a * u)))

        def risk(a: float) -> float:
            return float(np.sum(self.w0 * self.loss.value(m + a * u)))

        with np.errstate(over="ignore", invalid="ignore"):  # the loss may overflow for large a
            a = minimum_on_line(slope, risk)
        if a == 0.0:
            return Step(0.0, stop="no step along the hypothesis decreases the loss")
        if np.isinf(a):
            end, is_right = perfect(this), bool(np.all(u > 0))
            return end if self.stop_at_perfect and is_right else end._replace(stop="", is_perfect=is_right)
        return Step(a)


def minimum_on_line(slope: Callable[[float], float], risk: Callable[[float], float]) -> float:
    """Find a minimum of the risk over a > 0, by bracketing a root of the slope and Brent's method.

    Infinite if the risk decreases without end, 0 if it does not decrease.
    """
    if not slope(0.0) < 0.0:
        return 0.0
    low, high = 0.0, FIRST_REACH
    while not slope(high) >= 0.0:
        low, high = high, 2.0 * high
        if high > LAST_REACH:
            return np.inf
    result = root_scalar(slope, bracket=(low, high), method="brentq", xtol=1e-15, rtol=8.9e-16, maxiter=200)
    a = float(result.root)
    if not result.converged:
        warnings.warn(
            f"The line search did not converge in {result.iterations} steps: at the coefficient {a:.6g} the slope of "
            f"the loss is {slope(a):.2g}. Use a fixed step, or a smoother loss.",
            ConvergenceWarning,
            stacklevel=level_of_caller(),
        )
    # If the loss is not convex, the risk may be larger at the root than at 0: decrease a.
    here = risk(0.0)
    while a > 0.0 and risk(a) > here * (1.0 + 1e-14):
        a = 0.5 * a if a > 1e-12 else 0.0
    return a


def reweight(loss: Loss, m: NDArray[np.float64], w0: NDArray[np.float64], w: NDArray[np.float64]) -> bool:
    """Set w <- w0 max(-L'(m), 0) / sum in place; return False, with w unchanged, if every row has weight zero."""
    with np.errstate(over="ignore"):
        pull = w0 * np.maximum(loss.pull(m), 0.0)
        total = float(pull.sum())
    if not np.isfinite(total):
        raise ValueError(
            f"The derivative of the loss {loss.name!r} is not finite at margins between {m.min():g} and {m.max():g}: "
            "use a smaller step or learning_rate, or a loss that is defined for every margin."
        )
    if total == 0.0:
        return False
    np.divide(pull, total, out=w)
    return True


def mean_loss(loss: Loss, m: NDArray[np.float64], w0: NDArray[np.float64]) -> float:
    """Compute the risk sum w0 L(m)."""
    with np.errstate(over="ignore"):
        return float(np.sum(w0 * loss.value(m)))


class AnyBoostClassifier(BaseMultiplicativeBooster):
    """Boosting for any differentiable loss of the margin (two classes).

    Gradient descent in function space: the weights of a round are the negative derivatives of the loss at the margins,
    the coefficient minimizes the loss along the hypothesis.

    References
    ----------
    Mason, L., Baxter, J., Bartlett, P. and Frean, M. (2000). Functional gradient techniques for combining hypotheses.
    Advances in Large Margin Classifiers, MIT Press, 221-246.

    Examples
    --------
    >>> from committee import AnyBoostClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = AnyBoostClassifier(loss="logistic", n_estimators=20).fit(sonar.X, sonar.y)
    >>> round(float(model.history_.loss[0]), 3), round(float(model.history_.loss[-1]), 3)
    (0.552, 0.122)
    """

    loss: str | MarginFunction = param(
        one_of(*MARGIN_LOSSES),
        callable,
        default="exponential",
        doc='"exponential" is AdaBoost; "savage" and "tangent" are not convex and give outliers little weight. A '
        "user-defined loss is a Python function of one margin, float to float, such as ``def loss(m): return "
        "math.exp(-m)``; it is compiled, and must be finite and decrease around margin zero.",
    )
    loss_derivative: MarginFunction | None = param(
        callable,
        None,
        default=None,
        doc="Derivative of a user-defined loss; None uses central differences, with an error of about 1e-10.",
    )
    step: float | None = param(
        positive,
        None,
        default=None,
        doc="Fixed coefficient; None minimizes the loss along each hypothesis.",
    )
    learning_rate: float = param(positive, default=1.0, doc="Factor on every coefficient.")
    history_: History = fitted(
        doc="A row for each round: weighted error, edge and coefficient of the hypothesis, mean loss, exponential "
        "risk, training error, smallest margin, largest weight, and validation error (nan without validation rows)."
    )
    _two_classes_only = True

    def _settings(self, rows: TrainingRows, validation: ValidationVotes | None) -> dict[str, Any]:
        return {"_loss_used": (self.loss, self.loss_derivative)}

    def _rounds(
        self, weak_learner: WeakLearner, votes: Votes, state: State, seeds: list[int], settings: Settings
    ) -> Iterator[Turn]:
        assert isinstance(votes, BinaryVotes)
        loss = margin_loss(*settings["_loss_used"])
        line = LineSearch(loss, state.start, stop_at_perfect=self.weighting == "reweight")
        step_size = line if self.step is None else FixedStep(self.step)
        return anyboost(weak_learner, votes, state, loss, step_size, seeds, learning_rate=self.learning_rate)

    def _link(self, score: Floats, settings: Settings) -> Floats:
        if settings["n_classes_"] == 1:
            return np.ones((len(score), 1))
        p = margin_loss(*settings["_loss_used"]).probability(score[:, 0])
        return np.column_stack([1.0 - p, p])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities by the link of the loss: P(y = +1 | x) = L'(-f) / (L'(f) + L'(-f)).

        The f that minimises the expected loss p L(f) + (1 - p) L(-f) satisfies p L'(f) = (1 - p) L'(-f), whatever the
        differentiable loss (Masnadi-Shirazi and Vasconcelos 2008). For the exponential, logistic and Savage losses this
        is 1 / (1 + exp(-2 f)). As in every booster f is multiplied by ``probability_slope_``.
        """
        return super().predict_proba(X)
