"""Random forests: trees on samples of the rows that look at a few features, drawn anew at every node.

Member b of a forest:

    1. draw a bootstrap sample of the rows
    2. grow a tree on it; at every node draw m of the d features and take the best split among those
    3. ask it for the rows that are not in its sample: they judge the forest (out-of-bag, C-5)

The forest answers with the mean over its trees of class shares, or of values. Breiman's choices are m = floor(sqrt d)
and full trees for classes, m = floor(d / 3) and nodes of fewer than 5 rows left whole for numbers. With m = d this is
bagging of trees; without samples and with cuts drawn at random these are extremely randomised trees.

Breiman, Random forests, 2001. Geurts, Ernst and Wehenkel, Extremely randomized trees, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.threads import n_threads, run
from committee.forests._sampling import Sampler
from committee.records.binned import BinnedMatrix
from committee.records.growth import Constraints, Limits
from committee.records.tree import Tree
from committee.tree_engine.growing import grow_placed
from committee.tree_engine.limits import tree_limits
from committee.tree_engine.predict.apply import apply_tree
from committee.tree_engine.response import Response
from committee.trees.pruning import prune

RARE_CATEGORY = 5.0
"""Rows of a node that a category needs for a side of its own. Full trees end in nodes where every category is rare, and
its mean is the noise of a row or two: the order by means then cuts anything (docs/forests.md)."""


class Ground(NamedTuple):
    """What every tree grows on: the table, coded and as it is, the target, and how a tree is limited."""

    matrix: BinnedMatrix
    X: NDArray[np.floating]
    respond: Callable[[Floats], Response]  # the target under the weights of a sample
    reweigh: Callable[[Floats], Floats]  # class weights, on top of those of a sample
    params: Mapping[str, Any]
    constraints: Constraints


class Member(NamedTuple):
    """A tree, the rows it did not see with its answers to them, and the leaf of every row it saw (-1 elsewhere)."""

    tree: Tree
    out_of_bag: NDArray[np.int64]
    predictions: Floats  # [rows, k]
    leaf: NDArray[np.int64]


def random_forest(
    ground: Ground, sampler: Sampler, seeds: Sequence[int], is_judged: bool, n_jobs: int | None
) -> Iterator[Member]:
    """Grow a member per seed. Threads grow several at a time; the members and their order do not depend on that."""
    threads = n_threads(n_jobs, ground.matrix.n_rows * ground.matrix.n_features * len(seeds))
    together = 2 * threads if threads > 1 else 1
    for first in range(0, len(seeds), together):
        calls = [(ground, sampler, seed, is_judged) for seed in seeds[first : first + together]]
        yield from run(grow_member, calls, threads)


def count_draws(limits: Limits) -> Limits:
    """Sizes of nodes in draws: a row that is twice in the sample counts twice, as a row of weight 2 does."""
    least = max(limits.min_weight_leaf, limits.min_samples_leaf if limits.min_samples_leaf > 1 else 0)
    return limits._replace(whole_weights=True, min_samples_leaf=1, min_weight_leaf=least)


def without_rare_categories(response: Response) -> Response:
    """Of many categories those of few rows in a node go right together (kernels/trees/split.py)."""
    return response._replace(goal=response.goal._replace(category_smoothing=RARE_CATEGORY))


def grow_member(ground: Ground, sampler: Sampler, seed: int, is_judged: bool) -> Member:
    """One tree of the forest."""
    # Step 1: a sample of the rows, as a weight for each
    sample = sampler.weights(seed)
    # Step 2: a tree
    weight = ground.reweigh(sample)
    response = without_rare_categories(ground.respond(weight))
    limits = tree_limits(ground.params, response, ground.matrix.n_features, ground.constraints)
    if response.goal.h_unit == 1.0 and weight is sample:  # a class weight of 5 does not make 5 draws
        limits = count_draws(limits)
    tree, leaf = grow_placed(ground.matrix, response, limits, ground.constraints, seed=seed, n_jobs=1)
    if ground.params["ccp_alpha"] > 0.0:
        tree = prune(tree, ground.params["ccp_alpha"])
        leaf = np.where(leaf >= 0, apply_tree(tree, ground.X), -1)
    # Step 3: its answers to the rows that it did not see
    unseen = sampler.out_of_bag(sample) if is_judged else np.empty(0, np.int64)
    predictions = tree.value[apply_tree(tree, ground.X[unseen])]
    return Member(tree, unseen, predictions, leaf)
