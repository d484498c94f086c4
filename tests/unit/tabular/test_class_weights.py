"""class_weight: a weight counts as so many rows, in every ensemble and in the trees themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import compute_class_weight

from committee import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from committee.tabular.class_weight import balanced_weights, class_weights, reweighed
from committee.trees.decision_stump import DecisionStump

Floats = NDArray[np.float64]

BALANCED_TREE = DecisionTreeClassifier(criterion="entropy", max_depth=3, class_weight="balanced", random_state=0)

BALANCED = [
    BALANCED_TREE,
    DecisionTreeClassifier(ccp_alpha=0.01, class_weight="balanced", max_features=2, random_state=0),
    DecisionStump(class_weight="balanced"),
    RandomForestClassifier(20, class_weight="balanced", criterion="entropy", random_state=0),
    RandomForestClassifier(20, class_weight="balanced_subsample", criterion="entropy", random_state=0),
    ExtraTreesClassifier(20, class_weight="balanced", max_depth=4, random_state=0),
    BaggingClassifier(BALANCED_TREE, 20, random_state=0),
    BaggingClassifier(BALANCED_TREE, 20, max_features=2, bootstrap=False, max_samples=0.7, random_state=0),
    AdaBoostClassifier(BALANCED_TREE, n_estimators=10, random_state=0),
    AdaBoostClassifier(BALANCED_TREE, n_estimators=10, weighting="resample", random_state=0),
    GradientBoostingClassifier(n_estimators=10, class_weight="balanced", random_state=0),
]


def rows(n_classes: int = 2) -> tuple[Floats, NDArray[Any], NDArray[np.int64]]:
    """Unbalanced classes that overlap, and weights that unbalance them further."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    codes = np.digitize(X[:, 0] + 0.8 * rng.normal(size=120), [0.7, 1.6][: n_classes - 1])
    return X, np.array(["a", "b", "c"])[codes], np.where(rng.random(120) < 0.4 + 0.2 * codes, 2, 1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", BALANCED, ids=lambda model: type(model).__name__)
def test_a_weight_of_two_is_a_doubled_row(model: Any, n_classes: int) -> None:
    X, y, weight = rows(n_classes)
    if isinstance(model, AdaBoostClassifier) and n_classes > 2:
        pytest.skip("two classes")
    doubled = np.random.default_rng(1).permutation(np.repeat(np.arange(120), weight))
    weighted, repeated = clone(model).fit(X, y, weight), clone(model).fit(X[doubled], y[doubled])
    predictions = weighted.predict_proba(X)
    # Boosters divide weights by their sum, which rounds
    np.testing.assert_allclose(predictions, repeated.predict_proba(X), rtol=1e-9, atol=1e-9)
    assert not np.allclose(predictions, clone(model).fit(X, y).predict_proba(X))  # the weights do something


def test_the_root_of_a_balanced_tree_has_equal_weights() -> None:
    X, y, weight = rows(3)
    tree = clone(BALANCED_TREE).fit(X, y, weight)
    np.testing.assert_allclose(tree.tree_.arrays.value[0], 1.0 / 3.0, rtol=1e-7)  # factors are kept in float32


def test_without_weights_they_are_those_of_scikit_learn() -> None:
    _, y, _ = rows(3)
    classes, codes = np.unique(y, return_inverse=True)
    for chosen in ("balanced", {"a": 0.3, "b": 2.0}):
        expected = compute_class_weight(chosen, classes=classes, y=y)
        np.testing.assert_allclose(class_weights(chosen, codes, classes, None), expected, rtol=1e-7)  # type: ignore[arg-type]


def test_classes_without_weight_are_not_there() -> None:
    codes, weight = np.array([0, 0, 1, 2]), np.array([1.0, 1.0, 4.0, 0.0])
    np.testing.assert_array_equal(balanced_weights(codes, 4, weight), [1.5, 0.75, 0.0, 0.0])
    np.testing.assert_array_equal(balanced_weights(codes[:3], 2, weight[:3]), [1.5, 0.75])


def test_a_sample_that_class_weights_would_empty_stays() -> None:
    sample = np.array([0.0, 2.0])
    assert reweighed(sample, np.array([1.0, 0.0])) is sample
    np.testing.assert_array_equal(reweighed(sample, np.array([0.0, 0.5])), [0.0, 1.0])
    X, y, _ = rows()
    tree = DecisionTreeClassifier(class_weight={"a": 0.0, "b": 1.0})
    model = BaggingClassifier(tree, 20, max_samples=2, random_state=0).fit(X, y)  # some samples have class a alone
    assert np.isfinite(model.predict_proba(X)).all()
