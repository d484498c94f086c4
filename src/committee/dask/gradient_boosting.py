"""Gradient boosting on a Dask cluster."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.blocks.steps import Blocks
from committee.blocks.targets import Labels
from committee.dask.cluster_blocks import ClusterBlocks
from committee.dask.predictions import LazyPredictions, LazyProbabilities
from committee.dask.tables import DaskTable, computed, current_client, is_collection, read_table
from committee.ensemble.incremental import GivenRows
from committee.gradient_boosting import estimators
from committee.gradient_boosting.base import BaseGradientBoosting
from committee.gradient_boosting.block_fit import BlockTarget
from committee.gradient_boosting.block_rows import BlockProblem, BoostedBlock

if TYPE_CHECKING:
    _Base = BaseGradientBoosting
else:
    _Base = object  # fields of a common base would come after those of the estimators, and hide their `loss`


class _OnCluster(LazyPredictions, _Base):
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
        init_score: Any = None,
        codes: Any = None,
        client: Any = None,
    ) -> Self:
        """Fit the trees.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            Any partitions; the model does not depend on them.
        y, sample_weight : dask array or series of shape (n_samples,)
            Targets and weights in the same partitions.
        X_val, y_val, sample_weight_val : optional
            Rows to evaluate every round on. They are brought to the client.
        init_score, codes : optional
            Not supported for collections of Dask.
        client : distributed.Client, optional
            The client of the cluster; None for the current one.

        Returns
        -------
        self
        """
        if not is_collection(X):
            return super().fit(
                X, y, sample_weight, X_val=X_val, y_val=y_val, sample_weight_val=sample_weight_val,
                init_score=init_score, codes=codes,
            )  # fmt: skip
        self._validate_params()
        self._check_parameters()
        if init_score is not None or codes is not None:
            raise ValueError("init_score and codes are not supported for collections of Dask.")
        client = current_client(client)
        given = GivenRows(computed(X_val), computed(y_val), computed(sample_weight_val))
        rows = DaskTable(client, X, y, sample_weight)
        table = read_table(rows, self, self._weights_in_bins)

        @contextmanager
        def make_blocks(problem: BlockProblem, target: BlockTarget) -> Generator[Blocks]:
            n_workers = max(len(client.scheduler_info(n_workers=-1)["workers"]), 1)
            tiles = rows.blocks(table.columns, table.matrix, n_workers)
            data = [
                client.submit(BlockData, each, *target.rows(place), place.start, pure=False) for place, each in tiles
            ]
            blocks = ClusterBlocks(client, data, partial(make_block, problem))
            try:
                yield blocks
            finally:
                blocks.close()

        return self._fit_blocks(table, given, make_blocks)

    def _weights_in_bins(self, target: Floats, weight: Floats, classes: NDArray[Any] | None) -> Floats | None:
        return self._bin_weights(Labels(target.size, classes, target, weight))

    def _n_predicted(self) -> int:
        return len(self.baseline_)


class BlockData(NamedTuple):
    """The rows of a block."""

    tiles: NDArray[np.uint8]
    y: NDArray[Any]
    weight: Floats
    counts: Floats
    first_row: int


def make_block(problem: BlockProblem, data: BlockData) -> BoostedBlock:
    """The state of a block before the first round."""
    return BoostedBlock(problem, *data)


class GradientBoostingClassifier(LazyProbabilities, _OnCluster, estimators.GradientBoostingClassifier):
    """`committee.GradientBoostingClassifier` on a Dask cluster: the same model, bit for bit."""


class GradientBoostingRegressor(_OnCluster, estimators.GradientBoostingRegressor):
    """`committee.GradientBoostingRegressor` on a Dask cluster: the same model, bit for bit."""
