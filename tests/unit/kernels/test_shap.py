"""The walks of kernels/shap/tree_shap.py against the sum over all subsets of features."""

from __future__ import annotations

import numpy as np
import pytest

from committee.explain import shap as explain
from committee.kernels.shap.tree_shap import add_shap_interactions, add_shap_values, lay_out_paths
from committee.records.ensemble import TreeSum
from committee.records.tree import LEAF, Tree
from tests.naive.shap import naive_interactions, naive_shap, random_rows, random_sum
from tests.naive.traverse import naive_apply

EXACT = {"rtol": 1e-12, "atol": 1e-13}  # sums of some hundred terms of size 1

#            0:x0
#        1:x1     2        edges in the order of the walk: 1, 3, 5, 6, 4, 2
#      3:x0  4
#      5  6
FEATURE = np.array([0, 1, LEAF, 0, LEAF, LEAF, LEAF], np.int32)
LEFT = np.array([1, 3, LEAF, 5, LEAF, LEAF, LEAF], np.int32)
WEIGHT = np.array([8.0, 6.0, 2.0, 0.0, 6.0, 0.0, 0.0])


def walked(kernel, model: TreeSum, X, most_columns: int, out):
    plan = explain._make_plan(model, X.shape[1], most_columns)
    explain._walk(kernel, plan, np.ascontiguousarray(X.T), out)
    return out


def test_edges_in_the_order_of_the_walk():
    edges, last_depth = np.zeros(6, explain.EDGE), np.zeros(2, np.int64)
    scratch = np.full((7, 2), -9), np.full((7, 4), -9)
    assert lay_out_paths(FEATURE, LEFT, WEIGHT, *scratch, last_depth, edges) == 2
    assert edges["node"].tolist() == [1, 3, 5, 6, 4, 2]
    assert edges["parent"].tolist() == [0, 1, 3, 3, 1, 0]
    assert edges["depth"].tolist() == [1, 2, 3, 3, 2, 1]
    assert edges["up"].tolist() == [0, 0, 1, 1, 0, 0]
    assert edges["share"].tolist() == [0.75, 0.0, 0.5, 0.5, 1.0, 0.25]
    assert edges["cover"].tolist() == [0.75, 0.0, 0.0, 0.0, 0.75, 0.25]
    assert last_depth.tolist() == [0, 0]


def test_a_single_leaf_has_no_edges():
    leaf = np.array([LEAF], np.int32)
    scratch = np.empty((1, 2), np.int64), np.empty((1, 4), np.int64)
    assert lay_out_paths(leaf, leaf, np.ones(1), *scratch, np.zeros(3, np.int64), np.zeros(0, explain.EDGE)) == 0


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_values_and_interactions_are_those_of_the_definition(seed, n_outputs):
    rng = np.random.default_rng([seed, n_outputs])
    n, d = 5, 5
    model, X = random_sum(rng, d, n_outputs, [0, 1, 4, 25]), random_rows(rng, n, d)
    result = walked(add_shap_values, model, X, 8, np.zeros((d, n_outputs, n)))
    np.testing.assert_allclose(result.transpose(2, 0, 1), naive_shap(model, X), **EXACT)
    pairs = walked(add_shap_interactions, model, X, 1, np.zeros((d, d, n_outputs, n)))
    pairs = explain._symmetric(pairs).transpose(3, 0, 1, 2)
    np.testing.assert_allclose(pairs, naive_interactions(model, X), **EXACT)


@pytest.mark.parametrize("kernel", [add_shap_values, add_shap_interactions])
@pytest.mark.parametrize("width", [1, 3, 7])
def test_rows_side_by_side_do_not_touch_each_other(kernel, width, monkeypatch):
    rng = np.random.default_rng(width)
    n, d = 20, 4
    model, X = random_sum(rng, d, 2, [12, 3, 30]), random_rows(rng, n, d)
    shape = (d, 2, n) if kernel is add_shap_values else (d, d, 2, n)
    expected = walked(kernel, model, X, 1, np.zeros(shape))
    monkeypatch.setattr(explain, "WIDTH", width)
    np.testing.assert_array_equal(walked(kernel, model, X, 1, np.zeros(shape)), expected)


def test_walks_add_to_what_is_there():
    rng = np.random.default_rng(2)
    model, X = random_sum(rng, 4, 1, [9, 9]), random_rows(rng, 6, 4)
    once = walked(add_shap_values, model, X, 1, np.zeros((4, 1, 6)))
    twice = walked(add_shap_values, model, X, 1, once.copy())
    np.testing.assert_allclose(twice, 2.0 * once, **EXACT)


def test_columns_may_be_walked_one_by_one():
    rng = np.random.default_rng(3)
    model, X = random_sum(rng, 4, 5, [20, 20]), random_rows(rng, 9, 4)
    together = walked(add_shap_values, model, X, 5, np.zeros((4, 5, 9)))
    np.testing.assert_array_equal(walked(add_shap_values, model, X, 2, np.zeros((4, 5, 9))), together)


def chain(depth: int, n_features: int) -> Tree:
    """Every right child is a leaf; the features come round again and again."""
    m = 2 * depth + 1
    feature, left = np.full(m, LEAF, np.int32), np.full(m, LEAF, np.int32)
    inner = np.append(0, np.arange(1, m - 2, 2))
    feature[inner] = np.arange(depth) % n_features
    left[inner] = np.arange(1, m, 2)
    weight = np.ones(m)
    for node in inner[::-1]:
        weight[node] = weight[left[node]] + weight[left[node] + 1]
    rng = np.random.default_rng(0)
    return Tree(
        feature=feature,
        threshold=np.where(feature == LEAF, np.nan, 4.5 - np.arange(m) * 1e-6),
        left=left,
        missing_left=np.zeros(m, bool),
        category_set=np.full(m, -1, np.int32),
        categories=np.zeros((0, 4), np.uint64),
        value=rng.normal(size=(m, 1)),
        impurity=np.zeros(m),
        gain=np.zeros(m),
        n_samples=np.ones(m, np.int64),
        weight=weight,
    )


@pytest.mark.parametrize(("depth", "n_features"), [(60, 60), (300, 3), (400, 150)])
def test_deep_paths_add_up_to_the_leaf(depth, n_features):
    tree = chain(depth, n_features)
    X = random_rows(np.random.default_rng(1), 12, n_features)
    X[:3] = 0.0  # to the deepest leaf
    model = TreeSum((tree,), np.array([-1]), np.ones(1), np.zeros(1))
    result = walked(add_shap_values, model, X, 8, np.zeros((n_features, 1, 12)))[:, 0].sum(axis=0)
    base = explain._make_plan(model, n_features, 8).base[0]
    np.testing.assert_allclose(result + base, tree.value[naive_apply(tree, X), 0], rtol=0, atol=1e-12)
