"""SHAP values against the shap package.

A table of what shap 0.51.0 says of a small tree stands below, so that the agreement is tested without the package too;
where it is installed, trees of scikit-learn are compared as well. Both libraries sum products of shares in float64,
shap with divisions that lose some digits on long paths: 1e-9 leaves room for that, and none for another definition.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.tree
from sklearn.base import BaseEstimator

from committee.explain import shap_interaction_values, shap_values
from committee.records.ensemble import TreeSum
from committee.records.tree import Tree, check_tree
from committee.tabular.schema import Columns
from tests.naive.from_sklearn import from_sklearn

CLOSE = {"rtol": 0, "atol": 1e-9}


class Model(BaseEstimator):
    """One tree as an estimator."""

    def __init__(self, tree: Any = None, n_features: int = 3) -> None:
        self.tree, self.n_features = tree, n_features

    def fit(self) -> Model:
        self.columns_ = Columns(self.n_features, None, (None,) * self.n_features)
        return self

    def to_tree_sum(self) -> TreeSum:
        return TreeSum((self.tree,), np.array([-1]), np.ones(1), np.zeros(self.tree.value.shape[1]))


# --- the table -------------------------------------------------------------------------------------------------------

#                    0: x0 <= 0.5, missing left
#          1: x1 <= -1                 2: x0 <= 2
#       3      4: x2 <= 0, m. left     5: x1 <= 1, missing left      6
#              7      8: x1 <= 3       9    10
#                    11   12
LEAVES = {3: (1.5, 0.0), 6: (-2.0, 1.0), 7: (0.25, -1.0), 9: (4.0, 2.0), 10: (-1.0, 0.5), 11: (3.0, -3.0),
          12: (8.0, 0.75)}  # fmt: skip
TREE = Tree(
    feature=np.array([0, 1, 0, -1, 2, 1, -1, -1, 1, -1, -1, -1, -1], np.int32),
    threshold=np.array([0.5, -1.0, 2.0, np.nan, 0.0, 1.0, np.nan, np.nan, 3.0, *[np.nan] * 4]),
    left=np.array([1, 3, 5, -1, 7, 9, -1, -1, 11, -1, -1, -1, -1], np.int32),
    missing_left=np.isin(np.arange(13), [0, 4, 5]),
    category_set=np.full(13, -1, np.int32),
    categories=np.zeros((0, 4), np.uint64),
    value=np.array([LEAVES.get(node, (0.0, 0.0)) for node in range(13)]),
    impurity=np.zeros(13),
    gain=np.zeros(13),
    n_samples=np.ones(13, np.int64),
    weight=np.array([29.0, 15.0, 14.0, 7.0, 8.0, 9.0, 5.0, 4.5, 3.5, 6.0, 3.0, 2.0, 1.5]),
)
ROWS = np.array([[0.0, 0.0, 1.0], [1.0, 2.0, -1.0], [np.nan, 4.0, np.nan], [3.0, np.nan, 0.0]])

BASE = [1.4008620689655173, 0.3146551724137931]
VALUES = [
    [
        [0.55657327586207, -1.5094827586207],
        [-0.10413331280788, -1.2932266009852],
        [1.1466979679803, -0.51194581280788],
    ],
    [
        [0.22386853448276, 1.0050287356322],
        [-2.3241738505747, -0.91091954022989],
        [-0.30055675287356, 0.091235632183908],
    ],
    [
        [0.85595067049808, -0.80602250957854],
        [-0.19719228927203, -0.21850454980843],
        [-1.8096204501916, -0.29012811302682],
    ],
    [
        [-3.4072377873563, 0.63083692528736],
        [0.49551005747126, 0.10470545977011],
        [-0.48913433908046, -0.050197557471264],
    ],
]
INTERACTIONS_OF_OUTPUT_0 = [
    [
        [0.56778017241379, -0.37505387931034, 0.36384698275862],
        [-0.37505387931034, 0.24094827586207, 0.029972290640394],
        [0.36384698275862, 0.029972290640394, 0.75287869458128],
    ],
    [
        [0.92717313218391, -1.0065104166667, 0.30320581896552],
        [-1.0065104166667, -1.3097162356322, -0.0079471982758621],
        [0.30320581896552, -0.0079471982758619, -0.59581537356322],
    ],
    [
        [0.75508860153257, 0.64786278735632, -0.5470007183908],
        [0.64786278735632, 0.0079980842911881, -0.85305316091954],
        [-0.5470007183908, -0.85305316091954, -0.40956657088123],
    ],
    [
        [-3.5947377873563, -0.39857219827586, 0.58607219827586],
        [-0.39857219827586, 1.1848958333333, -0.29081357758621],
        [0.58607219827586, -0.29081357758621, -0.78439295977011],
    ],
]


def test_values_are_those_of_the_package():
    result = shap_values(Model(check_tree(TREE, 3)).fit(), ROWS)
    np.testing.assert_allclose(result.base_values, BASE, **CLOSE)
    np.testing.assert_allclose(result.values, VALUES, **CLOSE)


def test_interactions_are_those_of_the_package():
    result = shap_interaction_values(Model(TREE).fit(), ROWS)
    np.testing.assert_allclose(result[..., 0], INTERACTIONS_OF_OUTPUT_0, **CLOSE)


# --- the package itself ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shap() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it imports is not ours
        return pytest.importorskip("shap")


def test_the_table_is_what_the_package_says(shap: Any):
    default = np.where(TREE.missing_left, TREE.left, TREE.right)
    for k in (0, 1):
        tree = {
            "children_left": TREE.left, "children_right": TREE.right, "children_default": default,
            "features": TREE.feature, "thresholds": np.nan_to_num(TREE.threshold), "values": TREE.value[:, [k]],
            "node_sample_weight": TREE.weight,
        }  # fmt: skip
        package = shap.TreeExplainer({"trees": [tree]}, feature_perturbation="tree_path_dependent")
        values = np.reshape(package.shap_values(ROWS, check_additivity=False), (4, 3))
        np.testing.assert_allclose(values, np.array(VALUES)[:, :, k], **CLOSE)


@pytest.mark.parametrize("max_depth", [1, 5, None])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_trees_of_scikit_learn(shap: Any, n_classes: int, max_depth: int | None):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 8)).astype(np.float32).astype(float)
    target = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=400)
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(1, 4, 400).astype(float)
    kind = sklearn.tree.DecisionTreeClassifier if n_classes else sklearn.tree.DecisionTreeRegressor
    y = np.digitize(target, np.quantile(target, np.arange(1, n_classes) / n_classes)) if n_classes else target
    peer = kind(max_depth=max_depth, random_state=0).fit(X, y, sample_weight=weight)
    ours, package = Model(from_sklearn(peer.tree_), 8).fit(), shap.TreeExplainer(peer)
    result = shap_values(ours, X[:60])
    np.testing.assert_allclose(result.values, package.shap_values(X[:60]), **CLOSE)
    np.testing.assert_allclose(np.ravel(result.base_values), np.ravel(package.expected_value), **CLOSE)
    if max_depth:
        pairs = shap_interaction_values(ours, X[:20])
        np.testing.assert_allclose(pairs, package.shap_interaction_values(X[:20]), **CLOSE)
