"""Logistic regression with an L2 penalty chosen by cross-validation (Cox 1958; le Cessie and van Houwelingen 1992).

    p(y = k | x) = exp(b_k + x w_k) / sum_l exp(b_l + x w_l)            for two classes 1 / (1 + exp(-(b + x w)))

    minimise over w, b    C sum_i c_i (-log p(y_i | x_i)) + 1/2 |w|^2    c_i the weights of the rows

The intercepts b are not penalised. The C with the smallest mean log-loss on held-out rows is chosen
(`penalty_path`); Newton's method finds each minimum (`newton`).
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
from committee.base.parameters import CLASS_WEIGHT, RANDOM_STATE, at_least, fitted, param, positive
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
"""Exponents of the smallest and the largest C for a number of Cs, as in scikit-learn."""

FOLDS = Aim(1e-3, 0.1)
"""Tolerances of fits to folds, whose scores no longer change by then."""

BALANCE = 1e-3
"""The tolerance `balance` of the final fit, see `newton`."""

MAX_ROTATED = 2000
"""Rows up to which a table with more columns than rows is replaced by coordinates in its row space."""


class RowSpace(NamedTuple):
    """A table of more columns than rows, in an orthonormal basis of its rows: X = Z basis'.

    A penalised minimum lies in the space of the rows, and |w| = |v| for w = basis v: the problem is the same
    (Hastie and Tibshirani 2004).
    """

    Z: Floats  # [n, n]
    basis: Floats  # [p, n]


def row_space(X: Table) -> RowSpace | None:
    """The table in its row space; None if that is not smaller, or too large."""
    n, p = X.shape
    if not n < p or n > MAX_ROTATED:
        return None
    factors: Any = linalg.qr(to_dense(X).T, mode="economic")
    return RowSpace(np.ascontiguousarray(factors[1].T), factors[0])


class LogisticRegressionCV(ClassifierMixin, BaseLinearModel):
    """Logistic regression, two or more classes, with the L2 penalty chosen by cross-validation on log-loss.

    The parameters are those of scikit-learn's class. The columns should have similar scales; inside
    `NumericPipelineClassifier` they are scaled, categories are encoded and missing values are imputed.

    Notes
    -----
    Newton's method minimises ``C sum_i w_i (-log p(y_i | x_i)) + 1/2 |coef|^2``. A fit that does not reach `tol` issues
    a ConvergenceWarning. A row of weight w is in one fold as a whole. Rows whose class is missing from the training
    rows of a fold are not scored in that fold.

    References
    ----------
    le Cessie and van Houwelingen, Ridge estimators in logistic regression, 1992.

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

    Cs: int | ArrayLike = param(
        at_least(1),
        "array-like",
        default=10,
        kw_only=False,
        doc="Candidates for the inverse strength of the penalty; a number n means n values from 1e-4 to 1e4 on a "
        "logarithmic scale.",
    )
    cv: Any = param(
        "cv_object", default=5, doc="Number of shuffled, stratified folds, a splitter, or an iterable of (train, test)."
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = param(*CLASS_WEIGHT, default=None)
    tol: float = param(
        positive,
        default=1e-8,
        doc="The final fit stops if the gradient norm is below `tol` times that of the constant model. Fits to folds "
        "stop at 1e-3 or `tol`, whichever is larger.",
    )
    max_iter: int = param(at_least(1), default=100, doc="Maximum number of Newton steps for each C.")
    one_standard_error: bool = param(
        "boolean",
        default=False,
        doc="Whether to choose the strongest penalty whose mean log-loss is within a standard error of the best one.",
    )
    n_jobs: int | None = param(Integral, None, default=None)
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    C_: float = fitted(doc="The chosen C.")
    Cs_: Floats = fitted(doc="The candidates, in ascending order.")
    classes_: NDArray[Any] = fitted()
    coef_: Floats = fitted(doc="Coefficients, [1, p] for two classes, else [K, p].")
    n_iter_: int = fitted(doc="Number of Newton steps.")
    objective_: float = fitted(doc="Mean log-loss with the penalty, at the solution.")
    scores_: Floats = fitted(
        doc="Negative mean log-loss of the held-out rows, [n_folds, n_Cs]; nan after the last C: the search stops if "
        "two successive C are clearly worse than the best one."
    )
    start_objective_: float = fitted(doc="Mean log-loss of the constant model.")

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X [n, p] and labels y.

        An integer `sample_weight` w is equivalent to repeating the row w times.
        """
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
        """Choose C and continue the fit to all rows there until `tol`."""
        chosen = choose(path.losses, self.one_standard_error)
        self.scores_ = -path.losses
        self.C_ = float(self.Cs_[chosen])  # type: ignore[reportConstantRedefinition]
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
            else f"{path.n_failed} fits to folds did not reach a relative gradient norm of {FOLDS.tol:.0e}"
        )
        warnings.warn(
            f"LogisticRegressionCV did not converge: {what}. Increase max_iter or tol, scale the columns, or omit "
            "the largest Cs.",
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
    """The candidates, in ascending order."""
    if isinstance(Cs, Integral):
        return np.logspace(MIN_C, MAX_C, int(Cs)) if int(Cs) > 1 else np.ones(1)
    grid = np.unique(np.asarray(Cs, np.float64))
    if grid.size == 0 or not (np.isfinite(grid).all() and (grid > 0.0).all()):
        raise ValueError(f"Cs must be a number of values, or values that are positive and finite; got {Cs!r:.80}.")
    return grid
