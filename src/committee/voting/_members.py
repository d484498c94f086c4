"""Fits of one member, with sample weights or on repeated or drawn rows, and its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee.base.array_types import Floats
from committee.members.estimators import (
    fit_constant,
    metadata_of_rows,
    predicted_codes,
    predicted_probabilities,
    predicted_values,
    rejects_weights,
)
from committee.sampling.splits import Split
from committee.tabular.rows import take_rows
from committee.voting._rows import Indices, Task

Method = Literal["predict_proba", "decision_function", "predict"]


class NamedMember(NamedTuple):
    """An unfitted member: its name, the estimator, the seed for drawing rows, and the metadata for its fit."""

    name: str
    estimator: Any
    seed: int
    metadata: Mapping[str, Any]


def fit_member(member: NamedMember, task: Task, rows: Indices | None = None) -> Any:
    """Fit a member on the task, or on some rows of it; rows of weight zero are dropped."""
    if task.weight is not None and np.any(task.weight == 0.0):
        chosen = np.arange(task.n_rows) if rows is None else rows
        rows = chosen[task.weight[chosen] > 0.0]
    part = task if rows is None else task.take(rows)
    metadata = member.metadata if rows is None else metadata_of_rows(member.metadata, rows, task.n_rows)
    fresh: Any = clone(member.estimator)
    if rows is not None and _is_one_class(part):
        return fit_constant(part.target)
    try:
        if part.weight is None or rejects_weights(fresh):
            return fresh.fit(part.X, part.target, **metadata)
        if has_fit_parameter(fresh, "sample_weight"):
            return fresh.fit(part.X, part.target, sample_weight=part.weight, **metadata)
        _reject_metadata(member)
        repeated = part.take_whole(member.seed, type(fresh).__name__)
        return fresh.fit(repeated.X, repeated.target)
    except Exception as error:
        raise with_name(error, member.name, fresh) from None


def with_name(error: Exception, name: str, estimator: Any) -> Exception:
    """Add a note with the name of the member to an error."""
    error.add_note(f"The member that failed is {name!r}, {type(estimator).__name__}.")
    return error


def _is_one_class(task: Task) -> bool:
    if not task.n_classes:
        return False
    labels = task.target if task.weight is None else task.target[task.weight > 0.0]
    return bool(labels.size == 0 or np.ptp(labels) == 0)


def _reject_metadata(member: NamedMember) -> None:
    if member.metadata:
        raise ValueError(
            f"{type(member.estimator).__name__} takes no sample_weight and is fitted on repeated rows, for which there "
            f"is no metadata {sorted(member.metadata)}: fit without weights, or without these."
        )


# --- predictions -----------------------------------------------------------------------------------------------------


def class_codes(member: Any, X: Any, n_classes: int) -> NDArray[np.int64]:
    """Predict the class codes of a fitted member."""
    return predicted_codes(member, X, np.arange(n_classes))


def class_probabilities(member: Any, X: Any, n_classes: int) -> Floats:
    """Predict class probabilities, [n, classes]; 0 for classes that the member was not fitted on."""
    return predicted_probabilities(member, X, np.arange(n_classes))


def decision_values(member: Any, X: Any, n_classes: int) -> Floats:
    """Compute the decision function, [n, 1] for two classes, [n, classes] for more, or a column for each pair.

    Classes that the member was not fitted on have the smallest score; for a member fitted on a single class the scores
    are 1 for this class and -1 for the others.
    """
    n_rows, known = X.shape[0], np.asarray(member.classes_, np.int64)
    if known.size == 1:
        signs = np.where(np.arange(n_classes) == known[0], 1.0, -1.0)
        return np.tile(signs[1:] if n_classes == 2 else signs, (n_rows, 1))
    scores = np.asarray(member.decision_function(X), np.float64).reshape(n_rows, -1)
    if known.size == n_classes:
        return scores
    own = np.column_stack([-scores[:, 0], scores[:, 0]]) if known.size == 2 else scores
    predictions = np.full((n_rows, n_classes), own.min())
    predictions[:, known] = own
    return predictions


def predictions_of(member: Any, X: Any, method: Method, n_classes: int) -> Floats:
    """Return the predictions of a method of a fitted member, [n, k]."""
    if not n_classes:
        return predicted_values(member, X)[:, np.newaxis]
    if method == "predict_proba":
        return class_probabilities(member, X, n_classes)
    if method == "decision_function":
        return decision_values(member, X, n_classes)
    return class_codes(member, X, n_classes).astype(np.float64)[:, np.newaxis]


def predict_fold(member: NamedMember, task: Task, fold: Split, method: Method) -> Floats:
    """Fit a member on the training rows of a fold and predict its test rows."""
    fitted = fit_member(member, task, fold.train)
    return predictions_of(fitted, take_rows(task.X, fold.test), method, task.n_classes)
