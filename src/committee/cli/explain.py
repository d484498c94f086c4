"""`committee explain`: feature importances of a model, and SHAP values of single rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.cli.model_files import LoadedModel, inner_model
from committee.explain.sampled_shap import sampled_shap
from committee.ingest.files import TableError
from committee.ingest.schema import find_column
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.tabular.schema import open_table
from committee.voting.calibrated_classifier import uncalibrated

MAX_ROWS = 5000
"""Rows on which columns are permuted."""

N_ORDERS = 200
"""Random orders of the columns for sampled SHAP values."""


class Importance(NamedTuple):
    """Importance of one column."""

    column: str
    importance: float  # the largest is 100
    kind: str


class Contribution(NamedTuple):
    """SHAP value of one column for one row."""

    row: int
    output: str  # a class, or "prediction"
    column: str
    value: str | float | None  # of the column; None if missing
    contribution: float


class RowExplanation(NamedTuple):
    """Prediction for one row, and the contributions of the columns to it, the largest first."""

    row: int
    prediction: str | float
    base_value: float
    contributions: tuple[Contribution, ...]


class Ranking(NamedTuple):
    """Columns by decreasing importance, and a note about the rows that they were computed on."""

    columns: list[Importance]
    note: str = ""


def column_importances(loaded: LoadedModel, frame: pl.DataFrame | None, random_state: int) -> Ranking:
    """Permutation importances if the table has the target, else importances by the gains of the splits."""
    has_target = frame is not None and loaded.metadata.schema.target in frame.columns
    if frame is not None and has_target:
        return _by_permutation(loaded, frame, random_state)
    return Ranking(_by_splits(loaded))


OUT_OF_BAG = "The rows are the training rows: columns are permuted out of bag, in trees that were not fitted on a row."
ON_TRAINING_ROWS = (
    "The rows are the training rows: an overfitted model gives noise columns an importance there. Importances on "
    "held-out rows are more reliable."
)


def _by_permutation(loaded: LoadedModel, frame: pl.DataFrame, random_state: int) -> Ranking:
    from committee.cli.compare import table_digest

    schema = loaded.metadata.schema
    frame = frame.filter(pl.col(find_column(frame, schema.target)).is_not_null())
    X, y = schema.apply(frame), schema.apply_to_target(frame)
    is_training = table_digest(X, y) == loaded.metadata.digest
    result = _out_of_bag(loaded, X, y, random_state) if is_training else None
    if result is not None:
        return Ranking(result, OUT_OF_BAG)
    return Ranking(_permuted(loaded, X, y, random_state), ON_TRAINING_ROWS if is_training else "")


def _out_of_bag(loaded: LoadedModel, X: pl.DataFrame, y: NDArray[Any], random_state: int) -> list[Importance] | None:
    """Out-of-bag importances of a forest on its training rows; None for other models."""
    from committee.explain.forest_importances import forest_importances
    from committee.forests.estimators import BaseForestClassifier, BaseForestRegressor

    forest = uncalibrated(loaded.model)
    if not isinstance(forest, BaseForestClassifier | BaseForestRegressor):
        return None
    try:
        result = forest_importances(forest, X, y, kinds=["permutation"], random_state=random_state).of("permutation")
    except (ValueError, AttributeError):  # no rows out of bag, or weights that the file does not keep
        return None
    return _sorted(result.names, np.maximum(result.values, 0.0), "permutation out of bag")


def _permuted(loaded: LoadedModel, table: pl.DataFrame, y: NDArray[Any], random_state: int) -> list[Importance]:
    from committee.explain.importances import log_likelihood, permutation_importances, scaled_to_100

    if table.height > MAX_ROWS:
        some = np.sort(np.random.default_rng(random_state).permutation(table.height)[:MAX_ROWS])
        table, y = table[some], y[some]
    scoring = None
    if hasattr(loaded.model, "predict_proba"):  # a forest makes no error on its training rows, but its log-loss changes
        place = {label: code for code, label in enumerate(loaded.model.classes_.tolist())}
        codes = np.array([place.get(label, -1) for label in y.tolist()])
        table, y, scoring = table.filter(codes >= 0), codes[codes >= 0], log_likelihood
    result = permutation_importances(loaded.model, table, y, scoring=scoring, random_state=random_state)
    values = scaled_to_100(np.maximum(np.asarray(result.mean, np.float64), 0.0))
    return _sorted(result.names, values, "permutation")


def _by_splits(loaded: LoadedModel) -> list[Importance]:
    from committee.explain.importances import tree_importances

    core = uncalibrated(loaded.model)
    core = core.estimator_ if isinstance(core, BaseNumericPipeline) else core
    try:
        result = tree_importances(core, "gain")
    except (TypeError, AttributeError) as error:
        raise TableError(
            f"{type(core).__name__} has no trees: for permutation importances pass a table with the target "
            f"{loaded.metadata.schema.target!r}."
        ) from error
    return _sorted(result.names, result.values, "gain")


def _sorted(names: tuple[str, ...], values: Floats, kind: str) -> list[Importance]:
    order = np.argsort(-values, kind="stable")
    return [Importance(names[f], float(values[f]), kind) for f in order]


# --- single rows ------------------------------------------------------------------------------------------------------


def explain_rows(loaded: LoadedModel, frame: pl.DataFrame, rows: list[int]) -> list[RowExplanation]:
    """SHAP values of these rows of the table, counted from 0; exact for trees, sampled for other models."""
    outside = [row for row in rows if not 0 <= row < frame.height]
    if outside:
        raise TableError(f"There is no row {outside[0]}: the table has {frame.height} rows, counted from 0.")
    from committee.explain.shap import shap_values

    X = loaded.metadata.schema.apply(frame)
    explained = X[rows]
    core, encoded, names = inner_model(loaded.model, explained)
    kind = float if loaded.metadata.schema.task == "regression" else str
    predictions = [kind(prediction) for prediction in loaded.model.predict(explained)]
    try:
        result = shap_values(core, encoded) if names is None else None
    except TypeError:
        result = None
    if result is None:
        return [_sampled(loaded, X, row, predictions[i]) for i, row in enumerate(rows)]
    return [_exact(loaded, result, explained, i, row, predictions[i]) for i, row in enumerate(rows)]


def _sampled(loaded: LoadedModel, X: pl.DataFrame, row: int, prediction: str | float) -> RowExplanation:
    output = _output(loaded, X[row : row + 1], prediction)[0]
    result = sampled_shap(lambda rows: _output(loaded, rows, prediction)[1], open_table(X), [row], n_orders=N_ORDERS)
    return _explanation(X, row, row, output, prediction, float(result.base[0]), result.values[0])


def _output(loaded: LoadedModel, X: pl.DataFrame, prediction: str | float) -> tuple[str, Floats]:
    """The output that is explained: the probability of the predicted class, or the prediction of a regression."""
    model = loaded.model
    if loaded.metadata.schema.task == "regression":
        return "prediction", np.asarray(model.predict(X), np.float64)
    if not hasattr(model, "predict_proba"):
        return str(prediction), (model.predict(X).astype(str) == prediction).astype(np.float64)
    classes = [str(label) for label in model.classes_]
    return str(prediction), model.predict_proba(X)[:, classes.index(str(prediction))]


def _exact(
    loaded: LoadedModel, result: Any, X: pl.DataFrame, i: int, row: int, prediction: str | float
) -> RowExplanation:
    values, base = np.asarray(result.values[i], np.float64), np.ravel(result.base_values)
    output, k = "prediction", 0
    if values.ndim == 2:
        classes = [str(label) for label in loaded.model.classes_]
        k = classes.index(str(prediction))
        output, values = str(prediction), values[:, k]
    elif loaded.metadata.schema.task == "classification":
        output = str(loaded.model.classes_[1])  # the decision function is that of the second class
    return _explanation(X, i, row, output, prediction, float(base[k if base.size > 1 else 0]), values)


def _explanation(
    X: pl.DataFrame, place: int, row: int, output: str, prediction: str | float, base_value: float, values: Floats
) -> RowExplanation:
    order = np.argsort(-np.abs(values), kind="stable")
    found = [Contribution(row, output, X.columns[f], _cell(X[place, int(f)]), float(values[f])) for f in order]
    return RowExplanation(row, prediction, base_value, tuple(found))


def _cell(value: Any) -> str | float | None:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return float(value) if isinstance(value, (int, float)) else str(value)
