"""AdaBoost with Gini stumps against scikit-learn's, round by round."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from committee import AdaBoostClassifier, DecisionTreeClassifier
from committee.datasets import load_dataset

SETS = ("sonar", "ionosphere", "pima_diabetes", "spam")


def two_classes(name):
    sample = load_dataset(name)
    X = np.asarray(sample.X, np.float32)
    y = np.asarray(sample.y)
    keep = ~np.isnan(X).any(axis=1)
    return X[keep], y[keep]


def gini_decrease(tree):
    """The fall of the weighted Gini impurity by a stump of either library."""
    if tree.node_count == 1:
        return 0.0
    w = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    children = [tree.children_left[0], tree.children_right[0]]
    return tree.impurity[0] - w[children] @ tree.impurity[children]


@pytest.mark.parametrize("name", SETS)
def test_best_gain_equals_scikit_learns_under_its_weights(name):
    """200 rounds of scikit-learn; under its weights of each round our Gini stump falls by as much, to 1e-10."""
    X, y = two_classes(name)
    rounds = 200
    theirs = SklearnAdaBoost(SklearnTree(max_depth=1), n_estimators=rounds, random_state=0).fit(X, y)
    w = np.full(len(y), 1.0 / len(y))
    same, differ = 0, 0
    for member, a in zip(theirs.estimators_, theirs.estimator_weights_, strict=True):
        ours = DecisionTreeClassifier(max_depth=1, splitter="best").fit(X, y, sample_weight=w)
        ours_decrease, their_decrease = gini_decrease(ours.tree_), gini_decrease(member.tree_)
        assert ours_decrease == pytest.approx(their_decrease, abs=1e-10)
        is_same = np.array_equal(ours.predict(X), member.predict(X))
        same, differ = same + is_same, differ + (not is_same)
        w = w * np.exp(a * (member.predict(X) != y))
        w /= w.sum()
    assert len(theirs.estimators_) == rounds
    assert same >= 0.9 * rounds, f"{differ} of {rounds} stumps differ: more than ties explain"


@pytest.mark.parametrize("name", SETS[:3])
def test_coefficients_are_on_scikit_learns_scale(name):
    X, y = two_classes(name)
    ours = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, splitter="best"), n_estimators=10).fit(X, y)
    theirs = SklearnAdaBoost(SklearnTree(max_depth=1), n_estimators=10, random_state=0).fit(X, y)
    e, a = theirs.estimator_errors_[0], theirs.estimator_weights_[0]
    assert ours.estimator_errors_[0] == pytest.approx(e, abs=1e-12)
    assert ours.estimator_weights_[0] == pytest.approx(a, abs=1e-9)
    np.testing.assert_allclose(
        ours.estimator_weights_, np.log((1 - ours.estimator_errors_) / ours.estimator_errors_), rtol=1e-12
    )


def test_samme_with_many_classes_is_as_good_as_scikit_learns():
    sample = load_dataset("vehicle")
    X, y = np.asarray(sample.X, np.float32), np.asarray(sample.y)
    ours = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=50).fit(X[::2], y[::2])
    theirs = SklearnAdaBoost(SklearnTree(max_depth=2), n_estimators=50, random_state=0).fit(X[::2], y[::2])
    np.testing.assert_allclose(ours.estimator_weights_[0], theirs.estimator_weights_[0], rtol=1e-9)
    assert ours.score(X[1::2], y[1::2]) >= theirs.score(X[1::2], y[1::2]) - 0.05
