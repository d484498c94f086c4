"""Check that a display can draw an estimator; the error names the purpose of the display and the one to use instead.

The columns of `history_`, a single tree or a binary SVM determine which display fits.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.explain.svm_geometry import SVM_CLASSIFIERS
from committee.records.history import History

BY_HISTORY = (
    ({"oob_error"}, "OutOfBagErrorDisplay (error over the number of members)"),
    ({"round", "train_loss"}, "LossCurveDisplay (losses over the rounds)"),
    ({"round", "train_error"}, "ErrorCurveDisplay (errors over the rounds)"),
    ({"log_likelihood"}, "LikelihoodCurveDisplay (likelihood over the iterations)"),
    ({"step", "member", "loss"}, "CommitteeMembersDisplay (members and their weights)"),
)
"""Columns of a history, and the display that draws them."""


def recorded(estimator: Any, column: str, display: str, lacking: str, owners: str) -> History:
    """Return the history of a fitted estimator if it has the column; raise for any other estimator."""
    history = getattr(estimator, "history_", None)
    if history is None or not {"round", column} <= set(history):
        reject(estimator, display, lacking, owners)
    return history


def measured(history: History, name: str) -> Floats | None:
    """Return a column of the history, or None where the fit did not measure it."""
    values = history.get(name)
    if values is None or np.all(np.isnan(values)):
        return None
    return np.asarray(values, np.float64)


def reject(estimator: Any, display: str, lacking: str, owners: str) -> NoReturn:
    """Raise NotFittedError, or a TypeError that names the display to use for this estimator."""
    check_is_fitted(estimator, msg=f"{display} needs a fitted estimator: fit %(name)s first.")
    raise TypeError(
        f"{display} draws {owners}; {type(estimator).__name__} has no {lacking}. Use {right_display(estimator)}."
    )


def right_display(estimator: Any) -> str:
    """Return the display that draws what this fitted estimator recorded."""
    if hasattr(estimator, "tree_"):
        return "TreeDisplay (the tree)"
    columns = set(getattr(estimator, "history_", ()))
    for needed, result in BY_HISTORY:
        if needed <= columns:
            return result
    if isinstance(estimator, SVM_CLASSIFIERS):
        return "SVMDecisionBoundaryDisplay (the decision boundary in two features)"
    return "PartialDependenceDisplay (the predictions of any model)"
