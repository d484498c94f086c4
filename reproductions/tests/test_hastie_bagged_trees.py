"""Bagged trees: the simulated rows are as the book describes them, the errors those of the fits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier as AnyTree

from committee import DecisionTreeClassifier
from committee_reproductions.hastie_bagged_trees import (
    BAYES_ERROR,
    BaggedTrees,
    bagged_trees,
    draw_rows,
    expected_error,
    full_and_small_trees,
)


def test_rows_are_as_described():
    rows = draw_rows(200_000, np.random.default_rng(0))
    correlation = np.corrcoef(rows.X.T)
    # 5 standard errors: (1 - r^2) / sqrt(n) of a correlation, 1 / sqrt(n) of a mean and 1 / sqrt(2 n) of a deviation
    np.testing.assert_allclose(correlation[~np.eye(5, dtype=bool)], 0.95, atol=5 * (1 - 0.95**2) / np.sqrt(200_000))
    np.testing.assert_allclose(rows.X.mean(axis=0), 0.0, atol=5 / np.sqrt(200_000))
    np.testing.assert_allclose(rows.X.std(axis=0), 1.0, atol=5 / np.sqrt(400_000))
    assert set(rows.probability[rows.X[:, 0] <= 0.5]) == {0.2}
    assert set(rows.probability[rows.X[:, 0] > 0.5]) == {0.8}


def test_no_rule_is_better_than_the_best_one():
    rows = draw_rows(500, np.random.default_rng(1))
    best = (rows.X[:, 0] > 0.5).astype(np.int64)
    assert expected_error(best, rows.probability) == pytest.approx(BAYES_ERROR)
    assert expected_error(1 - best, rows.probability) == pytest.approx(1.0 - BAYES_ERROR)


def test_full_trees_vote_as_their_distributions_and_small_trees_do_not():
    full = bagged_trees(n_estimators=15, n_repeats=3, n_test=200)
    np.testing.assert_array_equal(full.vote_errors, full.mean_errors)
    assert "every leaf is pure" in full.verdict
    small = DecisionTreeClassifier(min_samples_leaf=5)
    small_ones = bagged_trees(small, n_estimators=15, n_repeats=3, n_test=200)
    assert np.any(small_ones.vote_errors != small_ones.mean_errors)
    # the first vote is that of one tree, whose most probable class is its vote (ties apart: both take the first class)
    np.testing.assert_array_equal(small_ones.vote_errors[:, 0], small_ones.mean_errors[:, 0])
    assert np.all(small_ones.mean_errors >= BAYES_ERROR - 1e-12)


def test_bagging_beats_one_tree_on_the_same_training_sets():
    """On few training sets; 2 paired standard errors."""
    result = bagged_trees(n_estimators=40, n_repeats=20, n_test=500, random_state=1)
    assert result.gain.value > 2.0 * result.gain.stderr
    assert result.verdict.startswith("bagging helps")


def test_the_seed_decides_and_other_trees_take_part():
    runs = [bagged_trees(AnyTree(), n_estimators=4, n_repeats=2, n_test=50, random_state=seed) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(runs[0].mean_errors, runs[1].mean_errors)
    assert np.any(runs[0].mean_errors != runs[2].mean_errors)
    assert list(runs[0].to_pandas().columns) == ["n_trees", "vote_error", "vote_stderr", "mean_error", "mean_stderr"]


def test_means_and_standard_errors_are_over_the_training_sets():
    tree = np.array([0.4, 0.3, 0.35, 0.35])
    vote = np.array([[0.4, 0.3], [0.3, 0.3], [0.35, 0.25], [0.35, 0.25]])
    mean = vote - np.array([0.0, 0.02])
    result = BaggedTrees(tree, vote, mean)
    assert result.tree_error == pytest.approx((0.35, tree.std(ddof=1) / 2))
    assert result.gain.value == pytest.approx(0.35 - 0.255)
    assert result.vote_excess.value == pytest.approx(0.02)
    assert "the vote is worse" in result.verdict
    np.testing.assert_allclose(result.history.vote_error, vote.mean(axis=0))
    assert result.history.vote_stderr[1] == pytest.approx(vote[:, 1].std(ddof=1) / 2)


def test_invalid_sizes_raise():
    with pytest.raises(ValueError, match="n_repeats 2, for a standard error"):
        bagged_trees(n_repeats=1)
    with pytest.raises(ValueError, match="must be at least 1"):
        bagged_trees(n_rows=0)


def test_both_kinds_of_trees_see_the_same_rows():
    result = full_and_small_trees(n_estimators=3, n_repeats=2)
    assert list(result) == ["full trees", "leaves of 5 rows"]
    # the same training sets: only the trees differ
    assert np.any(result["full trees"].tree_errors != result["leaves of 5 rows"].tree_errors)
