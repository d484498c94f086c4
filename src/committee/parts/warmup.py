"""Compile and cache every kernel, so that the first fit of a user does not wait for the compiler."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from committee.base.jit import remove_stale_caches
from committee.kernels.reweighing import multiply_weights
from committee.parts.binning import BinMapper
from committee.parts.growing import free_limits, grow
from committee.parts.members import TreeMember
from committee.parts.pruning import cross_validate, pruning_path
from committee.parts.response import class_response, value_response
from committee.parts.scoring import pack_members, score_packed
from committee.parts.stumps import StumpSearch
from committee.parts.subtrees import SUBTREE_ROWS
from committee.parts.traversing import apply_tree


def warmup(echo: Callable[[str], None] | None = None) -> float:
    """Run every kernel once on a toy table; return the CPU seconds it took."""
    began = time.process_time()
    say = echo or (lambda _: None)
    rng = np.random.default_rng(0)
    n = SUBTREE_ROWS + 1  # some kernels are only for nodes of many rows
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + rng.normal(size=n)
    weight = np.ones(n)
    limits = free_limits(3, True)
    say("binning")
    exact, binned = BinMapper(None).fit_transform(X), BinMapper(16).fit_transform(X)
    codes = np.clip(np.floor(2 + X), 0, 4)
    category = BinMapper(None).fit_transform(codes, None, np.ones(3, bool))
    say("growing trees")
    trees = [grow(exact, value_response(y, weight, name), limits) for name in ("squared_error", "absolute_error")]
    trees.append(grow(exact, class_response((y > 0).astype(np.int64), 2, weight, "gini"), limits))
    grow(binned, value_response(y, weight, "squared_error"), limits)
    grow(exact, value_response(y, weight, "squared_error"), limits._replace(max_features=2))
    say("walking trees")
    for table in (X, X.astype(np.float32)):
        apply_tree(trees[0], table)
    apply_tree(grow(category, value_response(y, weight, "squared_error"), limits), codes)
    say("pruning trees")
    rows = np.arange(n)
    cross_validate(
        pruning_path(trees[0]), X, y, weight, [(rows, rows)], lambda _: trees[0], lambda t: t.value[:, 0].copy(),
        "squared_error",
    )  # fmt: skip
    say("boosting stumps")
    labels, share = np.where(y > 0, np.int8(1), np.int8(-1)), np.full(n, 1.0 / n)
    for matrix in (exact, binned):
        search = StumpSearch(matrix, None)
        stump = search.find(labels, share)
        _, sums = search.divide(stump, labels, share)
        member = TreeMember(search.as_tree(stump, sums), np.array([1, -1, 1], np.int8))
    multiply_weights(share, labels, np.array([1.0, 2.0]))
    packed = pack_members([member], [1.0], 2)
    if packed is not None:
        score_packed(packed, X, None)
    remove_stale_caches()
    return time.process_time() - began
