"""`committee explain`: which columns matter to a model, and what made it answer as it did on single rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.cli.model_files import KnownModel, inner_model
from committee.explain._sampled_shap import sampled_shap
from committee.ingest.files import TableError
from committee.ingest.table import apply_recipe
from committee.members.numeric_pipeline import BaseNumericPipeline
from committee.tabular.schema import open_table
from committee.voting.calibrated_classifier import uncalibrated

MAX_ROWS = 5000
"""Rows on which columns are permuted."""

N_ORDERS = 200
"""Random orders of the columns behind sampled Shapley values."""


class Importance(NamedTuple):
    """How much one column matters."""

    column: str
    value: float  # the largest is 100
    kind: str


class Share(NamedTuple):
    """What one column adds to one answer."""

    row: int
    output: str  # a class, or "prediction"
    column: str
    cell: str | float | None  # None where it is missing
    share: float


class RowExplanation(NamedTuple):
    """The answer to one row, and the shares of the columns in it, the largest first."""

    row: int
    answer: str | float
    base: float
    shares: tuple[Share, ...]


class Ranking(NamedTuple):
    """The columns by their importance, and what must be known of the rows behind it."""

    columns: list[Importance]
    note: str = ""


def column_importances(known: KnownModel, frame: pl.DataFrame | None, seed: int) -> Ranking:
    """By permutation where the table has the target, by the splits of the trees otherwise; the largest first."""
    has_target = frame is not None and known.facts.recipe.target in frame.columns
    if frame is not None and has_target:
        return _permuted(known, frame, seed)
    return Ranking(_by_splits(known))


OUT_OF_BAG = (
    "These are the rows the model was fitted on: values are exchanged out of bag, in trees that did not see a row."
)
LEARNED = (
    "These are the rows the model was fitted on: what it learned by heart counts, and columns of noise may seem to "
    "matter. Rows that it has not seen tell more."
)


def _permuted(known: KnownModel, frame: pl.DataFrame, seed: int) -> Ranking:
    from committee.cli.compare import table_digest
    from committee.ingest.table import find_column

    recipe = known.facts.recipe
    frame = frame.filter(pl.col(find_column(frame, recipe.target)).is_not_null())
    table, y = apply_recipe(recipe, frame), known_target(known, frame)
    is_training = table_digest(table, y) == known.facts.digest
    result = _out_of_bag(known, table, y, seed) if is_training else None
    if result is not None:
        return Ranking(result, OUT_OF_BAG)
    return Ranking(_exchanged(known, table, y, seed), LEARNED if is_training else "")


def _out_of_bag(known: KnownModel, table: pl.DataFrame, y: NDArray[Any], seed: int) -> list[Importance] | None:
    """Of a forest that has rows out of bag, on its own rows; None for all else."""
    from committee.explain.forest_importances import forest_importances
    from committee.forests.estimators import BaseForestClassifier, BaseForestRegressor

    forest = uncalibrated(known.model)
    if not isinstance(forest, BaseForestClassifier | BaseForestRegressor):
        return None
    try:
        result = forest_importances(forest, table, y, kinds=["permutation"], random_state=seed).of("permutation")
    except (ValueError, AttributeError):  # no rows out of bag, or weights that the file does not keep
        return None
    return _sorted(result.names, np.maximum(result.values, 0.0), "permutation out of bag")


def _exchanged(known: KnownModel, table: pl.DataFrame, y: NDArray[Any], seed: int) -> list[Importance]:
    from committee.explain.importances import log_likelihood, permutation_importances, scaled_to_100

    if table.height > MAX_ROWS:
        some = np.sort(np.random.default_rng(seed).permutation(table.height)[:MAX_ROWS])
        table, y = table[some], y[some]
    scoring = None
    if hasattr(known.model, "predict_proba"):  # on rows that it has seen a forest makes no error, whatever is exchanged
        place = {label: code for code, label in enumerate(known.model.classes_.tolist())}
        codes = np.array([place.get(label, -1) for label in y.tolist()])
        table, y, scoring = table.filter(codes >= 0), codes[codes >= 0], log_likelihood
    result = permutation_importances(known.model, table, y, scoring=scoring, random_state=seed)
    values = scaled_to_100(np.maximum(np.asarray(result.mean, np.float64), 0.0))
    return _sorted(result.names, values, "permutation")


def known_target(known: KnownModel, frame: pl.DataFrame) -> NDArray[Any]:
    """The target of rows, as the model knows it."""
    from committee.ingest.column_types import as_numbers, clean_text

    recipe = known.facts.recipe
    series = frame[recipe.target]
    if recipe.labels == "float":
        return as_numbers(series).to_numpy()
    if recipe.labels == "str":
        return np.array(clean_text(series).to_list(), dtype=object)
    numbers = as_numbers(series)
    return numbers.to_numpy().astype(bool if recipe.labels == "bool" else np.int64)


def _by_splits(known: KnownModel) -> list[Importance]:
    from committee.explain.importances import tree_importances

    core = uncalibrated(known.model)
    core = core.estimator_ if isinstance(core, BaseNumericPipeline) else core
    try:
        result = tree_importances(core, "gain")
    except (TypeError, AttributeError) as error:
        raise TableError(
            f"{type(core).__name__} has no trees to read importances from: pass a table with the target "
            f"{known.facts.recipe.target!r}, so that columns can be permuted."
        ) from error
    return _sorted(result.names, result.values, "gain")


def _sorted(names: tuple[str, ...], values: Floats, kind: str) -> list[Importance]:
    order = np.argsort(-values, kind="stable")
    return [Importance(names[f], float(values[f]), kind) for f in order]


# --- single rows ------------------------------------------------------------------------------------------------------


def explain_rows(known: KnownModel, frame: pl.DataFrame, rows: list[int], seed: int = 0) -> list[RowExplanation]:
    """SHAP values of these rows of the table, counted from 0; exact for trees, by sampling for all else."""
    outside = [row for row in rows if not 0 <= row < frame.height]
    if outside:
        raise TableError(f"There is no row {outside[0]}: the table has {frame.height} rows, counted from 0.")
    from committee.explain.shap import shap_values

    X = apply_recipe(known.facts.recipe, frame)
    asked = X[rows]
    core, numbers, names = inner_model(known.model, asked)
    is_number = known.facts.recipe.task == "regression"
    predictions = [float(answer) if is_number else str(answer) for answer in known.model.predict(asked)]
    try:
        result = shap_values(core, numbers) if names is None else None
    except TypeError:
        result = None
    if result is None:
        return [_sampled(known, X, row, predictions[i], seed) for i, row in enumerate(rows)]
    return [_explained(known, result, asked, i, row, predictions[i]) for i, row in enumerate(rows)]


def _sampled(known: KnownModel, X: pl.DataFrame, row: int, answer: str | float, seed: int) -> RowExplanation:
    """SHAP values by sampling, for models that are no sum of trees."""
    output = _scores(known, X[row : row + 1], answer)[0]
    result = sampled_shap(
        lambda rows: _scores(known, rows, answer)[1], open_table(X), [row], n_orders=N_ORDERS, seed=seed
    )
    return _told(X, row, row, output, answer, float(result.base[0]), result.values[0])


def _scores(known: KnownModel, X: pl.DataFrame, answer: str | float) -> tuple[str, Floats]:
    """What is shared out: the probability of the answer, or the number predicted."""
    if known.facts.recipe.task == "regression":
        return "prediction", np.asarray(known.model.predict(X), np.float64)
    if not hasattr(known.model, "predict_proba"):
        return str(answer), (known.model.predict(X).astype(str) == answer).astype(np.float64)
    classes = [str(label) for label in known.model.classes_]
    return str(answer), known.model.predict_proba(X)[:, classes.index(str(answer))]


def _explained(
    known: KnownModel, result: Any, X: pl.DataFrame, i: int, row: int, answer: str | float
) -> RowExplanation:
    values, base = np.asarray(result.values[i], np.float64), np.ravel(result.base_values)
    output, k = "prediction", 0
    if values.ndim == 2:
        classes = [str(label) for label in known.model.classes_]
        k = classes.index(str(answer))
        output, values = str(answer), values[:, k]
    elif known.facts.recipe.task == "classification":
        output = str(known.model.classes_[1])  # scores speak for the second class
    return _told(X, i, row, output, answer, float(base[k if base.size > 1 else 0]), values)


def _told(
    X: pl.DataFrame, place: int, row: int, output: str, answer: str | float, base: float, values: Floats
) -> RowExplanation:
    order = np.argsort(-np.abs(values), kind="stable")
    shares = [Share(row, output, X.columns[f], _cell(X[place, int(f)]), float(values[f])) for f in order]
    return RowExplanation(row, answer, base, tuple(shares))


def _cell(value: Any) -> str | float | None:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    return float(value) if isinstance(value, (int, float)) else str(value)
