"""Splits of trees at the ends of float64, of many categories, many columns and heavy weights."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from committee import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from committee.trees.export import export_graphviz, export_text
from tests.bad_input import (
    LABELS,
    MAX,
    VALUES,
    N,
    X,
    nan,
    table,
)
from tests.catalog import CLASSIFIERS, among, every, having, target_of

TREES = among("committee.trees")


def test_pairs_of_many_features_are_rejected_before_they_are_written_down() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(3, 20_000))
    with pytest.raises(ValueError, match="199990000 groups"):
        DecisionTreeClassifier(interaction_cst="pairwise").fit(wide, [0, 1, 0])


@every(having(ccp_alpha="cv"))
def test_cross_validation_needs_two_rows(cls: type[Any]) -> None:
    with pytest.raises(ValueError, match="two rows"):
        cls(ccp_alpha="cv").fit(X, target_of(cls), sample_weight=np.eye(N)[0])
    with pytest.raises(ValueError, match="no training rows"):
        cls(ccp_alpha="cv", cv=KFold(2)).fit(X, target_of(cls), sample_weight=np.arange(N) < N // 2)


NEIGHBOURS = table(
    ("-max and max", [-MAX, MAX]),
    ("huge steps", [-MAX, -1e300, -1.0, 0.0, 1.0, 1e300, MAX]),
    ("next to max", [np.nextafter(MAX, 0), MAX]),
    ("next to -max", [-MAX, np.nextafter(-MAX, 0)]),
    ("neighbours of one", [np.nextafter(1, 0), 1.0, np.nextafter(1, 2)]),
    ("subnormals", [-5e-324, 0.0, 5e-324, 1e-323]),
    ("beyond 2**53", [2.0**53, 2.0**53 + 2, 2.0**53 + 4]),
    ("float32", np.array([1, np.nextafter(np.float32(1), np.float32(2))], np.float32)),
    ("float32 extremes", np.array([-3.4e38, 3.4e38], np.float32)),
)


@pytest.mark.parametrize("values", NEIGHBOURS)
@pytest.mark.parametrize("splitter", ["best", "binned"])
def test_every_two_values_can_be_separated(splitter: str, values: Any) -> None:
    column = np.asarray(values)[:, np.newaxis]
    labels = np.arange(len(column)) % 2
    for model in (DecisionTreeClassifier(splitter=splitter), DecisionTreeRegressor(splitter=splitter)):
        model.fit(column, labels)
        np.testing.assert_array_equal(model.predict(column), labels)
        np.testing.assert_array_equal(np.sort(model.apply(column)), np.flatnonzero(model.tree_.arrays.is_leaf))
        assert np.isfinite(model.tree_.threshold).all()
        export_text(model), export_graphviz(model)


@pytest.mark.parametrize("values", NEIGHBOURS)
def test_drawn_thresholds_lie_between_the_values(values: Any) -> None:
    column = np.asarray(values)[:, np.newaxis]
    labels = np.arange(len(column)) % 2
    for seed in range(20):
        model = DecisionTreeClassifier(splitter="random", random_state=seed).fit(column, labels)
        np.testing.assert_array_equal(model.predict(column), labels)


def test_missing_values_never_seen_follow_the_larger_child() -> None:
    column, labels = np.arange(10.0)[:, np.newaxis], np.arange(10) >= 8
    for cls in among("committee.trees", classes=CLASSIFIERS):
        assert cls().fit(column, labels).predict([[nan]]).tolist() == [False]
        assert cls().fit(column, ~labels).predict([[nan]]).tolist() == [True]
        assert cls().fit(-column, labels).predict([[nan]]).tolist() == [False]


@pytest.mark.parametrize("n_levels", [2, 63, 64, 65, 253, 254, 255, 256, 300])
@pytest.mark.parametrize("splitter", ["best", "binned"])
def test_many_categories(splitter: str, n_levels: int) -> None:
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(n_levels), rng.integers(0, n_levels, 3 * n_levels)]
    frame = pd.DataFrame({"c": pd.Categorical([f"level {code:03}" for code in codes])})
    height = rng.normal(size=n_levels)
    kept = np.isin(np.char.mod("level %03d", codes), pooled_apart(frame))
    for model, y in (
        (DecisionTreeRegressor(splitter=splitter), height[codes]),
        (DecisionTreeClassifier(splitter=splitter), height[codes] > 0),
        (DecisionTreeClassifier(splitter=splitter), np.digitize(height, [-0.5, 0.5])[codes]),
        (DecisionStump(splitter=splitter), height[codes] > 0),
    ):
        model.fit(frame, y)
        np.testing.assert_allclose(model.predict(frame)[kept].astype(float), y[kept].astype(float))
        unseen = pd.DataFrame({"c": pd.Categorical(["never seen", None])})
        assert len(set(model.predict(unseen))) == 1


def pooled_apart(frame: pd.DataFrame) -> list[str]:
    """The levels that are not pooled with others: all of up to 254, else the most frequent."""
    return frame["c"].value_counts().sort_index().sort_values(ascending=False, kind="stable").index[:254].tolist()


def test_categories_are_known_by_value() -> None:
    fitted_on = pd.DataFrame({"c": pd.Categorical(np.where(LABELS, "a", "b"))})
    model = DecisionTreeClassifier().fit(fitted_on, LABELS)
    other_codes = pd.DataFrame({"c": pd.Categorical(["b", "a", "z", None], ["z", "b", "a"])})
    predictions = model.predict(other_codes)
    assert predictions[:2].tolist() == [0, 1]
    assert predictions[2] == predictions[3]  # unseen is missing
    with pytest.warns(UserWarning, match="'c' has values such as 1"):
        model.predict(pd.DataFrame({"c": [1]}))


@pytest.mark.parametrize("decades", [6, 12, 20])
def test_weights_of_many_decades_give_the_best_split(decades: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        weight = 10.0 ** rng.permutation(np.linspace(-decades, decades, N))
        tree = DecisionTreeRegressor(max_depth=1).fit(X, VALUES, sample_weight=weight).tree_
        best = max(exact_score(weight, X[:, f] <= x) for f in range(3) for x in np.sort(X[:, f])[:-1])
        result = exact_score(weight, X[:, tree.feature[0]] <= tree.threshold[0])
        unsplit = exact_score(weight, np.ones(N, bool))
        assert best - result <= (best - unsplit) * Fraction(1, 10**12)


def exact_score(weight: Any, goes_left: Any) -> Fraction:
    """Sum of (sum of w y)^2 / (sum of w) over the two sides, without any rounding."""
    score = Fraction(0)
    for side in (goes_left, ~goes_left):
        w = [Fraction(value) for value in weight[side].tolist()]
        g = sum((a * Fraction(y) for a, y in zip(w, VALUES[side].tolist(), strict=True)), Fraction(0))
        score += g * g / sum(w) if w else 0
    return score


@pytest.mark.parametrize("scale", [2.0**-330, 2.0**-100, 2.0**100, 2.0**325])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_the_scale_of_the_target_does_not_matter(criterion: str, scale: float) -> None:
    y = np.abs(VALUES) + 0.1
    model = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y * scale)
    expected = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y)
    np.testing.assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-9)


def test_targets_far_from_zero_are_split_as_those_near_it() -> None:
    steps = np.round(VALUES * 8)  # exact multiples of 1 / 8 stay exact beside 2**40
    near, far = (DecisionTreeRegressor(max_depth=3).fit(X, steps / 8 + offset) for offset in (0.0, 2.0**40))
    np.testing.assert_array_equal(near.tree_.threshold, far.tree_.threshold)


@every(TREES)
def test_more_columns_than_anyone_needs(cls: type[Any]) -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(3, 20_000))
    for splitter in ("best", "binned"):
        model = cls(splitter=splitter).fit(wide, [0, 1, 0])
        assert model.predict(wide).tolist() == [0, 1, 0]
        assert model.feature_importances_.size == 20_000
