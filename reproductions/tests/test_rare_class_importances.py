"""Permutation and impurity neglect the features of a rare class, frequency keeps them."""

from __future__ import annotations

import numpy as np
import pytest

from committee import RandomForestClassifier
from committee_reproductions.rare_class_importances import (
    GROUPS,
    KINDS,
    RareClassImportances,
    make_rare_class,
    rare_class_importances,
)


def test_the_data_are_as_described():
    X, y = make_rare_class(20_000, fraction=0.1, distance=2.0, random_state=1)
    assert np.bincount(y) / len(y) == pytest.approx([0.45, 0.45, 0.1], abs=0.01)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(means[:, GROUPS["frequent"]], [[-1.5] * 2, [1.5] * 2, [-1.5] * 2], atol=0.1)
    np.testing.assert_allclose(means[:, GROUPS["rare"]], [[0.0] * 2, [0.0] * 2, [2.0] * 2], atol=0.1)
    np.testing.assert_allclose(means[:, GROUPS["noise"]], 0.0, atol=0.1)
    np.testing.assert_array_equal(make_rare_class(50, random_state=3)[0], make_rare_class(50, random_state=3)[0])


def test_the_claim_holds_but_frequency_keeps_the_noise_too():
    result = rare_class_importances(n=1000, n_repeats=3)
    for kind in ("permutation", "impurity"):
        assert result.importance(kind, "frequent").value > 85.0
        assert result.importance(kind, "rare").value < 20.0
    assert result.importance("frequency", "rare").value > 60.0
    assert result.importance("frequency", "noise").value > 40.0
    assert result.importance("permutation, rare rows", "rare").value > 60.0
    assert abs(result.importance("permutation, rare rows", "noise").value) < 20.0
    assert result.verdict.startswith("as claimed")
    assert np.all(result.recall < 0.7)  # hard to separate


def test_a_frequent_third_class_is_not_neglected():
    result = rare_class_importances(n=1000, fraction=1 / 3, n_repeats=2)
    assert result.importance("permutation", "rare").value > 40.0
    assert result.verdict.startswith("not as claimed")


def test_table_and_errors():
    values = np.arange(24.0).reshape(4, 3, 2)
    result = RareClassImportances(values, np.zeros(2))
    frame = result.to_pandas()
    assert frame["kind"].tolist() == list(KINDS)
    assert frame["rare"].tolist() == [2.5, 8.5, 14.5, 20.5]
    assert frame["noise_stderr"].tolist() == [0.5] * 4
    assert np.isnan(RareClassImportances(values[:, :, :1], np.zeros(1)).importance("impurity", "rare").stderr)
    with pytest.raises(ValueError, match="There are the kinds permutation, impurity, frequency"):
        result.importance("gini", "rare")


def test_the_same_seed_gives_the_same():
    forest = RandomForestClassifier(5)
    first, second = (rare_class_importances(forest, n=200, n_repeats=2, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(first.importances, second.importances)
