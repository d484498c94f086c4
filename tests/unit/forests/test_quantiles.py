"""Quantiles and intervals of forests: bad levels, and what a fit must keep for them."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from committee import RandomForestRegressor
from tests.bad_input import (
    VALUES,
    N,
    X,
    nan,
)
from tests.catalog import REGRESSORS, among, every, target_of
from tests.catalog import make as small

make = partial(small, n_estimators=8, bootstrap=True)


@cache
def fitted(cls: type[Any]) -> Any:
    return make(cls, keep_leaf_samples=True).fit(X, target_of(cls))


@pytest.mark.parametrize("quantiles", [0.0, 1.0, [0.5, nan], -1.0, [[0.1, 0.9]]])
def test_bad_quantiles_are_rejected(quantiles: Any) -> None:
    with pytest.raises(ValueError, match="quantiles"):
        fitted(RandomForestRegressor).predict_quantiles(X, quantiles)
    with pytest.raises(ValueError, match="keep_leaf_samples=True"):
        make(RandomForestRegressor).fit(X, VALUES).predict_quantiles(X, calibration=None)


@pytest.mark.parametrize("coverage", [0.0, 1.0, nan, -0.5, 90])
def test_bad_coverage_is_rejected(coverage: float) -> None:
    with pytest.raises(ValueError, match="level"):
        fitted(RandomForestRegressor).predict_interval(X, coverage)


@every(among("committee.forests", classes=REGRESSORS))
def test_intervals_need_the_out_of_bag_errors_of_this_fit(cls: type[Any]) -> None:
    model = make(cls).fit(X, VALUES)
    assert model.predict_interval(X).shape == (N, 2)
    model.set_params(oob_score=False).fit(X, VALUES)
    with pytest.raises(ValueError, match=r"bootstrap=True.*oob_score"):
        model.predict_interval(X)


def test_leaf_samples_requested_in_a_warm_start() -> None:
    expected = fitted(RandomForestRegressor).predict_quantiles(X)
    model = make(RandomForestRegressor, n_estimators=4, warm_start=True).fit(X, VALUES)
    model.set_params(n_estimators=8, keep_leaf_samples=True).fit(X, VALUES)
    np.testing.assert_array_equal(model.predict_quantiles(X), expected)
    model.set_params(n_estimators=9, keep_leaf_samples=False).fit(X, VALUES)
    with pytest.raises(ValueError, match="keep_leaf_samples=True"):
        model.predict_quantiles(X, calibration="oob")
    np.testing.assert_array_equal(model.predict_quantiles(X, [0.05, 0.95]), model.predict_interval(X, 0.9))
