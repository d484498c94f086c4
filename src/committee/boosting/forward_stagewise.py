"""Forward stagewise additive modelling with any base regressor (Hastie, Tibshirani and Friedman, ESL, algorithm 10.2).

    F_0 = argmin_c sum w_i l(y_i - c),        F_t = F_(t-1) + eta rho_t h_t

    squared error:    h_t fitted to y - F,         rho = sum w r h / sum w h^2
    absolute error:   h_t fitted to sign(y - F),   rho = median of r / h under the weights w |h|

with r = y - F_(t-1) the residuals, eta the shrinkage, and rho the exact minimiser of sum w l(r - rho h).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.parameters import fitted, one_of, param, positive
from committee.base.stacklevel import level_of_caller
from committee.base.stats import weighted_quantile
from committee.boosting._combinations import Combination, RunningSum, mean_absolute, root_mean_square
from committee.boosting._weak_regressors import TrainingRows, WeakRegressor
from committee.boosting.regressor_base import BaseRegressionBooster, State, Turn
from committee.ensemble.stopping import Patience
from committee.members.member import Predictions
from committee.members.vote import score_packed
from committee.records.history import History
from committee.tabular.validation import MAX_TARGET

Loss = Literal["squared_error", "absolute_error"]

EXACT = 4.0 * float(np.finfo(np.float64).eps)
"""A root mean square of the residuals below this fraction of that of y is rounding."""


class Record(NamedTuple):
    """Measurements of a round: a row of `history_`."""

    round: int
    loss_before: float
    loss: float  # mean squared or absolute residual after the round
    step: float  # rho, the line search
    coefficient: float  # eta rho
    train_error: float  # root mean square
    train_absolute_error: float
    validation_error: float = math.nan


def constant(y: Floats, counts: Floats, loss: Loss) -> float:
    """Compute the constant of smallest loss: mean or median."""
    if loss == "squared_error":
        return math.fsum(counts * y) / math.fsum(counts)  # exact for any order of the rows
    return float(weighted_quantile(y, counts, 0.5, half_way=False))


def line_search(residual: Floats, predictions: Predictions, w: Floats, loss: Loss) -> float:
    """Find the rho that minimizes the loss of residual - rho h; 0 if all predictions are zero."""
    h = np.asarray(predictions, np.float64)
    size = float(np.sum(w * h * h))
    if size == 0.0:
        return 0.0
    if loss == "squared_error":
        return _without_rounding(float(np.sum(w * residual * h)) / size)
    used = h != 0.0
    return float(weighted_quantile(residual[used] / h[used], (w * np.abs(h))[used], 0.5, half_way=False))


def _without_rounding(rho: float) -> float:
    """Round to 12 digits: the step along a tree of means is exactly 1, whatever the order of the rows.

    Rounding errors would otherwise change later splits where two are equally good.
    """
    return float(f"{rho:.12g}")


def mean_loss(residual: Floats, w: Floats, loss: Loss) -> float:
    """Compute the mean squared or mean absolute residual under weights that sum to one."""
    return root_mean_square(residual, w) ** 2 if loss == "squared_error" else mean_absolute(residual, w)


def stagewise(
    weak_learner: WeakRegressor,
    rows: TrainingRows,
    combined: Combination,
    seeds: Sequence[int],
    *,
    n_done: int = 0,
    loss: Loss = "squared_error",
    learning_rate: float = 1.0,
) -> Iterator[Turn]:
    """Add members to F = combined.value, which is changed in place."""
    y, w = rows.y, rows.weight
    rounding = EXACT * root_mean_square(y, w)
    for t, seed in enumerate(seeds, start=n_done + 1):
        # Step 1: a member fitted to the residuals, or to their signs
        residual = y - combined.value
        h = weak_learner(residual if loss == "squared_error" else np.sign(residual), rows.counts, seed)
        # Step 2: the step of smallest loss
        rho = line_search(residual, h.predictions, w, loss)
        # Step 3: shrinkage
        coefficient = learning_rate * rho
        combined.add(h.predictions, coefficient)
        # Step 4: the record
        after = y - combined.value
        if not np.abs(after).max() <= MAX_TARGET:
            raise ValueError(f"The residuals exceed float64 with learning_rate={learning_rate:g}: use 1 or less.")
        train_error = root_mean_square(after, w)
        record = Record(
            t, mean_loss(residual, w, loss), mean_loss(after, w, loss), rho, coefficient, train_error,
            mean_absolute(after, w),
        )  # fmt: skip
        stop = "nothing is left to fit" if train_error <= rounding else ""
        if coefficient == 0.0:
            stop = "the base regressor finds no direction in which the loss decreases"
        yield Turn(record, h.member if coefficient != 0.0 else None, stop)
        if stop:
            return


class StagewiseRegressor(BaseRegressionBooster):
    """Forward stagewise additive model of any base regressor, with shrinkage and exact line search.

    Every round fits the base regressor to the residuals, for the absolute error to their signs, and adds it with the
    coefficient that minimizes the loss, times `learning_rate`.

    References
    ----------
    Hastie, T., Tibshirani, R. and Friedman, J. (2009). The Elements of Statistical Learning. Second edition, Springer,
    section 10.3.

    Examples
    --------
    >>> from committee.boosting.forward_stagewise import StagewiseRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> model = StagewiseRegressor(n_estimators=50).fit(ozone.X, ozone.y)
    >>> model.history_.train_error[[0, -1]].round(2)
    array([7.34, 2.48])
    """

    learning_rate: float = param(positive, default=0.1, doc="Shrinkage eta, the factor on every step.")
    loss: Loss = param(
        one_of("squared_error", "absolute_error"), default="squared_error", doc="The loss that is minimized."
    )
    init_: float = fitted(doc="The constant F_0.")
    history_: History = fitted(
        doc="A row for each round: loss before and after it, the step rho, the coefficient, root mean squared and mean "
        "absolute training error, and validation error."
    )

    def _attributes(self, state: State, reason: str, patience: Patience) -> dict[str, Any]:
        result = super()._attributes(state, reason, patience)
        history, n_kept = result["history_"], len(result["members_"])
        if n_kept and history.loss[n_kept - 1] > history.loss_before[0]:
            warnings.warn(
                f"The training loss increased from {history.loss_before[0]:.4g} to {history.loss[n_kept - 1]:.4g} in "
                f"{n_kept} rounds: the model is worse than a constant. Use a smaller learning_rate than "
                f"{self.learning_rate:g}; up to 1 the loss never increases.",
                ConvergenceWarning,
                stacklevel=level_of_caller(),
            )
        return result

    def _weighting(self) -> Literal["fixed"]:
        return "fixed"

    def _settings(self, rows: TrainingRows) -> dict[str, Any]:
        return {"init_": self.init_ if self._is_continued() else constant(rows.y, rows.counts, self.loss)}

    def _record_fields(self) -> tuple[str, ...]:
        return Record._fields

    def _combination(self, n_rows: int, start: float) -> Combination:
        return RunningSum(n_rows, start)

    def _rounds(
        self, weak_learner: WeakRegressor, rows: TrainingRows, state: State, seeds: Sequence[int], start: float
    ) -> Iterator[Turn]:
        return stagewise(
            weak_learner, rows, self._combine(state, rows.X, start), seeds,
            n_done=len(state.records), loss=self.loss, learning_rate=self.learning_rate,
        )  # fmt: skip

    def _validation_error(self, residual: Floats, weight: Floats) -> float:
        return (root_mean_square if self.loss == "squared_error" else mean_absolute)(residual, weight)

    def _member_weights(self) -> Floats:
        """The decrease of the training loss by each member."""
        decrease = self.history_.loss_before - self.history_.loss
        return np.maximum(decrease[: len(self.members_)], 0.0)

    def predict(self, X: Any) -> Floats:
        """Predict the constant plus the weighted sum of the members' predictions."""
        table = self._read_rows(X)
        if self._packed is not None:
            return self.init_ + score_packed(self._packed, table, self.n_jobs)[:, 0]
        combined = self._combination(len(table), self.init_)
        for member, coefficient in zip(self.members_, self.coefficients_, strict=True):
            combined.add(member.predictions(table, self.n_jobs), float(coefficient))
        return combined.value
