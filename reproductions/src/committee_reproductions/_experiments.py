"""What several experiments share: folds, data sets and fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from committee.base.rng import RandomState
from committee.datasets import load_dataset
from committee.evaluation._folds import Fold, draw_folds

T = TypeVar("T")

BINARY_SETS = ("ionosphere", "sonar", "spam", "pima_diabetes")
"""The built-in UCI data sets of two classes."""


SEPARABLE_SETS = ("ionosphere", "sonar")
"""Built-in data sets on which 1000 stumps leave no training error; where one is left, arc-gv is AdaBoost."""


class CrossValidation(NamedTuple):
    """How to cross-validate: stratified folds, drawn `n_repeats` times; `verbose=1` shows a progress bar."""

    n_folds: int = 10
    n_repeats: int = 1
    random_state: RandomState = 0
    verbose: int = 0

    def folds(self, codes: NDArray[np.int64]) -> list[Fold]:
        """Draw the folds, repeat after repeat."""
        return draw_folds(codes, self.n_folds, self.random_state, self.n_repeats)


def over_datasets(names: Iterable[str], measure: Callable[[Any, Any], T]) -> dict[str, T]:
    """Return what `measure` returns for X and y of each built-in data set."""
    return {name: measure(*load_dataset(name)[:2]) for name in names}


def fit_quietly(model: Any, X: Any, y: NDArray[Any]) -> Any:
    """Fit a booster whose run may end early: then it is evaluated as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def error_rate(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Return the fraction of wrong predictions."""
    return float(np.mean(model.predict(X) != y))
