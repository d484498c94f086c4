"""An estimator that a display cannot draw: the error says what the display is for, and which one draws the estimator.

What a fit recorded tells the right one: the columns of `history_`, a single tree, the machine of a plane.
"""

from __future__ import annotations

from typing import Any, NoReturn

from sklearn.utils.validation import check_is_fitted

from committee.explain.svm_geometry import SVM_CLASSIFIERS
from committee.records.history import History

BY_HISTORY = (
    ({"oob_error"}, "OutOfBagErrorDisplay, the error over its members"),
    ({"round", "train_loss"}, "LossCurveDisplay, its losses over the rounds"),
    ({"round", "train_error"}, "ErrorCurveDisplay, its errors over the rounds"),
    ({"log_likelihood"}, "LikelihoodCurveDisplay, its likelihood over the steps"),
    ({"step", "member", "loss"}, "CommitteeMembersDisplay, its members and their weights"),
)
"""Columns of a history, and what draws them."""


def recorded(estimator: Any, column: str, display: str, lacking: str, owners: str) -> History:
    """The history of a fitted estimator, which has such a column; an error for any other."""
    history = getattr(estimator, "history_", None)
    if history is None or not {"round", column} <= set(history):
        reject(estimator, display, lacking, owners)
    return history


def reject(estimator: Any, display: str, lacking: str, owners: str) -> NoReturn:
    """Raise NotFittedError, or a TypeError that says what the display is for and what draws this estimator."""
    check_is_fitted(estimator, msg=f"There is nothing for {display} to draw: fit %(name)s first.")
    raise TypeError(
        f"{type(estimator).__name__} records no {lacking}: {display} is for {owners}. Take {right_display(estimator)}."
    )


def right_display(estimator: Any) -> str:
    """The display that draws what this fitted estimator recorded."""
    if hasattr(estimator, "tree_"):
        return "TreeDisplay, the tree itself"
    columns = set(getattr(estimator, "history_", ()))
    for needed, result in BY_HISTORY:
        if needed <= columns:
            return result
    if isinstance(estimator, SVM_CLASSIFIERS):
        return "SVMDecisionBoundaryDisplay, its plane in two columns"
    return "PartialDependenceDisplay, which draws the answers of any model"
