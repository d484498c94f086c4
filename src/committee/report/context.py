"""Data of a report, computed once: the model, its table, a comparison if there is one, and predictions.

Out-of-sample predictions are preferred, in this order:

    out of fold      each fold predicted by the selected method fitted on the others
    forward in time  each period but the first predicted by the selected method fitted on the earlier ones
    new rows         rows that the model was not fitted on
    other rows       rows that may be training rows
    out of bag       training rows predicted by the members fitted without them
    training rows    in-sample
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from committee.bagging.base import BaseBagging
from committee.base.array_types import Floats
from committee.base.prediction_only_error import PredictionOnlyError
from committee.evaluation.comparison import Comparison
from committee.explain.importances import PermutationImportances, log_likelihood, permutation_importances
from committee.explain.oob_forest import training_rows
from committee.explain.tables import column_names
from committee.forests.base import BaseForest
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.report._charts import thin
from committee.report._coverage import Intervals, cross_validated_intervals, held_out_coverages, own_intervals
from committee.tabular.cells import Table
from committee.tabular.rows import take_rows
from committee.tabular.schema import open_table
from committee.theory.decomposition import Decomposition
from committee.theory.margins import class_margins
from committee.voting.calibrated_classifier import CalibratedClassifier

Rows = NDArray[np.int64]
Source = Literal["out of fold", "forward in time", "new rows", "other rows", "out of bag", "training rows"]

NOTES: dict[Source, str] = {
    "out of fold": "Out-of-fold predictions; slightly optimistic, as the same folds selected the method.",
    "forward in time": "Each period is predicted after a fit on the earlier ones; slightly optimistic, as the same "
    "periods selected the method.",
    "new rows": "Rows that the model was not fitted on.",
    "other rows": "Possibly optimistic: some of these rows may be training rows.",
    "out of bag": "Out-of-bag predictions.",
    "training rows": "Optimistic: predictions for the training rows.",
}

MAX_CELLS, N_REPEATS = 3_000_000, 3
"""Maximum number of cells predicted for permutation importances, and permutations of each column."""

MAX_PERMUTED, MIN_PERMUTED = 500, 50
"""Rows whose cells are permuted."""

MAX_SAMPLE = 2_000
"""Rows that members and margins are evaluated on."""

MAX_STAGES = 48
"""Rounds whose margins are computed."""

MAX_OOB_PREDICTIONS = 30_000_000
"""Rows times trees up to which the out-of-bag importances of a forest are computed."""

MIN_CROSS_VALIDATED, MIN_NEW = 40, 10
"""Fewest rows for cross-validated intervals, and for the coverage of the model's own intervals."""


class TableNotes(NamedTuple):
    """Origin of a table, and the warnings raised when it was read.

    Attributes
    ----------
    name : str
        Name of the file.
    target : str
        Name of the target.
    warnings : tuple of str
        Warnings about the table.
    command : str
        Command line that reproduces the report.
    rows : ndarray of int, optional
        Position of each row in the file, from 0.
    of_rows : str
        Which rows of the file the report is about, if not all.
    leaks : tuple of str
        Columns that nearly determine the target.
    """

    name: str
    target: str
    warnings: tuple[str, ...] = ()
    command: str = ""
    rows: Rows | None = None
    of_rows: str = ""
    leaks: tuple[str, ...] = ()


class Evaluation(NamedTuple):
    """Predictions beside the true targets."""

    rows: Rows  # [m], positions in X
    y_true: NDArray[Any]  # [m], class codes or values
    y_pred: NDArray[Any]  # [m], class codes or values
    output: Floats | None  # [m, K] probabilities or None; [m] or [m, n_quantiles] predictions in regression
    fold: Rows  # [m], zeros without folds
    source: Source

    @property
    def probability(self) -> Floats | None:
        """Probabilities of the classes [m, K]."""
        return self.output if self.y_true.dtype.kind in "iu" else None

    @property
    def is_out_of_sample(self) -> bool:
        return self.source != "training rows"

    @property
    def note(self) -> str:
        return NOTES[self.source]


class MarginHistory(NamedTuple):
    """Margins of the sample after some rounds."""

    kind: Literal["vote", "probabilities"]
    rounds: tuple[int, ...]
    margins: tuple[Floats, ...]


class Inputs(NamedTuple):
    """Arguments of a report; `is_training` is None if unknown, `training_index` the rows' positions in the fit."""

    model: Any
    X: Any
    y: Any
    comparison: Comparison | None = None
    notes: TableNotes | None = None
    is_training: bool | None = True
    training_index: Rows | None = None
    weight: ArrayLike | None = None
    bias_variance: Mapping[str, Decomposition] | None = None
    seed: int = 0


class Context(NamedTuple):
    """All that sections render."""

    model: Any
    X: Any
    y: NDArray[Any]
    comparison: Comparison | None
    notes: TableNotes | None
    is_training: bool | None
    training_index: Rows | None
    weight: Floats | None
    bias_variance: Mapping[str, Decomposition]
    seed: int
    core: Any  # the estimator inside pipelines and calibration
    encoded: Any  # X as it is passed to `core`
    table: Table  # X, opened
    names: tuple[str, ...]  # of the columns
    classes: NDArray[Any]  # empty in regression
    codes: Rows  # positions of y in `classes`, -1 for unknown labels; empty in regression
    sample: Rows  # at most MAX_SAMPLE rows with known labels
    evaluation: Evaluation
    margin_history: MarginHistory | None
    permutation: PermutationImportances | None  # None with out-of-bag importances, and for very wide tables
    feature_order: Rows  # by decreasing importance
    intervals: Intervals | None

    @property
    def is_classifier(self) -> bool:
        return self.classes.size > 0

    @property
    def method(self) -> str:
        """Class of the estimator."""
        return type(self.core).__name__

    @property
    def n_rows(self) -> int:
        return self.y.size

    @property
    def has_training_rows(self) -> bool:
        """Whether these are training rows, all or some."""
        return bool(self.is_training) or self.training_index is not None

    @property
    def row_kind(self) -> str:
        return "training rows" if self.has_training_rows else "rows" if self.is_training is None else "new rows"

    @property
    def has_oob_trees(self) -> bool:
        return bool(self.is_training) and _has_oob_trees(self.core)

    @property
    def has_oob_importances(self) -> bool:
        return self.has_oob_trees and self.n_rows * len(self.core.trees_) <= MAX_OOB_PREDICTIONS

    def file_row(self, row: Any) -> int:
        """Position of a row in its file."""
        return int(row) if self.notes is None or self.notes.rows is None else int(self.notes.rows[row])

    def draw(self, n: int) -> Rows:
        """Draw at most n rows, in ascending order; the same ones on every call."""
        return _draw(self.n_rows, n, self.seed)


def make_context(inputs: Inputs) -> Context:
    """Compute what the sections share.

    Raises
    ------
    ValueError
        If the rows do not match the targets, or are not the training rows of a forest with out-of-bag rows.
    """
    model, X, y, seed = inputs.model, inputs.X, np.ravel(np.asarray(inputs.y)), inputs.seed
    table = open_table(X, model)
    n = int(table.shape[0])
    if y.size != n:
        raise ValueError(f"X has {n} rows and y {y.size}: pass one target for each row.")
    core, encoded = _unwrap(model, X)
    classes = np.asarray(model.classes_) if is_classifier(model) else np.empty(0)
    codes = _codes(y, classes) if classes.size else _NONE
    if inputs.is_training and _has_oob_trees(core):
        try:
            training_rows(core, encoded, y)
        except ValueError as error:
            raise ValueError(f"{error} For a report about other rows pass on_training_data=False.") from None
    sample = _draw(n, MAX_SAMPLE, seed)
    context = Context(
        model, X, y, inputs.comparison, inputs.notes, inputs.is_training, inputs.training_index,
        None if inputs.weight is None else np.asarray(inputs.weight, np.float64), inputs.bias_variance or {}, seed,
        core, encoded, table, column_names(table), classes, codes,
        sample[codes[sample] >= 0] if classes.size else sample, _NO_EVALUATION, None, None, _NONE, None,
    )  # fmt: skip
    context = context._replace(evaluation=_evaluate(context), margin_history=_margin_history(context))
    context = context._replace(permutation=_permute(context), intervals=_intervals(context))
    return context._replace(feature_order=_feature_order(context))


_NONE = np.empty(0, np.int64)
_NO_EVALUATION = Evaluation(_NONE, _NONE, _NONE, None, _NONE, "training rows")


def _unwrap(model: Any, X: Any) -> tuple[Any, Any]:
    """The estimator inside pipelines and calibration, and X as it is passed to it."""
    core, encoded = model, X
    while isinstance(core, Pipeline | BaseNumericPipeline | CalibratedClassifier):
        if isinstance(core, Pipeline):
            encoded, core = core[:-1].transform(encoded) if len(core) > 1 else encoded, core[-1]
        elif isinstance(core, CalibratedClassifier):
            core = core.estimator_
        else:
            encoded, core = core.encode(encoded), core.estimator_
    return core, encoded


def _codes(y: NDArray[Any], classes: NDArray[Any]) -> Rows:
    """Positions of labels in `classes`, -1 for unknown ones."""
    position = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([position.get(label, -1) for label in y.tolist()], np.int64)


def _has_oob_trees(core: Any) -> bool:
    return isinstance(core, BaseForest) and hasattr(core, "oob_error_") and "_sampler" in vars(core)


def _draw(n: int, n_drawn: int, seed: int) -> Rows:
    return np.arange(n) if n <= n_drawn else np.sort(np.random.default_rng(seed).choice(n, n_drawn, replace=False))


# --- predictions ------------------------------------------------------------------------------------------------------


def _evaluate(context: Context) -> Evaluation:
    comparison = context.comparison
    if comparison is not None:
        output = comparison.result(comparison.winner).oof_predictions
        output = _reorder_classes(output, comparison.classes, context.classes)
        source: Source = "forward in time" if comparison.is_forward else "out of fold"
        found = _evaluation(context, comparison.rows, output, comparison.fold, source)
        if found.rows.size:
            return found
    rows, fold = np.arange(context.n_rows), np.zeros(context.n_rows, np.int64)
    oob = _oob_predictions(context) if context.has_training_rows else None
    if oob is not None:
        return _evaluation(context, rows, oob, fold, "out of bag")
    source = (
        "training rows" if context.has_training_rows else "other rows" if context.is_training is None else "new rows"
    )
    if context.is_classifier and hasattr(context.model, "predict_proba"):
        return _evaluation(context, rows, context.model.predict_proba(context.X), fold, source)
    prediction = np.asarray(context.model.predict(context.X))
    if not context.is_classifier:
        return _evaluation(context, rows, prediction, fold, source)
    return _evaluation(context, rows, np.eye(context.classes.size)[_codes(prediction, context.classes)], fold, source)


def _oob_predictions(context: Context) -> Any:
    """Out-of-bag predictions of these rows, None if the model has none."""
    oob = getattr(context.core, "oob_decision_function_", getattr(context.core, "oob_prediction_", None))
    if oob is None:
        return None
    if isinstance(context.model, CalibratedClassifier) and np.ndim(oob) == 2:
        oob = context.model.calibration_.apply(np.asarray(oob, np.float64))
    if context.training_index is None or context.is_training:
        return oob if len(oob) == context.n_rows else None
    return oob[context.training_index] if context.training_index.max() < len(oob) else None


def _reorder_classes(output: Floats, classes: tuple[Any, ...], wanted: NDArray[Any]) -> Floats:
    """Columns of class probabilities in the order of the model's classes."""
    if output.ndim == 1 or set(classes) != set(wanted.tolist()):
        return output
    return output[:, [classes.index(label) for label in wanted.tolist()]]


def middle(prediction: Floats) -> Floats:
    """The prediction of each row; the middle column of several quantiles."""
    return prediction if prediction.ndim == 1 else prediction[:, prediction.shape[1] // 2]


def _evaluation(context: Context, rows: Rows, output: Any, fold: Rows, source: Source) -> Evaluation:
    """Predictions of the rows that have one and whose target is known."""
    output = np.asarray(output, np.float64)
    y_true = context.codes[rows] if context.is_classifier else context.y[rows].astype(np.float64)
    known = np.isfinite(output.reshape(len(output), -1)).all(axis=1)
    known &= y_true >= 0 if context.is_classifier else np.isfinite(y_true)
    rows, y_true, fold, output = rows[known], y_true[known], fold[known], output[known]
    if not context.is_classifier:
        return Evaluation(rows, y_true, middle(output), output, fold, source)
    has_probability = hasattr(context.model, "predict_proba")  # else votes stand in for probabilities
    return Evaluation(rows, y_true, output.argmax(axis=1), output if has_probability else None, fold, source)


def _intervals(context: Context) -> Intervals | None:
    found, comparison = context.evaluation, context.comparison
    if context.is_classifier or not found.is_out_of_sample or found.output is None:
        return None
    if found.source in ("new rows", "other rows"):
        return own_intervals(context.model, found.output, found.y_true) if found.rows.size >= MIN_NEW else None
    if found.rows.size < MIN_CROSS_VALIDATED:
        return None
    has_folds = np.unique(found.fold).size > 1
    group = found.fold if has_folds else np.random.default_rng(context.seed).permutation(found.rows.size) % 5
    result = cross_validated_intervals(found.y_pred, found.y_true, group)
    if comparison is None or comparison.held_out_predictions is None or comparison.held_out_rows.size < MIN_NEW:
        return result
    y, prediction = context.y[comparison.held_out_rows].astype(np.float64), comparison.held_out_predictions
    return result._replace(held_out=held_out_coverages(found.y_true - found.y_pred, prediction, y))


# --- margins and importances ------------------------------------------------------------------------------------------


def _margin_history(context: Context) -> MarginHistory | None:
    """Margins after some rounds; none of forests and bagging, whose full trees have margins of 1 on training rows."""
    rows, is_bagged = context.sample, isinstance(context.core, BaseForest | BaseBagging)
    core: Any = context.core
    has_votes, has_stages = hasattr(core, "staged_margins"), hasattr(core, "staged_predict_proba") and not is_bagged
    if context.classes.size < 2 or not rows.size or not (has_votes or has_stages):
        return None
    X, codes = take_rows(context.encoded, rows), context.codes[rows]
    n = getattr(core, "n_estimators_", None)
    n = int(n) if isinstance(n, int | np.integer) else len(core.members_)
    staged: Iterator[Floats] = (
        core.staged_margins(X, context.y[rows])
        if has_votes
        else (class_margins(probability, codes) for probability in core.staged_predict_proba(X))
    )
    wanted = set((thin(np.empty(n), MAX_STAGES) + 1).tolist())
    chosen, t, margins = dict[int, Floats](), 0, np.empty(0)
    try:
        for t, margins in enumerate(staged, start=1):
            if t in wanted:
                chosen[t] = margins
    except PredictionOnlyError:
        return None
    chosen[t] = margins
    return MarginHistory("vote" if has_votes else "probabilities", tuple(chosen), tuple(chosen.values()))


def _importances_of_model(context: Context) -> Floats | None:
    own = getattr(context.core, "feature_importances_", None)
    return None if own is None or len(own) != len(context.names) else np.asarray(own)


def _permute(context: Context) -> PermutationImportances | None:
    """Increase of the loss by the permutation of each column, on a sample of the rows."""
    d = len(context.names)
    n = min(MAX_CELLS // (d * N_REPEATS * d), MAX_PERMUTED)
    rows = context.draw(n) if n >= MIN_PERMUTED else np.empty(0, np.int64)
    rows = rows[context.codes[rows] >= 0] if context.is_classifier else rows
    has_others = context.has_oob_importances and _importances_of_model(context) is not None
    if not rows.size or has_others or context.classes.size == 1:
        return None
    y, scoring = context.y[rows], None
    if not context.is_classifier:
        scoring = _negative_squared_error
    elif hasattr(context.model, "predict_proba"):
        y, scoring = context.codes[rows], log_likelihood
    return permutation_importances(
        context.model, take_rows(context.X, rows), y, n_repeats=N_REPEATS, scoring=scoring, random_state=context.seed
    )


def _negative_squared_error(model: Any, X: Any, y: Any) -> float:
    return -float(np.mean((np.asarray(y, np.float64) - middle(np.asarray(model.predict(X), np.float64))) ** 2))


def _feature_order(context: Context) -> Rows:
    importances = _importances_of_model(context)
    if importances is None and context.permutation is not None:
        importances = context.permutation.mean
    return np.arange(len(context.names)) if importances is None else np.argsort(-importances, kind="stable")
