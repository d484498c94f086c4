"""One method on one fold: fit, predict, score; and the calibrated probabilities and losses of all its folds.

Classes are compared by the probabilities that would be delivered. So the out-of-fold probabilities of a method are
calibrated first (`calibration/power.py`), each fold by parameters that the other folds chose. They stay as they are
where that does not lower the log-loss by more than its standard error. Methods without probabilities get them so.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from committee.base.array_types import Floats
from committee.base.stats import grouped_mean
from committee.calibration.power import Calibration, calibrate
from committee.evaluation._folds import seeded
from committee.evaluation._inner_validation import inner_splits, restore_cv, set_inner_splits
from committee.evaluation._row_splits import RowSplit
from committee.evaluation._time_budget import Clock
from committee.evaluation.metrics import ROW_LOSSES, Predictions, log_losses, loss_of, predictions_of
from committee.evaluation.row_order import Folding, dependent_rows
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.tabular.rows import take_rows

Rows = NDArray[np.intp]
Status = Literal["done", "partial", "failed", "out of time"]

LONGEST_NOTE = 300

CALIBRATION_CELLS = 40_000
"""Probabilities that a calibration is fitted to, at most: two parameters need no more."""

CLEARLY = 1.645
"""Standard errors by which a method must be better than the constant (one-sided 5 %)."""


class MethodResult(NamedTuple):
    """Result of one method of a comparison. Values of folds that were not evaluated are NaN.

    Attributes
    ----------
    name : str
        Name of the method, such as "random forest".
    estimator : str
        Class of the estimator.
    parameters : dict
        Parameters that differ from the defaults of the class.
    losses : ndarray of shape (n_folds,)
        The chosen metric, as a loss.
    metric_losses : dict of str to ndarray of shape (n_folds,)
        Every metric, as a loss.
    fit_seconds, predict_seconds : ndarray of shape (n_folds,)
        Times of the fits and of the predictions.
    oof_predictions : ndarray of shape (n_samples, n_classes) or (n_samples,)
        Out-of-fold class probabilities (calibrated if that lowers the log-loss), or predictions of a regression.
    status : {"done", "partial", "failed", "out of time"}
        "partial" if some folds were not evaluated.
    note : str
        Warnings and errors.
    setting : str
        How the estimator differs from that of the method: "quick settings", "25 % of the rows".
    estimated_loss : float
        Mean loss over all folds. Where folds are missing, from the differences from the best method on common folds.
    calibration : Calibration or None
        Calibration of the probabilities; None if they are the estimator's own.
    beats_constant : bool or None
        Whether the loss is below that of a constant prediction by a paired test; None if that could not be tested.
    """

    name: str
    estimator: str
    parameters: dict[str, Any]
    losses: Floats
    metric_losses: dict[str, Floats]
    fit_seconds: Floats
    predict_seconds: Floats
    oof_predictions: Floats
    status: Status
    note: str
    setting: str = ""
    estimated_loss: float = np.nan
    calibration: Calibration | None = None
    beats_constant: bool | None = None

    @property
    def mean_loss(self) -> float:
        """Mean loss over the folds, estimated where some are missing."""
        if np.isfinite(self.estimated_loss) or not np.isfinite(self.losses).any():
            return self.estimated_loss
        return float(np.nanmean(self.losses))

    @property
    def n_evaluated(self) -> int:
        """Number of folds evaluated."""
        return int(np.isfinite(self.predict_seconds).sum())


class Problem(NamedTuple):
    """The table and everything that is the same for all methods."""

    X: Any
    y: NDArray[Any]  # labels or numbers, as the estimators get them
    truth: NDArray[Any]  # positions of the classes, or numbers
    classes: NDArray[Any] | None  # None for regression
    weight: Floats | None
    folding: Folding
    metric: str
    metrics: tuple[str, ...]
    seed: int
    n_jobs: int | None

    @property
    def split(self) -> RowSplit:
        return self.folding.split

    def weight_of(self, rows: Rows) -> Floats:
        return np.ones(rows.size) if self.weight is None else self.weight[rows]


class Setting(NamedTuple):
    """A method as it is fitted: an estimator, and the fraction of the training rows that it gets."""

    estimator: Any
    is_quick: bool = False
    row_fraction: float = 1.0

    @property
    def words(self) -> str:
        """How it differs from the method itself.

        >>> Setting(None, True, 0.25).words
        'quick settings, 25 % of the rows'
        """
        quick = ["quick settings"] if self.is_quick else []
        return ", ".join([*quick, *([f"{100 * self.row_fraction:.3g} % of the rows"] if self.row_fraction < 1 else [])])


class FoldOutcome(NamedTuple):
    """What a method predicted for the rows of one fold, and how long it took."""

    said: Predictions  # as the method gives them, not calibrated
    fit_seconds: float
    predict_seconds: float


class Trial(NamedTuple):
    """A method so far."""

    name: str
    setting: Setting
    folds: tuple[FoldOutcome | None, ...]
    failure: str = ""
    note: str = ""

    @property
    def evaluated(self) -> list[int]:
        return [k for k, fold in enumerate(self.folds) if fold is not None]

    @property
    def missing(self) -> list[int]:
        return [k for k, fold in enumerate(self.folds) if fold is None]


def begun(name: str, setting: Setting, problem: Problem) -> Trial:
    return Trial(name, setting, (None,) * problem.split.n_folds)


# --- one fold ---------------------------------------------------------------------------------------------------------


def evaluate_fold(trial: Trial, k: int, problem: Problem, clock: Clock) -> Trial:
    """The trial with fold k: fitted without it, predictions for it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = clock.now()
        train = some_rows(problem, problem.split.train_of(k), trial.setting.row_fraction)
        model = fitted(trial.setting.estimator, problem, train, _fold_seed(problem.seed, k))
        middle = clock.now()
        X = take_rows(problem.X, problem.split.test_of(k))
        said = predictions_of(model, X, problem.classes, model.predict(X))
        outcome = FoldOutcome(said, middle - start, clock.now() - middle)
    folds = (*trial.folds[:k], outcome, *trial.folds[k + 1 :])
    return trial._replace(folds=folds, note=trial.note or _in_short(caught))


def some_rows(problem: Problem, rows: Rows, fraction: float) -> Rows:
    """A random part of these rows; every class that they have stays, by one row at least."""
    if fraction >= 1.0:
        return rows
    shuffled = np.random.default_rng(problem.seed).permutation(rows)
    n = max(2, round(fraction * rows.size))
    first = (
        np.empty(0, np.intp) if problem.classes is None else np.unique(problem.truth[shuffled], return_index=True)[1]
    )
    return np.sort(shuffled[np.union1d(first, np.arange(n))])


def fitted(estimator: Any, problem: Problem, rows: Rows, seed: int, watch: Callable[[Any], None] | None = None) -> Any:
    """A copy of the estimator fitted on these rows; `watch` is told every round, where the estimator has callbacks."""
    model = _unfitted(estimator, seed, problem.n_jobs)
    is_watched = watch is not None and "callbacks" in model.get_params(deep=False)
    if is_watched:
        model.set_params(callbacks=[watch])
    codes = None if problem.classes is None else problem.truth[rows]
    splits = inner_splits(problem.folding, rows, codes, problem.weight_of(rows), problem.seed)
    changed = [] if splits is None else set_inner_splits(model, splits)
    X, y = take_rows(problem.X, rows), problem.y[rows]
    if problem.weight is None:
        model.fit(X, y)
    elif has_fit_parameter(model, "sample_weight"):
        model.fit(X, y, sample_weight=problem.weight[rows])
    else:
        raise ValueError(f"{type(model).__name__} takes no weights")
    restore_cv(model, changed)
    return model.set_params(callbacks=None) if is_watched else model


def _unfitted(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    """A copy with this seed wherever it takes one, quiet, and with the threads it may use."""
    model = seeded(estimator, seed)
    names = [name for name in ("n_jobs", "estimator__n_jobs") if name in model.get_params()]
    return model.set_params(**dict.fromkeys(names[:1], n_jobs)) if n_jobs is not None else model


def _fold_seed(seed: int, k: int) -> int:
    """Below 2^31: scikit-learn's estimators take no larger one."""
    return int(np.random.SeedSequence([seed, k]).generate_state(1)[0] % 2**31)


# --- calibrated probabilities -----------------------------------------------------------------------------------------


class Said(NamedTuple):
    """The predictions of all folds evaluated, fold after fold."""

    rows: Rows  # [m]
    fold: Rows  # [m]
    predictions: Predictions


def _joined(trial: Trial, problem: Problem) -> Said:
    done = trial.evaluated
    tests = [problem.split.test_of(k) for k in done]
    outcomes = [fold.said for fold in trial.folds if fold is not None]
    labels = (
        None
        if problem.classes is None
        else np.concatenate([said.labels for said in outcomes if said.labels is not None])
    )
    predictions = Predictions(
        labels, np.concatenate([said.values for said in outcomes]), all(said.sure for said in outcomes)
    )
    fold = np.repeat(np.array(done, np.intp), [test.size for test in tests])
    return Said(np.concatenate(tests), fold, predictions)


class Evaluation(NamedTuple):
    """The predictions of all folds evaluated, calibrated where that lowers the log-loss."""

    said: Said
    calibration: Calibration | None  # for new rows; None where the probabilities are the method's own


def calibrated(trial: Trial, problem: Problem) -> Evaluation:
    """The predictions with cross-fitted calibration and the calibration for new rows, where it lowers the log-loss."""
    said = _joined(trial, problem)
    if problem.classes is None:
        return Evaluation(said, None)
    codes, weight = problem.truth[said.rows], problem.weight_of(said.rows)
    values = said.predictions.values
    part = said.fold
    if len(trial.evaluated) == 1:  # two halves of the one fold, at random
        part = np.random.default_rng(problem.seed).permutation(part.size) % 2
    crossed = np.empty_like(values)
    for k in np.unique(part):
        others = part != k
        if not weight[others].sum() > 0.0:
            return Evaluation(said, None)
        crossed[part == k] = _fit(values[others], codes[others], weight[others], problem.seed).apply(values[part == k])
    sure = said.predictions._replace(values=crossed, sure=True)
    if said.predictions.sure and not _is_better(codes, said.predictions, sure, weight):
        return Evaluation(said, None)
    return Evaluation(said._replace(predictions=sure), _fit(values, codes, weight, problem.seed))


def _fit(values: Floats, codes: NDArray[Any], weight: Floats, seed: int) -> Calibration:
    most = max(CALIBRATION_CELLS // values.shape[1], 200)
    if codes.size > most:
        some = np.sort(np.random.default_rng(seed).permutation(codes.size)[:most])
        if weight[some].sum() > 0.0:
            values, codes, weight = values[some], codes[some], weight[some]
    return calibrate(values, codes, weight)


def _is_better(codes: NDArray[Any], before: Predictions, after: Predictions, weight: Floats) -> bool:
    gain = log_losses(codes, before) - log_losses(codes, after)
    mean, error = weighted_mean(gain, weight)
    return mean > error


def weighted_mean(values: Floats, weight: Floats) -> tuple[float, float]:
    """Mean and standard error."""
    mean = float(np.average(values, weights=weight))
    n = np.count_nonzero(weight)
    deviations = weight * (values - mean) / weight.sum()
    return mean, float(np.sqrt(n / max(n - 1, 1) * np.sum(deviations**2)))


# --- losses -----------------------------------------------------------------------------------------------------------


def fold_losses(evaluation: Evaluation, problem: Problem) -> Floats:
    """The chosen loss of every fold, nan for those that were not evaluated."""
    losses = np.full(problem.split.n_folds, np.nan)
    for k in np.unique(evaluation.said.fold):
        losses[k] = _loss(problem.metric, evaluation.said, int(k), problem)
    return losses


def _loss(metric: str, said: Said, k: int, problem: Problem) -> float:
    here = said.fold == k
    rows = said.rows[here]
    return loss_of(metric, problem.truth[rows], said.predictions.of(here), problem.weight_of(rows))


def as_result(trial: Trial, evaluation: Evaluation | None, full: Any, problem: Problem) -> MethodResult:
    """All figures of a trial and its evaluation, if it has any; `full` is the estimator of the method."""
    n, K = problem.split.rows.size, 0 if problem.classes is None else problem.classes.size
    nothing = np.full(problem.split.n_folds, np.nan)
    result = MethodResult(
        name=trial.name,
        estimator=_class_name(full),
        parameters=_set_parameters(trial.setting.estimator),
        losses=nothing.copy(),
        metric_losses={metric: nothing.copy() for metric in problem.metrics},
        fit_seconds=np.array([np.nan if fold is None else fold.fit_seconds for fold in trial.folds]),
        predict_seconds=np.array([np.nan if fold is None else fold.predict_seconds for fold in trial.folds]),
        oof_predictions=np.full((n, K) if K else n, np.nan),
        status=_status(trial),
        note=trial.failure or trial.note,
        setting=trial.setting.words,
    )
    if evaluation is None or trial.failure:
        return result
    return _with_scores(result, trial, evaluation, problem)


def _with_scores(result: MethodResult, trial: Trial, evaluation: Evaluation, problem: Problem) -> MethodResult:
    """Fills the arrays of `result` in place."""
    said, calibration = evaluation
    place = np.empty(problem.truth.size, np.intp)
    place[problem.split.rows] = np.arange(problem.split.rows.size)
    result.oof_predictions[place[said.rows]] = said.predictions.values
    for metric in problem.metrics:
        for k in trial.evaluated:
            result.metric_losses[metric][k] = _loss(metric, said, k, problem)
    result.losses[:] = result.metric_losses[problem.metric]
    if not np.all(np.isfinite(result.losses[trial.evaluated])):
        return result._replace(status="failed", note=f"gives no {problem.metric}")
    return result._replace(calibration=calibration, beats_constant=_beats_constant(result, said, problem))


def _status(trial: Trial) -> Status:
    if trial.failure:
        return "failed" if trial.evaluated or not trial.failure.startswith(NOT_TRIED) else "out of time"
    return "partial" if trial.missing else "done"


NOT_TRIED = "was not evaluated"


# --- against the constant ---------------------------------------------------------------------------------------------


def _beats_constant(result: MethodResult, said: Said, problem: Problem) -> bool | None:
    """Whether the loss is clearly below that of one prediction for all rows.

    By the paired difference over rows, where rows of one group, and neighbours in time, count as one; over folds for
    metrics that are no means over rows.
    """
    constant = _constant(said, problem)
    if problem.metric in ROW_LOSSES:
        truth, weight = problem.truth[said.rows], problem.weight_of(said.rows)
        lead = ROW_LOSSES[problem.metric](truth, constant) - ROW_LOSSES[problem.metric](truth, said.predictions)
        mean, error = grouped_mean(lead, weight, dependent_rows(problem.folding, said.rows))
    else:
        other = said._replace(predictions=constant)
        done = np.flatnonzero(np.isfinite(result.losses))
        leads = np.array([_loss(problem.metric, other, int(k), problem) for k in done]) - result.losses[done]
        if done.size < 2 or not np.all(np.isfinite(leads)):
            return None
        mean, error = float(leads.mean()), float(leads.std(ddof=1) * np.sqrt(1.0 / done.size + 1.0 / (done.size - 1)))
    return bool(mean > CLEARLY * error)


def _constant(said: Said, problem: Problem) -> Predictions:
    """One prediction for all rows of a fold: the class frequencies of its training rows, their mean or median."""
    values = np.empty_like(said.predictions.values)
    for k in np.unique(said.fold):
        train = problem.split.train_of(int(k))
        values[said.fold == k] = constant_prediction(problem, train)
    if problem.classes is None:
        return Predictions(None, values, sure=True)
    return Predictions(values.argmax(axis=1), values, sure=True)


def constant_prediction(problem: Problem, rows: Rows) -> Any:
    """Class frequencies, or the number of the smallest loss: the median for absolute errors, the mean for squares."""
    truth, weight = problem.truth[rows], problem.weight_of(rows)
    if problem.classes is not None:
        return np.bincount(truth, weight, problem.classes.size) / weight.sum()
    if problem.metric != "mae":
        return float(np.average(truth, weights=weight))
    order = np.argsort(truth)
    below = np.cumsum(weight[order])
    return float(truth[order][np.searchsorted(below, 0.5 * below[-1])])


# --- words ------------------------------------------------------------------------------------------------------------


def _in_short(caught: Iterable[warnings.WarningMessage]) -> str:
    """The distinct warnings, each said once."""
    return " ".join(dict.fromkeys(f"{str(each.message).rstrip(' .')}." for each in caught))[:LONGEST_NOTE]


def _class_name(estimator: Any) -> str:
    """The class; of a wrapper such as NumericPipelineClassifier the class inside it."""
    return type(estimator.estimator if isinstance(estimator, BaseNumericPipeline) else estimator).__name__


def _set_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters, also of estimators inside, that differ from the defaults of their class."""
    found: dict[str, Any] = {}
    defaults = inspect.signature(type(estimator)).parameters
    for name, value in estimator.get_params(deep=False).items():
        if hasattr(value, "get_params"):
            found[name] = type(value).__name__
            found |= {f"{name}__{inner}": of for inner, of in _set_parameters(value).items()}
        elif name not in defaults or not _is_same(defaults[name].default, value):
            found[name] = value
    return found


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and bool(np.all(one == other)))
