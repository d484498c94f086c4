"""Scores of given predictions, such as out-of-bag ones, by scikit-learn's scorers or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee.base.array_types import Floats

Score = bool | str | Callable[..., float]


class _PrecomputedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier for scorers that returns given class probabilities [n, classes]."""

    def __init__(self, classes: NDArray[Any], probabilities: Floats) -> None:
        self.classes_, self.probabilities_ = classes, probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_.take(self.probabilities_.argmax(axis=1))

    def predict_proba(self, X: Any) -> Floats:
        return self.probabilities_

    def decision_function(self, X: Any) -> Floats:
        """The probabilities; for two classes their difference, positive for the second."""
        p = self.probabilities_
        return p[:, 1] - p[:, 0] if len(self.classes_) == 2 else p


class _PrecomputedRegressor(RegressorMixin, BaseEstimator):
    """A regressor for scorers that returns given values [n, 1]."""

    def __init__(self, predictions: Floats) -> None:
        self.predictions_ = predictions

    def predict(self, X: Any) -> Floats:
        return self.predictions_[:, 0]


def check_score(how: Score) -> None:
    """Raise ValueError for an unknown name of a scorer and for functions of anything but (y_true, y_pred)."""
    if isinstance(how, str):
        if how != "auto":
            _scorer_named(how)
        return
    if not callable(how) or _is_scorer(how):
        return
    required = _required(how)
    if required is not None and required != 2:
        raise ValueError(
            f"oob_score={how!r:.80} is a function of {required} arguments: pass one of (y_true, y_pred), the name of a "
            "scorer, or a scorer such as sklearn.metrics.make_scorer makes."
        )


def _scorer_named(name: str) -> Any:
    from sklearn.metrics import get_scorer  # at its first use: predictions do not need it

    return get_scorer(name)


def _is_scorer(how: Any) -> bool:
    """Whether this is a result of `get_scorer` or `make_scorer`, or a function of (estimator, X, y)."""
    if hasattr(how, "_score_func"):
        return True
    try:
        first, *_ = inspect.signature(how).parameters
    except (TypeError, ValueError):
        return False
    return first in ("estimator", "clf", "model") and _required(how) == 3


def _required(how: Any) -> int | None:
    """Number of required positional arguments; None if it is unknown."""
    try:
        parameters = inspect.signature(how).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    n_needed = sum(p.default is p.empty for p in positional)
    return 2 if n_needed <= 2 <= len(positional) else n_needed


def score_predictions(
    how: Score, predictions: Floats, classes: NDArray[Any] | None, y: NDArray[Any], weight: Floats
) -> float:
    """Score by a scorer or its name, a function of (y_true, y_pred), or by default accuracy or R^2 (nan of one row).

    Weights are passed only if they differ: many scores take none.
    """
    model = _PrecomputedRegressor(predictions) if classes is None else _PrecomputedClassifier(classes, predictions)
    weights: dict[str, Any] = {"sample_weight": weight} if np.any(weight != weight[0]) else {}
    if callable(how) and not _is_scorer(how):
        takes_weights = "sample_weight" in inspect.signature(how).parameters
        return float(how(y, model.predict(None), **(weights if takes_weights else {})))
    is_default = not callable(how) and (not isinstance(how, str) or how == "auto")
    if is_default and classes is None and len(y) < 2:
        return np.nan
    default = "r2" if classes is None else "accuracy"
    scorer: Any = how if callable(how) else _scorer_named(default if is_default else str(how))
    if not hasattr(scorer, "_score_func") and "sample_weight" not in inspect.signature(scorer).parameters:
        weights = {}
    return float(scorer(model, np.empty((len(y), 1)), y, **weights))
