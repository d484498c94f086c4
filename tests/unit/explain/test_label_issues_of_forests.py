"""Flipped labels come first by the out-of-bag votes of a forest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from committee import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from committee.explain import find_label_issues
from tests.noisy_labels import FLIPPED, noisy


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_flipped_labels_come_first(seed: int, n_classes: int):
    X, y, clean, is_wrong = noisy(seed, n_classes, 500)
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    assert np.mean(forest.predict(X) == y) == 1.0  # learnt by heart: only the trees that did not see a row can tell
    result = find_label_issues(forest, X, y, n=int(is_wrong.sum()))
    hit = is_wrong[result.rows]
    assert hit.mean() >= 8 * FLIPPED
    assert np.mean(result.suggested_label[hit] == clean[result.rows][hit]) >= 0.75
    assert np.all(np.diff(result.score) <= 0)
    assert np.isnan(result.weight).all()


def test_margins_are_those_of_the_out_of_bag_probabilities():
    X, y, _, _ = noisy(0, 3, 500)
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    result = find_label_issues(forest, X, y, None)
    shares = forest.oob_decision_function_[result.rows]
    own = shares[np.arange(500), np.searchsorted(forest.classes_, result.label)]
    others = np.where(forest.classes_ == result.label[:, np.newaxis], -1.0, shares)
    np.testing.assert_allclose(result.margin, own - others.max(axis=1))
    np.testing.assert_allclose(result.score, (1.0 - result.margin) / 2.0)
    np.testing.assert_array_equal(result.suggested_label, forest.classes_[others.argmax(axis=1)])
    assert list(result.to_pandas().columns) == ["rows", "weight", "margin", "label", "suggested_label", "score"]


def test_new_rows_are_evaluated_by_all_trees():
    X, y, clean, is_wrong = noisy(1, 2, 500)
    half = np.arange(500) < 250
    forest = ExtraTreesClassifier(60, random_state=0).fit(X[half], clean[half])
    result = find_label_issues(forest, X[~half], y[~half], n=12, training=False)
    assert is_wrong[~half][result.rows].mean() >= 8 * FLIPPED
    share = forest.predict_proba(X[~half])[result.rows, np.searchsorted(forest.classes_, result.label)]
    np.testing.assert_allclose(result.score, 1.0 - share)


def test_rows_without_weight_and_rows_in_every_bag_are_left_out():
    X, y, _, _ = noisy(0, 2, 500)
    weight = np.where(np.arange(500) < 100, 0.0, 1.0)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y, sample_weight=weight)
    result = find_label_issues(forest, X, y, None)
    judged = np.unique(np.concatenate([forest.oob_indices(t) for t in range(3)]))
    np.testing.assert_array_equal(np.sort(result.rows), judged)
    assert result.rows.size < 400
    assert result.rows.min() >= 100


def test_bad_arguments_are_rejected():
    X, y, _, _ = noisy(0, 2, 500)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="not the 500 rows"):
        find_label_issues(forest, X[::-1], y[::-1])
    with pytest.raises(ValueError, match="n must be at least 1"):
        find_label_issues(forest, X, y, 0)
    with pytest.raises(ValueError, match="labels that were not in the training data"):
        find_label_issues(forest, X, np.where(y == "ash", "yew", y), training=False)
    with pytest.raises(ValueError, match="no out-of-bag votes"):
        find_label_issues(ExtraTreesClassifier(5).fit(X, y), X, y)
    with pytest.raises(ValueError, match="single class"):
        find_label_issues(RandomForestClassifier(5).fit(X, np.ones(500)), X, np.ones(500))
    with pytest.raises(NotFittedError):
        find_label_issues(RandomForestClassifier(), X, y)
    with pytest.raises(TypeError, match="got RandomForestRegressor"):
        find_label_issues(RandomForestRegressor(), X, y)  # type: ignore[arg-type]
