"""Of many categories those of few rows in a node go right together: forests do not cut by the noise of single rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import RandomForestClassifier, RandomForestRegressor
from committee.datasets import load_dataset
from committee.forests.random_forest import RARE_CATEGORY

Floats = NDArray[np.float64]


def squares(y: Floats, w: Floats) -> float:
    return float(w @ (y - np.average(y, weights=w)) ** 2) if w.sum() else 0.0


def best_left_set(codes: NDArray[np.int64], y: Floats, w: Floats, least: float) -> set[int]:
    """Of all prefixes of the categories in the order of their means, the rare ones last and together, the best."""
    weight = np.bincount(codes, w)
    mean = np.bincount(codes, w * y) / np.maximum(weight, 1e-300)
    common = [int(c) for c in np.argsort(mean, kind="stable") if weight[c] >= least]
    cuts = [set(common[: k + 1]) for k in range(len(common) - (not np.any((weight > 0) & (weight < least))))]
    rest = [squares(y[is_left], w[is_left]) + squares(y[~is_left], w[~is_left])
            for is_left in (np.isin(codes, list(cut)) for cut in cuts)]  # fmt: skip
    return cuts[int(np.argmin(rest))]


def root_split(codes: NDArray[np.int64], y: Floats, w: Floats | None, is_class: bool) -> set[int]:
    """The categories that a forest of one stump sends left."""
    kind = RandomForestClassifier if is_class else RandomForestRegressor
    forest = kind(1, bootstrap=False, max_depth=1, max_features=None, categorical_features=[0], random_state=0)
    forest.fit(codes[:, np.newaxis].astype(float), y.astype(int) if is_class else y, sample_weight=w)
    seen = np.unique(codes)
    leaf = forest.apply(seen[:, np.newaxis].astype(float))[:, 0]
    return set(seen[leaf == leaf.min()].tolist())  # the left child comes first


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("weights", ["none", "whole", "equal parts"])
@pytest.mark.parametrize("n_categories", [11, 25])
def test_the_root_takes_the_best_cut_with_rare_categories_on_the_right(is_class: bool, weights: str, n_categories: int):
    n_with_rare = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        codes = rng.choice(n_categories, 90, p=rng.dirichlet(np.full(n_categories, 0.7)))
        codes[:n_categories] = np.arange(n_categories)
        y = np.sin(codes) + rng.normal(0, 1.0, 90)
        y = (y > 0.2).astype(float) if is_class else y
        w = {"none": None, "whole": rng.integers(1, 3, 90).astype(float), "equal parts": np.full(90, 1.0 / 90)}[weights]
        given = np.ones(90) if w is None or weights == "equal parts" else w
        n_with_rare += int(np.any((np.bincount(codes, given) > 0) & (np.bincount(codes, given) < RARE_CATEGORY)))
        assert root_split(codes, y, w, is_class) == best_left_set(codes, y, given, RARE_CATEGORY)
    assert n_with_rare > 6


def test_few_categories_are_cut_however_rare():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(10), [30, 30, 20, 2, 2, 2, 1, 1, 1, 1])
    y = np.where(codes == 3, -9.0, 0.0) + rng.normal(0, 0.1, codes.size)
    assert root_split(codes, y, None, False) == {3}
    many = np.append(codes, np.full(30, 10))
    assert 3 not in root_split(many, np.append(y, rng.normal(0, 0.1, 30)), None, False)


def test_whole_weights_are_repetition_with_rare_categories_too():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 15, 80), rng.normal(size=80)]).astype(float)
    y, w = X[:, 1] + np.cos(X[:, 0]) + rng.normal(0, 0.3, 80), rng.integers(0, 4, 80)
    forest = RandomForestRegressor(5, categorical_features=[0], random_state=0)
    weighted = forest.fit(X, y, sample_weight=w.astype(float)).predict(X)
    repeated = forest.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict(X)
    np.testing.assert_array_equal(weighted, repeated)


def test_a_column_of_many_categories_does_not_drown_the_others():
    ozone = load_dataset("ozone", as_frame=True)
    settings = {"n_estimators": 100, "random_state": 0}
    with_days = RandomForestRegressor(**settings).fit(ozone.X, ozone.y).oob_error_
    without = RandomForestRegressor(**settings).fit(ozone.X.drop(columns="V2"), ozone.y).oob_error_
    assert with_days < 1.1 * without  # the day of the month, 31 categories; 1.5 when each had a side of its own
