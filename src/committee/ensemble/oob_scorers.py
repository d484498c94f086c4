"""Scores of answers that were given already, such as those out of bag, by scikit-learn's scorers or a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee.base.array_types import Floats

Score = bool | str | Callable[..., float]


class _JudgedClassifier(ClassifierMixin, BaseEstimator):
    """The classifier that a scorer asks: class shares [n, classes]."""

    def __init__(self, classes: NDArray[Any], shares: Floats) -> None:
        self.classes_, self.shares_ = classes, shares

    def predict(self, X: Any) -> NDArray[Any]:
        return self.classes_.take(self.shares_.argmax(axis=1))

    def predict_proba(self, X: Any) -> Floats:
        return self.shares_

    def decision_function(self, X: Any) -> Floats:
        """The shares; of two classes their difference, positive for the second."""
        return self.shares_[:, 1] - self.shares_[:, 0] if len(self.classes_) == 2 else self.shares_


class _JudgedRegressor(RegressorMixin, BaseEstimator):
    """The regressor that a scorer asks: numbers [n, 1]."""

    def __init__(self, predictions: Floats) -> None:
        self.predictions_ = predictions

    def predict(self, X: Any) -> Floats:
        return self.predictions_[:, 0]


def check_score(how: Score) -> None:
    """Refuse, before a fit, a name that scikit-learn does not know and a function of anything but (y, answers)."""
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
    """What `get_scorer` and `make_scorer` give; or a function whose first argument is called an estimator."""
    if hasattr(how, "_score_func"):
        return True
    try:
        first, *_ = inspect.signature(how).parameters
    except (TypeError, ValueError):
        return False
    return first in ("estimator", "clf", "model") and _required(how) == 3


def _required(how: Any) -> int | None:
    """Positional arguments that must be given; None where nobody knows."""
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
    """By a scorer or its name, a function of (y_true, y_pred), or the usual score: accuracy, or R^2 (nan of one row).

    A scorer asks a stand-in, whose answers are those given. Many scores take no weights: they are told of them only
    where they differ.
    """
    judged = _JudgedRegressor(predictions) if classes is None else _JudgedClassifier(classes, predictions)
    weights: dict[str, Any] = {"sample_weight": weight} if np.any(weight != weight[0]) else {}
    if callable(how) and not _is_scorer(how):
        takes_weights = "sample_weight" in inspect.signature(how).parameters
        return float(how(y, judged.predict(None), **(weights if takes_weights else {})))
    is_usual = not callable(how) and (not isinstance(how, str) or how == "auto")
    if is_usual and classes is None and len(y) < 2:
        return np.nan
    usual = "r2" if classes is None else "accuracy"
    scorer: Any = how if callable(how) else _scorer_named(usual if is_usual else str(how))
    if not hasattr(scorer, "_score_func") and "sample_weight" not in inspect.signature(scorer).parameters:
        weights = {}
    return float(scorer(judged, np.empty((len(y), 1)), y, **weights))
