"""BinMapper: bins of any number of distinct values, and tables that it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee.tree_engine.binning import BinMapper
from tests.bad_input import (
    N,
    X,
    nan,
    table,
)


@pytest.mark.parametrize("n_values", [254, 255, 256, 257, 65_535, 65_536, 65_537])
@pytest.mark.parametrize("max_bins", [255, None], ids=["binned", "exact"])
def test_numbers_of_distinct_values(n_values: int, max_bins: int | None) -> None:
    rng = np.random.default_rng(0)
    x = rng.permutation(n_values).astype(np.float64)
    matrix = BinMapper(max_bins).fit_transform(x[:, np.newaxis])
    codes = matrix.codes[0].astype(np.int64)
    assert matrix.n_bins.tolist() == [n_values if max_bins is None else min(n_values, max_bins)]
    assert np.all(np.diff(codes[np.argsort(x)]) >= 0)
    assert np.all((matrix.lower[codes] <= x) & (x <= matrix.upper[codes]))
    assert np.bincount(codes).min() >= 1


BAD_BINS = table(
    ("1-d", X[:, 0], {}, TypeError, "two-dimensional"),
    ("list", X.tolist(), {}, TypeError, "two-dimensional"),
    ("integers", np.ones((3, 1), int), {}, TypeError, "two-dimensional"),
    ("weights", X, {"sample_weight": np.ones(3)}, ValueError, "40 .*sample_weight .*3"),
    ("weights below zero", X, {"sample_weight": -np.ones(N)}, ValueError, "weight"),
    ("weights of zero", X, {"sample_weight": np.zeros(N)}, ValueError, "zero"),
    ("mask", X, {"is_categorical": np.ones(2, bool)}, ValueError, "3 columns"),
    ("codes too large", X * 0 + 255, {"is_categorical": np.ones(3, bool)}, ValueError, "0 to 254"),
    ("codes below zero", X * 0 - 1, {"is_categorical": np.ones(3, bool)}, ValueError, "0 to 254"),
    ("fractions", X * 0 + 0.5, {"is_categorical": np.ones(3, bool)}, ValueError, "0 to 254"),
)


@pytest.mark.parametrize(("features", "arguments", "error", "text"), BAD_BINS)
@pytest.mark.parametrize("max_bins", [255, None])
def test_bad_input_of_the_bin_mapper(
    max_bins: int | None, features: Any, arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        BinMapper(max_bins).fit_transform(features, **arguments)


@pytest.mark.parametrize("max_bins", [1, 256, 2.5, "255", nan, True])
def test_bad_numbers_of_bins(max_bins: Any) -> None:
    with pytest.raises(ValueError, match="max_bins"):
        BinMapper(max_bins)
