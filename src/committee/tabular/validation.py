"""Validation of the data passed to estimators.

Checks that scikit-learn has are those of scikit-learn, with its messages.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from committee.base.stacklevel import level_of_caller
from committee.tabular.cells import (
    CAST_ADVICE,
    STRING_ADVICE,
    Float,
    Table,
    canonical,
    factorize,
    is_missing,
    read_objects,
)
from committee.tabular.schema import ANY_DTYPE, Columns, encode, fit_encode, open_table

MIN_TOTAL, MAX_TOTAL = 1e-100, 1e100
"""Limits of the sum of the weights, against over- and underflow of weighted sums of squares."""

MIN_TARGET, MAX_TARGET = 1e-100, 1e100
"""Limits of the largest |y|, against over- and underflow of sums of squares."""


def read_training_table(
    estimator: Any, X: Any, *, categorical_features: Any = "from_dtype", sample_weight: Any = None
) -> tuple[Columns, Float]:
    """The columns of a table, and its cells as floats, which may be a view of X and must not be changed.

    Sets `n_features_in_` and `feature_names_in_` of the estimator, after all checks.
    """
    table = open_table(X, estimator)
    weight = read_weights(sample_weight, table.shape[0])
    columns, array = fit_encode(table, categorical_features, weight, string_advice(estimator, categorical_features))
    validate_data(estimator, native(table), reset=True, skip_check_array=True)
    return columns, array


def read_table(estimator: Any, X: Any) -> Float:
    """A table to predict, encoded as in `fit`; it may be a view of X and must not be changed."""
    if not hasattr(estimator, "columns_"):
        check_is_fitted(estimator, "columns_")
    table = open_table(X, estimator)
    columns: Columns = estimator.columns_
    is_plain = isinstance(table, np.ndarray) and columns.names is None and table.shape[1] == columns.n_features
    if not is_plain:  # scikit-learn's check takes 40 us, ten times the prediction of a tree for one row
        validate_data(estimator, native(table), reset=False, skip_check_array=True)
    return encode(columns, table)


def read_weights(sample_weight: Any, n_rows: int, what: str = "sample_weight") -> NDArray[np.float64] | None:
    """One finite weight >= 0 per row, not all zero; None stays None. `what` names them in errors."""
    if sample_weight is None:
        return None
    weight = read_batch_weights(sample_weight, n_rows, what)
    with np.errstate(over="ignore"):
        check_total_weight(float(weight.sum()), what)
    return weight


def read_batch_weights(sample_weight: Any, n_rows: int, what: str = "sample_weight") -> NDArray[np.float64]:
    """One finite weight >= 0 for each of some rows, which may all be zero."""
    if isinstance(sample_weight, str | dict):
        raise ValueError(f"{what} must be numbers, one per row; got {sample_weight!r}.")
    if isinstance(sample_weight, numbers.Number):
        weight = np.full(n_rows, sample_weight)
    else:
        plain = _plain_values(sample_weight, what)
        weight = check_array(plain, ensure_2d=False, input_name=what, **ANY_DTYPE)
    if weight.ndim != 1:
        raise ValueError(
            f"{what} must be a number or have one dimension, got shape {weight.shape}: pass one weight per row."
        )
    _check_length(n_rows, weight.shape[0], what, "pass one weight per row")
    weight = _as_float64(weight, what)
    if not np.all(np.isfinite(weight)):
        raise ValueError(f"Input {what} contains NaN or infinity: give such rows the weight 0 or drop them.")
    if np.any(weight < 0):
        raise ValueError(f"Negative values in {what}: weights must be >= 0; drop such rows or set them to 0.")
    return weight


def check_total_weight(total: float, what: str = "sample_weight") -> None:
    """Raise ValueError if the sum of all weights is 0, or over- or underflows in weighted sums of squares."""
    if total == 0.0:
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all weights are zero, so there is nothing to "
            f"fit; pass {what}=None for equal weights."
        )
    if not MIN_TOTAL <= total <= MAX_TOTAL:
        raise ValueError(
            f"The sum of {what} is {total:.3g}, too {'large' if total > 1 else 'small'} for sums of squares in "
            "float64: divide all weights by their maximum."
        )


def read_targets_regression(y: Any, n: int) -> NDArray[np.float64]:
    """Finite target values, [n] or [n, k] with k > 1."""
    _require_targets(y, "pass one target per row")
    target = check_array(_plain_values(y, "y"), ensure_2d=False, input_name="y", **ANY_DTYPE)
    if target.ndim != 2 or target.shape[1] == 1:
        target = _as_row(target)
    _check_length(n, target.shape[0], "y", "pass one target per row")
    target = _as_float64(target, "y")
    check_array(target, ensure_2d=False, input_name="y")
    return target


def _as_row(values: Any) -> NDArray[Any]:
    """A one-dimensional array; a column is accepted with scikit-learn's warning."""
    row = column_or_1d(values)
    if np.asarray(values).ndim == 2:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=level_of_caller(),
        )
    return row


def read_one_target(y: Any, n: int, taker: str) -> NDArray[np.float64]:
    """Finite target values [n] whose sums of squares do not overflow; `taker` names the estimator in errors."""
    target = read_targets_regression(y, n)
    if target.ndim > 1:
        raise ValueError(
            f"y has {target.shape[1]} outputs, {taker} takes one; wrap it in sklearn.multioutput.MultiOutputRegressor."
        )
    check_target_size(target)
    return target


def check_target_size(target: NDArray[np.float64]) -> None:
    """Raise ValueError if sums of squares of a regression target would over- or underflow."""
    largest = float(np.abs(target).max())
    if largest > MAX_TARGET or 0.0 < largest < MIN_TARGET:
        raise ValueError(
            f"The largest |y| is {largest:.3g}, too {'large' if largest > 1 else 'small'} for sums of squares in "
            "float64: divide y by a number of that size."
        )


def read_targets_classification(y: Any, n: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes in ascending order, and the code of the class of each row."""
    _require_targets(y, "pass one label per row")
    labels = _as_row(_plain_values(y, "y"))
    _check_length(n, labels.shape[0], "y", "pass one label per row")
    if labels.dtype.kind == "U" and isinstance(y, list | tuple) and not all(isinstance(label, str) for label in y):
        labels = np.array(y, dtype=object).ravel()  # numbers and nan among strings stay what they are
    if labels.dtype.kind == "O":
        labels = _plain_labels(labels)
    if labels.dtype.kind == "O":
        return _factorize_strings(labels)
    if labels.dtype.kind in "SV":
        raise ValueError(f"Unknown label type: {labels.dtype}. Convert the labels to strings or integers.")
    if labels.dtype.kind in "Mm" and np.isnat(labels).any():
        _reject_missing("y")
    if labels.dtype.kind == "f":
        check_array(labels, ensure_2d=False, input_name="y")
        if np.any(labels != np.floor(labels)):
            check_classification_targets(labels)
    codes, classes = factorize(labels)
    return classes, codes


def read_known_classes(y: Any, n: int, classes: NDArray[Any], what: str = "y") -> NDArray[np.int64]:
    """The code of the class of each row, for the classes of a fit."""
    labels, codes = read_targets_classification(y, n)
    unknown = np.setdiff1d(labels, classes)
    if unknown.size:
        raise ValueError(
            f"{what} has labels that y in fit does not have: {unknown[:5].tolist()}. Evaluate on the classes of the "
            "training data."
        )
    return np.searchsorted(classes, labels)[codes]


def reject_missing_cells(
    table: NDArray[np.floating], columns: Columns, who: str, may_miss: NDArray[np.bool_] | None = None
) -> None:
    """Raise ValueError for missing values, except in the columns `may_miss`; `who` does not take them."""
    is_missing = np.isnan(table).any(axis=0)
    if may_miss is not None:
        is_missing &= ~may_miss
    if is_missing.any():
        name = columns.name(int(is_missing.argmax()))
        raise ValueError(
            f"Input X contains NaN in column {name}, which {who} does not accept: fill the missing values in "
            "(sklearn.impute.SimpleImputer with add_indicator=True; NumericPipelineClassifier and "
            "NumericPipelineRegressor do so), or use trees, which take missing values."
        )


def string_advice(estimator: Any, categorical_features: Any) -> str:
    """Advice for a column of strings, which depends on the estimator."""
    if hasattr(estimator, "categorical_features"):
        return STRING_ADVICE
    if categorical_features is not None:
        return f"{CAST_ADVICE} (of pandas, polars or Arrow)."
    name = type(estimator).__name__
    advice = f"convert it to numbers, {name} takes no categories: encode them by OneHotEncoder or pandas.get_dummies"
    if hasattr(estimator, "partial_fit") or not isinstance(estimator, ClassifierMixin | RegressorMixin):
        return f"{advice}."
    wrapper = "NumericPipelineClassifier" if isinstance(estimator, ClassifierMixin) else "NumericPipelineRegressor"
    return f"{advice}, or fit {wrapper}({name}()), which does so."


def native(table: Table) -> Any:
    """Return the array, or the frame in the type of its own library."""
    return table if isinstance(table, np.ndarray) else table.to_native()


def _plain_values(values: Any, what: str) -> Any:
    """A column of a frame as an array of its dtype; other values unchanged.

    With `np.asarray` the nulls of an Arrow dictionary would get a value, and nullable bools would become floats.
    """
    if isinstance(values, np.ndarray):
        if np.ma.is_masked(values):
            _reject_missing(what)
        return values
    if isinstance(values, list | tuple):
        try:
            return np.asarray(values)
        except ValueError as error:
            raise ValueError(f"{what} holds lists of different lengths: pass one value per row.") from error
    frame: Any = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and frame.shape[1] == 1:
        return _plain_values(frame[:, 0].to_native(), what).reshape(-1, 1)
    if not isinstance(frame, nw.Series):
        return values
    if frame.null_count():
        _reject_missing(what)
    return frame.to_numpy()


def _reject_missing(what: str) -> NoReturn:
    raise ValueError(f"Input {what} contains NaN. Drop the rows without a value, or fill them in.")


def _require_targets(y: Any, advice: str) -> None:
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    if isinstance(y, str | bytes | dict | set | numbers.Number):
        raise ValueError(f"y should be a 1d array, got {type(y).__name__}: {advice}.")


def _check_length(n_rows: int, length: int, what: str, advice: str) -> None:
    if length != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {length}]. X has {n_rows} rows, "
            f"{what} has {length}: {advice}."
        )


def _as_float64(values: NDArray[Any], what: str) -> NDArray[np.float64]:
    if values.dtype.kind in "Mm":
        raise ValueError(f"Input {what} holds dates or times: turn it into numbers.")
    if values.dtype.kind not in "fiub":
        flat = values.ravel().tolist()
        values = read_objects(flat, f"Input {what}", "convert it to numbers.").reshape(values.shape)
    return canonical(np.ascontiguousarray(values), np.float64)


def _plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as an array of numbers or bools, or of string objects; raise ValueError for others."""
    kinds = set(map(type, labels.tolist()))
    if all(issubclass(kind, str) for kind in kinds):
        return labels
    if any(is_missing(value) for value in labels.tolist()):
        _reject_missing("y")
    if all(issubclass(kind, numbers.Real | np.bool_) for kind in kinds):
        return np.array(labels.tolist())
    if any(issubclass(kind, str) for kind in kinds):
        raise ValueError("Unknown label type: y mixes strings and other values. Convert all labels to strings.")
    raise ValueError("Unknown label type: unknown. Labels must be strings, integers or bools.")


def _factorize_strings(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    listed = labels.tolist()
    classes = sorted(set(listed))
    code_of = {label: code for code, label in enumerate(classes)}
    return np.array(classes, dtype=object), np.array([code_of[label] for label in listed], dtype=np.int64)
