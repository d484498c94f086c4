"""Importances 1 and 2 neglect the variables of a rare class, importance 3 keeps them (D-9)."""

from __future__ import annotations

import numpy as np
import pytest

from committee import RandomForestClassifier
from committee.explain.forest_importances import forest_importances
from committee_reproductions.rare_class_importances import (
    GROUPS,
    KINDS,
    RARE,
    RareClassImportances,
    _compare,
    make_rare_class,
    rare_class_importances,
)


def test_the_data_are_as_described():
    X, y = make_rare_class(20_000, share=0.1, distance=2.0, seed=1)
    assert np.bincount(y) / len(y) == pytest.approx([0.45, 0.45, 0.1], abs=0.01)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(means[:, GROUPS["frequent"]], [[-1.5] * 2, [1.5] * 2, [-1.5] * 2], atol=0.1)
    np.testing.assert_allclose(means[:, GROUPS["rare"]], [[0.0] * 2, [0.0] * 2, [2.0] * 2], atol=0.1)
    np.testing.assert_allclose(means[:, GROUPS["noise"]], 0.0, atol=0.1)
    np.testing.assert_array_equal(make_rare_class(50, seed=3)[0], make_rare_class(50, seed=3)[0])


def test_it_comes_out_as_the_documents_say_with_the_noise_beside_it():
    found = rare_class_importances(n=1000, n_repeats=3)
    for kind in ("permutation", "impurity"):
        assert found.importance(kind, "frequent").value > 85.0
        assert found.importance(kind, "rare").value < 20.0
    assert found.importance("frequency", "rare").value > 60.0
    assert found.importance("frequency", "noise").value > 40.0
    assert found.importance("permutation, rare rows", "rare").value > 60.0
    assert abs(found.importance("permutation, rare rows", "noise").value) < 20.0
    assert found.verdict.startswith("as the documents say")
    assert np.all(found.recall < 0.7)  # hard to separate


def test_a_frequent_third_class_is_not_neglected():
    found = rare_class_importances(n=1000, share=1 / 3, n_repeats=2)
    assert found.importance("permutation", "rare").value > 40.0
    assert found.verdict.startswith("not as the documents say")


def test_importances_are_those_of_explain():
    X, y = make_rare_class(300, share=0.2, seed=0)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    found = _compare(forest, X, y, 7)
    kinds = forest_importances(forest, X, y, kinds=["permutation", "impurity", "frequency"], random_state=7)
    permutation = kinds.of("permutation")
    raw = [permutation.raw, kinds.of("impurity").raw, kinds.of("frequency").raw, permutation.per_class[:, RARE]]
    expected = [[100 * np.mean(r[at]) / r.max() for at in GROUPS.values()] for r in raw]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_table_and_errors():
    values = np.arange(24.0).reshape(4, 3, 2)
    found = RareClassImportances(values, np.zeros(2))
    frame = found.to_pandas()
    assert frame["kind"].tolist() == list(KINDS)
    assert frame["rare"].tolist() == [2.5, 8.5, 14.5, 20.5]
    assert frame["noise_stderr"].tolist() == [0.5] * 4
    assert np.isnan(RareClassImportances(values[:, :, :1], np.zeros(1)).importance("impurity", "rare").stderr)
    with pytest.raises(ValueError, match="There are the kinds permutation, impurity, frequency"):
        found.importance("gini", "rare")


def test_the_same_seed_gives_the_same():
    forest = RandomForestClassifier(5)
    first, second = (rare_class_importances(forest, n=200, n_repeats=2, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(first.importances, second.importances)
