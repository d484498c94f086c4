"""Bins: the twin's bins, what weights and missing values mean, and that codes keep the order of values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from committee.records.binned import BinnedMatrix
from committee.tree_engine import binning
from committee.tree_engine.binning import BinMapper
from tests.naive.binning import naive_bins, naive_codes

Floats = NDArray[np.float64]

EXTREMES = [0.0, -0.0, 1e-320, -5e-324, 1e-300, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), -1e308, 1.7e308]
NUMBERS = st.one_of(
    st.integers(-20, 20).map(float),
    st.sampled_from(EXTREMES),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
VALUES = st.one_of(NUMBERS, NUMBERS, NUMBERS, st.just(np.nan))


@st.composite
def columns(draw: st.DrawFn, min_size: int = 1, max_size: int = 120) -> Floats:
    """One column: a few values again and again, or anything."""
    n = draw(st.integers(min_size, max_size))
    if draw(st.booleans()):
        pool = draw(st.lists(VALUES, min_size=1, max_size=12))
        return np.array(draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n)), np.float64)
    return draw(arrays(np.float64, n, elements=VALUES))


@st.composite
def weighted_columns(draw: st.DrawFn) -> tuple[Floats, NDArray[np.int64]]:
    values = draw(columns())
    times = draw(arrays(np.int64, values.size, elements=st.integers(0, 4)))
    times[draw(st.integers(0, values.size - 1))] = 1
    return values, times


def bin_column(values: NDArray[np.floating], weight: Floats | None, max_bins: int | None) -> BinnedMatrix:
    return BinMapper(max_bins).fit_transform(values.reshape(-1, 1), weight)


def assert_same_bins(a: BinnedMatrix, b: BinnedMatrix) -> None:
    np.testing.assert_array_equal(a.lower, b.lower)
    np.testing.assert_array_equal(a.upper, b.upper)
    np.testing.assert_array_equal(a.n_bins, b.n_bins)


@settings(max_examples=150)
@given(weighted_columns(), st.integers(2, 20))
def test_bins_and_codes_are_the_twins(column: tuple[Floats, NDArray[np.int64]], max_bins: int) -> None:
    values, times = column
    for weight in (None, times.astype(float), times / 8):
        matrix = bin_column(values, weight, max_bins)
        lower, upper = naive_bins(values, weight, max_bins)
        np.testing.assert_array_equal(matrix.lower, lower)
        np.testing.assert_array_equal(matrix.upper, upper)
        np.testing.assert_array_equal(matrix.codes[0], naive_codes(values, lower, upper))
        assert matrix.n_bins[0] == len(lower) <= max_bins


@settings(max_examples=150)
@given(weighted_columns(), st.integers(2, 20))
def test_integer_weights_are_repeated_rows(column: tuple[Floats, NDArray[np.int64]], max_bins: int) -> None:
    values, times = column
    weighted = bin_column(values, times.astype(float), max_bins)
    repeated = bin_column(np.repeat(values, times), None, max_bins)
    assert_same_bins(weighted, repeated)
    np.testing.assert_array_equal(np.repeat(weighted.codes[0], times), repeated.codes[0])


@given(weighted_columns(), st.integers(2, 20), columns())
def test_rows_of_no_weight_count_for_nothing(
    column: tuple[Floats, NDArray[np.int64]], max_bins: int, others: Floats
) -> None:
    values, times = column
    alone = bin_column(values, times.astype(float), max_bins)
    both = bin_column(np.append(values, others), np.append(times, np.zeros(others.size)).astype(float), max_bins)
    assert_same_bins(alone, both)
    np.testing.assert_array_equal(both.codes[0, : values.size], alone.codes[0])


@settings(max_examples=100)
@given(columns(), st.sampled_from([np.float32, np.float64]), st.sampled_from([3, 255, None]))
def test_codes_keep_the_order_of_values(values: Floats, dtype: type, max_bins: int | None) -> None:
    """x < y never gets code(x) > code(y), equal values get equal codes, and with a bin each code(x) < code(y)."""
    with np.errstate(over="ignore"):
        typed = values.astype(dtype)
    typed = np.where(np.isinf(typed), dtype(0), typed).astype(dtype)
    matrix = bin_column(typed, None, max_bins)
    codes, is_missing = matrix.codes[0].astype(np.int64), np.isnan(typed)
    np.testing.assert_array_equal(codes[is_missing], matrix.n_bins[0])
    order = np.argsort(typed[~is_missing], kind="stable")
    steps, code_steps = np.diff(typed[~is_missing][order].astype(np.float64)), np.diff(codes[~is_missing][order])
    assert np.all(code_steps[steps == 0] == 0)
    assert np.all(code_steps >= 0)
    if max_bins is None or np.unique(typed[~is_missing]).size <= max_bins:
        assert np.all(code_steps[steps > 0] == 1)


@given(columns(), st.integers(2, 255))
def test_few_distinct_values_have_a_bin_each(values: Floats, max_bins: int) -> None:
    """Then the binned codes are the ranks of the exact ones."""
    distinct = np.unique(values[~np.isnan(values)])
    binned, exact = bin_column(values, None, max_bins), bin_column(values, None, None)
    assert_same_bins(exact, exact._replace(lower=distinct, upper=distinct))
    if distinct.size <= max_bins:
        assert_same_bins(binned, exact)
        np.testing.assert_array_equal(binned.codes, exact.codes)
    else:
        # Two bins cannot set a heavy value apart from both of its neighbours; three can.
        assert min(max_bins - 1, 2) <= binned.n_bins[0] <= max_bins


@given(columns(min_size=2), st.integers(2, 20), st.sampled_from([np.float32, np.float64]))
def test_bins_distinguish_what_they_say(values: Floats, max_bins: int, dtype: type) -> None:
    """lower and upper are training values, every row lies between those of its bin, and bins do not overlap."""
    values = np.clip(values, -1e30, 1e30).astype(dtype)
    matrix = bin_column(values, None, max_bins)
    codes, is_missing = matrix.codes[0], np.isnan(values)
    present, inside = values[~is_missing].astype(np.float64), codes[~is_missing]
    assert np.all((matrix.lower[inside] <= present) & (present <= matrix.upper[inside]))
    assert np.all(matrix.upper[:-1] < matrix.lower[1:])
    assert np.isin(matrix.lower, present).all()
    assert np.isin(matrix.upper, present).all()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_layout_and_threads_change_no_code(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(int(rng.integers(1, 400)), int(rng.integers(1, 9)))), int(rng.integers(0, 4)))
    X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.integers(0, 3, len(X)).astype(float)
    for max_bins in (5, 255, None):
        one = BinMapper(max_bins).fit_transform(X, w)
        two = BinMapper(max_bins).fit_transform(np.asfortranarray(X), w, n_jobs=2)
        assert_same_bins(one, two)
        np.testing.assert_array_equal(one.codes, two.codes)


def test_large_tables_are_sampled_alike_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows in every call, whatever else is drawn; quantiles of the sample, within its error of the table's."""
    monkeypatch.setattr(binning, "SAMPLE_ROWS", 2000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2))
    first = BinMapper(16).fit_transform(X)
    np.random.default_rng(1).normal(size=10)
    again = BinMapper(16).fit_transform(X)
    assert_same_bins(first, again)
    np.testing.assert_array_equal(first.codes, again.codes)
    shares = np.array([np.bincount(codes, minlength=16) for codes in first.codes]) / len(X)
    # the standard error of a quantile's share from 2000 rows is at most 0.5 / sqrt(2000) = 0.011 on either side
    np.testing.assert_allclose(shares, 1 / 16, atol=0.04)
    assert not np.allclose(shares, 1 / 16, atol=1e-4)  # it was a sample


def test_rows_of_no_weight_are_never_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "SAMPLE_ROWS", 500)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 1))
    alone = BinMapper(16).fit_transform(X, np.ones(3000))
    mixed = np.repeat(X, 2, axis=0)
    mixed[1::2] = 99.0
    both = BinMapper(16).fit_transform(mixed, np.tile([1.0, 0.0], 3000))
    assert_same_bins(alone, both)
    assert_same_bins(alone, BinMapper(16).fit_transform(X))
