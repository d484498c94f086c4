"""Fits of members and their held-out predictions.

    "own folds"   gradient boosting selects its number of rounds by cross-validation: the out-of-fold predictions are
                  stored, and the mean of the folds' models is the member
    "out of bag"  forests: each row is predicted by the trees that were not fitted on it
    "folds"       any other algorithm is fitted without each fold in turn; the mean of these fits is the member, so that
                  no fit on all rows is needed

All members use the same folds. Support vector machines have decision values f instead of probabilities: the slope of
P = softmax(s f) is fitted to their out-of-fold values (`svm.platt`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.calibration.slope import fit_slope
from committee.committees._algorithms import ALGORITHMS, make_estimator
from committee.committees._representations import Representation
from committee.sampling.resampling import are_whole, without_common_factor
from committee.sampling.splits import Split
from committee.tabular.identity import distinct_rows

Indices = NDArray[np.int64]

NEITHER, TRAIN, TEST = np.int8(0), np.int8(1), np.int8(2)
"""Roles of a row in a split."""

MAX_COPIES = 1_000_000
"""Integer weights are replaced by repeated rows up to this total."""


class Rows(NamedTuple):
    """Training rows: numbers and category codes, targets (class codes or values), weights or None for equal ones."""

    X: Floats
    y: NDArray[Any]
    weight: Floats | None
    is_categorical: NDArray[np.bool_]
    n_classes: int  # 0 for regression
    roles: NDArray[np.int8] | None = None  # [n, k] role of each row in given splits: NEITHER, TRAIN or TEST

    @property
    def counts(self) -> Floats:
        return np.ones(len(self.y)) if self.weight is None else self.weight


def arrange(rows: Rows) -> Rows:
    """Sort the distinct rows by their values and repeat each by its weight.

    The committee thus does not depend on the order of the rows, on integer weights in place of repeated rows, or on the
    scale of the weights. Weights that are not integers, or too large, remain weights, with mean 1.
    """
    weight = without_common_factor(rows.counts)
    kept = np.flatnonzero(weight > 0.0)
    roles = () if rows.roles is None else tuple(rows.roles[kept].T)
    distinct = distinct_rows(rows.X[kept], rows.y[kept], *roles)
    total = distinct.total(weight[kept] / weight.max())
    copies = distinct.total(weight[kept]) if are_whole(weight) else total
    first = kept[distinct.first]
    if are_whole(copies):
        counts = copies.astype(np.int64)
        counts //= np.gcd.reduce(counts)
        if counts.sum() <= MAX_COPIES:
            first = np.repeat(first, counts)
            return _take(rows, first, None)
    return _take(rows, first, None if np.all(total == total[0]) else total / total.mean())


def _take(rows: Rows, some: Indices, weight: Floats | None) -> Rows:
    roles = None if rows.roles is None else rows.roles[some]
    return rows._replace(X=np.ascontiguousarray(rows.X[some]), y=rows.y[some], weight=weight, roles=roles)


def roles_of(splits: Sequence[Split], n_rows: int) -> NDArray[np.int8]:
    """Find the role of each row in each split."""
    roles = np.full((n_rows, len(splits)), NEITHER)
    for k, split in enumerate(splits):
        roles[split.train, k] = TRAIN
        roles[split.test, k] = TEST
    return roles


# --- a fitted member -------------------------------------------------------------------------------------------------


class Fitted(NamedTuple):
    """A fitted member: its models, their inputs, and the transformation of their predictions."""

    algorithm: str
    representation: Representation
    columns: Indices | None  # of the table, None for all
    models: tuple[Any, ...]
    classes: tuple[Indices, ...]  # class codes of each model, empty for regression
    n_classes: int
    shift: float = 0.0  # the target of the fits is (y - shift) / scale
    scale: float = 1.0
    slope: float = 1.0  # of decision values

    def predictions(self, X: Floats) -> Floats:
        """Predict class probabilities [n, K] or values [n] for a table of numbers and codes."""
        if self.n_classes == 1:
            return np.ones((len(X), 1))
        table = self.representation(X if self.columns is None else X[:, self.columns])
        total: Any = 0.0
        with one_blas_thread():
            for model, codes in zip(self.models, self.classes, strict=True):
                total = total + self._finish(raw_predictions(self.algorithm, model, table, codes, self.n_classes))
        return total / len(self.models)

    def _finish(self, raw: Floats) -> Floats:
        if not self.n_classes:
            return self.shift + self.scale * raw
        return softmax(self.slope * raw, axis=1) if ALGORITHMS[self.algorithm].has_values else raw


def raw_predictions(algorithm: str, model: Any, table: Floats, codes: Indices, n_classes: int) -> Floats:
    """Return the predictions of one model: values [n], or probabilities or decision values [n, K]."""
    if not n_classes:
        return np.asarray(model.predict(table), np.float64)
    if ALGORITHMS[algorithm].has_values:
        value = np.asarray(model.decision_function(table), np.float64)
        some = np.column_stack([-0.5 * value, 0.5 * value]) if value.ndim == 1 else value
        out = np.full((len(table), n_classes), float(some.min(initial=0.0)))
    else:
        some, out = model.predict_proba(table), np.zeros((len(table), n_classes))
    if some.shape[1] == n_classes:
        return np.asarray(some, np.float64)
    out[:, codes] = some
    return out


DEFAULT_TREES = 100
MIN_OUT_OF_BAG = 5.0
"""Minimum expected number of trees that were not fitted on a row."""


class EvaluatedMember(NamedTuple):
    """A fitted member and its held-out predictions, nan where there are none."""

    fitted: Fitted
    predictions: Floats


class NoGainError(Exception):
    """By its first fold a member does not improve the committee; the message gives the reason."""


Screen = Callable[[Indices, Floats], None]
"""Takes the rows of the first fold and the predictions of a member for them; raises NoGainError to stop the member."""


class Task(NamedTuple):
    """The arguments of the fit of one member."""

    algorithm: str
    parameters: Mapping[str, Any]
    representation: Representation
    columns: Indices | None
    sample: float  # fraction of the rows for each fit
    seed: int
    n_jobs: int | None


def fit_member(
    task: Task, rows: Rows, repeats: Sequence[Sequence[Split]], screen: Screen | None = None
) -> EvaluatedMember:
    """Fit a member and predict held-out rows, for one or more divisions of the rows into folds.

    A member that is fitted fold by fold may be stopped by the `screen` after the first.
    """
    if rows.n_classes == 1:  # which most algorithms reject
        return EvaluatedMember(_fitted(task, rows, []), np.ones((len(rows.y), 1)))
    table = rows.X if task.columns is None else np.ascontiguousarray(rows.X[:, task.columns])
    is_categorical = rows.is_categorical if task.columns is None else rows.is_categorical[task.columns]
    rows = rows._replace(X=np.ascontiguousarray(task.representation(table)), is_categorical=is_categorical)
    with one_blas_thread():
        how = ALGORITHMS[task.algorithm].evaluation
        if how == "out of bag" and _all_out_of_bag(task, rows):
            return _fit_bag(task, rows)
        if how == "own folds" and len(repeats[0]) > 1:
            return _fit_own_folds(task, rows, repeats)
        return _fit_folds(task, rows, repeats, screen)


def _estimator(task: Task, rows: Rows, parameters: Mapping[str, Any], seed: int) -> Any:
    return make_estimator(task.algorithm, parameters, bool(rows.n_classes), rows.is_categorical, seed, task.n_jobs)


def _all_out_of_bag(task: Task, rows: Rows) -> bool:
    """Whether the heaviest rows are out of bag in some trees; else only light rows would be evaluated.

    A row of weight w, in units of the mean weight, is not drawn in about e^-w of the bootstrap samples.
    """
    if rows.weight is None:
        return True
    heaviest = float(rows.weight.max() / rows.weight.mean())
    return int(task.parameters.get("n_estimators", DEFAULT_TREES)) * float(np.exp(-heaviest)) >= MIN_OUT_OF_BAG


def _fit_bag(task: Task, rows: Rows) -> EvaluatedMember:
    parameters = dict(task.parameters)
    if task.sample < 1.0:
        parameters["max_samples"] = task.sample
    model = _estimator(task, rows, parameters, task.seed)
    model.fit(rows.X, rows.y, rows.weight)
    predictions = getattr(model, "oob_decision_function_" if rows.n_classes else "oob_prediction_", None)
    if predictions is None:
        raise ValueError("no row is out of bag: there are too few distinct rows.")
    return EvaluatedMember(_fitted(task, rows, [model]), np.asarray(predictions, np.float64))


def _fit_own_folds(task: Task, rows: Rows, repeats: Sequence[Sequence[Split]]) -> EvaluatedMember:
    models: list[Any] = []
    tally = Tally(len(rows.y), rows.n_classes)
    for r, folds in enumerate(repeats):
        parameters = {**task.parameters, "cv": [tuple(split) for split in folds]}  # tuples can be stored in files
        model = _estimator(task, rows, parameters, derived_seed(task.seed, r))
        model.fit(rows.X, rows.y, rows.weight)
        score = model.held_out_scores_
        tally.add(np.concatenate([test for _, test in folds]), _boosted_predictions(score, rows.n_classes))
        models.append(model)
    return EvaluatedMember(_fitted(task, rows, models), tally.mean)


def _boosted_predictions(score: Floats, n_classes: int) -> Floats:
    if not n_classes:
        return score[:, 0]
    if n_classes > 2:
        return softmax(score, axis=1)
    return np.column_stack([expit(-score[:, 0]), expit(score[:, 0])]) if n_classes == 2 else np.ones((len(score), 1))


def _fit_folds(task: Task, rows: Rows, repeats: Sequence[Sequence[Split]], screen: Screen | None) -> EvaluatedMember:
    shift, scale = (0.0, 1.0) if rows.n_classes else _location(rows)
    target = rows.y if rows.n_classes else (rows.y - shift) / scale
    models: list[Any] = []
    tally = Tally(len(rows.y), rows.n_classes)
    for number, (train, test) in enumerate(fold for folds in repeats for fold in folds):
        seed = derived_seed(task.seed, number)
        train = _sample(train, task.sample, rows, seed)
        model = _fit_fold(task, rows, target, Split(train, test), seed)
        codes = model.classes_.astype(np.int64) if rows.n_classes else np.empty(0, np.int64)
        raw = raw_predictions(task.algorithm, model, rows.X[test], codes, rows.n_classes)
        tally.add(test, raw)
        models.append(model)
        if screen is not None and number == 0 and len(repeats[0]) > 1:
            first = _calibrated(_fitted(task, rows, models), raw, rows, test, (shift, scale))
            screen(test, first._finish(raw))  # pyright: ignore[reportPrivateUsage]
    raw = tally.mean
    tested = np.flatnonzero(~np.isnan(raw.reshape(len(raw), -1)[:, 0]))
    fitted = _calibrated(_fitted(task, rows, models), raw[tested], rows, tested, (shift, scale))
    return EvaluatedMember(fitted, fitted._finish(raw))  # pyright: ignore[reportPrivateUsage]


def _calibrated(fitted: Fitted, raw: Floats, rows: Rows, tested: Indices, location: tuple[float, float]) -> Fitted:
    """Set the location of the target, and the slope of the decision values fitted on the tested rows."""
    fitted = fitted._replace(shift=location[0], scale=location[1])
    if ALGORITHMS[fitted.algorithm].has_values and rows.n_classes:
        return fitted._replace(slope=fit_slope(raw, rows.y[tested], rows.counts[tested])[0])
    return fitted


def _fit_fold(task: Task, rows: Rows, target: NDArray[Any], fold: Split, seed: int) -> Any:
    train, test = fold
    model = _estimator(task, rows, task.parameters, seed)
    weight = None if rows.weight is None else rows.weight[train]
    if ALGORITHMS[task.algorithm].evaluation == "own folds":  # a single fold, for early stopping
        model.set_params(early_stopping=True)
        return model.fit(rows.X[train], target[train], weight, X_val=rows.X[test], y_val=target[test])
    return model.fit(rows.X[train], target[train], sample_weight=weight)


def _location(rows: Rows) -> tuple[float, float]:
    """Mean and standard deviation of the target, 1 for a constant."""
    mean = float(np.average(rows.y, weights=rows.weight))
    deviation = float(np.sqrt(np.average((rows.y - mean) ** 2, weights=rows.weight)))
    return mean, deviation if deviation > 1e-12 * max(abs(mean), 1e-300) else 1.0


def _sample(train: Indices, fraction: float, rows: Rows, seed: int) -> Indices:
    """A stratified sample of the rows, with at least two of each class."""
    if fraction >= 1.0:
        return train
    rank = np.random.default_rng(seed).permutation(train.size)
    group = rows.y[train] if rows.n_classes else np.zeros(train.size, np.int64)
    order = np.lexsort((rank, group))
    start = np.searchsorted(group[order], np.arange(max(rows.n_classes, 1)))
    place = np.arange(train.size) - start[group[order]]
    size = np.bincount(group, minlength=start.size)[group[order]]
    return np.sort(train[order[place < np.maximum(2.0, np.ceil(fraction * size))]])


def _fitted(task: Task, rows: Rows, models: Sequence[Any]) -> Fitted:
    none = np.empty(0, np.int64)
    classes = tuple(model.classes_.astype(np.int64) if rows.n_classes else none for model in models)
    return Fitted(task.algorithm, task.representation, task.columns, tuple(models), classes, rows.n_classes)


def derived_seed(seed: int, *more: int | str) -> int:
    """Derive a seed of 31 bits from a seed and names or numbers."""
    words = [crc32(word.encode()) if isinstance(word, str) else word for word in more]
    return int(np.random.SeedSequence([seed, *words]).generate_state(1, np.uint32)[0] >> 1)


class Tally:
    """Mean of the held-out predictions of each row, nan where there are none."""

    def __init__(self, n: int, n_classes: int) -> None:
        self.total = np.zeros((n, n_classes) if n_classes else n)
        self.count = np.zeros(n)

    def add(self, rows: Indices, predictions: Floats) -> None:
        self.total[rows] += predictions
        self.count[rows] += 1.0

    @property
    def mean(self) -> Floats:
        count = np.where(self.count > 0.0, self.count, np.nan)
        return self.total / (count[:, np.newaxis] if self.total.ndim == 2 else count)
