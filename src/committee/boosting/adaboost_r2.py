"""AdaBoost.R2 (Drucker, Improving regressors using boosting techniques, ICML 1997).

Every round draws a sample by the weights, fits a regressor h to it and evaluates it on all rows: with D the largest
|h(x_i) - y_i| and d_i = |h(x_i) - y_i| / D, the loss of a row is

    L_i = d_i,    d_i^2    or    1 - exp(-d_i),        mean loss L = sum w_i L_i

    beta = L / (1 - L),        w_i <- w_i beta^(1 - L_i) / Z,        coefficient a = ln(1 / beta)

so the weights of rows with a small loss decrease. The prediction is the median, or the mean, of the members, weighted
with a. When L reaches 1/2 the coefficient would be negative: the fit stops, or restarts from the initial weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.parameters import at_least, fitted, one_of, param, positive
from committee.base.threads import n_threads, run
from committee.boosting._combinations import (
    Combination,
    NotTracked,
    RunningMean,
    RunningMedian,
    mean_absolute,
    root_mean_square,
)
from committee.boosting._weak_regressors import TrainingRows, WeakRegressor
from committee.boosting.multiplicative_weights import ONLY_MEMBER
from committee.boosting.regressor_base import BaseRegressionBooster, State, Turn
from committee.combine.rules import weighted_median
from committee.members.member import WeakHypothesis
from committee.members.vote import score_packed
from committee.records.history import History
from committee.tree_engine.response import WEIGHT_BITS

Loss = Literal["linear", "square", "exponential"]

MAX_TRACKED = 1 << 24
"""Rows times rounds up to which the training error of a median is recorded; it needs all predictions in memory."""

BLOCK = 1 << 12
"""Rows whose predictions are sorted at a time."""


class Record(NamedTuple):
    """Measurements of a round: a row of `history_`."""

    round: int
    mean_loss: float
    max_error: float
    beta: float
    coefficient: float  # 0 for a discarded member
    train_error: float  # root mean square of the combination so far
    train_absolute_error: float
    max_weight: float
    validation_error: float = math.nan


class Step(NamedTuple):
    """beta, the coefficient ln(1 / beta), and a reason to stop, if any."""

    beta: float
    coefficient: float
    stop: str = ""


class Options(NamedTuple):
    """Options of the algorithm; the defaults are the paper's."""

    loss: Loss = "linear"
    restart: bool = False  # from the initial weights when the mean loss reaches 1/2
    learning_rate: float = 1.0


def row_losses(error: Floats, largest: float, loss: Loss) -> Floats:
    """Compute the losses L_i in [0, 1] from absolute errors."""
    if largest == 0.0:
        return np.zeros_like(error)
    d = error / largest
    if loss == "linear":
        return d
    return d * d if loss == "square" else 1.0 - np.exp(-d)


def step_of(mean: float, min_start: float) -> Step:
    """Compute beta and the coefficient from the mean loss; the coefficient is 0 if the member is discarded."""
    if mean == 0.0:  # finite, as if the mean loss were half of the smallest weight
        half = min(0.5 * min_start, 0.25)
        reason = "a member is perfect on the training rows, its coefficient was cut to a finite one"
        return Step(0.0, math.log((1.0 - half) / half), reason)
    beta = mean / (1.0 - mean) if mean < 1.0 else math.inf
    if mean >= 0.5:
        return Step(beta, 0.0, f"the mean loss {mean:.4f} is no better than 1/2")
    return Step(beta, -math.log(beta))


def adaboost_r2(
    weak_learner: WeakRegressor,
    y: Floats,
    start: Floats,
    state: State,
    combined: Combination,
    seeds: Sequence[int],
    options: Options,
) -> Iterator[Turn]:
    """Boost round by round from the weights `start`; `state.weight` and `combined` are changed in place."""
    loss, restart, learning_rate = options
    w, has_member = state.weight, len(state.members) > 0
    for t, seed in enumerate(seeds, start=len(state.records) + 1):
        # Step 1: a regressor fitted under the weights
        h = weak_learner(y, w, seed)
        # Step 2: the loss of each row, relative to the largest error, and its mean
        error = np.abs(h.predictions - y)
        largest = float(error.max())
        L = row_losses(error, largest, loss)
        mean = float(np.sum(w * L))
        # Step 3: the coefficient
        beta, a, stop = step_of(mean, float(start.min()))
        is_weak = mean >= 0.5
        a = ONLY_MEMBER if is_weak and not has_member else learning_rate * a  # the only member
        # Step 4: the weights of rows with a small loss decrease; a restart sets the initial weights
        if is_weak and restart:
            w[:] = start
        elif not stop:
            w *= beta ** (learning_rate * (1.0 - L))
            if not w.any():
                raise ValueError(f"With learning_rate={learning_rate:g} all weights are 0: use a smaller one.")
            w /= w.sum()
        # Step 5: the record
        if a != 0.0:
            combined.add(h.predictions, a)
            has_member = True
        residual = y - combined.value
        record = Record(
            t, mean, largest, beta, a, root_mean_square(residual, start), mean_absolute(residual, start), float(w.max())
        )
        stop = "" if is_weak and restart else stop
        yield Turn(record, h.member if a != 0.0 else None, stop)
        if stop:
            return


GRID_BITS = 30
"""Bits of the mean weight of a row that are kept: splits do not depend on rounding errors below them."""


class RoundedWeights:
    """Another weak learner under rounded weights, so that an integer weight is exactly equivalent to repeated rows."""

    def __init__(self, learner: WeakRegressor, counts: Floats) -> None:
        self.learner, self.counts = learner, counts
        self.bits = min(GRID_BITS + math.ceil(math.log2(float(counts.sum()))), WEIGHT_BITS - 2)

    def __call__(self, target: Floats, weight: Floats, seed: int) -> WeakHypothesis:
        per_row = np.rint(np.ldexp(weight / self.counts, self.bits))
        rounded = np.ldexp(self.counts * np.maximum(per_row, 1.0), -self.bits)
        return self.learner(target, np.where(weight > 0.0, rounded, 0.0), seed)


class AdaBoostRegressor(BaseRegressionBooster):
    """AdaBoost.R2, Drucker's boosting for regression.

    Every round fits the base regressor to a sample drawn by the weights, and increases the weights of the rows with
    large errors. The prediction is the weighted median of the members.

    References
    ----------
    Drucker, H. (1997). Improving regressors using boosting techniques. ICML, 107-115.

    Examples
    --------
    >>> from committee.boosting.adaboost_r2 import AdaBoostRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> model = AdaBoostRegressor(random_state=0).fit(ozone.X, ozone.y)
    >>> model.history_.train_error[[0, -1]].round(2)
    array([4.48, 3.35])
    """

    n_estimators: int = param(at_least(1), default=50, doc="Number of rounds.")
    learning_rate: float = param(
        positive,
        default=1.0,
        doc="Factor on every coefficient and exponent of the change of the weights; 1 is AdaBoost.R2.",
    )
    loss: Loss = param(
        one_of("linear", "square", "exponential"),
        default="linear",
        doc="Loss of a row as a function of its error relative to the largest one.",
    )
    combine: Literal["median", "mean"] = param(
        one_of("median", "mean"),
        default="median",
        doc="How the members are combined, weighted with their coefficients.",
    )
    on_worse_than_chance: Literal["stop", "restart"] = param(
        one_of("stop", "restart"),
        default="stop",
        doc="When the mean loss reaches 1/2: stop, or discard the member and continue from the initial weights.",
    )
    weighting: Literal["resample", "reweight"] = param(
        one_of("resample", "reweight"),
        default="resample",
        doc="Whether members are fitted on rows drawn by the weights, as in Drucker's paper, or under the weights.",
    )

    history_: History = fitted(
        doc="A row for each round: mean loss, largest error, beta, coefficient, root mean squared and mean absolute "
        "training error of the combination (nan for the median of very many rows and rounds), largest weight, and "
        "validation error."
    )

    def _weighting(self) -> Literal["resample", "reweight"]:
        return self.weighting

    def _record_fields(self) -> tuple[str, ...]:
        return Record._fields

    def _combination(self, n_rows: int, start: float) -> Combination:
        return RunningMean(n_rows) if self.combine == "mean" else RunningMedian(n_rows)

    def _rounds(
        self, weak_learner: WeakRegressor, rows: TrainingRows, state: State, seeds: Sequence[int], start: float
    ) -> Iterator[Turn]:
        is_tracked = self.combine == "mean" or rows.y.size * self.n_estimators <= MAX_TRACKED
        combined: Combination = self._combine(state, rows.X, start) if is_tracked else NotTracked(rows.y.size)
        if self.weighting == "reweight" and rows.is_whole:
            weak_learner = RoundedWeights(weak_learner, rows.counts)
        options = Options(self.loss, self.on_worse_than_chance == "restart", self.learning_rate)
        return adaboost_r2(weak_learner, rows.y, rows.weight, state, combined, seeds, options)

    @property
    def estimator_weights_(self) -> Floats:
        """The coefficients ln(1 / beta) of the members."""
        return self.coefficients_

    @property
    def estimator_errors_(self) -> Floats:
        """The mean losses of the members."""
        return self.history_.mean_loss[self.history_.coefficient != 0.0][: len(self.members_)]

    @property
    def sample_weights_(self) -> Floats:
        """The weights of the training rows after the last round."""
        return self._state.weight

    def predict(self, X: Any) -> Floats:
        """Predict the weighted median, or mean, of the members' predictions."""
        table = self._read_rows(X)
        if self.combine == "mean" and self._packed is not None:
            return score_packed(self._packed, table, self.n_jobs)[:, 0] / self.coefficients_.sum()
        if self.combine == "mean":
            predictions = np.array([member.predictions(table, self.n_jobs) for member in self.members_])
            return self.coefficients_ @ predictions / self.coefficients_.sum()

        def median(i: int) -> Floats:
            block = table[i : i + BLOCK]
            predictions = np.empty((len(block), len(self.members_)))
            for k, member in enumerate(self.members_):
                predictions[:, k] = member.predictions(block)
            return weighted_median(predictions.T, self.coefficients_, half_way=False)

        calls = [(i,) for i in range(0, len(table), BLOCK)]
        return np.concatenate(run(median, calls, n_threads(self.n_jobs, len(table) * len(self.members_))))
