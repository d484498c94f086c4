"""Bagging on a Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sklearn.base import clone

from committee.bagging import estimators
from committee.bagging.base import BaseBagging
from committee.dask.growers import GrownOnCluster
from committee.dask.predictions import LazyProbabilities
from committee.dask.tables import computed, current_client, is_collection
from committee.ensemble.incremental import GivenRows, TrainingData


class _OnCluster(GrownOnCluster, BaseBagging if TYPE_CHECKING else object):
    """Fits collections of Dask; other tables as usual."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        client: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Any partitions; the model does not depend on them. Every worker must have the memory for the whole table.
        y, sample_weight : dask array or series of shape (n_samples,)
            Targets and weights in the same partitions.
        X_val, y_val, sample_weight_val : optional
            Rows to evaluate the members on instead of the out-of-bag rows. They are brought to the client.
        client : distributed.Client, optional
            The client of the cluster; None for the current one.
        **fit_params : dict
            Metadata for the base estimator; not supported for collections of Dask.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(
                X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val, **fit_params
            )
        if fit_params:
            raise TypeError(f"fit takes no {sorted(fit_params)} for collections of Dask: pass a table in memory.")
        given = GivenRows(computed(X_val), computed(y_val), computed(sample_weight_val))
        return self._fit_collection(X, y, sample_weight, given, current_client(client))

    def _load(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        data = super()._load(X, y, sample_weight)
        return data._replace(attributes={**data.attributes, "estimator_": clone(self._weak())})


class BaggingClassifier(LazyProbabilities, _OnCluster, estimators.BaggingClassifier):
    """`committee.BaggingClassifier` on a Dask cluster: the same model, bit for bit."""


class BaggingRegressor(_OnCluster, estimators.BaggingRegressor):
    """`committee.BaggingRegressor` on a Dask cluster: the same model, bit for bit."""
