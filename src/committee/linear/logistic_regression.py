"""Logistic regression with an L2 penalty chosen by cross-validation (Cox 1958; le Cessie and van Houwelingen 1992).

    p(y = k | x) = exp(b_k + x w_k) / sum_l exp(b_l + x w_l)            for two classes 1 / (1 + exp(-(b + x w)))

    minimise over w, b    C sum_i c_i (-log p(y_i | x_i)) + 1/2 |w|^2    c_i the weights of the rows

The intercepts b are not penalised. Of several C the one with the smallest mean log-loss on held-out rows is taken
(`penalty_path`); Newton's method finds each minimum (`newton`). The columns are taken as they come: bring them to one
scale, or fit the model inside `NumericPipelineClassifier`, which does so and takes categories and missing values too.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.parameters import CLASS_WEIGHT, RANDOM_STATE, at_least, param, positive
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.threads import n_threads
from committee.base.transaction import all_or_nothing
from committee.linear._choosing import choose
from committee.linear._design import BaseLinearModel, Table, to_dense
from committee.linear._logistic_loss import LogisticProblem
from committee.linear._newton import Aim, Minimum, curvature_at, is_direct, newton
from committee.linear._penalty_path import Path, Settings, Track, fold_tracks, make_track, penalty_path
from committee.sampling.splits import read_splits
from committee.tabular.class_weight import class_weights
from committee.tabular.validation import read_targets_classification, read_weights

MIN_C, MAX_C = -4.0, 4.0
"""Exponents of the ends of the grid for a number of Cs, as in scikit-learn."""

FOLDS = Aim(1e-3, 0.1)
"""Where fits to folds end: their scores are settled by then."""

BALANCE = 1e-3
"""Of the final fit, see `newton`."""

MAX_ROTATED = 2000
"""Rows up to which a table with more columns than rows is replaced by its coordinates in the space of its rows."""


class RowSpace(NamedTuple):
    """A table of more columns than rows, in an orthonormal basis of its rows: X = Z basis'.

    A penalised minimum lies in the space of the rows, and |w| = |v| for w = basis v: the problem is the same
    (Hastie and Tibshirani 2004).
    """

    Z: Floats  # [n, n]
    basis: Floats  # [p, n]


def row_space(X: Table) -> RowSpace | None:
    """The table in the space of its rows; None where that is no smaller or too large."""
    n, p = X.shape
    if not n < p or n > MAX_ROTATED:
        return None
    factors: Any = linalg.qr(to_dense(X).T, mode="economic")
    return RowSpace(np.ascontiguousarray(factors[1].T), factors[0])


class LogisticRegressionCV(ClassifierMixin, BaseLinearModel):
    """Logistic regression, two or more classes, with the L2 penalty chosen by cross-validation on log-loss.

    Parameters have scikit-learn's names:

    Parameters
    ----------
    Cs : int or array
        Inverse strengths of the penalty to choose from; a number takes so many from 1e-4 to 1e4 at equal ratios.
    fit_intercept : fit intercepts, which are never penalised
    cv : int, splitter or iterable of (train, test)
        A number shuffles the rows and distributes each class evenly over so many folds. A row of weight w stays
        whole. Rows of a class that is missing from the training rows of a fold are not scored there.
    class_weight : dict, "balanced" or None
        Factors of the sample weights by class, in the fit and in the scores.
    tol : float
        The final fit ends if the gradient norm is below `tol` times that of the constant model. Fits to folds, which
        are only scored, end at 1e-3 or `tol`, whichever is larger.
    max_iter : Newton steps for each C
    one_standard_error : bool
        Take the strongest penalty whose mean log-loss is within a standard error of the best one.
    n_jobs : threads over the folds; the model does not depend on it
    random_state : seed of the shuffling

    ``coef_`` [1, p] for two classes, else [K, p], ``intercept_``, ``C_`` the chosen C, ``Cs_`` all of them, ascending,
    ``scores_`` [folds, Cs] negative mean log-loss of the held-out rows, nan where it was not computed: the path stops
    when two successive C are clearly worse than the best one. ``n_iter_`` counts Newton steps.

    The certificate: ``gradient_norm_`` relative to the constant model, ``objective_`` (mean log-loss with the penalty
    divided by C and the sum of the weights) and ``start_objective_`` of the constant model. A fit that does not reach
    `tol` warns with ConvergenceWarning.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee import LogisticRegressionCV, NumericPipelineClassifier
    >>> sonar = load_dataset("sonar")
    >>> pipeline = NumericPipelineClassifier(LogisticRegressionCV(random_state=0)).fit(sonar.X[::2], sonar.y[::2])
    >>> model = pipeline.estimator_
    >>> round(model.C_, 4), bool(model.gradient_norm_ < 1e-8), bool(model.objective_ < model.start_objective_)
    (0.0464, True, True)
    """

    Cs: int | ArrayLike = param(at_least(1), "array-like", default=10, kw_only=False)
    fit_intercept: bool = param("boolean", default=True)
    cv: Any = param("cv_object", default=5)
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = param(*CLASS_WEIGHT, default=None)
    tol: float = param(positive, default=1e-8)
    max_iter: int = param(at_least(1), default=100)
    one_standard_error: bool = param("boolean", default=False)
    n_jobs: int | None = param(Integral, None, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, p] and labels y; a weight counts as so many rows."""
        self._validate_params()
        with all_or_nothing(self), one_blas_thread():
            table, weight = self._read_fit(X, sample_weight)
            self.classes_, codes = read_targets_classification(y, table.shape[0])
            self.Cs_ = read_grid(self.Cs)
            weight = self._class_weighted(weight, codes)
            cv, seed = 5 if self.cv is None else self.cv, int(member_seeds(self.random_state, 1)[0])
            folds = read_splits(cv, table, codes, weight, is_class=True, seed=seed)
            rotated = row_space(table)
            problem = LogisticProblem(
                table if rotated is None else rotated.Z, codes, weight, len(self.classes_), len(self.classes_) == 2,
                0.0, self.fit_intercept,
            )  # fmt: skip
            whole = make_track(problem, weight)
            if whole is None:
                raise ValueError(
                    "LogisticRegressionCV needs rows of at least 2 classes with a positive weight, y has only 1 class: "
                    f"{self.classes_[codes[weight > 0.0][0]]!r}."
                )
            path = penalty_path(whole, fold_tracks(problem, weight, folds), self.Cs_, self._settings(table))
            minimum = self._choose(whole, path)
            self._keep(whole, minimum, None if rotated is None else rotated.basis)
            self._warn(minimum, path)
        return self

    def _class_weighted(self, weight: Floats, codes: NDArray[np.int64]) -> Floats:
        if self.class_weight is None:
            return weight
        factors = class_weights(self.class_weight, codes, self.classes_, weight)
        read_weights(factors, factors.size, "class_weight")
        product = weight * factors[codes]
        read_weights(product, product.size, "class_weight times sample_weight")
        return product

    def _settings(self, table: Table) -> Settings:
        work = table.shape[0] * table.shape[1] * len(self.classes_)
        return Settings(FOLDS._replace(tol=max(self.tol, FOLDS.tol)), self.max_iter, n_threads(self.n_jobs, work))

    def _choose(self, whole: Track, path: Path) -> Minimum:
        """The best C, and the fit to all rows brought to `tol` there."""
        chosen = choose(path.losses, self.one_standard_error)
        self.scores_ = -path.losses
        self.C_ = float(self.Cs_[chosen])
        self.start_objective_ = whole.point.objective
        problem = whole.at(self.C_).problem
        near, inverse = path.minima[chosen].point, None
        if not is_direct(problem):
            inverse = curvature_at(problem, near.probability).inverse(problem.penalty)
        final = newton(problem, near, whole.scale, inverse, Aim(self.tol, BALANCE), self.max_iter)
        return final._replace(n_iter=sum(each.n_iter for each in path.minima[: chosen + 1]) + final.n_iter)

    def _keep(self, whole: Track, minimum: Minimum, basis: Floats | None) -> None:
        B = minimum.point.B
        w = B[:-1] if basis is None else basis @ B[:-1]
        n_outputs = 1 if whole.problem.is_binary else len(self.classes_)
        filled = slice(None) if whole.problem.is_binary else whole.classes
        self.coef_ = np.zeros((n_outputs, w.shape[0]))
        self.intercept_ = np.full(n_outputs, -np.inf)  # of a class without weight, whose probability is 0
        self.coef_[filled], self.intercept_[filled] = w.T, B[-1]
        self.objective_ = minimum.point.objective
        self.gradient_norm_ = minimum.norm
        self.n_iter_ = max(1, minimum.n_iter)

    def _warn(self, minimum: Minimum, path: Path) -> None:
        if minimum.is_converged and not path.n_failed:
            return
        what = (
            f"the gradient norm is {minimum.norm:.3g} times that of the constant model, above tol={self.tol:.3g}"
            if not minimum.is_converged
            else f"{path.n_failed} fits to folds ended before a relative gradient norm of {FOLDS.tol:.0e}"
        )
        warnings.warn(
            f"LogisticRegressionCV did not converge: {what}. Raise max_iter or tol, scale the columns, or leave out "
            "the largest of the Cs.",
            ConvergenceWarning,
            stacklevel=level_of_caller(),
        )

    def decision_function(self, X: Any) -> Floats:
        """f(x) [n], positive for ``classes_[1]``; [n, K] for more than two classes."""
        table = self._read(X)
        score = np.asarray(table @ self.coef_.T) + self.intercept_
        return score[:, 0] if len(self.classes_) == 2 else score

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        score = self.decision_function(X)
        return self.classes_[(score > 0.0).astype(np.int64) if score.ndim == 1 else score.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, [n, K]."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of the probabilities, [n, K]."""
        score = self.decision_function(X)
        if score.ndim == 1:
            score = np.column_stack([np.zeros_like(score), score])
        score = score - score.max(axis=1, keepdims=True)
        return score - np.log(np.exp(score).sum(axis=1, keepdims=True))


def read_grid(Cs: Any) -> Floats:
    """The values to choose from, ascending."""
    if isinstance(Cs, Integral):
        return np.logspace(MIN_C, MAX_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    grid = np.unique(np.asarray(Cs, np.float64))
    if grid.size == 0 or not (np.isfinite(grid).all() and (grid > 0.0).all()):
        raise ValueError(f"Cs must be a number of values, or values that are positive and finite; got {Cs!r:.80}.")
    return grid
