"""Random cuts: the quick search draws the same trees as the general one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from committee import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreesClassifier

SHAPES = [(40, 3), (600, 4)]


def with_idle_category(X: np.ndarray) -> pd.DataFrame:
    """The same table and a constant categorical column: no split uses it, but it rules the quick search out."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return frame.assign(idle=pd.Categorical(["a"] * len(X)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["two classes", "four classes", "numbers"])
def test_the_quick_and_the_general_search_agree(shape, kind):
    rng = np.random.default_rng(shape[0])
    X = rng.normal(size=shape)
    X[:, 0] = np.round(X[:, 0])
    signal = X[:, 0] + X[:, 1] ** 2 + rng.normal(scale=0.3, size=shape[0])
    weight = rng.integers(1, 4, shape[0])
    if kind == "numbers":
        model, y = DecisionTreeRegressor(splitter="random", random_state=3), signal
    else:
        edges = [0.8] if kind == "two classes" else [0.0, 0.8, 1.6]
        model, y = DecisionTreeClassifier(splitter="random", random_state=3), np.digitize(signal, edges)
    quick = model.fit(X, y, sample_weight=weight).tree_
    general = model.fit(with_idle_category(X), y, sample_weight=weight).tree_
    np.testing.assert_array_equal(quick.feature, general.feature)
    np.testing.assert_array_equal(quick.threshold, general.threshold)
    np.testing.assert_array_equal(quick.value, general.value)


def test_more_distinct_values_than_a_short_code_has():
    """Ranks of 70,000 values do not fit 16 bits: the subtree's own ranks are translated back to draw a threshold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70_000, 2))
    y = (X[:, 0] > 0.3).astype(int)
    forest = ExtraTreesClassifier(2, max_depth=12, random_state=0).fit(X, y)
    for tree in forest.trees_:
        inner = tree.feature >= 0
        assert np.all(np.abs(tree.threshold[inner]) <= np.abs(X).max())
    assert forest.score(X, y) > 0.97
