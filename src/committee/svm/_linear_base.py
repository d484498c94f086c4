"""What the linear and the landmark machines share: rows, costs and classes on the way in, answers on the way out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.parameters import CLASS_WEIGHT, Estimator, fitted, param, positive_or_infinite
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.svm._scaling import Scaling, fit_scaling, reject_values, warn_of_scales
from committee.tabular.class_weight import class_weights
from committee.tabular.schema import Columns
from committee.tabular.validation import (
    read_one_target,
    read_table,
    read_targets_classification,
    read_training_table,
    read_weights,
)

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None


class Rows(NamedTuple):
    """The rows that count."""

    X: NDArray[np.floating]  # [n, d], scaled where that was asked for
    weight: Floats  # [n], > 0
    raw: NDArray[np.floating]  # [n, d], as it came


class Costs(NamedTuple):
    """What one machine is to learn of the rows (see `linear_problem`)."""

    y: Floats  # [n]
    up: Floats  # [n], cost of an answer too low
    down: Floats  # [n], cost of an answer too high


class BaseLargeSVM(Estimator):
    """A machine for many rows; a subclass says how it learns from costs and scores rows."""

    C: float = param(positive_or_infinite, default=1.0)  # infinity is refused with a better message
    scale: bool = param("boolean", default=False)
    verbose: int = param("verbose", default=0)

    columns_: Columns = fitted()
    scaling_: Scaling | None = fitted()

    def _learn(self, rows: Rows, costs: Sequence[Costs]) -> None:
        """Learn one machine for each of the costs and keep what was found."""
        raise NotImplementedError

    def _score(self, table: Any) -> Floats:
        """Answers [n, machines] for a table as it was read."""
        raise NotImplementedError

    def _begin(self, X: Any, sample_weight: Any) -> tuple[Any, Floats]:
        """Table and weights as they come; sets `columns_`."""
        self._reject_hard_margin()
        columns, result = read_training_table(self, X, categorical_features=None, sample_weight=sample_weight)
        table = np.ascontiguousarray(result)  # sums over rows in another order have other bits
        reject_values(table, columns, type(self).__name__)
        weight = read_weights(sample_weight, len(table))
        self.columns_ = columns
        return table, np.ones(len(table)) if weight is None else weight

    def _reject_hard_margin(self) -> None:
        if np.isinf(self.C):
            exact = "SVR" if isinstance(self, RegressorMixin) else "SVC"
            kernel = f"{getattr(self, 'kernel', 'linear')!r:.40}"
            raise ValueError(f"C must be finite: the hard margin, C=inf, is for {exact}(kernel={kernel}).")

    def _rows(self, table: Any, weight: Floats) -> tuple[Rows, NDArray[np.bool_] | slice]:
        """Rows of weight above 0, scaled where asked for, and which they are."""
        kept = slice(None) if weight.all() else weight > 0.0
        some = table[kept]
        rows = Rows(some, weight[kept], some)
        self.scaling_ = self._fit_scaling(rows) if self.scale else None
        if self.scaling_ is not None:
            return rows._replace(X=self.scaling_.apply(rows.X)), kept
        if isinstance(some, np.ndarray):  # a sparse table is not looked at
            warn_of_scales(some, self.columns_, stacklevel=4)
        return rows, kept

    def _fit_scaling(self, rows: Rows) -> Scaling:
        return fit_scaling(rows.X, rows.weight)

    def _read(self, X: Any) -> Any:
        check_is_fitted(self, "columns_")
        table = np.ascontiguousarray(read_table(self, X))
        reject_values(table, self.columns_, type(self).__name__)
        return table


class BaseLargeClassifier(ClassifierMixin, BaseLargeSVM):
    """Classes by machines of two, one against the rest."""

    class_weight: ClassWeight = param(*CLASS_WEIGHT, default=None)

    classes_: NDArray[Any] = fitted()

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, d] and labels y; a weight counts as so many rows."""
        self._validate_params()
        with all_or_nothing(self), one_blas_thread():
            table, weight = self._begin(X, sample_weight)
            self.classes_, codes = read_targets_classification(y, table.shape[0])
            if len(self.classes_) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of at least 2 classes, y has only 1 class: "
                    f"{self.classes_.tolist()[0]!r}."
                )
            rows, kept = self._rows(table, weight)
            codes = codes[kept]
            cost = _checked(self.C * rows.weight * self._class_factors(codes, rows.weight)[codes])
            self._learn(rows, class_costs(codes, len(self.classes_), cost))
        return self

    def _class_factors(self, codes: NDArray[np.int64], weight: Floats) -> Floats:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        factors = class_weights(self.class_weight, codes, self.classes_, weight)
        read_weights(factors, factors.size, "class_weight")
        return factors

    def decision_function(self, X: Any) -> Floats:
        """f(x) [n], positive for ``classes_[1]``; [n, classes] for more than two."""
        scores = self._score(self._read(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class on whose side a row lies; of more than two the one with the largest f."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]


class BaseLargeRegressor(RegressorMixin, PredictionIntervals, BaseLargeSVM):
    """Numbers by one machine."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X [n, d] and numbers y; a weight counts as so many rows."""
        self._validate_params()
        with all_or_nothing(self), one_blas_thread():
            table, weight = self._begin(X, sample_weight)
            target = self._read_target(y, table.shape[0])
            rows, kept = self._rows(table, weight)
            cost = _checked(self.C * rows.weight)
            self._learn(rows, [Costs(target[kept], cost, cost)])
        return self

    def _read_target(self, y: Any, n_rows: int) -> Floats:
        return read_one_target(y, n_rows, type(self).__name__)

    def predict(self, X: Any) -> Floats:
        """f(x) [n]."""
        return self._score(self._read(X))[:, 0]


def _checked(cost: Floats) -> Floats:
    read_weights(cost, cost.size, "C times the weights")
    return cost


def class_costs(codes: NDArray[np.int64], n_classes: int, cost: Floats) -> list[Costs]:
    """One machine for the second of two classes, or one for every class against the rest."""
    chosen = [1] if n_classes == 2 else range(n_classes)
    return [
        Costs(np.where(codes == k, 1.0, -1.0), np.where(codes == k, cost, 0.0), np.where(codes == k, 0.0, cost))
        for k in chosen
    ]


def warn_of_no_convergence(
    name: str, n_iter: int, max_iter: int, what: str, reached: float, asked: float, stacklevel: int = 6
) -> None:
    """Say how far a run got that ended too early: by its number of steps, or because no step was possible."""
    if n_iter >= max_iter:
        ended, more = f"did not converge in max_iter={max_iter}", "Use a larger max_iter or tol"
    else:
        ended, more = f"stopped after {n_iter} steps, because rounding errors allow no further one", "Use a larger tol"
    warnings.warn(
        f"{name} {ended}: {what} is {reached:.3g}, {asked:.3g} was required. {more}, scale the columns (scale=True) or "
        "use a smaller C (more penalty).",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
