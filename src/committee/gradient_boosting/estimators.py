"""GradientBoostingClassifier and GradientBoostingRegressor: the algorithm of gradient_boosting.py as estimators."""

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
from committee.gradient_boosting._base import BaseGradientBoosting
from committee.gradient_boosting._validation import Rows
from committee.losses.classification import CLASSIFICATION_LOSSES, LOG_LOSS
from committee.losses.custom import LossFunctions, as_loss
from committee.losses.loss import Loss
from committee.losses.minimizers import start_score
from committee.losses.regression import REGRESSION_LOSSES
from committee.tabular.class_weight import class_weights
from committee.tabular.validation import read_one_target, read_targets_classification

CLASS_LOSSES = tuple(name for name in CLASSIFICATION_LOSSES if name != "logistic")  # the log-loss of half the score
POSITIVE_LOSSES = tuple(name for name, loss in REGRESSION_LOSSES.items() if loss.target != "real")


class GradientBoostingClassifier(ClassifierMixin, BaseGradientBoosting):
    """Gradient tree boosting for classes: log-loss for two classes, multinomial for more, or a margin loss.

    The default needs no tuning: the learning rate follows the number of rows, and the rounds are those of smallest
    validation loss, by cross-validation up to 100,000 rows (50,000 for more than two classes), whose models are
    averaged, and on held-out rows beyond.

    loss : {"log_loss", "exponential", "squared_hinge", "savage", "tangent"}, a function, or three
        The names but the first are for two classes. A function value(y, score) of two floats, y = 0 or 1, is compiled;
        (value, gradient, hessian) brings the derivatives by the score along.
    learning_rate, n_estimators : shrinkage and number of rounds; "auto" chooses them.
    max_leaf_nodes, max_depth, min_samples_leaf, min_hessian, min_gain : limits of a tree; it grows by its best leaf.
        "auto" is 15 leaves of 10 rows and more where validation chooses the rounds, else 31 leaves of 20.
    l1_regularization, l2_regularization : on the values of the leaves; "auto" is 1 where validation chooses, else 0.
    subsample, colsample_bytree, max_features : shares of the rows and features of a tree, of the features of a node;
        "auto" looks at half of the features where validation chooses the rounds, else at all.
    dropout : probability that an earlier round is left out while a tree is fitted (DART).
    second_order : splits by gradients and hessians, or (False) by least squares on the gradients (Friedman).
    early_stopping : True (`validation_fraction` of the rows judge), "cv" (cross-validated rounds), False, or "auto".
        The validation rows are random ones: the default assumes exchangeable rows. For rows in time order pass
        cv=TimeSeriesSplit(5) and refit=True, for repeated entities folds that keep them together.
    cv : number of folds, a scikit-learn splitter, or pairs of training and validation rows.
    refit : after cross-validation, True fits all rows again, False keeps the mean of the folds' models. "auto" refits
        where early_stopping="cv" was asked for, and with warm_start or dropout.
    callbacks : functions of the round's record; one that returns True ends the run.

    Other parameters have the names of scikit-learn's histogram boosting. Missing values and categories are taken as
    they are. Probabilities are those of the loss's link: for the log-loss 1 / (1 + exp(-score)).

    Examples
    --------
    >>> from committee import GradientBoostingClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = GradientBoostingClassifier(n_estimators=50).fit(sonar.X, sonar.y)
    >>> round(float(model.history_.train_loss[-1]), 3)
    0.177
    """

    loss: str | LossFunctions = param(one_of(*CLASS_LOSSES), callable, tuple, default="log_loss", kw_only=False)
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = param(dict, one_of("balanced"), None, default=None)
    classes_: NDArray[Any] = fitted()
    n_classes_: int = fitted()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.loss == "log_loss"
        return tags

    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        classes, codes = read_targets_classification(y, n_rows)
        if self.warm_start and hasattr(self, "_state") and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True goes on with the same classes: the earlier fit had {self.classes_[:5].tolist()}, y "
                f"has {classes[:5].tolist()}."
            )
        self.classes_ = classes
        self.n_classes_ = len(self.classes_)
        if self.n_classes_ > 2 and self.loss != "log_loss":
            raise ValueError(
                f"Only binary classification is supported by loss={self.loss!r}; y has {self.n_classes_} classes: use "
                "loss='log_loss'."
            )
        if self.n_classes_ > 2 and self.monotonic_cst is not None:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification: they are about the "
                "probability of the second of two classes."
            )
        return self._as_target(codes)

    def _as_target(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        if self.n_classes_ > 2:
            return codes
        is_margin_loss = isinstance(self.loss, str) and CLASSIFICATION_LOSSES[self.loss].is_margin_loss
        return 2.0 * codes - 1.0 if is_margin_loss else codes.astype(np.float64)

    def _read_known_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        labels, codes = read_targets_classification(y, n_rows)
        unknown = np.setdiff1d(labels, self.classes_)
        if unknown.size:
            raise ValueError(f"y_val has labels that y has not: {unknown[:5].tolist()}. Judge on the classes of y.")
        return self._as_target(np.searchsorted(self.classes_, labels)[codes])

    def _class_weight(self, y: NDArray[Any], weight: Floats | None) -> Floats | None:
        if self.class_weight is None:
            return None
        codes = np.asarray(y).astype(np.int64) if self.n_classes_ > 2 else (np.asarray(y) > 0.0).astype(np.int64)
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
        """The score: the log-odds of the second class for the log-loss; for more classes one score each."""
        score = self._raw(X)
        return score[:, 0] if self.n_classes_ <= 2 else score

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """`decision_function` after every round."""
        for score in self._staged_raw(X):
            yield score[:, 0] if self.n_classes_ <= 2 else score

    def _shares(self, score: Floats) -> Floats:
        if self.n_classes_ > 2:
            return softmax(score, axis=1)
        second = self._losses[0].probability(score[:, 0])
        both = np.column_stack([1.0 - second, second])
        return both if self.n_classes_ == 2 else np.ones((len(score), 1))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes, in the order of ``classes_``."""
        return self._shares(self._raw(X))

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after every round."""
        for score in self._staged_raw(X):
            yield self._shares(score)

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
    """Gradient tree boosting for numbers, with any loss.

    The default needs no tuning, as with GradientBoostingClassifier, which describes the parameters; these are new:

    loss : {"squared_error", "absolute_error", "huber", "quantile", "expectile", "poisson", "gamma", "tweedie"}, a
        function value(y, score) of two floats, which is compiled, or three: (value, gradient, hessian).
        Leaves hold medians for the absolute error, quantiles for the quantile loss, Newton steps otherwise.
    quantile : the quantile or expectile, 0.5 if None; several quantiles are predicted side by side and never cross.
    alpha : the share of residuals that the Huber loss takes as near, in every round anew.
    power : of Tweedie's variance function, between 1 (Poisson) and 2 (gamma).

    Predictions of the Poisson, gamma and Tweedie losses are exp(score).

    Intervals come from the validation rows: the rows that the folds left out, or the held-out ones, each predicted with
    the number of rounds that the other ones chose. With several quantiles ``interval_coverage_`` is the fraction of
    these rows between the outer ones, and `predict_interval` moves the nearest ones so far that the level holds.

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
        one_of(*REGRESSION_LOSSES), callable, tuple, default="squared_error", kw_only=False
    )
    quantile: float | Sequence[float] | None = param(inner_fraction, "array-like", None, default=None)
    alpha: float = param(inner_fraction, default=0.9)
    power: float = param(between(1.0, 2.0, "neither"), default=1.5)
    _interval_hint: ClassVar[str] = "early_stopping='cv'"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss in POSITIVE_LOSSES
        return tags

    def _quantiles(self) -> tuple[float, ...]:
        given = np.atleast_1d(np.asarray(0.5 if self.quantile is None else self.quantile))
        is_numbers = given.ndim == 1 and given.size > 0 and given.dtype.kind in "fiu"
        if not is_numbers or not np.all((given > 0.0) & (given < 1.0)) or np.any(np.diff(given) <= 0):
            raise ValueError(f"quantile must be one number between 0 and 1, or several that rise; got {self.quantile}.")
        if given.size > 1 and self.loss != "quantile":
            raise ValueError(f"Several quantiles are for loss='quantile', not {self.loss!r}.")
        return tuple(float(q) for q in given)

    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        target = read_one_target(y, n_rows, type(self).__name__)
        if isinstance(self.loss, str):
            REGRESSION_LOSSES[self.loss].check_target(target)
        return target

    def _n_scores(self) -> int:
        return len(self._quantiles()) if self.loss == "quantile" else 1

    def _make_losses(self, y: NDArray[Any]) -> tuple[tuple[Loss, ...], bool]:
        quantiles = self._quantiles()
        loss = as_loss(self.loss, REGRESSION_LOSSES, "identity")
        if loss.link == "exp" and not y.any():
            raise ValueError(f"All values of y are zero: loss={self.loss!r} needs positive targets among them.")
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
        """The prediction; with several quantiles one column each, in rising order."""
        return self._predictions(self._raw(X))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` after every round."""
        for score in self._staged_raw(X):
            yield self._predictions(score)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of `predict`; several quantiles side by side have none."""
        check_is_fitted(self, "n_estimators_")
        if len(self.baseline_) > 1:
            raise ValueError(
                f"score is for one prediction a row, this model has {len(self.baseline_)} quantiles: fit one of them "
                "to score it, or judge the columns of predict one by one by sklearn.metrics.mean_pinball_loss."
            )
        return float(super().score(X, y, sample_weight))

    def _calibrate(self, rows: Rows, score: Floats) -> None:
        """How often the outer quantiles held rows that did not fit them."""
        self.interval_coverage_ = np.nan
        if self._fitted_quantiles().size < 2 or not len(rows.y):
            return
        is_inside = (score.min(axis=1) <= rows.y) & (rows.y <= score.max(axis=1))
        self.interval_coverage_ = float(np.average(is_inside, weights=rows.weight if rows.weight.size else None))

    def _keep_errors(self, rows: Rows, score: Floats) -> None:
        self._keep_residuals((rows.y - self._predictions(score).T).T, rows.weight)

    def _fitted_quantiles(self) -> Floats:
        """The quantiles side by side; any other prediction is taken for a median."""
        return np.array([loss.parameter for loss in self._losses] if self._loss == "quantile" else [0.5])
