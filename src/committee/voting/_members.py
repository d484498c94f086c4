"""One member: fitted with weights where it takes them, else on repeated or drawn rows; and what it answers."""

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
    """A member that is not fitted: its name, the estimator, the seed of its draws and what else its fit is told."""

    name: str
    estimator: Any
    seed: int
    metadata: Mapping[str, Any]


def fit_member(member: NamedMember, task: Task, rows: Indices | None = None) -> Any:
    """The member learned from the task, or from some rows of it; rows without weight are not there."""
    if task.weight is not None and np.any(task.weight == 0.0):
        chosen = np.arange(task.n_rows) if rows is None else rows
        rows = chosen[task.weight[chosen] > 0.0]
    learned = task if rows is None else task.take(rows)
    metadata = member.metadata if rows is None else metadata_of_rows(member.metadata, rows, task.n_rows)
    fresh: Any = clone(member.estimator)
    if rows is not None and _is_one_class(learned):
        return fit_constant(learned.target)
    try:
        if learned.weight is None or rejects_weights(fresh):
            return fresh.fit(learned.X, learned.target, **metadata)
        if has_fit_parameter(fresh, "sample_weight"):
            return fresh.fit(learned.X, learned.target, sample_weight=learned.weight, **metadata)
        _reject_metadata(member)
        repeated = learned.take_whole(member.seed, type(fresh).__name__)
        return fresh.fit(repeated.X, repeated.target)
    except Exception as error:
        raise named(error, member.name, fresh) from None


def named(error: Exception, name: str, estimator: Any) -> Exception:
    """The error with a line that says whose it is."""
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
            f"{type(member.estimator).__name__} takes no sample_weight, so its rows are repeated, and what else was "
            f"passed for them, {sorted(member.metadata)}, cannot be: fit without weights, or without these."
        )


# --- answers ---------------------------------------------------------------------------------------------------------


def class_codes(member: Any, X: Any, n_classes: int) -> NDArray[np.int64]:
    """The class that the member answers for every row."""
    return predicted_codes(member, X, np.arange(n_classes))


def class_shares(member: Any, X: Any, n_classes: int) -> Floats:
    """Class distribution for every row, [n, classes]; a class that the member did not see has the share 0."""
    return predicted_probabilities(member, X, np.arange(n_classes))


def decisions(member: Any, X: Any, n_classes: int) -> Floats:
    """Decision function, [n, 1] of two classes, [n, classes] of more, or what else the member makes, one per pair.

    A member that did not see every class gives the others the smallest score there is; one that saw a single class, 1
    to it and -1 to the rest.
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
    """What the method of a fitted member says of every row, [n, k]."""
    if not n_classes:
        return predicted_values(member, X)[:, np.newaxis]
    if method == "predict_proba":
        return class_shares(member, X, n_classes)
    if method == "decision_function":
        return decisions(member, X, n_classes)
    return class_codes(member, X, n_classes).astype(np.float64)[:, np.newaxis]


def prediction_fold(member: NamedMember, task: Task, fold: Split, method: Method) -> Floats:
    """Answers to the rows of a fold by the member learned from the others."""
    fitted = fit_member(member, task, fold.train)
    return predictions_of(fitted, take_rows(task.X, fold.test), method, task.n_classes)
