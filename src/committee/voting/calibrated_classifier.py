"""A classifier with probabilities that are calibrated on held-out rows (`calibration/power.py`).

For a classifier without probabilities, they are computed from its decision function f, or from its predictions:

    predict_proba          p
    decision_function      softmax(f), of two classes (1 / (1 + exp(f)), 1 / (1 + exp(-f))): then this is Platt scaling
    predict                1 for the predicted class, 0 for the others
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted, validate_data

from committee.base.array_types import Floats
from committee.base.parameters import Estimator, at_least, fitted, param
from committee.base.transaction import all_or_nothing
from committee.calibration.power import Calibration, calibrate
from committee.members.estimators import check_learner, fit_weighted
from committee.tabular.rows import open_rows, take_rows
from committee.tabular.validation import read_targets_classification, read_weights
from committee.voting._rows import Task

NO_CALIBRATION = Calibration(1.0, 0.0, float("nan"), float("nan"))


def raw_probabilities(model: Any, X: Any) -> Floats:
    """Predict probabilities [n, K], computed from the decision function or the predictions if there are none."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), np.float64)
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), np.float64)
        if scores.ndim == 1:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        if scores.shape[1] == len(model.classes_):  # not one for each pair of classes
            return np.asarray(softmax(scores, axis=1), np.float64)
    chosen = np.searchsorted(model.classes_, model.predict(X))
    return np.eye(len(model.classes_))[chosen]


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, Estimator):
    """A classifier whose probabilities are calibrated by cross-validation; its predictions do not change.

    The two parameters of the calibration are fitted to the out-of-fold probabilities; the classifier is then fitted on
    all rows. A classifier without `predict_proba` has probabilities computed from its decision function or predictions.

    References
    ----------
    Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods. Advances in Large Margin Classifiers, 61-74.

    Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural networks. ICML,
    1321-1330.

    Examples
    --------
    >>> from committee import CalibratedClassifier, RandomForestClassifier
    >>> from committee.datasets import load_dataset
    >>> sonar = load_dataset("sonar")
    >>> model = CalibratedClassifier(RandomForestClassifier(50, random_state=0)).fit(sonar.X, sonar.y)
    >>> model.calibration_.log_loss < model.calibration_.log_loss_before
    True
    """

    estimator: Any = param(
        HasMethods(["fit", "predict"]), None, default=None, kw_only=False,
        doc="The classifier; None is logistic regression.",
    )  # fmt: skip
    cv: Any = param(at_least(2), "cv_object", default=5, doc="Number of folds, or a splitter of scikit-learn.")

    estimator_: Any = fitted(doc="The fitted classifier.")
    calibration_: Calibration = fitted(
        doc="Parameters of the calibration, and the log-loss of the held-out rows before and after it."
    )
    n_features_in_: int = fitted()
    feature_names_in_: NDArray[Any] = fitted()

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags: Any = super().__sklearn_tags__()  # pyright: ignore[reportUnknownMemberType]
        inner = get_tags(self._unfitted())
        tags.input_tags.allow_nan, tags.input_tags.sparse = inner.input_tags.allow_nan, False
        return tags

    def _unfitted(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression  # not needed for predictions

        return LogisticRegression()

    @classmethod
    def from_fitted(cls, model: Any, calibration: Calibration) -> CalibratedClassifier:
        """Make a `CalibratedClassifier` from a fitted classifier and a calibration fitted to held-out rows."""
        made = cls(clone(model))
        made.estimator_, made.calibration_ = model, calibration
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(made, name, getattr(model, name))
        return made

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier and its calibration on X [n, d] and labels y, with weights `sample_weight`."""
        self._validate_params()
        check_learner(self.estimator, "classifier")
        with all_or_nothing(self):
            table = open_rows(X, self, takes_sparse=False)
            n = int(table.shape[0])
            classes, codes = read_targets_classification(y, n)
            task = Task(table, codes, read_weights(sample_weight, n), len(classes))
            validate_data(self, table, reset=True, skip_check_array=True)
            self.calibration_ = self._cross_validated(task, classes)
            self.estimator_ = self._fitted(task, classes)
        return self

    def _cross_validated(self, task: Task, classes: NDArray[Any]) -> Calibration:
        """The calibration of the out-of-fold probabilities; none for a single class."""
        if len(classes) < 2:
            return NO_CALIBRATION
        result = np.zeros((task.n_rows, classes.size))
        is_tested = np.zeros(task.n_rows, bool)
        for fold in task.splits(self.cv):
            model = self._fitted(task.take(fold.train), classes)
            columns = np.searchsorted(classes, model.classes_)
            result[np.ix_(fold.test, columns)] = raw_probabilities(model, take_rows(task.X, fold.test))
            is_tested[fold.test] = True
        weight = np.ones(task.n_rows) if task.weight is None else task.weight
        return calibrate(result[is_tested], task.target[is_tested].astype(np.int64), weight[is_tested])

    def _fitted(self, task: Task, classes: NDArray[Any]) -> Any:
        model: Any = clone(self._unfitted())
        labels = classes[task.target.astype(np.int64)]
        return fit_weighted(model, task.X, labels, task.weight)

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels, in ascending order."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes; calibration does not change them."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Floats:
        """Predict calibrated class probabilities, [n, K]."""
        check_is_fitted(self, "estimator_")
        return self.calibration_.apply(raw_probabilities(self.estimator_, X))


def uncalibrated(model: Any) -> Any:
    """Return the classifier of a `CalibratedClassifier`, or any other model unchanged."""
    return model.estimator_ if isinstance(model, CalibratedClassifier) else model
