"""Compile and cache every kernel, so that the first fit of a user does not wait for the compiler."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from committee.parts.binning import BinMapper
from committee.parts.growing import free_limits, grow
from committee.parts.pruning import cross_validate, pruning_path
from committee.parts.response import class_response, value_response
from committee.parts.traversing import apply_tree, decision_path


def warmup(echo: Callable[[str], None] | None = None) -> float:
    """Run every kernel once on a toy table; return the CPU seconds it took."""
    began = time.process_time()
    say = echo or (lambda _: None)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200)
    weight = np.ones(200)
    say("binning")
    exact, binned = BinMapper(None).fit_transform(X), BinMapper(16).fit_transform(X)
    say("growing")
    limits = free_limits(3, True)._replace(max_features=2)
    trees = [grow(exact, value_response(y, weight, name), limits) for name in ("squared_error", "absolute_error")]
    trees.append(grow(binned, class_response((y > 0).astype(np.int64), 2, weight, "gini"), limits))
    grow_large(exact, y, weight)
    say("traversing")
    for tree in trees:
        apply_tree(tree, X)
        apply_tree(tree, X.astype(np.float32))
    decision_path(trees[0], X)
    code = np.floor(2 + X)
    category = BinMapper(None).fit_transform(np.clip(code, 0, 4), None, np.ones(3, bool))
    apply_tree(grow(category, value_response(y, weight, "squared_error"), free_limits(3, True)), np.clip(code, 0, 4))
    say("pruning")
    rows = np.arange(200)
    cross_validate(
        pruning_path(trees[0]), X, y, weight, [(rows, rows)], lambda _: trees[0], lambda t: t.value[:, 0].copy(),
        "squared_error",
    )  # fmt: skip
    return time.process_time() - began


def grow_large(matrix: object, y: np.ndarray, weight: np.ndarray) -> None:
    """The kernels that only nodes of many rows need."""
    from committee.parts import growing

    table_rows, growing.SUBTREE_ROWS = growing.SUBTREE_ROWS, 64
    try:
        grow(matrix, value_response(y, weight, "squared_error"), free_limits(3, True)._replace(max_features=2))  # type: ignore[arg-type]
    finally:
        growing.SUBTREE_ROWS = table_rows
