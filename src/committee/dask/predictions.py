"""What fitted estimators of `committee.dask` have in common: lazy predictions, and the model without Dask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from committee.base.parameters import Estimator
from committee.dask.tables import is_collection, lazy_predictions

if TYPE_CHECKING:
    Base = Estimator
else:  # a base class with parameters would override those of the class that it is mixed with
    Base = object


class LazyPredictions(Base):
    """Predicts collections of Dask lazily; to be mixed with a class of the library."""

    def to_local(self) -> Any:
        """The same model as an estimator that does not need Dask."""
        local_class = next(base for base in type(self).__mro__ if not base.__module__.startswith(__package__ or ""))
        local = object.__new__(local_class)
        vars(local).update(vars(self))
        return local

    def predict(self, X: Any) -> Any:
        """Predictions; of a collection of Dask a lazy array."""
        if not is_collection(X):
            return super().predict(X)  # type: ignore[misc]
        check_is_fitted(self)
        if is_classifier(self):
            return lazy_predictions(self.to_local(), "predict", X, self.classes_.dtype)  # type: ignore[attr-defined]
        return lazy_predictions(self.to_local(), "predict", X, np.float64, self._n_predicted())

    def _n_predicted(self) -> int:
        """Values that a regressor predicts for a row."""
        return 1


class LazyProbabilities(LazyPredictions):
    """Classifiers."""

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities; of a collection of Dask a lazy array."""
        if not is_collection(X):
            return super().predict_proba(X)  # type: ignore[misc]
        check_is_fitted(self)
        n_columns = len(self.classes_)  # type: ignore[attr-defined]
        return lazy_predictions(self.to_local(), "predict_proba", X, np.float64, n_columns)
