"""The pocket perceptron under weights (Rosenblatt 1958; Gallant, Perceptron-based learning algorithms, 1990).

A linear threshold unit predicts sign(v x), x with a constant 1 as the last column. A step adds the misclassified rows,

    v <- v + sum over misclassified rows of w_i y_i x_i,        y in {-1, +1}

which converges for separable classes only: the pocket keeps the v of the smallest weighted error so far. It starts with
the constant prediction of the more frequent class, so that the error never exceeds 1/2. All misclassified rows are
added at once, so that an integer weight is equivalent to repetition; several random starts are iterated together.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from committee.base.array_types import Floats
from committee.base.parameters import RANDOM_STATE, Estimator, at_least, fitted, param
from committee.base.rng import RandomState, member_seeds
from committee.base.transaction import all_or_nothing
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
    reject_missing_cells,
)

TIE = 1e-12
"""Errors that differ by less are equal: the order of summation has no effect."""


def pocket_perceptron(
    X: Floats, y: NDArray[np.int8], w: Floats, starts: Floats, max_iter: int
) -> tuple[Floats, float, int]:
    """Return the best v from the columns of `starts` [d, R], its error, and the number of steps.

    X [n, d] has a column of ones, y is -1 or +1, w sums to one.
    """
    wy = (w * y)[:, np.newaxis]
    positive = float(w @ (y > 0))
    pocket, smallest = np.zeros(X.shape[1]), min(positive, 1.0 - positive)
    pocket[-1] = 1.0 if positive > 0.5 else -1.0
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
    """Linear threshold unit of small weighted error, fitted by the pocket algorithm.

    More than two classes are fitted one against the rest. Columns are standardized internally; the decision function is
    the distance from the hyperplane in standardized columns.

    References
    ----------
    Gallant, S. I. (1990). Perceptron-based learning algorithms. IEEE Transactions on Neural Networks 1, 179-191.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee.members.perceptron import PocketPerceptron
    >>> sonar = load_dataset("sonar")
    >>> round(PocketPerceptron(random_state=0).fit(sonar.X, sonar.y).score(sonar.X, sonar.y), 3)
    0.923
    """

    max_iter: int = param(at_least(1), default=100, doc="Maximum number of steps.")
    n_restarts: int = param(at_least(1), default=4, doc="Number of random starts, of which the best is kept.")
    random_state: RandomState = param(*RANDOM_STATE, default=None)

    columns_: Columns = fitted()
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()
    classes_: NDArray[Any] = fitted()
    coef_: Floats = fitted(doc="Coefficients of each unit, [n_units, p], for the original columns.")
    intercept_: Floats = fitted(doc="Intercepts of the units.")
    error_: Floats = fitted(doc="Weighted training error of each unit.")
    n_iter_: int = fitted(doc="Number of steps.")

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the units on X [n, d] and labels y, with weights `sample_weight`."""
        self._validate_params()
        with all_or_nothing(self):
            columns, table = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
            reject_missing_cells(table, columns, type(self).__name__)
            self.columns_ = columns
            self.classes_, codes = read_targets_classification(y, len(table))
            weight = read_weights(sample_weight, len(table))
            weight = np.ones(len(table)) if weight is None else weight
            self._fit_units(np.ascontiguousarray(table, np.float64), codes, weight / weight.sum())
        return self

    def _fit_units(self, table: Floats, codes: NDArray[np.int64], w: Floats) -> None:
        n, d = table.shape
        unit = np.abs(table).max(axis=0)
        unit[unit == 0.0] = 1.0
        scaled = table / unit  # so that squares do not overflow
        centre = np.sum(w[:, np.newaxis] * scaled, axis=0)
        scale = np.sqrt(np.sum(w[:, np.newaxis] * (scaled - centre) ** 2, axis=0))
        scale[scale <= TIE * np.abs(centre)] = np.inf  # constant columns
        scale[scale * unit < np.finfo(np.float64).tiny] = np.inf  # whose coefficients would overflow
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
        """Compute the distance from the hyperplane, [n], or [n, K] for more than two classes."""
        table = read_table(self, X)
        reject_missing_cells(table, self.columns_, type(self).__name__)
        scores = np.ascontiguousarray(table, np.float64) @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) <= 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class by the sign of the decision function, or by its maximum for more than two classes."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]
