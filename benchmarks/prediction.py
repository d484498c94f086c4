"""Rows through a deep tree, against scikit-learn: the same tree in both, so the answers must be equal."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import tree as peer
from sklearn.tree._tree import NODE_DTYPE, Tree

from benchmarks import tables
from benchmarks.harness import Benchmark, Goal, Quality, Setup
from benchmarks.tables import Scale, size
from committee import DecisionTreeClassifier

GOAL = (Goal("committee", 0.6, "sklearn"),)
N_FEATURES = 30


def benchmarks(scale: Scale) -> list[Benchmark]:
    n = scale.rows(200_000)
    many = [(n, dtype, method) for dtype in ("float32", "float64") for method in ("predict", "predict_proba")]
    one = [(1, "float32", method) for method in ("predict", "predict_proba")]
    return [
        *(_row(n, *case, goals=GOAL) for case in many),
        *(_row(n, *case, goals=()) for case in one),
    ]


def _row(n: int, n_asked: int, dtype: str, method: str, goals: tuple[Goal, ...]) -> Benchmark:
    asked = f"{n_asked} row" if n_asked == 1 else size(n_asked, N_FEATURES)
    return Benchmark(
        name=f"prediction/{method}-{dtype}-{asked.replace(' ', '-')}",
        task=f"{method} of {asked}, {dtype}, by a tree fully grown on {size(n, N_FEATURES)}",
        contenders={
            "committee": _asking(_our_tree, n, n_asked, dtype, method),
            "sklearn": _asking(_their_tree, n, n_asked, dtype, method),
        },
        quality=_share_right(n, n_asked),
        goals=goals,
        covers=("DecisionTreeClassifier",),
    )


def _asking(tree: Callable[[int], Any], n: int, n_asked: int, dtype: str, method: str) -> Setup:
    def setup() -> Callable[[], Any]:
        X = _split(n).X_test[:n_asked].astype(dtype)
        predict = getattr(tree(n), method)
        return lambda: predict(X)

    return setup


def _share_right(n: int, n_asked: int) -> Quality:
    def evaluate(predicted: NDArray[Any]) -> dict[str, float]:
        label = predicted if predicted.ndim == 1 else predicted.argmax(axis=1)  # the labels are 0 and 1
        return {"accuracy": float(np.mean(label == _split(n).y_test[:n_asked]))}

    return evaluate


def _split(n: int) -> tables.Split:
    return tables.classes(n, N_FEATURES, n_test=n)


@lru_cache(maxsize=1)
def _our_tree(n: int) -> DecisionTreeClassifier:
    split = _split(n)
    return DecisionTreeClassifier(splitter="best", random_state=0).fit(split.X, split.y)


@lru_cache(maxsize=1)
def _their_tree(n: int) -> peer.DecisionTreeClassifier:
    """Our tree in scikit-learn's arrays, its nodes in the order in which scikit-learn would have grown them."""
    ours = _our_tree(n).tree_
    order = _depth_first(ours.children_left, ours.children_right)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    nodes: Any = np.zeros(len(order), NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = (
        np.where(child >= 0, place[child], -1)[order] for child in (ours.children_left, ours.children_right)
    )
    for field in ("feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples"):
        nodes[field] = getattr(ours, field)[order]
    theirs = peer.DecisionTreeClassifier().fit(np.arange(2 * N_FEATURES).reshape(2, -1), [0, 1])
    values = np.ascontiguousarray(ours.value[order])
    # A new Tree: the state of an old one is filled without room being made for it.
    theirs.tree_ = Tree(N_FEATURES, np.array([2], np.intp), 1)
    theirs.tree_.__setstate__({"max_depth": ours.max_depth, "node_count": len(order), "nodes": nodes, "values": values})
    return theirs


def _depth_first(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    order: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if left[node] >= 0:
            stack += [int(right[node]), int(left[node])]
    return np.array(order)
