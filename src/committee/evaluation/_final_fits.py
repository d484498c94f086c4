"""The final fits of the winner within the time budget: on the rows compared, for its held-out loss, and on all rows.

The held-out loss is that of a model fitted on n of N rows (80 % by default); the final model is fitted on all N. The
difference is estimated by one more fit on half of the n rows (half of the groups), evaluated on the same held-out rows.
If the loss decreases as a + b m^-c in the number m of rows,

    loss(n) - loss(N)  =  r (loss(n / 2) - loss(n)),   r = (1 - (n / N)^c) / (2^c - 1)

which depends little on the exponent: at n / N = 0.8 r is 0.32, 0.26 and 0.20 for c near 0, c = 1/2 and c = 1. r for
c = 1/2 is used; its range, as that of a uniform distribution, adds to the standard error of the paired difference.
Forward in time nothing is estimated, since the additional rows are the latest ones.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np

from committee.base.array_types import Floats
from committee.base.stats import grouped_mean
from committee.calibration.power import Calibration
from committee.dask.shared_tasks import ClusterError
from committee.evaluation._executor import Place, Task
from committee.evaluation._fold_evaluation import Problem, Rows, Setting, fitted, some_rows
from committee.evaluation._scheduler import ComparisonStep, Scheduler
from committee.evaluation.metrics import ROW_LOSSES, Predictions, loss_of, predictions_of, standard_error
from committee.evaluation.row_order import dependent_rows
from committee.evaluation.time_budget import OutOfTime
from committee.tabular.rows import take_rows
from committee.voting.calibrated_classifier import CalibratedClassifier

FEWER_ROWS = (1.0 / 4.0, 1.0 / 16.0, 1.0 / 64.0)
"""Fractions of the rows to fit on if there is no time for all of them; the last one has no time limit."""

EXPONENTS = (1e-6, 0.5, 1.0)
"""Exponents of the learning curve: lower end, value used, upper end."""

MIN_HALF = 20
"""Minimum number of rows of the smaller fit."""

MIN_Z, MIN_GAIN = 2.0, 0.5
"""A gain is reported if it exceeds these multiples of its standard error and of that of the held-out loss."""


class LearningCurve(NamedTuple):
    """Held-out losses of a method fitted on fewer and more rows, and the expected gain of all rows.

    Attributes
    ----------
    n_rows : tuple of int
        Training rows of the smaller fit, of the fit behind the held-out loss, and of the final model.
    losses : tuple of float
        Held-out losses of the first two.
    gain : float
        Expected decrease of the loss from the second to the third: the bias of the held-out loss for the final model.
    gain_se : float
        Standard error of the gain.
    """

    n_rows: tuple[int, int, int]
    losses: tuple[float, float]
    gain: float
    gain_se: float

    def is_notable(self, held_out_se: float) -> bool:
        """Whether the gain is significant, and not small compared with the standard error of the held-out loss."""
        return self.gain > MIN_Z * self.gain_se and self.gain > MIN_GAIN * held_out_se


def extrapolation(n: int, n_all: int, exponent: float) -> float:
    """Decrease of the loss from n to `n_all` rows, relative to that from n / 2 to n.

    >>> [round(extrapolation(800, 1000, exponent), 2) for exponent in EXPONENTS]
    [0.32, 0.25, 0.2]
    """
    return float((1.0 - (n / n_all) ** exponent) / (2.0**exponent - 1.0))


Part = Literal["half", "compared", "all"]


def fit_final(
    problem: Problem, setting: Setting, part: Part, fraction: float, wanted: Literal["model", "predictions"],
    place: Place,
) -> Any:  # fmt: skip
    """The model of a part of the rows, or of a fraction of them, or its predictions for the held-out rows."""
    rows = final_rows(problem, setting, part, fraction)
    model = fitted(setting.estimator, problem, rows, problem.seed, place.watch)
    return model if wanted == "model" else predict_held_out(problem, model)


def predict_held_out(problem: Problem, model: Any) -> Predictions:
    """Predictions for the held-out rows, not calibrated."""
    X = take_rows(problem.X, problem.split.held_out)
    return predictions_of(model, X, problem.classes, model.predict(X))


def final_rows(problem: Problem, setting: Setting, part: Part, fraction: float = 1.0) -> Rows:
    """Rows that a final fit uses, with the fraction of rows of the setting; "half" is that of the rows compared."""
    if part == "half":
        return _half(problem, setting)
    rows = problem.split.rows if part == "compared" else np.arange(problem.truth.size)
    return some_rows(problem, some_rows(problem, rows, setting.row_fraction), fraction)


def _half(problem: Problem, setting: Setting) -> Rows:
    """A random half of the rows or groups."""
    rows, groups = problem.split.rows, problem.folding.groups
    if groups is None:
        return some_rows(problem, rows, 0.5 * setting.row_fraction)
    codes = np.unique(np.asarray(groups)[rows], return_inverse=True)[1].ravel()
    order = np.random.default_rng(problem.seed).permutation(int(codes.max()) + 1)
    half = rows[np.isin(codes, order[: order.size // 2])]
    return some_rows(problem, half, setting.row_fraction)


class FinalFits:
    """The final fits of the winner: `held_out_losses`, then `on_all_rows`, then `learning_curve`."""

    def __init__(self, schedule: Scheduler, winner: str, calibration: Calibration | None) -> None:
        self.schedule, self.winner, self.calibration = schedule, winner, calibration
        self.setting = schedule.candidates[winner].trial.setting
        self.problem, self.clock = schedule.problem, schedule.clock
        self.on_compared, self.on_all = schedule.final_seconds(winner)
        self.compared: Any = None  # the model of the rows compared, where there may be no time for another
        self.held_out: Predictions | None = None
        self.note = ""
        self.n_rows = self.n_evaluated = self.problem.truth.size  # rows of the final model, and of the one evaluated
        better = [name for name in schedule.ranking() if name != winner][:1] if schedule.ranking()[0] != winner else []
        if better and not schedule.can_be_refitted(better[0]):
            self.note = f"{better[0]} had a smaller loss, but there was no time to refit it."
        if not self.clock.is_limited:
            schedule.executor.announce(self._tasks_without_budget())

    # --- held-out rows ------------------------------------------------------------------------------------------------

    def held_out_losses(self) -> tuple[dict[str, float], float]:
        """All metrics of the winner on the held-out rows, and the standard error of the chosen one."""
        problem, rows = self.problem, self.problem.split.held_out
        if rows.size == 0:
            return {}, np.nan
        where = "without the held-out rows, to evaluate it on them"
        if self.clock.is_limited:
            self.compared = self._fit_within_budget("compared", where, self.on_compared)
            self.held_out = self._calibrated(predict_held_out(problem, self.compared))
        else:
            self.held_out = self._calibrated(
                self._fit_within_budget("compared", where, self.on_compared, wanted="predictions")
            )
        self.n_evaluated, predictions = self.n_rows, self.held_out
        truth, weight = problem.truth[rows], problem.weight_of(rows)
        losses = {metric: loss_of(metric, truth, predictions, weight) for metric in problem.metrics}
        codes = dependent_rows(problem.folding, rows)
        error = standard_error(problem.metric, truth, predictions, weight, codes, problem.seed)
        if problem.metric == "error" and error == 0.0:  # rule of succession
            fraction = 1.0 / (codes.max() + 3.0)
            error = float(np.sqrt(fraction * (1.0 - fraction) / (codes.max() + 1.0)))
        return losses, error

    @property
    def held_out_predictions(self) -> Floats | None:
        """Predictions of a regression for the held-out rows."""
        is_regression = self.held_out is not None and self.problem.classes is None and self.held_out.values.ndim == 1
        return self.held_out.values if is_regression and self.held_out is not None else None

    def _calibrated(self, predictions: Predictions) -> Predictions:
        if self.calibration is None:
            return predictions
        return Predictions(predictions.labels, self.calibration.apply(predictions.values), True)

    def learning_curve(self) -> LearningCurve | None:
        """Fit on half of the rows compared, if there is time, and estimate the gain of all rows."""
        if self.held_out is None or not self._has_curve:
            return None
        half = final_rows(self.problem, self.setting, "half")
        if not half.size < self.n_evaluated < self.n_rows:
            return None
        if half.size < MIN_HALF or self.schedule.forecast(self.winner, self.setting, 0, half.size) > self._left:
            return None
        where = "on half of the rows, for the learning curve"
        try:
            with warnings.catch_warnings(), self.clock.limit(self._left):
                warnings.simplefilter("ignore")
                self._report(where, self.schedule.forecast(self.winner, self.setting, 0, half.size))
                predictions = self._calibrated(self._fit("half", where, wanted="predictions"))
        except ClusterError:
            raise
        except (OutOfTime, Exception):  # a class may be missing in half of the rows
            return None
        return self._extrapolated(predictions, (half.size, self.n_evaluated, self.n_rows))

    @property
    def _has_curve(self) -> bool:
        """Whether there are held-out rows, like the others, and a metric that is a mean over rows."""
        split = self.problem.split
        return split.held_out.size > 0 and self.problem.metric in ROW_LOSSES and not split.forward

    def _extrapolated(self, smaller: Predictions, n_rows: tuple[int, int, int]) -> LearningCurve:
        assert self.held_out is not None
        problem, rows = self.problem, self.problem.split.held_out
        loss, truth = ROW_LOSSES[problem.metric], problem.truth[rows]
        weight = problem.weight_of(rows)
        decrease = loss(truth, smaller) - loss(truth, self.held_out)
        mean, error = grouped_mean(decrease, weight, dependent_rows(problem.folding, rows))
        losses = [loss_of(problem.metric, truth, each, weight) for each in (smaller, self.held_out)]
        if problem.metric == "rmse":  # from mean squared errors to their roots
            mean, error = mean / max(sum(losses), 1e-300), error / max(sum(losses), 1e-300)
        low, factor, high = (extrapolation(n_rows[1], n_rows[2], exponent) for exponent in EXPONENTS)
        gain_se = float(np.hypot(factor * error, (low - high) / np.sqrt(12.0) * mean))
        return LearningCurve(n_rows, (losses[0], losses[1]), factor * mean, gain_se)

    # --- the model ----------------------------------------------------------------------------------------------------

    def on_all_rows(self) -> Any:
        """The model fitted on all rows, or on the rows compared if there is no time."""
        model = None
        if self.compared is None or self.on_all <= self.schedule.left_for_final_fits:
            model = self._fit_within_budget("all", "on all rows", self.on_all, may_give_up=self.compared is not None)
        if model is None:
            model = self.compared
            if self.n_rows == self.problem.split.rows.size:  # else the note is set already
                self.note = (
                    "There was no time to fit it on all rows: the model is the one that was evaluated on the held-out "
                    "rows."
                )
        return model if self.calibration is None else CalibratedClassifier.from_fitted(model, self.calibration)

    def _fit_within_budget(
        self, part: Part, where: str, seconds: float, wanted: Literal["model", "predictions"] = "model",
        may_give_up: bool = False,
    ) -> Any:  # fmt: skip
        """The winner fitted on these rows or, when the time is up, on some of them or not at all."""
        self._report(where, seconds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are in the notes of the folds
            try:
                with self.clock.limit(self._left):
                    result = self._fit(part, where, wanted)
                self.n_rows = final_rows(self.problem, self.setting, part).size
                return result
            except OutOfTime:
                return None if may_give_up else self._fit_on_fewer(part, where)

    def _fit_on_fewer(self, part: Part, where: str) -> Any:
        """The winner fitted on the largest fraction of the rows for which there is time."""
        for fraction in FEWER_ROWS:
            self.n_rows = final_rows(self.problem, self.setting, part, fraction).size
            self.note = f"There was no time to fit it on all rows: it was fitted on {self.n_rows} of them."
            try:
                with self.clock.limit(np.inf if fraction == FEWER_ROWS[-1] else self._left):
                    return self._fit(part, where, fraction=fraction)
            except OutOfTime:
                continue

    @property
    def _left(self) -> float:
        return max(self.schedule.left_for_final_fits, 0.01)

    def _tasks_without_budget(self) -> list[Task]:
        tasks = [self._task("compared", 1.0, "predictions")] if self.problem.split.held_out.size else []
        tasks.append(self._task("all", 1.0, "model"))
        return [*tasks, *([self._task("half", 1.0, "predictions")] if self._has_curve else [])]

    def _task(self, part: Part, fraction: float, wanted: Literal["model", "predictions"]) -> Task:
        label = f"{self.winner}, {part} rows" + (f", {100 * fraction:.3g} %" if fraction < 1.0 else "")
        return Task(label, fit_final, (self.setting, part, fraction, wanted), is_alone=True)

    def _fit(
        self, part: Part, where: str, wanted: Literal["model", "predictions"] = "model", fraction: float = 1.0
    ) -> Any:
        start, reported = self.clock.now(), [self.clock.now()]

        def watch(record: Any) -> None:
            if self.clock.now() - reported[0] >= 1.0:
                reported[0] = self.clock.now()
                self._report(f"{where}, iteration {record.round}", self.clock.now() - start)

        seconds = np.inf if fraction == FEWER_ROWS[-1] else self._left
        return self.schedule.executor.run(self._task(part, fraction, wanted), seconds, watch)

    def _report(self, note: str, seconds: float) -> None:
        callback = self.schedule.callback
        if callback is not None:
            n, n_folds = len(self.schedule.candidates), self.problem.split.n_folds
            callback(
                ComparisonStep(
                    self.winner, n, n, n_folds, n_folds, "refitting", np.nan, self.clock.seconds, note, seconds
                )
            )
