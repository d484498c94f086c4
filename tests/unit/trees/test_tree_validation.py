"""Trees from outside, and arguments of exports that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor as SklearnRegressor

from committee import DecisionStump, DecisionTreeRegressor
from committee.plots import plot_tree
from committee.records.tree import InvalidTreeError, check_tree
from committee.trees.export import export_graphviz, export_text
from tests.bad_input import (
    LABELS,
    VALUES,
    X,
    nan,
    table,
)
from tests.catalog import among, every, target_of

TREES = among("committee.trees")


BAD_EXPORTS = table(
    ("too few names", {"feature_names": ["a"]}, ValueError, "feature_names .*1 .*3"),
    ("a string of names", {"feature_names": "abc"}, TypeError, "feature_names .*'abc'"),
    ("a number of names", {"feature_names": 3}, TypeError, "feature_names .*3"),
    ("too many classes", {"class_names": list("xyz")}, ValueError, "class_names|classifiers"),
    ("negative depth", {"max_depth": -1}, ValueError, "max_depth .*-1"),
    ("unknown", {"depth": 1}, TypeError, "unexpected keyword argument 'depth'"),
)

BAD_TEXT = table(
    ("no depth", {"max_depth": None}, "max_depth .*None"),
    ("half a depth", {"max_depth": 1.5}, "max_depth .*1.5"),
    ("decimals", {"decimals": "2"}, "decimals .*'2'"),
    ("spacing", {"spacing": 2.5}, "spacing .*2.5"),
)


@pytest.mark.parametrize(("arguments", "error", "text"), BAD_EXPORTS)
@pytest.mark.parametrize("export", [export_text, export_graphviz, plot_tree], ids=lambda f: f.__name__)
@every(TREES)
def test_bad_arguments_of_exports(
    cls: type[Any], export: Callable[..., Any], arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        export(cls().fit(X, target_of(cls)), **arguments)


@pytest.mark.parametrize(("arguments", "text"), BAD_TEXT)
def test_bad_arguments_of_the_text(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        export_text(DecisionStump().fit(X, LABELS), **arguments)


def test_exports_reject_trees_of_others() -> None:
    for export in (export_text, export_graphviz, plot_tree):
        with pytest.raises(TypeError, match="expected a tree estimator of committee"):
            export(SklearnRegressor().fit(X, VALUES))


BAD_TREES = table(
    ("flat value", lambda tree: {"value": tree.value[:, 0]}, "value .*float64"),
    ("feature as float", lambda tree: {"feature": tree.feature.astype(float)}, "feature .*int32"),
    ("feature as list", lambda tree: {"feature": tree.feature.tolist()}, "feature .*int32"),
    ("no nodes", lambda tree: {name: getattr(tree, name)[:0] for name in tree._fields}, "root"),
    ("lengths", lambda tree: {"gain": tree.gain[1:]}, "gain .*6 .*7"),
    ("cycle", lambda tree: {"left": np.where(tree.left > 0, 0, -1).astype(np.int32)}, "child"),
    ("outside", lambda tree: {"left": np.where(tree.left > 0, 6, -1).astype(np.int32)}, "child .*outside"),
    ("feature 9", lambda tree: {"feature": np.where(tree.left > 0, 9, -1).astype(np.int32)}, r"feature .*0\.\.2"),
    ("nan threshold", lambda tree: {"threshold": tree.threshold * nan}, "threshold"),
    ("nan value", lambda tree: {"value": tree.value * nan}, "value"),
    ("negative weight", lambda tree: {"weight": -tree.weight}, "weight"),
    ("category set", lambda tree: {"category_set": np.zeros(7, np.int32)}, "category"),
)


@pytest.mark.parametrize(("change", "text"), BAD_TREES)
def test_bad_trees_are_rejected(change: Callable[..., dict[str, Any]], text: str) -> None:
    tree = DecisionTreeRegressor(max_depth=2).fit(X, VALUES).tree_.arrays
    assert check_tree(tree, 3).n_nodes == 7
    with pytest.raises(InvalidTreeError, match=text):
        check_tree(tree._replace(**change(tree)), 3)
