"""Prediction intervals of any regressor, from residuals of rows that the model was not fitted on: conformal prediction.

With n residuals e_(1) <= ... <= e_(n) and j = floor((n + 1) (1 - level) / 2), the residual of a new row lies between
e_(j) and e_(n + 1 - j) with a probability of at least `level`, if it is exchangeable with these and j >= 1, so for
n >= 2 / (1 - level) - 1: 19 residuals at 90 %, 39 at 95 %. Of fewer residuals the smallest and the largest are the
ends, and a new residual lies between them with probability (n - 1) / (n + 1) only, whatever was asked for: 0.85 for
n = 12. Under weights a residual counts as so many, and n is the sum of the weights.

Where residuals come from:

    out of bag     bagging and forests: each training row is predicted by the members that did not see it
    out of fold    gradient boosting with early stopping, stacking, voting with `cv`, committees
    a calibration  any regressor: `calibrate_intervals` fits clones on folds, or takes held-out rows

A regressor that predicts several quantiles side by side has residuals for each of them: an end of an interval is the
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
"""Residuals that a model keeps; of more, those in the middle are replaced by their quantiles."""

TAIL = 100
"""Residuals at either end that are always kept one by one: ends of high levels are among them."""


class Residuals(NamedTuple):
    """Residuals in ascending order, and how many rows each one is."""

    value: Floats
    n_each: Floats

    @classmethod
    def of(cls, errors: Floats, weight: Floats) -> Residuals:
        """Sort the residuals; weights that are no numbers of rows are divided by their mean."""
        order = np.argsort(errors, kind="stable")
        count = without_common_factor(weight)
        count = count if are_whole(count) else count / count.mean()
        return cls(errors[order], count[order])

    def ends(self, level: float) -> Floats:
        """The lower and the upper end of an interval, relative to a prediction."""
        outside = 0.5 * (1.0 - level)
        return np.array([self._from_below(outside), self._from_above(outside)])

    def quantile(self, q: float) -> float:
        """The quantile at or below which a new residual lies with probability q; beyond the middle on the safe side.

        Below 1/2 it is the lower end of the interval of level 1 - 2 q, above 1/2 the upper end of that of 2 q - 1.
        """
        if q == 0.5:
            return 0.5 * (self._from_below(0.5) + self._from_above(0.5))
        return self._from_below(q) if q < 0.5 else self._from_above(1.0 - q)

    def _from_below(self, outside: float) -> float:
        return float(self.value[_place(np.cumsum(self.n_each), (self.n_each.sum() + 1.0) * outside)])

    def _from_above(self, outside: float) -> float:
        place = _place(np.cumsum(self.n_each[::-1]), (self.n_each.sum() + 1.0) * outside)
        return float(self.value[self.value.size - 1 - place])

    def promised(self, level: float) -> float:
        """The coverage that these ends can promise: what was asked for, or less if there are too few residuals.

        >>> twelve = Residuals.of(np.arange(12.0), np.ones(12))
        >>> twelve.promised(0.8), round(twelve.promised(0.95), 3)
        (0.8, 0.846)
        """
        n = float(self.n_each.sum())
        return level if n >= n_errors_needed(level) else min(level, (n - 1.0) / (n + 1.0))

    def too_few(self, level: float) -> str:
        """A warning for ends that promise less than was asked for; empty if they promise it."""
        if self.promised(level) >= level:
            return ""
        return (
            f"{100 * level:.4g} % intervals need the errors of {n_errors_needed(level)} rows, and there are "
            f"{self.n_each.sum():.4g}: the ends are the smallest and the largest of them, which promise "
            f"{100 * self.promised(level):.3g} % only. Fit on more rows, or ask for a lower level."
        )

    def thinned(self) -> Residuals:
        """At most `MAX_RESIDUALS` of them, the outermost as they are, which count for all.

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
    """The fewest residuals whose order statistics can promise `level`.

    >>> n_errors_needed(0.9), n_errors_needed(0.95)
    (19, 39)
    """
    return math.ceil((2.0 / (1.0 - level) - 1.0) * (1.0 - 1e-12))  # rounding aside


def _place(total: Floats, outside: float) -> int:
    """Where the row of number floor(outside) stands, for rows counted up to each place; rounding aside."""
    return int(np.searchsorted(total, np.floor(outside * (1.0 + 1e-12)) * (1.0 - 1e-12)))


def read_level(level: float) -> float:
    """A level between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}: pass 0.9 for intervals that cover 90 %.")
    return float(level)


def read_quantiles(quantiles: ArrayLike) -> Floats:
    """Numbers between 0 and 1."""
    levels = np.atleast_1d(np.asarray(quantiles, np.float64))
    if levels.ndim != 1 or not np.all((levels > 0.0) & (levels < 1.0)):
        raise ValueError(f"quantiles must lie between 0 and 1, got {quantiles!r}.")
    return levels


def gather_residuals(errors: Floats, weight: Floats | None) -> tuple[Residuals, ...]:
    """Residuals of each column of errors [n] or [n, k]: finite ones of rows with a weight, thinned; () below two."""
    table = errors if errors.ndim == 2 else errors[:, np.newaxis]
    counts = np.ones(len(table)) if weight is None or not weight.size else weight
    known = np.isfinite(table).all(axis=1) & (counts > 0.0)
    if known.sum() < 2:
        return ()
    return tuple(Residuals.of(column[known], counts[known]).thinned() for column in table.T)


def shifted_quantiles(columns: Floats, fitted: Floats, residuals: Sequence[Residuals], wanted: Floats) -> Floats:
    """Quantiles [n, q]: for each wanted level the nearest fitted column plus that quantile of the column's residuals.

    From the middle outwards an end may not fall behind what the columns further inside give at the edge of their part
    of the levels: so quantiles rise with their level, and intervals of a higher level hold those of a lower one.
    """
    edge = 0.5 * (fitted[1:] + fitted[:-1])  # between the parts of [0, 1] that the columns answer for
    part, middle = np.searchsorted(edge, wanted), int(np.searchsorted(edge, 0.5))
    out = np.empty((len(columns), wanted.size))
    for i, (k, q) in enumerate(zip(part.tolist(), wanted.tolist(), strict=True)):
        ends = [columns[:, k] + residuals[k].quantile(q)]
        ends += [columns[:, j] + residuals[j].quantile(float(edge[j - 1])) for j in range(k + 1, middle + 1)]
        ends += [columns[:, j] + residuals[j].quantile(float(edge[j])) for j in range(middle, k)]
        out[:, i] = np.min(ends, axis=0) if q < 0.5 else np.max(ends, axis=0)
    return out


# --- every regressor --------------------------------------------------------------------------------------------------


class PredictionIntervals:
    """`predict_interval`, `predict_quantiles` and `calibrate_intervals` of a regressor.

    A fit that knows residuals of rows it did not learn from keeps them by `_keep_residuals`; residuals of
    `calibrate_intervals` take precedence, and the next fit drops them.
    """

    _interval_hint: ClassVar[str] = ""  # which parameters of the fit give residuals
    predict: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("fit", "partial_fit"):
            method: Any = getattr(cls, name, None)
            if method is not None and not hasattr(method, "drops_calibration"):
                setattr(cls, name, _dropping_calibration(method))

    def predict_interval(self, X: Any, level: float = 0.9) -> Floats:
        """Predict an interval for every row: lower and upper ends (n_samples, 2).

        The ends are the prediction plus two quantiles of the residuals of rows that the model was not fitted on: out
        of bag, out of fold, or those of `calibrate_intervals`.

        The guarantee is marginal coverage: of all new rows, a fraction of about `level` has its target inside, if new
        rows are exchangeable with the rows of the residuals (drawn independently from the same source). It does not
        hold row by row: the intervals may be too wide for easy rows and too narrow for hard ones. It fails where new
        rows differ from the training rows: rows in time order, drift, new groups. For those calibrate on splits that
        leave out what will be new (``cv=TimeSeriesSplit(5)``, or `groups`), and check the coverage on recent rows.

        It takes 2 / (1 - level) - 1 residuals (19 for 90 %, 39 for 95 %). With fewer the ends are the extreme ones,
        which cover (n - 1) / (n + 1) only, and a UserWarning says so.
        """
        self._require_residuals(_outer_quantiles(level))
        return self.interval_around(self.predict(X), level)

    def interval_around(self, prediction: Floats, level: float = 0.9) -> Floats:
        """Intervals (n_samples, 2) of rows whose `predict` is known: `predict_interval` without predicting again."""
        return self._quantiles_around(prediction, _outer_quantiles(level))

    def predict_quantiles(self, X: Any, quantiles: ArrayLike = (0.1, 0.5, 0.9)) -> Floats:
        """Predict quantiles of the target of every row (n_samples, n_quantiles).

        They are the prediction plus quantiles of the same residuals as in `predict_interval`, with the same guarantee:
        those at 0.05 and 0.95 are the ends of the interval of level 0.9.
        """
        wanted = read_quantiles(quantiles)
        self._require_residuals(wanted)
        return self._quantiles_around(self.predict(X), wanted)

    def calibrate_intervals(
        self, X: Any, y: Any, *, cv: Any = 5, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Take the residuals for `predict_interval` and `predict_quantiles` from these rows; the model stays as it is.

        Parameters
        ----------
        X, y : the training rows; with cv="prefit" rows that the model was not fitted on
        cv : number of folds, splitter, iterable of (train, test) rows, or "prefit"
            Clones of the model are fitted on the training rows of each fold and predict its test rows. A number gives
            shuffled folds, or folds of whole groups where `groups` are given. "prefit" fits nothing: the residuals are
            those of the fitted model (split conformal prediction).
        sample_weight : weights of the rows, for the fits and for the residuals, optional
        groups : group of each row, for the splitter, optional

        The next `fit` drops these residuals again.
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
            raise ValueError(f"Intervals need the residuals of two rows at least; {target.size} rows gave fewer.")
        self._calibration_residuals = result
        return self

    def set_interval_residuals(self, errors: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take residuals (target less prediction) that were measured elsewhere, as `calibrate_intervals` would.

        `errors` has one column for each column of `predict`.
        """
        check_is_fitted(self)
        known = np.asarray(errors, np.float64)
        result = gather_residuals(known, read_weights(sample_weight, len(known)))
        if len(result) != self._fitted_quantiles().size:
            raise ValueError(
                f"errors must hold two finite residuals at least, in {self._fitted_quantiles().size} column(s)."
            )
        self._calibration_residuals = result
        return self

    def interval_residuals(self) -> tuple[Residuals, ...]:
        """The residuals behind `predict_interval`, for each column of `predict`; empty where there are none."""
        check_is_fitted(self)
        own: Any = getattr(self, "_calibration_residuals", None) or getattr(self, "_residuals", ())
        result: tuple[Residuals, ...] = (own,) if isinstance(own, Residuals) else own
        return result if result and result[0].value.size > 1 else ()

    # --- what a regressor may bring itself ----------------------------------------------------------------------------

    def _fitted_quantiles(self) -> Floats:
        """Levels of the columns of `predict`; the one column of most regressors is taken for a median."""
        return np.array([0.5])

    def _keep_residuals(self, errors: Floats, weight: Floats | None = None) -> None:
        """At the end of a fit: residuals [n] or [n, columns] of rows that the model did not learn from."""
        self._residuals = gather_residuals(errors, weight)

    def _require_residuals(self, wanted: Floats) -> None:
        """Raise NotFittedError where nothing gives these quantiles."""
        if not self.interval_residuals() and not self._plain_columns(wanted):
            raise NotFittedError(self._how_to_calibrate(wanted))

    def _plain_columns(self, wanted: Floats) -> list[int]:
        """The columns of `predict` that were fitted as the wanted quantiles; none if one is missing."""
        fitted = self._fitted_quantiles()
        nearest = np.abs(fitted[:, np.newaxis] - wanted).argmin(axis=0)
        is_there = fitted.size > 1 and np.allclose(fitted[nearest], wanted, rtol=0.0, atol=1e-9)
        return nearest.tolist() if is_there else []

    def _how_to_calibrate(self, wanted: Floats) -> str:
        fitted, name = self._fitted_quantiles(), type(self).__name__
        lacks = f"This {name} has no residuals of rows it was not fitted on, which intervals are made of"
        if fitted.size > 1:
            lacks += f"; its fitted quantiles {fitted.tolist()} alone cannot give {wanted.tolist()}"
        hint = f", or fit with {self._interval_hint}" if self._interval_hint else ""
        return (
            f"{lacks}. Write model.calibrate_intervals(X, y) with the training rows (fits 5 clones), or "
            f'model.calibrate_intervals(X_new, y_new, cv="prefit") with rows it was not fitted on{hint}.'
        )

    # --- the work -----------------------------------------------------------------------------------------------------

    def _quantiles_around(self, prediction: Floats, wanted: Floats) -> Floats:
        self._require_residuals(wanted)
        residuals, columns = self.interval_residuals(), self._columns(prediction)
        if not residuals:
            return columns[:, self._plain_columns(wanted)]
        _warn_if_few(residuals[0], wanted)
        return shifted_quantiles(columns, self._fitted_quantiles(), residuals, wanted)

    def _columns(self, prediction: Any) -> Floats:
        """What `predict` gave as [n, k], one column for each fitted quantile."""
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
        """Errors of each row by a clone fitted without its fold, nan for rows that no fold tests."""
        errors = np.full((target.size, self._fitted_quantiles().size), np.nan)
        for train, test in splits:
            model: Any = clone(self)  # type: ignore[type-var]
            given: dict[str, Any] = {}
            if weight is not None:
                if not has_fit_parameter(model, "sample_weight"):
                    raise ValueError(f"{type(self).__name__} takes no sample_weight: calibrate without it.")
                given["sample_weight"] = weight[train]
            model.fit(take_rows(table, train), target[train], **given)
            errors[test] = self._errors(model, take_rows(table, test), target[test])
        return errors


def _splits(cv: Any, table: Any, target: Floats, weight: Floats | None, groups: Any) -> list[Split]:
    if groups is not None:
        numbers = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
        return group_folds(numbers, int(cv), seed=0) if isinstance(cv, Integral) else given_splits(
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
    words = residuals.too_few(level) if level > 0.0 else ""
    if words:
        warnings.warn(words, UserWarning, stacklevel=level_of_caller())


def _dropping_calibration(method: Callable[..., Any]) -> Callable[..., Any]:
    """A fit after which residuals of an earlier calibration are gone: they are those of another model."""

    @wraps(method)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        earlier = vars(self).pop("_calibration_residuals", None)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            if earlier is not None:  # the model is the earlier one still
                self._calibration_residuals = earlier
            raise

    fit.drops_calibration = True  # type: ignore[attr-defined]
    return fit
