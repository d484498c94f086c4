"""The pocket perceptron under weights (Rosenblatt 1958; Gallant, Perceptron-based learning algorithms, 1990).

A linear threshold unit answers sign(v x), x with a constant 1 at its end. One step adds the rows it gets wrong,

    v <- v + sum over wrong rows of w_i y_i x_i,        y in {-1, +1}

which separates what is separable and wanders otherwise: the pocket keeps the v of the smallest weighted error seen,
to begin with the constant answer of the more frequent class, so that the error never exceeds 1/2. All wrong rows are
added at once, so weights mean repetition; the start is random, and several starts run side by side.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from committee.base.array_types import Floats
from committee.base.parameters import RANDOM_STATE, Estimator, at_least, param
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
    reject_missing_cells,
)

TIE = 1e-12
"""Errors this close are equal: the order in which rows are added up decides nothing."""


def pocket_perceptron(
    X: Floats, y: NDArray[np.int8], w: Floats, starts: Floats, max_iter: int
) -> tuple[Floats, float, int]:
    """The best weights found from the columns of `starts` [d, R], their error, and the number of steps.

    X [n, d] has a column of ones, y is -1 or +1, w sums to one.
    """
    wy = (w * y)[:, np.newaxis]
    share = float(w @ (y > 0))
    pocket, smallest = np.zeros(X.shape[1]), min(share, 1.0 - share)
    pocket[-1] = 1.0 if share > 0.5 else -1.0
    v = starts
    for step in range(max_iter + 1):
        wrong = (X @ v > 0.0) != (y > 0)[:, np.newaxis]  # [n, R]
        error = w @ wrong
        best = int(error.argmin())
        if error[best] < smallest - TIE:
            pocket, smallest = v[:, best], float(error[best])
        if smallest <= TIE or step == max_iter:
            return pocket, smallest, step
        v = v + X.T @ np.where(wrong, wy, 0.0)
    raise AssertionError("the loop returns")


class PocketPerceptron(ClassifierMixin, Estimator):
    """Linear threshold unit of small weighted error; more than two classes one against the rest.

    Parameters
    ----------
    max_iter : number of steps
    n_restarts : random starts that run side by side; the best one is kept
    random_state : seed of the starts

    Columns are standardised inside; ``coef_`` and ``intercept_`` are for the columns as they come, scaled so that
    ``decision_function`` is the distance from the plane in standardised columns. ``error_`` is the weighted training
    error of each unit, ``n_iter_`` the steps taken.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.members.perceptron import PocketPerceptron
    >>> sonar = load_dataset("sonar")
    >>> round(PocketPerceptron(random_state=0).fit(sonar.X, sonar.y).score(sonar.X, sonar.y), 3)
    0.923
    """

    max_iter: int = param(at_least(1), default=100)
    n_restarts: int = param(at_least(1), default=4)
    random_state: RandomState = param(*RANDOM_STATE, default=None)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, d] and labels y, rows counted by `sample_weight`."""
        self._validate_params()
        with all_or_nothing(self):
            columns, table = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
            reject_missing_cells(table, columns, type(self).__name__)
            self.columns_ = columns
            self.classes_, codes = read_targets_classification(y, len(table))
            weight = read_weights(sample_weight, len(table))
            weight = np.ones(len(table)) if weight is None else weight
            self._learn(np.ascontiguousarray(table, np.float64), codes, weight / weight.sum())
        return self

    def _learn(self, table: Floats, codes: NDArray[np.int64], w: Floats) -> None:
        n, d = table.shape
        unit = np.abs(table).max(axis=0)
        unit[unit == 0.0] = 1.0
        scaled = table / unit  # squares stay far from the ends of float64
        centre = np.sum(w[:, np.newaxis] * scaled, axis=0)
        scale = np.sqrt(np.sum(w[:, np.newaxis] * (scaled - centre) ** 2, axis=0))
        scale[scale <= TIE * np.abs(centre)] = np.inf  # a constant column says nothing
        scale[scale * unit < np.finfo(np.float64).tiny] = np.inf  # its coefficient would be beyond float64
        inputs = np.hstack([(scaled - centre) / scale, np.ones((n, 1))])
        n_units = 1 if len(self.classes_) <= 2 else len(self.classes_)
        seeds = member_seeds(self.random_state, n_units)
        units = [self._unit(inputs, codes == (k if n_units > 1 else 1), w, int(seeds[k])) for k in range(n_units)]
        pockets = np.array([pocket / (np.linalg.norm(pocket[:d]) or 1.0) for pocket, _, _ in units])
        per_unit = pockets[:, :d] / scale
        self.coef_ = per_unit / unit
        self.intercept_ = pockets[:, d] - per_unit @ centre
        self.error_ = np.array([error for _, error, _ in units])
        self.n_iter_ = max(steps for _, _, steps in units)

    def _unit(self, inputs: Floats, is_positive: NDArray[np.bool_], w: Floats, seed: int) -> tuple[Floats, float, int]:
        y = np.where(is_positive, np.int8(1), np.int8(-1))
        starts = np.random.default_rng(seed).standard_normal((inputs.shape[1], self.n_restarts))
        return pocket_perceptron(inputs, y, w, starts, self.max_iter)

    def decision_function(self, X: Any) -> Floats:
        """Distance from the plane [n], positive on the side of ``classes_[1]``; [n, K] for more than two classes."""
        table = read_table(self, X)
        reject_missing_cells(table, self.columns_, type(self).__name__)
        scores = np.ascontiguousarray(table, np.float64) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) <= 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class on whose side of the plane a row lies, for more classes the one it lies deepest in."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]
