"""Prediction intervals of any regressor from residuals of held-out rows: conformal prediction.

With n residuals e_(1) <= ... <= e_(n) and j = floor((n + 1) (1 - level) / 2), the residual of a new row lies between
e_(j) and e_(n + 1 - j) with a probability of at least `level`, if it is exchangeable with these and j >= 1, so for
n >= 2 / (1 - level) - 1: 19 residuals at 90 %, 39 at 95 %. With fewer residuals the smallest and the largest are the
ends, and a new residual lies between them with probability (n - 1) / (n + 1) only, whatever the level: 0.85 for n = 12.
With weights, n is their sum.

Where residuals come from:

    out of bag     bagging and forests: each training row is predicted by the members that were not fitted on it
    out of fold    gradient boosting with early stopping, stacking, voting with `cv`, committees
    a calibration  any regressor: `calibrate_intervals` fits clones on folds, or takes held-out rows

A regressor that predicts several quantiles has residuals for each of them: an end of an interval is the
nearest fitted quantile plus a quantile of its own residuals (conformalised quantile regression with separate ends).

Vovk, Gammerman and Shafer, Algorithmic learning in a random world, 2005. Zhang, Zimmerman, Nettleton and Nordman,
Random forest prediction intervals, 2020. Barber, Candes, Ramdas and Tibshirani, Predictive inference with the
jackknife+, 2021. Romano, Patterson and Candes, Conformalized quantile regression, 2019.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from committee.base.array_types import Floats
from committee.base.stacklevel import level_of_caller
from committee.sampling.resampling import are_whole, without_common_factor
from committee.sampling.splits import Split, given_splits, group_folds, read_splits
from committee.tabular.rows import open_rows, take_rows
from committee.tabular.validation import read_one_target, read_weights

Indices = NDArray[np.int64]

MAX_RESIDUALS = 1000
"""Maximum number of residuals of a model; of more, those in the middle are replaced by quantiles."""

TAIL = 100
"""Residuals at either end that are always kept, for intervals of high level."""


class Residuals(NamedTuple):
    """Residuals in ascending order, and how many rows each one is."""

    value: Floats
    n_each: Floats

    @classmethod
    def of(cls, errors: Floats, weight: Floats) -> Residuals:
        """Sort the residuals; weights that are not integers are divided by their mean."""
        order = np.argsort(errors, kind="stable")
        count = without_common_factor(weight)
        count = count if are_whole(count) else count / count.mean()
        return cls(errors[order], count[order])

    def ends(self, level: float) -> Floats:
        """Compute the lower and the upper end of an interval, relative to a prediction."""
        outside = 0.5 * (1.0 - level)
        return np.array([self._from_below(outside), self._from_above(outside)])

    def quantile(self, q: float) -> float:
        """Compute a quantile, conservatively: for q below 1/2 the lower end of the interval of level 1 - 2 q.

        For q above 1/2 it is the upper end of the interval of level 2 q - 1.
        """
        if q == 0.5:
            return 0.5 * (self._from_below(0.5) + self._from_above(0.5))
        return self._from_below(q) if q < 0.5 else self._from_above(1.0 - q)

    def _from_below(self, outside: float) -> float:
        return float(self.value[_place(np.cumsum(self.n_each), (self.n_each.sum() + 1.0) * outside)])

    def _from_above(self, outside: float) -> float:
        place = _place(np.cumsum(self.n_each[::-1]), (self.n_each.sum() + 1.0) * outside)
        return float(self.value[self.value.size - 1 - place])

    def guaranteed_coverage(self, level: float) -> float:
        """Compute the guaranteed coverage of an interval: its level, or less if there are too few residuals.

        >>> twelve = Residuals.of(np.arange(12.0), np.ones(12))
        >>> twelve.guaranteed_coverage(0.8), round(twelve.guaranteed_coverage(0.95), 3)
        (0.8, 0.846)
        """
        n = float(self.n_each.sum())
        return level if n >= n_errors_needed(level) else min(level, (n - 1.0) / (n + 1.0))

    def few_residuals_warning(self, level: float) -> str:
        """Text of the warning if the guaranteed coverage is below the level, else empty."""
        if self.guaranteed_coverage(level) >= level:
            return ""
        return (
            f"{100 * level:.4g} % intervals need the residuals of {n_errors_needed(level)} rows, and there are "
            f"{self.n_each.sum():.4g}: the ends are the smallest and the largest, with a guaranteed coverage of "
            f"{100 * self.guaranteed_coverage(level):.3g} % only. Fit on more rows, or use a lower level."
        )

    def thinned(self) -> Residuals:
        """Reduce to at most `MAX_RESIDUALS` with weights; the outermost do not change.

        >>> many = Residuals.of(np.arange(100_000.0), np.ones(100_000))
        >>> many.thinned().value.size, many.ends(0.999).tolist(), many.thinned().ends(0.999).tolist()
        (1000, [49.0, 99950.0], [49.0, 99950.0])
        """
        n = self.value.size
        if n <= MAX_RESIDUALS:
            return self
        middle = np.rint(np.linspace(TAIL, n - TAIL, MAX_RESIDUALS - 2 * TAIL + 1)).astype(np.int64)
        edge = np.concatenate([np.arange(TAIL), middle, np.arange(n - TAIL + 1, n + 1)])
        begin, end = edge[:-1], edge[1:]
        return Residuals(self.value[(begin + end - 1) // 2], np.add.reduceat(self.n_each, begin))


def n_errors_needed(level: float) -> int:
    """Compute the minimum number of residuals for a guaranteed coverage of `level`.

    >>> n_errors_needed(0.9), n_errors_needed(0.95)
    (19, 39)
    """
    return math.ceil((2.0 / (1.0 - level) - 1.0) * (1.0 - 1e-12))  # rounding aside


def _place(total: Floats, outside: float) -> int:
    """Find the position at which the cumulative count reaches floor(outside), up to rounding."""
    return int(np.searchsorted(total, np.floor(outside * (1.0 + 1e-12)) * (1.0 - 1e-12)))


def read_level(level: float) -> float:
    """Check that a level lies between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}: use 0.9 for intervals that cover 90 %.")
    return float(level)


def read_quantiles(quantiles: ArrayLike) -> Floats:
    """Check that quantiles lie between 0 and 1; return them as an array."""
    levels = np.atleast_1d(np.asarray(quantiles, np.float64))
    if levels.ndim != 1 or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(f"quantiles must lie between 0 and 1, got {quantiles!r}.")
    return levels


def gather_residuals(errors: Floats, weight: Floats | None) -> tuple[Residuals, ...]:
    """Make residuals of each column of errors [n] or [n, k] from finite errors of nonzero weight; () if below two."""
    table = errors if errors.ndim == 2 else errors[:, np.newaxis]
    counts = np.ones(len(table)) if weight is None or not weight.size else weight
    known = np.isfinite(table).all(axis=1) & (counts > 0.0)
    if known.sum() < 2:
        return ()
    return tuple(Residuals.of(column[known], counts[known]).thinned() for column in table.T)


def shifted_quantiles(columns: Floats, fitted: Floats, residuals: Sequence[Residuals], wanted: Floats) -> Floats:
    """Compute quantiles [n, q]: the nearest fitted column plus the quantile of its residuals, for each wanted level.

    From the middle outwards they are made monotone over the columns: quantiles increase with their level, and intervals
    of a higher level contain those of a lower one.
    """
    edge = 0.5 * (fitted[1:] + fitted[:-1])  # between the levels for which each column is the nearest
    part, middle = np.searchsorted(edge, wanted), int(np.searchsorted(edge, 0.5))
    out = np.empty((len(columns), wanted.size))
    for i, (k, q) in enumerate(zip(part.tolist(), wanted.tolist(), strict=True)):
        ends = [columns[:, k] + residuals[k].quantile(q)]
        ends += [columns[:, j] + residuals[j].quantile(float(edge[j - 1])) for j in range(k + 1, middle + 1)]
        ends += [columns[:, j] + residuals[j].quantile(float(edge[j])) for j in range(middle, k)]
        out[:, i] = np.min(ends, axis=0) if q < 0.5 else np.max(ends, axis=0)
    return out


# --- the mixin --------------------------------------------------------------------------------------------------------


class PredictionIntervals:
    """`predict_interval`, `predict_quantiles` and `calibrate_intervals` of a regressor.

    A fit that has residuals of held-out rows stores them by `_keep_residuals`; residuals of `calibrate_intervals` take
    precedence, until the next fit.
    """

    _interval_hint: ClassVar[str] = ""  # the parameters with which a fit stores residuals
    predict: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("fit", "partial_fit"):
            method: Any = getattr(cls, name, None)
            if method is not None and not hasattr(method, "drops_calibration"):
                setattr(cls, name, _dropping_calibration(method))

    def predict_interval(self, X: Any, level: float = 0.9) -> Floats:
        """Predict intervals.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        level : float, default=0.9
            Coverage of the intervals.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2)
            Lower and upper ends: the prediction plus two quantiles of the residuals of held-out rows (out of bag, out
            of fold, or those of `calibrate_intervals`).

        Notes
        -----
        The guarantee is marginal coverage: a fraction of about `level` of all new rows has its target inside, if new
        rows are exchangeable with the rows of the residuals (drawn independently from the same source). It does not
        hold conditionally: the intervals may be too wide for easy rows and too narrow for hard ones. It fails where new
        rows differ from the training rows: rows in time order, drift, new groups. Then calibrate on splits of the same
        kind (``cv=TimeSeriesSplit(5)``, or `groups`), and check the coverage on recent rows.

        The guarantee needs 2 / (1 - level) - 1 residuals (19 for 90 %, 39 for 95 %). With fewer, the ends are the
        extreme ones, which cover (n - 1) / (n + 1) only, with a UserWarning.
        """
        self._require_residuals(_outer_quantiles(level))
        return self.interval_around(self.predict(X), level)

    def interval_around(self, prediction: Floats, level: float = 0.9) -> Floats:
        """Compute the intervals (n_samples, 2) of rows from their predictions."""
        return self._quantiles_around(prediction, _outer_quantiles(level))

    def predict_quantiles(self, X: Any, quantiles: ArrayLike = (0.1, 0.5, 0.9)) -> Floats:
        """Predict quantiles of the target.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        quantiles : array-like of float in (0, 1)

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles)
            The prediction plus quantiles of the residuals of `predict_interval`, with the same guarantee: those at 0.05
            and 0.95 are the ends of the interval of level 0.9.
        """
        wanted = read_quantiles(quantiles)
        self._require_residuals(wanted)
        return self._quantiles_around(self.predict(X), wanted)

    def calibrate_intervals(
        self, X: Any, y: Any, *, cv: Any = 5, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Compute the residuals for `predict_interval` and `predict_quantiles` from these rows.

        The model does not change; the next `fit` deletes these residuals.

        Parameters
        ----------
        X, y : the training rows; with cv="prefit" held-out rows
        cv : int, splitter, iterable of (train, test) or "prefit", default=5
            Clones of the model are fitted on the training rows of each fold and predict its test rows. A number gives
            shuffled folds, or folds of whole groups with `groups`. "prefit" uses the residuals of the fitted model
            (split conformal prediction).
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for the fits and for the residuals.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for the splitter.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        table = open_rows(X, self, takes_sparse=True)
        target = read_one_target(y, int(table.shape[0]), type(self).__name__)
        weight = read_weights(sample_weight, target.size)
        if isinstance(cv, str):
            if cv != "prefit":
                raise ValueError(f"cv must be a number of folds, a splitter, splits or 'prefit', got {cv!r}.")
            errors = self._errors(self, X, target)
        else:
            errors = self._errors_by_folds(table, target, weight, _splits(cv, table, target, weight, groups))
        result = gather_residuals(errors, weight)
        if not result:
            raise ValueError(f"Intervals need the residuals of two rows at least; {target.size} rows give fewer.")
        self._calibration_residuals = result
        return self

    def set_interval_residuals(self, errors: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Set the residuals for `predict_interval`: target less prediction, a column for each column of `predict`."""
        check_is_fitted(self)
        table = np.asarray(errors, np.float64)
        result = gather_residuals(table, read_weights(sample_weight, len(table)))
        if len(result) != self._fitted_quantiles().size:
            raise ValueError(
                f"errors must have two finite residuals at least, in {self._fitted_quantiles().size} column(s)."
            )
        self._calibration_residuals = result
        return self

    def interval_residuals(self) -> tuple[Residuals, ...]:
        """Return the residuals of `predict_interval` for each column of `predict`; empty if there are none."""
        check_is_fitted(self)
        own: Any = getattr(self, "_calibration_residuals", None) or getattr(self, "_residuals", ())
        result: tuple[Residuals, ...] = (own,) if isinstance(own, Residuals) else own
        return result if result and result[0].value.size > 1 else ()

    # --- hooks of regressors ------------------------------------------------------------------------------------------

    def _fitted_quantiles(self) -> Floats:
        """Levels of the columns of `predict`; a single column counts as a median."""
        return np.array([0.5])

    def _keep_residuals(self, errors: Floats, weight: Floats | None = None) -> None:
        """Store residuals [n] or [n, columns] of held-out rows at the end of a fit."""
        self._residuals = gather_residuals(errors, weight)

    def _require_residuals(self, wanted: Floats) -> None:
        """Raise NotFittedError if there are neither residuals nor fitted columns for these quantiles."""
        if not self.interval_residuals() and not self._plain_columns(wanted):
            raise NotFittedError(self._no_residuals(wanted))

    def _plain_columns(self, wanted: Floats) -> list[int]:
        """The columns of `predict` that are the wanted quantiles; empty if one is missing."""
        fitted = self._fitted_quantiles()
        nearest = np.abs(fitted[:, np.newaxis] - wanted).argmin(axis=0)
        is_there = fitted.size > 1 and np.allclose(fitted[nearest], wanted, rtol=0.0, atol=1e-9)
        return nearest.tolist() if is_there else []

    def _no_residuals(self, wanted: Floats) -> str:
        fitted, name = self._fitted_quantiles(), type(self).__name__
        reason = f"This {name} has no residuals of held-out rows for intervals"
        if fitted.size > 1:
            reason += f"; its fitted quantiles {fitted.tolist()} do not include {wanted.tolist()}"
        hint = f", or fit with {self._interval_hint}" if self._interval_hint else ""
        return (
            f"{reason}. Call model.calibrate_intervals(X, y) with the training rows (fits 5 clones), or "
            f'model.calibrate_intervals(X_new, y_new, cv="prefit") with held-out rows{hint}.'
        )

    # --- computation --------------------------------------------------------------------------------------------------

    def _quantiles_around(self, prediction: Floats, wanted: Floats) -> Floats:
        self._require_residuals(wanted)
        residuals, columns = self.interval_residuals(), self._columns(prediction)
        if not residuals:
            return columns[:, self._plain_columns(wanted)]
        _warn_if_few(residuals[0], wanted)
        return shifted_quantiles(columns, self._fitted_quantiles(), residuals, wanted)

    def _columns(self, prediction: Any) -> Floats:
        """Predictions as [n, k], a column for each fitted quantile."""
        values = np.asarray(prediction, np.float64)
        columns = values if values.ndim == 2 else values[:, np.newaxis]
        if columns.shape[1] != self._fitted_quantiles().size:
            raise ValueError(
                f"Intervals are for one target, and this {type(self).__name__} predicts {columns.shape[1]}: fit one "
                "model for each."
            )
        return columns

    def _errors(self, model: Any, X: Any, target: Floats) -> Floats:
        return target[:, np.newaxis] - self._columns(model.predict(X))

    def _errors_by_folds(self, table: Any, target: Floats, weight: Floats | None, splits: list[Split]) -> Floats:
        """Errors of each row by a clone fitted without its fold, nan for rows in no test fold."""
        errors = np.full((target.size, self._fitted_quantiles().size), np.nan)
        for train, test in splits:
            model: Any = clone(self)  # type: ignore[type-var]
            fit_params: dict[str, Any] = {}
            if weight is not None:
                if not has_fit_parameter(model, "sample_weight"):
                    raise ValueError(f"{type(self).__name__} does not accept sample_weight: calibrate without it.")
                fit_params["sample_weight"] = weight[train]
            model.fit(take_rows(table, train), target[train], **fit_params)
            errors[test] = self._errors(model, take_rows(table, test), target[test])
        return errors


def _splits(cv: Any, table: Any, target: Floats, weight: Floats | None, groups: Any) -> list[Split]:
    if groups is not None:
        codes = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        return group_folds(codes, int(cv), seed=0) if isinstance(cv, Integral) else given_splits(
            cv, np.zeros((target.size, 1)), target, weight, groups
        )  # fmt: skip
    splits = read_splits(cv, table, target, weight, is_class=False, seed=0)
    if not splits:
        raise ValueError(f"cv={cv} folds of {target.size} rows: pass two folds and two different rows at least.")
    return splits


def _outer_quantiles(level: float) -> Floats:
    """Quantiles at the ends of intervals of this level."""
    outside = 0.5 * (1.0 - read_level(level))
    return np.array([outside, 1.0 - outside])


def _warn_if_few(residuals: Residuals, wanted: Floats) -> None:
    level = round(1.0 - 2.0 * float(np.minimum(wanted, 1.0 - wanted).min()), 12)
    message = residuals.few_residuals_warning(level) if level > 0.0 else ""
    if message:
        warnings.warn(message, UserWarning, stacklevel=level_of_caller())


def _dropping_calibration(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a fit so that it deletes the residuals of an earlier calibration."""

    @wraps(method)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        earlier = vars(self).pop("_calibration_residuals", None)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            if earlier is not None:  # the model did not change
                self._calibration_residuals = earlier
            raise

    fit.drops_calibration = True  # type: ignore[attr-defined]
    return fit
