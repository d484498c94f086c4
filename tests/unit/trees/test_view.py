"""A fitted tree under scikit-learn's names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.tree
from numpy.typing import NDArray

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.trees.sklearn_view import TreeView

ARRAYS = {
    "children_left": np.int64,
    "children_right": np.int64,
    "feature": np.int64,
    "threshold": np.float64,
    "missing_go_to_left": np.uint8,
    "impurity": np.float64,
    "n_node_samples": np.int64,
    "weighted_n_node_samples": np.float64,
    "value": np.float64,
}


def fit_both(is_classifier: bool) -> tuple[TreeView, Any, NDArray[np.float32]]:
    """Leaves of at least 12 rows: no two splits of these data tie."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 3)).astype(np.float32)
    signal = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=250)
    X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.integers(1, 9, 250) / 4
    params: dict[str, Any] = {"min_samples_leaf": 12}
    if is_classifier:
        y = np.digitize(signal, [-0.6, 0.6])
        ours: Any = DecisionTreeClassifier(**params).fit(X, y, w)
        theirs: Any = sklearn.tree.DecisionTreeClassifier(**params).fit(X, y, w)
    else:
        ours = DecisionTreeRegressor(**params).fit(X, signal, w)
        theirs = sklearn.tree.DecisionTreeRegressor(**params).fit(X, signal, w)
    return ours.tree_, theirs.tree_, X


def matching_nodes(a: Any, b: Any) -> NDArray[np.int64]:
    """Pairs of node numbers, by the way from the root."""
    pairs, stack = [], [(0, 0)]
    while stack:
        i, j = stack.pop()
        pairs.append((i, j))
        if a.children_left[i] >= 0 and b.children_left[j] >= 0:
            stack += [(a.children_left[i], b.children_left[j]), (a.children_right[i], b.children_right[j])]
    return np.array(pairs)


@pytest.mark.parametrize("is_classifier", [True, False], ids=["classes", "numbers"])
def test_every_array_is_scikit_learns(is_classifier: bool) -> None:
    """Node for node; impurities are sums in another order, hence 1e-12."""
    ours, theirs, _ = fit_both(is_classifier)
    i, j = matching_nodes(ours, theirs).T
    assert len(i) == ours.node_count == theirs.node_count > 15
    for name, dtype in ARRAYS.items():
        a, b = getattr(ours, name), getattr(theirs, name)
        assert a.dtype == dtype
        assert a.shape == b.shape
        if not name.startswith("children"):
            np.testing.assert_allclose(a[i], b[j], rtol=1e-12, atol=1e-12, err_msg=name)
    is_leaf = ours.children_left == -1
    np.testing.assert_array_equal(ours.children_right == -1, is_leaf)
    np.testing.assert_array_equal(ours.children_right[~is_leaf], ours.children_left[~is_leaf] + 1)
    np.testing.assert_array_equal(ours.feature[is_leaf], -2)
    np.testing.assert_array_equal(ours.threshold[is_leaf], -2.0)


@pytest.mark.parametrize("is_classifier", [True, False], ids=["classes", "numbers"])
def test_every_number_is_scikit_learns(is_classifier: bool) -> None:
    ours, theirs, _ = fit_both(is_classifier)
    for name in ("node_count", "capacity", "n_leaves", "max_depth", "n_features", "n_outputs", "max_n_classes"):
        assert getattr(ours, name) == getattr(theirs, name), name
    np.testing.assert_array_equal(ours.n_classes, theirs.n_classes)
    assert ours.is_classifier == is_classifier


@pytest.mark.parametrize("is_classifier", [True, False], ids=["classes", "numbers"])
def test_every_method_is_scikit_learns(is_classifier: bool) -> None:
    ours, theirs, X = fit_both(is_classifier)
    i, j = matching_nodes(ours, theirs).T
    number = np.empty(len(i), np.int64)
    number[j] = i
    np.testing.assert_array_equal(ours.apply(X), number[theirs.apply(X)])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12, atol=1e-15)
    paths, their_paths = ours.decision_path(X).toarray(), theirs.decision_path(X).toarray()
    np.testing.assert_array_equal(paths[:, i], their_paths[:, j])
    for normalize in (True, False):
        wanted = theirs.compute_feature_importances(normalize=normalize)
        np.testing.assert_allclose(ours.compute_feature_importances(normalize=normalize), wanted, rtol=1e-9)


def test_importances_are_sums_of_gains() -> None:
    ours, _, _ = fit_both(False)
    tree = ours.arrays
    raw = ours.compute_feature_importances(normalize=False)
    assert raw.sum() == pytest.approx(tree.gain.sum(), rel=1e-12)
    risk = tree.weight * tree.impurity / tree.weight[0]
    assert raw.sum() == pytest.approx(risk[0] - risk[tree.is_leaf].sum(), rel=1e-9)
    assert ours.compute_feature_importances().sum() == pytest.approx(1.0, abs=1e-12)


def test_a_single_leaf() -> None:
    view = DecisionTreeRegressor().fit([[1.0, 2.0]], [3.0]).tree_
    assert (view.node_count, view.n_leaves, view.max_depth) == (1, 1, 0)
    assert view.value.tolist() == [[[3.0]]]
    assert view.compute_feature_importances().tolist() == [0.0, 0.0]
    assert view.apply(np.zeros((3, 2))).tolist() == [0, 0, 0]
