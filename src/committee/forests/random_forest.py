"""Random forests: trees on samples of the rows that search a random subset of the features at every node.

Member b of a forest:

    1. draw a bootstrap sample of the rows
    2. grow a tree on it; at every node draw m of the d features and take the best split among those
    3. predict the rows outside the sample (out-of-bag)

The prediction of the forest is the mean over its trees of class probabilities, or of values. Breiman's defaults are
m = floor(sqrt d) and full trees for classification, m = floor(d / 3) and no splits of fewer than 5 rows for regression.
With m = d this is bagging of trees; without samples and with random thresholds these are extremely randomised trees.

Breiman, Random forests, 2001. Geurts, Ernst and Wehenkel, Extremely randomized trees, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.journal import Stream, open_stream
from committee.base.threads import n_threads, run
from committee.forests._sampling import out_of_bag_leaves
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints, Limits
from committee.records.tree import Tree
from committee.sampling.row_samples import NONE, Indices, Sampler
from committee.tree_engine.growing import grow_placed
from committee.tree_engine.limits import tree_limits
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.response import Response
from committee.trees.pruning import prune

RARE_CATEGORY = 5.0
"""Minimum number of rows of a category in a node to be ordered by its mean. In the small nodes of full trees all
categories are rare, and the order by means fits the noise of single rows (docs/forests.md)."""


NO_CHANGES: Mapping[str, Any] = {}


class ForestData(NamedTuple):
    """Data and parameters of all trees: the table in bins and as floats, the target, and the limits of a tree."""

    matrix: BinnedMatrix
    X: NDArray[np.floating]
    make_response: Callable[[Floats], Response]  # the target with the weights of a sample
    weigh_classes: Callable[[Floats], Floats]  # multiplies the weights of a sample by class weights
    params: Mapping[str, Any]
    constraints: Constraints


class ForestRound(NamedTuple):
    """A tree, its predictions of the rows outside its sample, and the leaf of each row in it (-1 elsewhere)."""

    tree: Tree
    out_of_bag: NDArray[np.int64]
    predictions: Floats  # [rows, k]
    leaf: NDArray[np.int64]
    stop: str = ""


def random_forest(
    data: ForestData, sampler: Sampler, seeds: Sequence[int], has_oob: bool, n_jobs: int | None
) -> Iterator[ForestRound]:
    """Grow one tree for each seed, independently of the number of threads."""
    stream = open_stream()
    threads = n_threads(n_jobs, data.matrix.n_rows * data.matrix.n_features * len(seeds))
    together = 2 * threads if threads > 1 else 1
    for first in range(0, len(seeds), together):
        calls = [(data, sampler, seed, has_oob, stream) for seed in seeds[first : first + together]]
        yield from run(grow_tree, calls, threads)


class ForestGrower(NamedTuple):
    """Grows the trees of a forest in this process."""

    data: ForestData
    samples: Sampler
    fingerprint: tuple[Any, ...]
    n_jobs: int | None

    def grow(
        self, seeds: Sequence[int], *, has_oob: bool, keep_leaves: bool = False, params: Mapping[str, Any] = NO_CHANGES
    ) -> Iterator[ForestRound]:
        """One tree for each seed, with other parameters `params`; leaves of the rows only with `keep_leaves`."""
        data = self.data._replace(params={**self.data.params, **params})
        for round_ in random_forest(data, self.samples, seeds, has_oob, self.n_jobs):
            yield round_ if keep_leaves else round_._replace(leaf=NONE)

    def replay(self, trees: Sequence[Tree], seeds: Sequence[int]) -> Iterator[tuple[Indices, Indices]]:
        """The rows outside the sample of every tree, and their leaves."""
        for tree, seed in zip(trees, seeds, strict=True):
            yield out_of_bag_leaves(self.samples, seed, tree, self.data.X)


def count_draws(limits: Limits) -> Limits:
    """Count rows by draws: a row that is twice in the sample counts twice, as a row of weight 2 does."""
    least = max(limits.min_weight_leaf, limits.min_samples_leaf if limits.min_samples_leaf > 1 else 0)
    return limits._replace(whole_weights=True, min_samples_leaf=1, min_weight_leaf=least)


def without_rare_categories(response: Response) -> Response:
    """Of many categories those with few rows in a node go to the right child together (kernels/trees/split.py)."""
    return response._replace(goal=response.goal._replace(category_smoothing=RARE_CATEGORY))


def grow_tree(data: ForestData, sampler: Sampler, seed: int, has_oob: bool, stream: Stream) -> ForestRound:
    """One tree of the forest."""
    # Step 1: a sample of the rows, as a weight for each
    sample = sampler.weights(seed)
    # Step 2: a tree; checkpoints keep no leaves
    tree, leaf = stream.keep(
        seed,
        lambda: _grow(data, sample, seed),
        pack=lambda grown: grown[0],
        unpack=lambda tree: (tree, np.where(sample > 0.0, apply_tree(tree, data.X), -1)),
    )
    # Step 3: predictions of the rows outside the sample
    rows = sampler.out_of_bag(sample) if has_oob else np.empty(0, np.int64)
    predictions = tree.value[apply_tree(tree, data.X[rows])]
    return ForestRound(tree, rows, predictions, leaf)


def _grow(data: ForestData, sample: Floats, seed: int) -> tuple[Tree, NDArray[np.int64]]:
    """A tree on this sample, and the leaves of its rows."""
    weight = data.weigh_classes(sample)
    response = without_rare_categories(data.make_response(weight))
    limits = tree_limits(data.params, response, data.matrix.n_features, data.constraints)
    if response.goal.h_unit == 1.0 and weight is sample:  # a class weight of 5 does not make 5 draws
        limits = count_draws(limits)
    tree, leaf = grow_placed(data.matrix, response, limits, data.constraints, seed=seed, n_jobs=1)
    if data.params["ccp_alpha"] > 0.0:
        tree = prune(tree, data.params["ccp_alpha"])
        leaf = np.where(leaf >= 0, apply_tree(tree, data.X), -1)
    return tree, leaf
