"""`GradientBoostingClassifier` and `GradientBoostingRegressor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from committee.base.array_types import Floats
from committee.base.parameters import between, fitted, inner_fraction, one_of, param
from committee.calibration.prediction_intervals import PredictionIntervals
from committee.gradient_boosting.base import BaseGradientBoosting
from committee.gradient_boosting.validation import Rows
from committee.losses.classification import CLASSIFICATION_LOSSES, LOG_LOSS
from committee.losses.custom import LossFunctions, as_loss
from committee.losses.loss import Loss
from committee.losses.minimizers import start_score
from committee.losses.regression import REGRESSION_LOSSES
from committee.tabular.class_weight import class_weights
from committee.tabular.validation import read_one_target

CLASS_LOSSES = tuple(name for name in CLASSIFICATION_LOSSES if name != "logistic")  # the log-loss of half the score
POSITIVE_LOSSES = tuple(name for name, loss in REGRESSION_LOSSES.items() if loss.target != "real")


class GradientBoostingClassifier(ClassifierMixin, BaseGradientBoosting):
    """Gradient tree boosting for classification.

    Every round fits a tree to the gradients of the loss: the log-loss, multinomial for more than two classes, or a
    margin loss or user-defined loss for two classes. Missing values and categories need no preprocessing.

    The default needs no tuning: the learning rate depends on the number of rows, and the number of rounds has the
    smallest validation loss, by cross-validation up to 100,000 rows (50,000 for more than two classes), where the model
    is the mean of the models of the folds, and on held-out rows for larger tables.

    Notes
    -----
    A Newton step that would increase the loss of its leaf is halved until it does not, so without sampling the training
    loss never increases. Probabilities are those of the loss's link, 1 / (1 + exp(-score)) for the log-loss.

    References
    ----------
    Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    Chen and Guestrin, XGBoost: a scalable tree boosting system, 2016.

    Examples
    --------
    >>> from committee import GradientBoostingClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = GradientBoostingClassifier(n_estimators=50).fit(sonar.X, sonar.y)
    >>> round(float(model.history_.train_loss[-1]), 3)
    0.177
    """

    loss: str | LossFunctions = param(
        one_of(*CLASS_LOSSES),
        callable,
        tuple,
        default="log_loss",
        kw_only=False,
        doc="The loss; all but the log-loss are for two classes. A function value(y, score) of two floats, y = 0 or 1, "
        "is compiled; a tuple (value, gradient, hessian) gives the derivatives by the score too.",
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = param(dict, one_of("balanced"), None, default=None)
    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()
    _kind = "classifier"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss == "log_loss"
        return tags

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) > 2 and self.loss != "log_loss":
            raise ValueError(
                f"Only binary classification is supported by loss={self.loss!r}; y has {len(classes)} classes: use "
                "loss='log_loss'."
            )
        if len(classes) > 2 and self.monotonic_cst is not None:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification: they constrain the "
                "probability of the second of two classes."
            )

    def _as_target(self, target: NDArray[Any]) -> NDArray[Any]:
        if self.n_classes_ > 2:
            return target
        is_margin_loss = isinstance(self.loss, str) and CLASSIFICATION_LOSSES[self.loss].is_margin_loss
        return 2.0 * target - 1.0 if is_margin_loss else target.astype(np.float64, copy=False)

    def _class_weight(self, codes: NDArray[Any], weight: Floats) -> Floats | None:
        if self.class_weight is None:
            return None
        codes = codes.astype(np.int64, copy=False)
        return class_weights(self.class_weight, codes, self.classes_, weight)[codes]

    def _n_scores(self) -> int:
        return self.n_classes_ if self.n_classes_ > 2 else 1

    def _make_losses(self, y: NDArray[Any]) -> tuple[tuple[Loss, ...], bool]:
        if self.n_classes_ > 2:
            return (LOG_LOSS,) * self.n_classes_, True
        return (as_loss(self.loss, CLASSIFICATION_LOSSES, "logistic"),), False

    def _baseline(self, losses: tuple[Loss, ...], y: NDArray[Any], weight: Floats) -> Floats:
        if self.n_classes_ <= 2:
            return np.array([start_score(losses[0], y, weight)])
        total = np.bincount(y, weight if weight.size else None, self.n_classes_)
        return np.log(np.maximum(total / total.sum(), 1e-12))

    def decision_function(self, X: Any) -> Floats:
        """The scores: for two classes and the log-loss the log-odds of the second one, else one score per class."""
        score = self._raw(X)
        return score[:, 0] if self.n_classes_ <= 2 else score

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """`decision_function` after every round."""
        for score in self._staged_raw(X):
            yield score[:, 0] if self.n_classes_ <= 2 else score

    def _probabilities(self, score: Floats) -> Floats:
        if self.n_classes_ > 2:
            return softmax(score, axis=1)
        second = self._losses[0].probability(score[:, 0])
        both = np.column_stack([1.0 - second, second])
        return both if self.n_classes_ == 2 else np.ones((len(score), 1))

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, in the order of ``classes_``."""
        return self._probabilities(self._raw(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after every round."""
        for score in self._staged_raw(X):
            yield self._probabilities(score)

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _labels(self, score: Floats) -> NDArray[Any]:
        codes = score.argmax(axis=1) if self.n_classes_ > 2 else (score[:, 0] > 0.0).astype(np.int64)
        return self.classes_[codes]

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        return self._labels(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after every round."""
        for score in self._staged_raw(X):
            yield self._labels(score)


class GradientBoostingRegressor(RegressorMixin, PredictionIntervals, BaseGradientBoosting):
    """Gradient tree boosting for regression.

    Every round fits a tree to the gradients of the loss; leaf values are medians for the absolute error, quantiles for
    the quantile loss, else Newton steps. Missing values and categories need no preprocessing. The default needs no
    tuning, as in `GradientBoostingClassifier`.

    Notes
    -----
    Predictions with the Poisson, gamma and Tweedie losses are exp(score). Prediction intervals use the residuals of the
    validation rows, each predicted with the number of rounds that the other ones choose; several quantiles are shifted
    so that the level holds.

    References
    ----------
    Friedman, Greedy function approximation: a gradient boosting machine, 2001.
    Chen and Guestrin, XGBoost: a scalable tree boosting system, 2016.

    Examples
    --------
    >>> from committee import GradientBoostingRegressor
    >>> from committee.datasets import load_dataset
    >>> ozone = load_dataset("ozone")
    >>> model = GradientBoostingRegressor(n_estimators=50, learning_rate=0.1).fit(ozone.X, ozone.y)
    >>> round(model.score(ozone.X, ozone.y), 2)
    0.93
    """

    loss: str | LossFunctions = param(
        one_of(*REGRESSION_LOSSES),
        callable,
        tuple,
        default="squared_error",
        kw_only=False,
        doc="The loss. A function value(y, score) of two floats is compiled; a tuple (value, gradient, hessian) gives "
        "the derivatives by the score too.",
    )
    quantile: float | Sequence[float] | None = param(
        inner_fraction,
        "array-like",
        None,
        default=None,
        doc="The quantile or expectile, None for 0.5; several ascending quantiles are predicted together and do not "
        "cross.",
    )
    alpha: float = param(
        inner_fraction, default=0.9, doc="Quantile of the absolute residuals at which the Huber loss becomes linear."
    )
    power: float = param(
        between(1.0, 2.0, "neither"),
        default=1.5,
        doc="Power of the variance function of the Tweedie loss, between 1 (Poisson) and 2 (gamma).",
    )
    interval_coverage_: float = fitted(
        doc="With several quantiles the fraction of the validation rows between the outer ones."
    )
    _kind = "regressor"
    _interval_hint: ClassVar[str] = "early_stopping='cv'"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss in POSITIVE_LOSSES
        return tags

    def _quantiles(self) -> tuple[float, ...]:
        given = np.atleast_1d(np.asarray(0.5 if self.quantile is None else self.quantile))
        is_numbers = given.ndim == 1 and given.size > 0 and given.dtype.kind in "fiu"
        if not is_numbers or not np.all((given > 0.0) & (given < 1.0)) or np.any(np.diff(given) <= 0):
            raise ValueError(f"quantile must be between 0 and 1, or several ascending ones; got {self.quantile}.")
        if given.size > 1 and self.loss != "quantile":
            raise ValueError(f"Several quantiles are for loss='quantile', not {self.loss!r}.")
        return tuple(float(q) for q in given)

    def _read_target(self, y: Any, n_rows: int) -> tuple[None, NDArray[Any]]:
        target = read_one_target(y, n_rows, type(self).__name__)
        if isinstance(self.loss, str):
            REGRESSION_LOSSES[self.loss].check_target(target)
        return None, target

    def _n_scores(self) -> int:
        return len(self._quantiles()) if self.loss == "quantile" else 1

    def _make_losses(self, y: NDArray[Any]) -> tuple[tuple[Loss, ...], bool]:
        quantiles = self._quantiles()
        loss = as_loss(self.loss, REGRESSION_LOSSES, "identity")
        if loss.link == "exp" and not y.any():
            raise ValueError(f"All values of y are zero: loss={self.loss!r} needs some positive targets.")
        parameters = {"huber": (self.alpha,), "tweedie": (self.power,), "expectile": quantiles, "quantile": quantiles}
        given = parameters.get(self.loss, ()) if isinstance(self.loss, str) else ()
        given = given or (loss.parameter,)
        return tuple(loss._replace(parameter=float(parameter)) for parameter in given), False

    def _baseline(self, losses: tuple[Loss, ...], y: NDArray[Any], weight: Floats) -> Floats:
        return np.array([start_score(loss, y, weight) for loss in losses])

    def _predictions(self, score: Floats) -> Floats:
        if score.shape[1] == 1:
            return self._losses[0].prediction(score[:, 0])
        return np.sort(score, axis=1)

    def predict(self, X: Any) -> Floats:
        """The prediction; with several quantiles one column for each, in ascending order."""
        return self._predictions(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` after every round."""
        for score in self._staged_raw(X):
            yield self._predictions(score)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of `predict`; undefined for several quantiles."""
        check_is_fitted(self, "n_estimators_")
        if len(self.baseline_) > 1:
            raise ValueError(
                f"score takes one prediction per row, this model has {len(self.baseline_)} quantiles: use "
                "sklearn.metrics.mean_pinball_loss for each column of predict."
            )
        return float(super().score(X, y, sample_weight))

    def _calibrate(self, rows: Rows, score: Floats) -> None:
        """Set the coverage of the outer quantiles on validation rows."""
        self.interval_coverage_ = np.nan
        if self._fitted_quantiles().size < 2 or not len(rows.y):
            return
        is_inside = (score.min(axis=1) <= rows.y) & (rows.y <= score.max(axis=1))
        self.interval_coverage_ = float(np.average(is_inside, weights=rows.weight if rows.weight.size else None))

    def _keep_errors(self, rows: Rows, score: Floats) -> None:
        self._keep_residuals((rows.y - self._predictions(score).T).T, rows.weight)

    def _fitted_quantiles(self) -> Floats:
        """The fitted quantiles; any other prediction counts as the median."""
        return np.array([loss.parameter for loss in self._losses] if self._loss == "quantile" else [0.5])
