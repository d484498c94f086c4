"""Fit and evaluate a method on a fold; calibrated out-of-fold probabilities and losses of all its folds.

Classifiers are compared by calibrated probabilities: the out-of-fold probabilities of a method are calibrated
(`calibration/power.py`), each fold by parameters fitted on the other folds, if

    this lowers the log-loss of smoothed targets by more than its standard error,
    a probability is below 1 / (N + 2), which N rows cannot show (pure leaves give 0 and 1), or
    the method has no probabilities.
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
from committee.calibration.power import Calibration, calibrate, is_beyond_evidence, smoothed_log_losses
from committee.evaluation._executor import Place
from committee.evaluation._folds import seeded
from committee.evaluation._inner_validation import inner_splits, restore_cv, set_inner_splits
from committee.evaluation._row_splits import RowSplit
from committee.evaluation.metrics import ROW_LOSSES, Predictions, loss_of, predictions_of
from committee.evaluation.row_order import Folding, dependent_rows
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.tabular.rows import take_rows

Rows = NDArray[np.intp]
Status = Literal["done", "partial", "failed", "out of time"]

LONGEST_NOTE = 300

CALIBRATION_CELLS = 40_000
"""Maximum number of probabilities that the two parameters of a calibration are fitted to."""

MIN_Z = 1.645
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
        Out-of-fold class probabilities (calibrated where that is needed), or predictions of a regression.
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
    """The table and the options of the comparison."""

    X: Any
    y: NDArray[Any]  # labels or numbers, as passed to the estimators
    truth: NDArray[Any]  # class codes or numbers
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
    """An estimator and the fraction of the training rows that it is fitted on."""

    estimator: Any
    is_quick: bool = False
    row_fraction: float = 1.0

    @property
    def description(self) -> str:
        """Description of the difference from full settings on all rows.

        >>> Setting(None, True, 0.25).description
        'quick settings, 25 % of the rows'
        """
        quick = ["quick settings"] if self.is_quick else []
        return ", ".join([*quick, *([f"{100 * self.row_fraction:.3g} % of the rows"] if self.row_fraction < 1 else [])])


class FoldOutcome(NamedTuple):
    """Predictions for one fold, the times of fit and predict, and the warnings."""

    predictions: Predictions  # not calibrated
    fit_seconds: float
    predict_seconds: float
    note: str = ""


class Trial(NamedTuple):
    """The folds of a method that were evaluated."""

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


def new_trial(name: str, setting: Setting, problem: Problem) -> Trial:
    return Trial(name, setting, (None,) * problem.split.n_folds)


def with_fold(trial: Trial, k: int, outcome: FoldOutcome) -> Trial:
    """The trial with one more fold."""
    folds = (*trial.folds[:k], outcome, *trial.folds[k + 1 :])
    return trial._replace(folds=folds, note=trial.note or outcome.note)


# --- one fold ---------------------------------------------------------------------------------------------------------


def evaluate_fold(problem: Problem, setting: Setting, k: int, place: Place) -> FoldOutcome:
    """Fit on the other folds and predict fold k."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = place.now()
        train = some_rows(problem, problem.split.train_of(k), setting.row_fraction)
        model = fitted(setting.estimator, problem, train, _fold_seed(problem.seed, k))
        middle = place.now()
        X = take_rows(problem.X, problem.split.test_of(k))
        predictions = predictions_of(model, X, problem.classes, model.predict(X))
        end = place.now()
    return FoldOutcome(predictions, middle - start, end - middle, _summarised(caught))


def time_fit(problem: Problem, setting: Setting, n_rows: int, place: Place) -> float:
    """Seconds of a fit on so many of the training rows of fold 0."""
    rows = problem.split.train_of(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = place.now()
        fitted(setting.estimator, problem, some_rows(problem, rows, n_rows / rows.size), problem.seed)
        return place.now() - start


def some_rows(problem: Problem, rows: Rows, fraction: float) -> Rows:
    """A random sample of these rows, with at least one row of each of their classes."""
    if fraction >= 1.0:
        return rows
    shuffled = np.random.default_rng(problem.seed).permutation(rows)
    n = max(2, round(fraction * rows.size))
    first = (
        np.empty(0, np.intp) if problem.classes is None else np.unique(problem.truth[shuffled], return_index=True)[1]
    )
    return np.sort(shuffled[np.union1d(first, np.arange(n))])


def fitted(estimator: Any, problem: Problem, rows: Rows, seed: int, watch: Callable[[Any], None] | None = None) -> Any:
    """A copy of the estimator fitted on these rows; `watch` is called every iteration if it has `callbacks`."""
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
        raise ValueError(f"{type(model).__name__}.fit has no sample_weight")
    restore_cv(model, changed)
    return model.set_params(callbacks=None) if is_watched else model


def _unfitted(estimator: Any, seed: int, n_jobs: int | None) -> Any:
    """A copy with this seed and number of threads."""
    model = seeded(estimator, seed)
    names = [name for name in ("n_jobs", "estimator__n_jobs") if name in model.get_params()]
    return model.set_params(**dict.fromkeys(names[:1], n_jobs)) if n_jobs is not None else model


def _fold_seed(seed: int, k: int) -> int:
    """A seed below 2^31, as scikit-learn requires."""
    return int(np.random.SeedSequence([seed, k]).generate_state(1)[0] % 2**31)


# --- calibrated probabilities -----------------------------------------------------------------------------------------


class OutOfFold(NamedTuple):
    """The predictions of all folds evaluated, fold after fold."""

    rows: Rows  # [m]
    fold: Rows  # [m]
    predictions: Predictions


def _joined(trial: Trial, problem: Problem) -> OutOfFold:
    done = trial.evaluated
    tests = [problem.split.test_of(k) for k in done]
    outcomes = [fold.predictions for fold in trial.folds if fold is not None]
    labels = [each.labels for each in outcomes if each.labels is not None]
    predictions = Predictions(
        np.concatenate(labels) if labels else None,
        np.concatenate([each.values for each in outcomes]),
        all(each.has_probabilities for each in outcomes),
    )
    fold = np.repeat(np.array(done, np.intp), [test.size for test in tests])
    return OutOfFold(np.concatenate(tests), fold, predictions)


class Evaluation(NamedTuple):
    """Out-of-fold predictions, calibrated where `calibrated` decides so."""

    oof: OutOfFold
    calibration: Calibration | None  # for new rows; None for the probabilities of the method itself


def calibrated(trial: Trial, problem: Problem) -> Evaluation:
    """Cross-fitted calibration of the predictions, and the calibration for new rows, if one is needed (see above)."""
    oof = _joined(trial, problem)
    if problem.classes is None:
        return Evaluation(oof, None)
    codes, weight = problem.truth[oof.rows], problem.weight_of(oof.rows)
    values = oof.predictions.values
    part = oof.fold
    if len(trial.evaluated) == 1:  # two random halves of the only fold
        part = np.random.default_rng(problem.seed).permutation(part.size) % 2
    crossed = np.empty_like(values)
    for k in np.unique(part):
        others = part != k
        if not weight[others].sum() > 0.0:
            return Evaluation(oof, None)
        crossed[part == k] = _fit(values[others], codes[others], weight[others], problem.seed).apply(values[part == k])
    if oof.predictions.has_probabilities and not _needs_calibration(values, crossed, codes, weight):
        return Evaluation(oof, None)
    predictions = oof.predictions._replace(values=crossed, has_probabilities=True)
    return Evaluation(oof._replace(predictions=predictions), _fit(values, codes, weight, problem.seed))


def _fit(values: Floats, codes: NDArray[Any], weight: Floats, seed: int) -> Calibration:
    most = max(CALIBRATION_CELLS // values.shape[1], 200)
    if codes.size > most:
        some = np.sort(np.random.default_rng(seed).permutation(codes.size)[:most])
        if weight[some].sum() > 0.0:
            values, codes, weight = values[some], codes[some], weight[some]
    return calibrate(values, codes, weight)


def _needs_calibration(before: Floats, after: Floats, codes: NDArray[Any], weight: Floats) -> bool:
    """Whether probabilities are not supported by the rows, or become significantly better."""
    if is_beyond_evidence(before, weight):
        return True
    gain = smoothed_log_losses(before, codes, weight) - smoothed_log_losses(after, codes, weight)
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
    for k in np.unique(evaluation.oof.fold):
        losses[k] = _loss(problem.metric, evaluation.oof, int(k), problem)
    return losses


def _loss(metric: str, oof: OutOfFold, k: int, problem: Problem) -> float:
    here = oof.fold == k
    rows = oof.rows[here]
    return loss_of(metric, problem.truth[rows], oof.predictions.of(here), problem.weight_of(rows))


def as_result(trial: Trial, evaluation: Evaluation | None, full: Any, problem: Problem) -> MethodResult:
    """The result of a method; `full` is its estimator."""
    n, K = problem.split.rows.size, 0 if problem.classes is None else problem.classes.size
    unknown = np.full(problem.split.n_folds, np.nan)
    result = MethodResult(
        name=trial.name,
        estimator=_class_name(full),
        parameters=_set_parameters(trial.setting.estimator),
        losses=unknown.copy(),
        metric_losses={metric: unknown.copy() for metric in problem.metrics},
        fit_seconds=np.array([np.nan if fold is None else fold.fit_seconds for fold in trial.folds]),
        predict_seconds=np.array([np.nan if fold is None else fold.predict_seconds for fold in trial.folds]),
        oof_predictions=np.full((n, K) if K else n, np.nan),
        status=_status(trial),
        note=trial.failure or trial.note,
        setting=trial.setting.description,
    )
    if evaluation is None or trial.failure:
        return result
    return _with_scores(result, trial, evaluation, problem)


def _with_scores(result: MethodResult, trial: Trial, evaluation: Evaluation, problem: Problem) -> MethodResult:
    """Fill the arrays of `result` in place."""
    oof, calibration = evaluation
    place = np.empty(problem.truth.size, np.intp)
    place[problem.split.rows] = np.arange(problem.split.rows.size)
    result.oof_predictions[place[oof.rows]] = oof.predictions.values
    for metric in problem.metrics:
        for k in trial.evaluated:
            result.metric_losses[metric][k] = _loss(metric, oof, k, problem)
    result.losses[:] = result.metric_losses[problem.metric]
    if not np.all(np.isfinite(result.losses[trial.evaluated])):
        return result._replace(status="failed", note=f"{problem.metric} is undefined")
    return result._replace(calibration=calibration, beats_constant=_beats_constant(result, oof, problem))


def _status(trial: Trial) -> Status:
    if trial.failure:
        return "failed" if trial.evaluated or not trial.failure.startswith(NOT_EVALUATED) else "out of time"
    return "partial" if trial.missing else "done"


NOT_EVALUATED = "was not evaluated"


# --- against the constant ---------------------------------------------------------------------------------------------


def _beats_constant(result: MethodResult, oof: OutOfFold, problem: Problem) -> bool | None:
    """Whether the loss is significantly below that of a constant prediction.

    The paired differences are over rows, with groups and blocks of time as units, or over folds for metrics that are
    not means over rows.
    """
    constant = _constant(oof, problem)
    if problem.metric in ROW_LOSSES:
        truth, weight = problem.truth[oof.rows], problem.weight_of(oof.rows)
        lead = ROW_LOSSES[problem.metric](truth, constant) - ROW_LOSSES[problem.metric](truth, oof.predictions)
        mean, error = grouped_mean(lead, weight, dependent_rows(problem.folding, oof.rows))
    else:
        other = oof._replace(predictions=constant)
        done = np.flatnonzero(np.isfinite(result.losses))
        leads = np.array([_loss(problem.metric, other, int(k), problem) for k in done]) - result.losses[done]
        if done.size < 2 or not np.all(np.isfinite(leads)):
            return None
        mean, error = float(leads.mean()), float(leads.std(ddof=1) * np.sqrt(1.0 / done.size + 1.0 / (done.size - 1)))
    return bool(mean > MIN_Z * error)


def _constant(oof: OutOfFold, problem: Problem) -> Predictions:
    """Constant predictions for each fold: the class frequencies of its training rows, their mean or median."""
    values = np.empty_like(oof.predictions.values)
    for k in np.unique(oof.fold):
        train = problem.split.train_of(int(k))
        values[oof.fold == k] = constant_prediction(problem, train)
    if problem.classes is None:
        return Predictions(None, values, has_probabilities=True)
    return Predictions(values.argmax(axis=1), values, has_probabilities=True)


def constant_prediction(problem: Problem, rows: Rows) -> Any:
    """Class frequencies, or the constant with the smallest loss: the median for mae, else the mean."""
    truth, weight = problem.truth[rows], problem.weight_of(rows)
    if problem.classes is not None:
        return np.bincount(truth, weight, problem.classes.size) / weight.sum()
    if problem.metric != "mae":
        return float(np.average(truth, weights=weight))
    order = np.argsort(truth)
    below = np.cumsum(weight[order])
    return float(truth[order][np.searchsorted(below, 0.5 * below[-1])])


# --- descriptions -----------------------------------------------------------------------------------------------------


def _summarised(caught: Iterable[warnings.WarningMessage]) -> str:
    """The distinct warnings."""
    return " ".join(dict.fromkeys(f"{str(each.message).rstrip(' .')}." for each in caught))[:LONGEST_NOTE]


def _class_name(estimator: Any) -> str:
    """The class; of a wrapper such as NumericPipelineClassifier the class inside it."""
    return type(estimator.estimator if isinstance(estimator, BaseNumericPipeline) else estimator).__name__


def _set_parameters(estimator: Any) -> dict[str, Any]:
    """Parameters, also of nested estimators, that differ from their defaults."""
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
