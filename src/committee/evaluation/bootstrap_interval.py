"""Intervals around the predictions of a regression model, without normality.

    confidence interval   for f(x) = E[y | x]
    prediction interval   for a new y at x, which has noise in addition

By normal theory, for least squares on a design of p columns (polynomials of x) and normal noise:

    f^(x) -+ t_(n - p) s sqrt(h(x)),   f^(x) -+ t_(n - p) s sqrt(1 + h(x)),   h(x) = d(x)' (D'D)^-1 d(x)

By the bootstrap, for any regressor (Davison and Hinkley, Bootstrap methods and their application, 1997, algorithms 6.1
to 6.4): every resample gives f*, refitted, and a noise e* from the residuals, and

    f* - f^          is to f^ as f^ is to the truth, so f^ - quantiles of it is the confidence interval
    f* - (f^ + e*)   is to f^ as f^ is to a new y, so f^ - quantiles of it is the prediction interval

    residual   y* = f^(x_i) + e*_i at the same rows, for homoscedastic noise
    pairs      rows (x_i, y_i) are resampled, for a variance of f* that is valid for heteroscedastic noise too

Least squares is studentised: errors are divided by the standard error of the resample, the s* of its residuals, or for
pairs the heteroscedasticity-consistent standard error of f*(x) (White 1980).

Residuals of training rows are too small. Those of least squares are divided by sqrt(1 - h_i), which gives them the
variance of the noise. For other models they come from cross-validation and include the error of the model, so that
prediction intervals of flexible models are too wide rather than too narrow. The error of the fit also smooths the
distribution of the residuals: intervals of skewed noise are slightly too wide on their short side. The bias of a model
is not taken into account.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.progress import progress
from committee.base.rng import RandomState, member_seeds
from committee.base.threads import n_threads, run
from committee.evaluation._folds import seeded
from committee.records.result_table import ResultTable, to_pandas, to_polars
from committee.tabular.rows import take_rows
from committee.tabular.validation import read_targets_regression
from committee.theory.intervals import Interval

Kind = Literal["residual", "pairs"]

NOISES, CELLS = 20, 4_000_000
"""Samples of the noise for every refit, and the maximum of their total size."""

FOLDS = 10
"""Folds of the cross-validation for the residuals."""


class PredictionInterval(NamedTuple):
    """Predictions for new rows with confidence and prediction intervals.

    Attributes
    ----------
    X : array or DataFrame of shape (n_new, n_features)
        The new rows.
    prediction : ndarray of shape (n_new,)
        Predictions.
    mean : Interval
        Confidence intervals of E[y | x].
    new : Interval
        Prediction intervals of y.
    level : float
        Level of the intervals.
    kind : {"normal", "residual", "pairs"}
        Method.
    """

    X: Any
    prediction: Floats
    mean: Interval
    new: Interval
    level: float
    kind: str

    def to_table(self) -> ResultTable:
        """One row per new row."""
        return ResultTable(
            {
                "prediction": self.prediction,
                "mean_low": self.mean.low,
                "mean_high": self.mean.high,
                "new_low": self.new.low,
                "new_high": self.new.high,
            }
        )

    to_pandas = to_pandas
    to_polars = to_polars


def polynomial_regression(degree: int) -> Any:
    """Least squares on the powers and products of the features up to a degree.

    Parameters
    ----------
    degree : int
        Maximum degree.

    Returns
    -------
    pipeline : Pipeline
        `PolynomialFeatures` and `LinearRegression`.

    Examples
    --------
    >>> from committee.evaluation import polynomial_regression
    >>> model = polynomial_regression(2).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> model.predict([[3.0]]).round(6)
    array([9.])
    """
    return make_pipeline(PolynomialFeatures(degree), LinearRegression(fit_intercept=False))


def normal_interval(estimator: Any, X: Any, y: Any, X_new: Any, *, level: float = 0.95) -> PredictionInterval:
    """Compute confidence and prediction intervals of least squares by normal theory.

    Parameters
    ----------
    estimator : LinearRegression or Pipeline
        Least squares, optionally after `PolynomialFeatures`.
    X : array of shape (n_samples, n_features)
        Training rows.
    y : array of shape (n_samples,)
        Target.
    X_new : array of shape (n_new, n_features)
        Rows to predict.
    level : float, default=0.95
        Level of the intervals.

    Returns
    -------
    PredictionInterval
        Predictions and intervals.

    Examples
    --------
    >>> x = np.arange(8.0).reshape(-1, 1)
    >>> found = normal_interval(LinearRegression(), x, [1, 3, 2, 4, 6, 5, 7, 9], [[10.0]])
    >>> found.prediction.round(2), found.mean.low.round(2), found.new.low.round(2)
    (array([11.36]), array([9.02]), array([8.16]))
    """
    _check(level, 2)
    problem = _least_squares(estimator, X, _target(X, y), X_new)
    if problem is None:
        raise ValueError(
            f"normal_interval is for LinearRegression, alone or after PolynomialFeatures; got "
            f"{type(estimator).__name__}: use bootstrap_interval."
        )
    s, h = problem.deviation(problem.y), np.sum(problem.Q_new**2, axis=1)
    factor = float(student.ppf((1.0 + level) / 2.0, problem.n_free)) * s
    centre = problem.Q_new @ (problem.Q.T @ problem.y)
    mean, new = (
        Interval(centre - factor * np.sqrt(extra + h), centre + factor * np.sqrt(extra + h)) for extra in (0, 1)
    )
    return PredictionInterval(X_new, centre, mean, new, level, "normal")


def bootstrap_interval(
    estimator: Any,
    X: Any,
    y: Any,
    X_new: Any,
    *,
    kind: Kind = "residual",
    n_resamples: int = 1000,
    level: float = 0.95,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PredictionInterval:
    """Compute confidence and prediction intervals of any regressor by the bootstrap.

    Parameters
    ----------
    estimator : estimator
        A regressor; refits of least squares (`LinearRegression`, `polynomial_regression`) are vectorized.
    X : array or DataFrame of shape (n_samples, n_features)
        Training rows.
    y : array of shape (n_samples,)
        Target.
    X_new : array or DataFrame of shape (n_new, n_features)
        Rows to predict.
    kind : {"residual", "pairs"}, default="residual"
        What is resampled: residuals, for homoscedastic noise, or rows.
    n_resamples : int, default=1000
        Number of refits.
    level : float, default=0.95
        Level of both intervals.
    random_state : int or Generator, default=None
        Seed of the resamples and of the estimator.
    n_jobs : int, default=None
        Number of threads; results do not depend on it.
    verbose : int, default=0
        1 shows a progress bar.

    Returns
    -------
    PredictionInterval
        Predictions and intervals.

    Examples
    --------
    >>> from committee.datasets import curve
    >>> rows = curve().draw(60, np.random.default_rng(0))
    >>> found = bootstrap_interval(polynomial_regression(3), rows.X, rows.y, [[0.25]], random_state=0)
    >>> found.prediction.round(2), found.mean.low.round(2), found.new.low.round(2), found.new.high.round(2)
    (array([1.02]), array([0.86]), array([0.38]), array([1.61]))
    """
    _check(level, n_resamples)
    if kind not in ("residual", "pairs"):
        raise ValueError(f"kind must be 'residual' or 'pairs'; got {kind!r}.")
    target = _target(X, y)
    rng = np.random.default_rng(int(member_seeds(random_state, 1)[0]))
    problem = _least_squares(estimator, X, target, X_new)
    with one_blas_thread(), progress("refits", n_resamples, verbose) as tick:
        if problem is not None:
            result = _refit_least_squares(problem, kind, n_resamples, rng)
        else:
            threads = n_threads(n_jobs, 2**62)
            result = _refit(_Model(estimator, X, target, X_new, threads, tick), kind, n_resamples, rng)
    tails = [(1.0 + level) / 2.0, (1.0 - level) / 2.0]
    mean, new = (
        Interval(*(result.prediction - scale * np.quantile(errors, tails, axis=0)))
        for errors, scale in ((result.mean_errors, result.mean_scale), (result.new_errors, result.new_scale))
    )
    return PredictionInterval(X_new, result.prediction, mean, new, level, kind)


class _Errors(NamedTuple):
    """Errors of the predictions in the resamples, in units of a scale."""

    prediction: Floats  # [m]
    mean_errors: Floats  # [R, m], f* - f^
    new_errors: Floats  # [R k, m], f* - (f^ + e*) for k draws of e* each
    mean_scale: Floats | float = 1.0  # [m]
    new_scale: float = 1.0


def _draw_noise(residual: Floats, n_resamples: int, n_new: int, rng: np.random.Generator) -> Floats:
    """Noise [k, R, m] of new values, k samples for every refit."""
    k = min(NOISES, max(1, CELLS // (n_resamples * n_new)))
    return residual[rng.integers(0, residual.size, (k, n_resamples, n_new))]


# --- least squares ----------------------------------------------------------------------------------------------------


class _LeastSquares(NamedTuple):
    """A design in an orthonormal basis: fitted values are Q Q'y, predictions Q_new Q'y."""

    Q: Floats  # [n, p]
    Q_new: Floats  # [m, p]
    y: Floats  # [n]

    @property
    def n_free(self) -> int:
        return self.Q.shape[0] - self.Q.shape[1]

    def deviation(self, y: Floats) -> Any:
        """s of one or many targets [..., n]."""
        rest = y - (y @ self.Q) @ self.Q.T
        return np.sqrt(np.sum(rest * rest, axis=-1) / self.n_free)


def _least_squares(estimator: Any, X: Any, y: Floats, X_new: Any) -> _LeastSquares | None:
    """The problem if the estimator is ordinary least squares on fixed columns, else None."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    line = steps[-1]
    if type(line) is not LinearRegression or line.positive or len(steps) > 2:
        return None
    if len(steps) == 2 and type(steps[0]) is not PolynomialFeatures:
        return None
    design, design_new = (_design(steps[:-1], line.fit_intercept, rows) for rows in (X, X_new))
    U, size, V = np.linalg.svd(design, full_matrices=False)
    kept = size > 1e-10 * size[0]  # columns may be collinear
    if len(design) <= kept.sum():
        raise ValueError(f"{len(design)} rows are too few for {kept.sum()} coefficients and the noise.")
    return _LeastSquares(U[:, kept], np.asarray(design_new @ (V[kept].T / size[kept]), np.float64), y)


def _design(features: list[Any], has_intercept: bool, X: Any) -> Floats:
    rows = np.asarray(X, np.float64)
    columns = features[0].fit_transform(rows) if features else rows
    return np.column_stack([np.ones(len(rows)), columns]) if has_intercept else columns


def _refit_least_squares(problem: _LeastSquares, kind: Kind, n_resamples: int, rng: np.random.Generator) -> _Errors:
    Q, Q_new, y = problem
    n, m = len(Q), len(Q_new)
    fitted, prediction = Q @ (Q.T @ y), Q_new @ (Q.T @ y)
    leverage = np.sum(Q * Q, axis=1)
    residual = (y - fitted) / np.sqrt(np.maximum(1.0 - leverage, 1e-12))
    residual = residual - residual.mean()
    rows = rng.integers(0, n, (n_resamples, n))
    noise = _draw_noise(residual, n_resamples, m, rng)
    if kind == "pairs":
        coefficients, stderrs = _weighted_fits(problem, rows)
        mean_errors = coefficients @ Q_new.T - prediction
        scale = _weighted_fits(problem, np.arange(n)[np.newaxis])[1][0]
        return _Errors(prediction, mean_errors / stderrs, (mean_errors - noise).reshape(-1, m), scale)
    drawn = fitted + residual[rows]
    s = problem.deviation(drawn)[:, np.newaxis]
    s = np.where(s > 0.0, s, 1.0)  # all residuals are 0
    mean_errors = (drawn @ Q) @ Q_new.T - prediction
    scale = float(problem.deviation(y))
    return _Errors(prediction, mean_errors / s, ((mean_errors - noise) / s).reshape(-1, m), scale, scale)


def _weighted_fits(problem: _LeastSquares, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Coefficients [R, p] on the rows drawn, and White's standard errors [R, m] of the predictions.

    With c the counts of the rows: coefficients b = G^-1 Q'(c y), G = Q' diag(c) Q, and their covariance is
    G^-1 (Q' diag(c r^2) Q) G^-1 with r the residuals.
    """
    Q, Q_new, y = problem
    n_resamples, (n, p) = len(rows), Q.shape
    place = np.arange(n_resamples)[:, np.newaxis] * n + rows
    counts = np.bincount(place.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float64)
    products = (Q[:, :, np.newaxis] * Q[:, np.newaxis, :]).reshape(n, p * p)
    inverse = np.linalg.pinv((counts @ products).reshape(-1, p, p), hermitian=True)
    b = (inverse @ (counts @ (Q * y[:, np.newaxis]))[:, :, np.newaxis])[:, :, 0]
    r = y - b @ Q.T
    spread = ((counts * r * r) @ products).reshape(-1, p, p)
    across = Q_new @ inverse  # [R, m, p]
    variance = np.sum((across @ spread) * across, axis=2)
    smallest = np.finfo(np.float64).tiny  # a resample without residuals
    return b, np.sqrt(np.maximum(variance, smallest))


# --- any regressor ----------------------------------------------------------------------------------------------------


class _Model(NamedTuple):
    """A regressor with its training rows and the rows to predict."""

    estimator: Any
    X: Any
    y: Floats
    X_new: Any
    threads: int
    tick: Callable[[str], None]

    def predict(self, X: Any, y: Floats, X_new: Any, seed: int) -> Floats:
        model = seeded(self.estimator, seed, self.threads).fit(X, y)
        return np.asarray(model.predict(X_new), np.float64).reshape(len(X_new))


def _refit(model: _Model, kind: Kind, n_resamples: int, rng: np.random.Generator) -> _Errors:
    n = model.y.size
    seed = int(rng.integers(2**31))
    prediction = model.predict(model.X, model.y, model.X_new, seed)
    fitted = model.predict(model.X, model.y, model.X, seed)
    residual = _out_of_fold(model, seed)
    residual = residual - residual.mean()
    rows = rng.integers(0, n, (n_resamples, n))
    noise = _draw_noise(residual, n_resamples, prediction.size, rng)
    seeds = rng.integers(2**31, size=n_resamples)

    def turn(b: int) -> Floats:
        if kind == "pairs":
            result = model.predict(take_rows(model.X, rows[b]), model.y[rows[b]], model.X_new, int(seeds[b]))
        else:
            result = model.predict(model.X, fitted + residual[rows[b]], model.X_new, int(seeds[b]))
        model.tick("")
        return result

    mean_errors = np.array(run(turn, [(b,) for b in range(n_resamples)], model.threads)) - prediction
    return _Errors(prediction, mean_errors, (mean_errors - noise).reshape(-1, prediction.size))


def _out_of_fold(model: _Model, seed: int) -> Floats:
    """Out-of-fold residuals."""
    residual = np.empty(model.y.size)
    for train, test in KFold(min(FOLDS, model.y.size), shuffle=True, random_state=seed).split(model.y):
        held_out = take_rows(model.X, test)
        residual[test] = model.y[test] - model.predict(take_rows(model.X, train), model.y[train], held_out, seed)
    return residual


def _target(X: Any, y: Any) -> Floats:
    target = read_targets_regression(y, len(X))
    if target.ndim != 1:
        raise ValueError(f"y has {target.shape[1]} columns: pass one of them at a time.")
    if target.size < 3:
        raise ValueError(f"At least 3 rows are needed; got {target.size}.")
    return target


def _check(level: float, n_resamples: int) -> None:
    if not 0.0 < level < 1.0 or n_resamples < 2:
        raise ValueError(
            f"level must lie between 0 and 1 and n_resamples be at least 2; got {level} and {n_resamples}."
        )
