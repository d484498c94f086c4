"""Scores of answers that were given already, such as those out of bag, by scikit-learn's scorers or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

Floats = NDArray[np.float64]
Score = bool | str | Callable[..., float]


class _JudgedClassifier(ClassifierMixin, BaseEstimator):
    """The classifier that a scorer asks: class shares [n, classes]."""

    def __init__(self, classes: NDArray[Any], shares: Floats) -> None:
        self.classes_, self.shares_ = classes, shares

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_.take(self.shares_.argmax(axis=1))

    def predict_proba(self, X: Any) -> Floats:
        return self.shares_


class _JudgedRegressor(RegressorMixin, BaseEstimator):
    """The regressor that a scorer asks: numbers [n, 1]."""

    def __init__(self, answers: Floats) -> None:
        self.answers_ = answers

    def predict(self, X: Any) -> Floats:
        return self.answers_[:, 0]


def score_answers(how: Score, answers: Floats, classes: NDArray[Any] | None, y: NDArray[Any], weight: Floats) -> float:
    """By a scorer's name, a function of (y_true, y_pred), or the usual score: accuracy, or R^2 (nan of a single row).

    Many scores take no weights: they are told of them only where they differ.
    """
    judged = _JudgedRegressor(answers) if classes is None else _JudgedClassifier(classes, answers)
    weights: dict[str, Any] = {"sample_weight": weight} if np.any(weight != weight[0]) else {}
    if callable(how):
        takes_weights = "sample_weight" in inspect.signature(how).parameters
        return float(how(y, judged.predict(None), **(weights if takes_weights else {})))
    is_named = isinstance(how, str) and how != "auto"
    if not is_named and classes is None and len(y) < 2:
        return np.nan
    scorer: Any = get_scorer(how if is_named else "r2" if classes is None else "accuracy")
    return float(scorer(judged, np.empty((len(y), 1)), y, **weights))
