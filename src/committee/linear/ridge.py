"""Ridge regression with the penalty chosen by leave-one-out (Hoerl and Kennard 1970; Allen 1974; Golub et al. 1979).

    minimise over w, b    sum_i c_i (y_i - b - x_i w)^2 + alpha |w|^2        b is not penalised

With columns and target centred and rows times sqrt(c_i), S = sqrt(c) (x - mean), one eigendecomposition S'S = V L V'
(or of S S', if there are fewer rows than columns) gives every alpha at once. With Z = S V

    w(alpha)  = V (L + alpha)^-1 Z' y
    h_i       = sum_j Z_ij^2 / (L_j + alpha) + c_i / sum c               leverage, with that of the intercept
    y_i - prediction without row i = (y_i - prediction) / (1 - h_i)       exact, without another fit

Tables with more than 3,000 rows and columns use conjugate gradients (SciPy's) and five folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, sparse
from scipy.sparse import linalg as sparse_linalg
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.parameters import RANDOM_STATE, at_least, fitted, param, positive
from committee.base.rng import RandomState, member_seeds
from committee.base.stacklevel import level_of_caller
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.linear._choosing import is_past_the_best
from committee.linear._design import (
    BaseLinearModel,
    Table,
    column_squares,
    column_sums,
    scale_rows,
    to_dense,
    weighted_gram,
)
from committee.sampling.splits import Split, read_splits
from committee.tabular.validation import check_target_size, read_targets_regression

LinearOperator: Any = sparse_linalg.LinearOperator  # matvec is missing in its stubs

GRID = np.logspace(3.0, -8.0, 56)
"""Default penalties as multiples of the largest eigenvalue of S'S: from the mean of y to least squares."""

FEW_GRID = GRID[::5]
"""Default penalties for conjugate gradients, where each needs a fit of its own."""

EXACT_SIZE = 3000
"""Rows or columns up to which an eigendecomposition is used."""

DENSE_CELLS = 20_000_000
"""Size up to which a sparse table is made dense."""

CHUNK = 4096
"""Rows of a block of leave-one-out residuals."""

MIN_REST = 1e-10
"""Lower limit of 1 - h, for rows whose predictions depend on themselves alone."""

LARGE_FOLDS = 5


class Centred(NamedTuple):
    """The rows of positive weight, centred and scaled: S = sqrt(c) (x - mean), t = sqrt(c) (y - mean of y)."""

    X: Table  # [n, p], S if dense, else the original table
    mean: Floats  # [p], of the columns; to be subtracted if sparse
    root: Floats  # [n], sqrt(c)
    t: Floats  # [n, k]
    y_mean: Floats  # [k]
    has_intercept: bool

    def times(self, V: Floats, rows: slice = slice(None)) -> Floats:
        """S V."""
        if not sparse.issparse(self.X):
            return self.X[rows] @ V
        return self.root[rows, None] * (self.X[rows] @ V - self.mean @ V)

    def transposed_times(self, R: Floats) -> Floats:
        """S' R."""
        if not sparse.issparse(self.X):
            return self.X.T @ R
        scaled = self.root[:, None] * R
        return self.X.T @ scaled - np.outer(self.mean, scaled.sum(axis=0))

    def gram(self) -> Floats:
        """S' S."""
        if not sparse.issparse(self.X):
            return self.X.T @ self.X
        weight = self.root**2
        return weighted_gram(self.X, weight) - weight.sum() * np.outer(self.mean, self.mean)

    def squares(self) -> Floats:
        """The diagonal of S' S."""
        if not sparse.issparse(self.X):
            return column_squares(self.X, np.ones(len(self.X)))
        weight = self.root**2
        return np.maximum(column_squares(self.X, weight) - weight.sum() * self.mean**2, 0.0)

    def intercept_leverage(self) -> Floats:
        """Leverage of the intercept, [n]."""
        weight = self.root**2
        return weight / weight.sum() if self.has_intercept else np.zeros_like(weight)

    def intercept(self, w: Floats) -> Floats:
        """b for coefficients w [p, k]."""
        return self.y_mean - self.mean @ w


def centre(X: Table, y: Floats, weight: Floats, fit_intercept: bool) -> Centred:
    """Centre the rows of positive weight; y is [n, k]."""
    if not weight.all():
        kept = weight > 0.0
        return centre(X[kept], y[kept], weight[kept], fit_intercept)
    n, p = X.shape
    normalized = weight / weight.sum() if fit_intercept else np.zeros(n)
    mean, y_mean, root = column_sums(X, normalized), normalized @ y, np.sqrt(weight)
    is_small = p > n and n * p <= DENSE_CELLS
    table = X if sparse.issparse(X) and not is_small else scale_rows(to_dense(X) - mean, root)
    return Centred(table, mean, root, root[:, None] * (y - y_mean), y_mean, fit_intercept)


def is_exact(X: Table) -> bool:
    """Whether to use an eigendecomposition."""
    n, p = X.shape
    return p <= EXACT_SIZE or (n <= EXACT_SIZE and (n * p <= DENSE_CELLS or not sparse.issparse(X)))


class Spectrum(NamedTuple):
    """Eigenvalues L of S'S, the projections Z' t, and the eigenvectors V."""

    values: Floats  # [r]
    projected: Floats  # [r, k], Z' t
    basis: Floats  # [p, r], V

    def coefficients(self, alpha: float | Floats) -> Floats:
        """w [p, k] for one alpha, or one for each of the targets."""
        return self.basis @ (self.projected / (self.values[:, None] + alpha))


def spectrum(rows: Centred) -> Spectrum:
    """Eigendecomposition of the smaller one of S'S and S S'."""
    n, p = rows.X.shape
    if p <= n or sparse.issparse(rows.X):
        values, basis = linalg.eigh(rows.gram())
        return Spectrum(np.maximum(values, 0.0), basis.T @ rows.transposed_times(rows.t), basis)
    values, left = linalg.eigh(rows.X @ rows.X.T)
    kept = values > max(float(values[-1]), 0.0) * n * np.finfo(np.float64).eps
    root, left = np.sqrt(values[kept]), left[:, kept]
    return Spectrum(root**2, root[:, None] * (left.T @ rows.t), (rows.X.T @ left) / root)


def leave_one_out(rows: Centred, result: Spectrum, alphas: Floats) -> Iterator[Floats]:
    """Leave-one-out residuals times sqrt(c), [rows, alphas, k], in blocks of rows."""
    inverse = 1.0 / (result.values[:, None] + alphas)
    leverage = rows.intercept_leverage()
    for first in range(0, len(rows.t), CHUNK):
        some = slice(first, first + CHUNK)
        Z = rows.times(result.basis, some)
        rest = np.maximum(1.0 - leverage[some, None] - Z**2 @ inverse, MIN_REST)
        fitted = np.stack([Z @ (inverse * column[:, None]) for column in result.projected.T], axis=2)
        yield (rows.t[some, None, :] - fitted) / rest[:, :, None]


def conjugate_gradients(
    rows: Centred, alpha: float, start: Floats, tol: float, max_iter: int, steps: list[int] | None = None
) -> Floats:
    """w [p, k] from products with S, one target after the other; `steps`, modified in place, grows by 1 per step."""
    p = rows.X.shape[1]
    diagonal = rows.squares() + alpha

    def times(v: Floats) -> Floats:
        return rows.transposed_times(rows.times(v.reshape(-1, 1)))[:, 0] + alpha * v.ravel()

    H = LinearOperator((p, p), matvec=times, dtype=np.float64)
    M = LinearOperator((p, p), matvec=lambda v: v.ravel() / diagonal, dtype=np.float64)
    pull = rows.transposed_times(rows.t)
    options: dict[str, Any] = {"rtol": tol, "atol": 0.0, "maxiter": max_iter, "M": M}
    if steps is not None:
        options["callback"] = lambda _: steps.append(1)
    result = [sparse_linalg.cg(H, pull[:, k], x0=start[:, k], **options)[0] for k in range(pull.shape[1])]
    return np.column_stack(result)


class RidgeCV(RegressorMixin, PredictionIntervals, BaseLinearModel):
    """Ridge regression, one or more targets, with the penalty chosen by leave-one-out or cross-validation.

    The parameters are those of scikit-learn's class. The columns should have similar scales; inside
    `NumericPipelineRegressor` they are scaled, categories are encoded and missing values are imputed.

    Notes
    -----
    One eigendecomposition gives the solutions and the leave-one-out residuals for all penalties. Tables with more than
    3,000 rows and columns use conjugate gradients and 5 folds. A row of weight w is left out as a whole. Prediction
    intervals use the residuals of rows left out. A solution that does not reach `tol` issues a ConvergenceWarning.

    References
    ----------
    Hoerl and Kennard, Ridge regression: biased estimation for nonorthogonal problems, 1970.
    Golub, Heath and Wahba, Generalized cross-validation as a method for choosing a good ridge parameter, 1979.

    Examples
    --------
    >>> from committee.datasets import load_dataset
    >>> from committee import NumericPipelineRegressor, RidgeCV
    >>> ozone = load_dataset("ozone")
    >>> model = NumericPipelineRegressor(RidgeCV(), categorical_features=[0, 2]).fit(ozone.X, ozone.y)
    >>> round(model.estimator_.best_score_, 3), bool(model.estimator_.gradient_norm_ < 1e-8)
    (-0.297, True)
    """

    alphas: ArrayLike | None = param(
        "array-like",
        positive,
        None,
        default=None,
        kw_only=False,
        doc="Candidates for the strength of the penalty. None means 56 values from 1e-8 to 1e3 times the largest "
        "eigenvalue of the centred X'X, from least squares to the mean of y.",
    )
    cv: Any = param(
        "cv_object",
        default=None,
        doc="Number of folds, a splitter, or an iterable of (train, test). None leaves out one row at a time, in "
        "closed form; tables with more than 3,000 rows and columns use 5 folds.",
    )
    alpha_per_target: bool = param("boolean", default=False, doc="Whether to choose a penalty for each target.")
    tol: float = param(
        positive,
        default=1e-8,
        doc="Relative tolerance of conjugate gradients, for tables of more than 3,000 rows and columns.",
    )
    max_iter: int = param(at_least(1), default=1000, doc="Maximum number of steps of conjugate gradients.")
    random_state: RandomState = param(*RANDOM_STATE, default=None)
    alpha_: Floats | float = fitted(doc="The chosen penalty, or one for each target.")
    alphas_: Floats = fitted(doc="The candidates, in descending order.")
    best_score_: float = fitted(doc="Negative mean squared error of the chosen penalty on rows left out.")
    n_iter_: int = fitted(doc="Number of steps of conjugate gradients; 1 in closed form.")
    objective_: float = fitted(doc="Penalised mean squared error at the solution.")
    scores_: Floats = fitted(doc="Negative mean squared error of rows left out, [n_alphas].")
    start_objective_: float = fitted(doc="Mean squared error of the constant model.")

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X [n, p] and y [n] or [n, k].

        An integer `sample_weight` w is equivalent to repeating the row w times.
        """
        self._validate_params()
        with all_or_nothing(self), one_blas_thread():
            table, weight = self._read_fit(X, sample_weight)
            target = read_targets_regression(y, table.shape[0])
            check_target_size(target)
            columns = target.reshape(len(target), -1)
            rows = centre(table, columns, weight, self.fit_intercept)
            result = spectrum(rows) if is_exact(table) else None
            largest = float(rows.squares().sum() if result is None else result.values.max(initial=0.0))
            self.alphas_ = read_grid(self.alphas, largest, GRID if result is not None else FEW_GRID)
            if self.cv is None and result is not None:
                errors = self._leave_one_out(rows, result)
            else:
                errors = self._cross_validate(table, columns, weight)
            alpha = self._choose(errors)
            w = self._solve(rows, result, alpha)
            self._certify(rows, w, alpha)
            self._keep(rows, w, alpha, is_single=target.ndim == 1)
        return self

    def _leave_one_out(self, rows: Centred, result: Spectrum) -> Floats:
        """Leave-one-out mean squared errors, [alphas, k]; sets the residuals for the best alpha."""
        total = sum((chunk**2).sum(axis=0) for chunk in leave_one_out(rows, result, self.alphas_))
        errors = np.asarray(total) / (rows.root**2).sum()
        best = self._best(errors)
        chunks = [chunk[:, best, np.arange(len(best))] for chunk in leave_one_out(rows, result, self.alphas_)]
        self._keep_residuals(np.concatenate(chunks) / rows.root[:, None], rows.root**2)
        return errors

    def _cross_validate(self, table: Table, y: Floats, weight: Floats) -> Floats:
        """Mean squared errors of held-out rows, [alphas, k]; infinite after the path has stopped."""
        cv, seed = LARGE_FOLDS if self.cv is None else self.cv, int(member_seeds(self.random_state, 1)[0])
        folds = read_splits(cv, table, y, weight, is_class=False, seed=seed)
        paths = [self._fold_path(table, y, weight, fold) for fold in folds]
        residual = np.full((len(self.alphas_), *y.shape), np.nan)
        losses = np.full((len(paths), len(self.alphas_)), np.nan)
        scored = np.zeros(len(y))
        for fold in folds:
            scored[fold[1]] = weight[fold[1]]
        for a, steps in enumerate(zip(*paths, strict=True)):
            for f, (test, result) in enumerate(steps):
                residual[a, test] = result
                own = weight[test]
                losses[f, a] = float(own @ (result**2).mean(axis=1)) / own.sum() if own.any() else np.nan
            if len(steps) and is_past_the_best(losses[:, : a + 1]):
                break
        errors = np.einsum("n,ank->ak", scored, np.nan_to_num(residual, nan=0.0) ** 2) / max(scored.sum(), 1e-300)
        errors[np.isnan(losses).all(axis=0)] = np.inf
        best = self._best(errors)
        kept = (scored > 0.0) & ~np.isnan(residual[best, :, np.arange(len(best))]).any(axis=0)
        picked = residual[best, :, np.arange(len(best))].T[kept]
        self._keep_residuals(picked, weight[kept])
        return errors

    def _fold_path(self, table: Table, y: Floats, weight: Floats, fold: Split) -> Iterator[tuple[Any, Floats]]:
        """Held-out rows and their residuals, one alpha after the other."""
        train, test = fold
        rows = centre(table[train], y[train], weight[train], self.fit_intercept)
        result = spectrum(rows) if is_exact(rows.X) else None
        held_out, w = table[test], np.zeros((table.shape[1], y.shape[1]))
        for alpha in self.alphas_:
            if result is not None:
                w = result.coefficients(alpha)
            else:
                w = conjugate_gradients(rows, alpha, w, max(self.tol, 1e-4), self.max_iter)
            yield test, y[test] - held_out @ w - rows.intercept(w)

    def _best(self, errors: Floats) -> Any:
        """Index of the alpha of each target; of equal errors the strongest penalty."""
        together = np.broadcast_to(errors.mean(axis=1, keepdims=True), errors.shape)
        return (errors if self.alpha_per_target else together).argmin(axis=0)

    def _choose(self, errors: Floats) -> Floats:
        """The alpha of each target, [k]."""
        best = self._best(errors)
        mean = errors.mean(axis=1)
        self.scores_ = -mean
        self.best_score_ = -float(errors[best, np.arange(len(best))].mean())
        return self.alphas_[best]

    def _solve(self, rows: Centred, result: Spectrum | None, alpha: Floats) -> Floats:
        self.n_iter_ = 1
        if result is not None:
            return result.coefficients(alpha)
        steps: list[int] = []
        start = np.zeros((rows.X.shape[1], 1))
        each = [rows._replace(t=rows.t[:, [k]]) for k in range(rows.t.shape[1])]
        pairs = zip(each, alpha, strict=True)
        w = np.hstack([conjugate_gradients(one, a, start, self.tol, self.max_iter, steps) for one, a in pairs])
        self.n_iter_ = max(1, len(steps))
        return w

    def _certify(self, rows: Centred, w: Floats, alpha: Floats) -> None:
        """Set the gradient norm and the objectives; warn if the solution has not converged."""
        total = float((rows.root**2).sum())
        residual = rows.t - rows.times(w)
        first, last = rows.transposed_times(rows.t), rows.transposed_times(residual) - alpha * w
        unit = np.sqrt(rows.squares())[:, None]
        unit[unit == 0.0] = 1.0
        norm, smallest = float(np.linalg.norm(last / unit)), float(np.linalg.norm(first / unit))
        self.gradient_norm_ = norm / smallest if smallest > 0.0 else 0.0
        self.start_objective_ = float((rows.t**2).sum()) / total
        self.objective_ = float((residual**2).sum() + (alpha * w**2).sum()) / total
        is_worse = self.objective_ > self.start_objective_ * (1.0 + 1e-12)
        noise = 1e-12 * float(np.linalg.norm(rows.t))
        if is_worse or norm > max(10.0 * self.tol * smallest, noise):
            warnings.warn(
                f"RidgeCV did not converge: the gradient norm is {self.gradient_norm_:.3g} times that of the constant "
                f"model, above tol={self.tol:.3g}. Increase max_iter or tol, scale the columns, or omit the smallest "
                "alphas.",
                ConvergenceWarning,
                stacklevel=level_of_caller(),
            )

    def _keep(self, rows: Centred, w: Floats, alpha: Floats, is_single: bool) -> None:
        b = rows.intercept(w)
        self.alpha_ = alpha if self.alpha_per_target and not is_single else float(alpha[0])
        self.coef_ = np.ascontiguousarray(w[:, 0] if is_single else w.T)
        self.intercept_ = float(b[0]) if is_single else b

    def predict(self, X: Any) -> Floats:
        """x w + b, [n] or [n, k]."""
        return np.asarray(self._read(X) @ self.coef_.T) + self.intercept_


def read_grid(alphas: Any, largest: float, grid: Floats) -> Floats:
    """The candidates, in descending order; `largest` is the largest eigenvalue of the centred X'X."""
    if alphas is None:
        return grid * (largest if largest > 0.0 else 1.0)
    values = np.unique(np.asarray(alphas, np.float64))[::-1]
    if values.size == 0 or not (np.isfinite(values).all() and (values > 0.0).all()):
        raise ValueError(f"alphas must be positive and finite; got {alphas!r:.80}.")
    return values
