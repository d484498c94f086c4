"""Forests on a Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from committee.dask.growers import GrownOnCluster
from committee.dask.predictions import LazyProbabilities
from committee.dask.tables import current_client, is_collection
from committee.ensemble.incremental import GivenRows
from committee.forests import estimators
from committee.forests.base import BaseForest


class _OnCluster(GrownOnCluster, BaseForest if TYPE_CHECKING else object):
    """Fits collections of Dask; other tables as usual."""

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: Any = None, *, client: Any = None
    ) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Any partitions; the model does not depend on them. Every worker must have the memory for the whole table.
        y, sample_weight : dask array or series of shape (n_samples,)
            Targets and weights in the same partitions.
        client : distributed.Client, optional
            The client of the cluster; None for the current one.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(X, y, sample_weight)
        shape = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] > 1:
            raise ValueError(
                f"y has {shape[1]} outputs, and forests of collections of Dask take one: fit a forest for each column."
            )
        return self._fit_collection(X, y, sample_weight, GivenRows(), current_client(client))


class RandomForestClassifier(LazyProbabilities, _OnCluster, estimators.RandomForestClassifier):
    """`committee.RandomForestClassifier` on a Dask cluster: the same model, bit for bit."""


class RandomForestRegressor(_OnCluster, estimators.RandomForestRegressor):
    """`committee.RandomForestRegressor` on a Dask cluster: the same model, bit for bit."""


class ExtraTreesClassifier(LazyProbabilities, _OnCluster, estimators.ExtraTreesClassifier):
    """`committee.ExtraTreesClassifier` on a Dask cluster: the same model, bit for bit."""


class ExtraTreesRegressor(_OnCluster, estimators.ExtraTreesRegressor):
    """`committee.ExtraTreesRegressor` on a Dask cluster: the same model, bit for bit."""
