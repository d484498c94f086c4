"""Base classes of the linear and the Nystroem SVMs: training rows, costs and classes; predictions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from committee.base.array_types import Floats
from committee.base.blas_threads import one_blas_thread
from committee.base.parameters import CLASS_WEIGHT, fitted, param, positive_or_infinite
from committee.base.transaction import all_or_nothing
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.svm._base import BaseSVM
from committee.svm._scaling import Scaling, fit_scaling, warn_of_scales
from committee.tabular.class_weight import class_weights
from committee.tabular.validation import read_one_target, read_targets_classification, read_weights

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None


class TrainingRows(NamedTuple):
    """The rows of positive weight."""

    X: NDArray[np.floating]  # [n, d], scaled with scale=True
    weight: Floats  # [n], > 0
    raw: NDArray[np.floating]  # [n, d], as given


class Costs(NamedTuple):
    """Targets and costs of one binary problem (see `_linear_problem`)."""

    y: Floats  # [n]
    up: Floats  # [n], cost of a prediction too low
    down: Floats  # [n], cost of a prediction too high


class BaseLargeSVM(BaseSVM):
    """Base class of SVMs for many rows; a subclass minimises the costs and computes scores."""

    C: float = param(  # an infinite C raises an error with a better message
        positive_or_infinite,
        default=1.0,
        doc="Cost of a violation of the margin, or of an error beyond the tube; finite.",
    )

    scaling_: Scaling | None = fitted(doc="Means and deviations of the columns with `scale=True`.")
    objective_: Floats = fitted(doc="Objective of each binary problem at the end.")
    n_iter_: int = fitted(doc="Number of iterations; the maximum of all binary problems.")

    def _fit_costs(self, rows: TrainingRows, costs: Sequence[Costs]) -> None:
        """Solve a binary problem for each of the costs, and set the fitted attributes."""
        raise NotImplementedError

    def _scores(self, table: Any) -> Floats:
        """Decision values [n, problems] for a table that has been read."""
        raise NotImplementedError

    def _read_training(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Any, Floats]:
        self._reject_hard_margin()
        return super()._read_training(X, sample_weight)

    def _reject_hard_margin(self) -> None:
        if np.isinf(self.C):
            exact = "SVR" if isinstance(self, RegressorMixin) else "SVC"
            kernel = f"{getattr(self, 'kernel', 'linear')!r:.40}"
            raise ValueError(f"C must be finite: the hard margin, C=inf, is for {exact}(kernel={kernel}).")

    def _rows(self, table: Any, weight: Floats) -> tuple[TrainingRows, NDArray[np.bool_] | slice]:
        """The rows of positive weight, scaled with scale=True, and a mask of them."""
        kept = slice(None) if weight.all() else weight > 0.0
        some = table[kept]
        rows = TrainingRows(some, weight[kept], some)
        self.scaling_ = self._fit_scaling(rows) if self.scale else None
        if self.scaling_ is not None:
            return rows._replace(X=self.scaling_.apply(rows.X)), kept
        if isinstance(some, np.ndarray):  # not for sparse tables
            warn_of_scales(some, self.columns_, stacklevel=4)
        return rows, kept

    def _fit_scaling(self, rows: TrainingRows) -> Scaling:
        return fit_scaling(rows.X, rows.weight)


class BaseLargeClassifier(ClassifierMixin, BaseLargeSVM):
    """Classes by binary SVMs, one against the rest."""

    class_weight: ClassWeight = param(*CLASS_WEIGHT, default=None)

    classes_: NDArray[Any] = fitted()

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X [n, d] and labels y; an integer `sample_weight` w is equivalent to repeating the row w times."""
        self._validate_params()
        with all_or_nothing(self), one_blas_thread():
            table, weight = self._read_training(X, sample_weight)
            self.classes_, codes = read_targets_classification(y, table.shape[0])
            if len(self.classes_) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs rows of at least 2 classes, y has only 1 class: "
                    f"{self.classes_.tolist()[0]!r}."
                )
            rows, kept = self._rows(table, weight)
            codes = codes[kept]
            cost = _checked(self.C * rows.weight * self._class_factors(codes, rows.weight)[codes])
            self._fit_costs(rows, class_costs(codes, len(self.classes_), cost))
        return self

    def _class_factors(self, codes: NDArray[np.int64], weight: Floats) -> Floats:
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        factors = class_weights(self.class_weight, codes, self.classes_, weight)
        read_weights(factors, factors.size, "class_weight")
        return factors

    def decision_function(self, X: Any) -> Floats:
        """f(x) [n], positive for ``classes_[1]``; [n, classes] for more than two."""
        scores = self._scores(self._read_table(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class on whose side a row lies; of more than two classes, the one with the largest f."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)]


class BaseLargeRegressor(RegressorMixin, PredictionIntervals, BaseLargeSVM):
    """Regression by one problem."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to X [n, d] and targets y; an integer `sample_weight` w is equivalent to repeating the row w times."""
        self._validate_params()
        with all_or_nothing(self), one_blas_thread():
            table, weight = self._read_training(X, sample_weight)
            target = self._read_target(y, table.shape[0])
            rows, kept = self._rows(table, weight)
            cost = _checked(self.C * rows.weight)
            self._fit_costs(rows, [Costs(target[kept], cost, cost)])
        return self

    def _read_target(self, y: Any, n_rows: int) -> Floats:
        return read_one_target(y, n_rows, type(self).__name__)

    def predict(self, X: Any) -> Floats:
        """f(x) [n]."""
        return self._scores(self._read_table(X))[:, 0]


def _checked(cost: Floats) -> Floats:
    read_weights(cost, cost.size, "C times the weights")
    return cost


def class_costs(codes: NDArray[np.int64], n_classes: int, cost: Floats) -> list[Costs]:
    """One problem for the second of two classes, or one for every class against the rest."""
    chosen = [1] if n_classes == 2 else range(n_classes)
    return [
        Costs(np.where(codes == k, 1.0, -1.0), np.where(codes == k, cost, 0.0), np.where(codes == k, 0.0, cost))
        for k in chosen
    ]


def warn_of_no_convergence(
    name: str, n_iter: int, max_iter: int, what: str, reached: float, tol: float, stacklevel: int = 6
) -> None:
    """Warn of a run that reached max_iter, or whose steps became too small for float64."""
    if n_iter >= max_iter:
        event, advice = f"did not converge in max_iter={max_iter}", "Use a larger max_iter or tol"
    else:
        event, advice = f"stopped after {n_iter} steps, limited by rounding errors", "Use a larger tol"
    warnings.warn(
        f"{name} {event}: {what} is {reached:.3g}, but {tol:.3g} was required. {advice}, scale the columns "
        "(scale=True) or use a smaller C (more penalty).",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
