"""AdaBoost.R2 (Drucker, Improving regressors using boosting techniques, ICML 1997).

Every round draws a sample by the weights, fits a regressor h to it and judges it on all rows: with D the largest
|h(x_i) - y_i| and d_i = |h(x_i) - y_i| / D, the loss of a row is

    L_i = d_i,    d_i^2    or    1 - exp(-d_i),        mean loss L = sum w_i L_i

    beta = L / (1 - L),        w_i <- w_i beta^(1 - L_i) / Z,        coefficient a = ln(1 / beta)

so rows that are predicted well lose weight. The members answer by the median, or the mean, weighted with a. When L
reaches 1/2 the coefficient would be negative: the run stops there, or starts again from the first weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.parameters import at_least, one_of, param, positive
from committee.base.threads import n_threads, run
from committee.boosting._combinations import (
    Combination,
    RunningMean,
    RunningMedian,
    Untraced,
    mean_absolute,
    root_mean_square,
)
from committee.boosting._regressor_base import BaseRegressionBooster, State, Turn
from committee.boosting._weak_regressors import TrainingRows, WeakRegressor
from committee.boosting.multiplicative_weights import ONLY_MEMBER
from committee.combine.rules import weighted_median
from committee.members.member import Guess
from committee.members.vote import score_packed
from committee.tree_engine.response import WEIGHT_BITS

Loss = Literal["linear", "square", "exponential"]

MAX_TRACED = 1 << 24
"""Rows times rounds up to which the training error of a median is followed; it needs all answers in memory."""

BLOCK = 1 << 12
"""Rows whose members' answers are sorted at a time."""


class Record(NamedTuple):
    """What a round measured: a row of `history_`."""

    round: int
    mean_loss: float
    max_error: float
    beta: float
    coefficient: float  # 0 where the member was left out
    train_error: float  # root mean square of the combination so far
    train_absolute_error: float
    max_weight: float
    validation_error: float = math.nan


class Verdict(NamedTuple):
    """What to do after a round."""

    beta: float
    coefficient: float
    stop: str = ""


def row_losses(error: Floats, largest: float, loss: Loss) -> Floats:
    """L_i in [0, 1] of absolute errors."""
    if largest == 0.0:
        return np.zeros_like(error)
    d = error / largest
    if loss == "linear":
        return d
    return d * d if loss == "square" else 1.0 - np.exp(-d)


def judge_round(mean: float, min_start: float) -> Verdict:
    """beta and the coefficient ln(1 / beta); 0 for a member that is left out."""
    if mean == 0.0:  # the coefficient of a member that loses half of the lightest row: finite
        half = min(0.5 * min_start, 0.25)
        reason = "a member is perfect on the training rows, its coefficient was cut to a finite one"
        return Verdict(0.0, math.log((1.0 - half) / half), reason)
    beta = mean / (1.0 - mean) if mean < 1.0 else math.inf
    if mean >= 0.5:
        return Verdict(beta, 0.0, f"the mean loss {mean:.4f} is no better than 1/2")
    return Verdict(beta, -math.log(beta))


def adaboost_r2(
    learn: WeakRegressor,
    y: Floats,
    start: Floats,
    state: State,
    combined: Combination,
    seeds: Sequence[int],
    *,
    loss: Loss = "linear",
    restart: bool = False,
    learning_rate: float = 1.0,
) -> Iterator[Turn]:
    """Boost round by round from the weights `start`. state.weight and combined are changed in place."""
    w, has_member = state.weight, len(state.members) > 0
    for t, seed in enumerate(seeds, start=len(state.records) + 1):
        # Step 1: a regressor that does well under the weights
        guess = learn(y, w, seed)
        # Step 2: the loss of every row, relative to the largest error, and its mean
        error = np.abs(guess.predictions - y)
        largest = float(error.max())
        L = row_losses(error, largest, loss)
        mean = float(np.sum(w * L))
        # Step 3: the coefficient
        beta, a, stop = judge_round(mean, float(start.min()))
        is_weak = mean >= 0.5
        a = ONLY_MEMBER if is_weak and not has_member else learning_rate * a  # a first member answers alone
        # Step 4: rows that are predicted well lose weight; on a restart a weak member brings the first weights back
        if is_weak and restart:
            w[:] = start
        elif not stop:
            w *= beta ** (learning_rate * (1.0 - L))
            if not w.any():
                raise ValueError(f"learning_rate={learning_rate:g} leaves no row any weight: lower it.")
            w /= w.sum()
        # Step 5: put down what is known now
        if a != 0.0:
            combined.add(guess.predictions, a)
            has_member = True
        residual = y - combined.value
        record = Record(
            t, mean, largest, beta, a, root_mean_square(residual, start), mean_absolute(residual, start), float(w.max())
        )
        stop = "" if is_weak and restart else stop
        yield Turn(record, guess.member if a != 0.0 else None, stop)
        if stop:
            return


GRID_BITS = 30
"""Of the mean weight of a row: rounding in the loop stays below the grid, and no split that matters depends on it."""


class OnGrid:
    """Another learner under weights rounded for each of the rows that a whole weight stands for.

    So a row of weight 2 weighs exactly what two rows of weight 1 do, and splits that tie for these tie for those.
    """

    def __init__(self, learner: WeakRegressor, counts: Floats) -> None:
        self.learner, self.counts = learner, counts
        self.bits = min(GRID_BITS + math.ceil(math.log2(float(counts.sum()))), WEIGHT_BITS - 2)

    def __call__(self, target: Floats, weight: Floats, seed: int) -> Guess:
        per_row = np.rint(np.ldexp(weight / self.counts, self.bits))
        rounded = np.ldexp(self.counts * np.maximum(per_row, 1.0), -self.bits)
        return self.learner(target, np.where(weight > 0.0, rounded, 0.0), seed)


class AdaBoostRegressor(BaseRegressionBooster):
    """AdaBoost.R2, Drucker's boosting for regression.

    ``history_`` has the mean loss, the largest error, beta and the coefficient of every round, and the root mean
    square and mean absolute error of the combination so far (nan for the median of very many rows and rounds).

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
        one_of("linear", "square", "exponential"), default="linear", doc="How the loss of a row grows with its error."
    )
    combine: Literal["median", "mean"] = param(
        one_of("median", "mean"),
        default="median",
        doc="How the members are combined, weighted with their coefficients.",
    )
    on_worse_than_chance: Literal["stop", "restart"] = param(
        one_of("stop", "restart"),
        default="stop",
        doc="When the mean loss reaches 1/2: stop, or leave the member out and continue from the first weights.",
    )
    weighting: Literal["resample", "reweight"] = param(
        one_of("resample", "reweight"),
        default="resample",
        doc="Whether members are fitted on rows drawn by the weights, as in Drucker's paper, or under the weights.",
    )

    def _weighting(self) -> Literal["resample", "reweight"]:
        return self.weighting

    def _record_fields(self) -> tuple[str, ...]:
        return Record._fields

    def _combination(self, n_rows: int, start: float) -> Combination:
        return RunningMean(n_rows) if self.combine == "mean" else RunningMedian(n_rows)

    def _rounds(
        self, learn: WeakRegressor, rows: TrainingRows, state: State, seeds: Sequence[int], start: float
    ) -> Iterator[Turn]:
        is_traced = self.combine == "mean" or rows.y.size * self.n_estimators <= MAX_TRACED
        combined: Combination = self._combine(state, rows.X, start) if is_traced else Untraced(rows.y.size)
        if self.weighting == "reweight" and rows.is_whole:
            learn = OnGrid(learn, rows.counts)
        restart = self.on_worse_than_chance == "restart"
        return adaboost_r2(
            learn, rows.y, rows.weight, state, combined, seeds,
            loss=self.loss, restart=restart, learning_rate=self.learning_rate,
        )  # fmt: skip

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
        """Median, or mean, of the members' answers, weighted with their coefficients."""
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
