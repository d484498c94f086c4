"""Splits are partitions that depend on the values of the rows, their weights as repetition, and the seed alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from committee.sampling.splits import (
    NOT_TESTED,
    RowsToSplit,
    Split,
    fold_numbers,
    forward_stretches,
    given_splits,
    group_folds,
    hold_out,
    k_folds,
    rows_to_split,
)

seeds = st.none() | st.integers(0, 2**31)
modes = st.sampled_from(["together", "apart"])


@st.composite
def tables(draw: Any, least: int = 4, most: int = 40) -> tuple[Any, Any]:
    """A table of few values, so that rows repeat, and its classes."""
    n = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(0, draw(st.integers(2, 30)), (n, draw(st.integers(1, 3)))).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, rng.integers(0, draw(st.integers(1, 4)), n)


def contents(X: Any, y: Any, split: Split) -> list[list[tuple[float, ...]]]:
    """The values of the training and the test rows, sorted."""
    rows = np.nan_to_num(np.column_stack([X, y]), nan=-1.0)
    return [sorted(map(tuple, rows[part].tolist())) for part in split]


def assert_partition(splits: list[Split], counted: Any) -> None:
    for train, test in splits:
        np.testing.assert_array_equal(np.union1d(train, test), counted)
        assert np.intersect1d(train, test).size == 0
        assert train.size > 0
        assert test.size > 0
    if splits:
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), counted)


@given(tables(), st.integers(2, 8), seeds, modes, st.booleans())
def test_folds_are_a_partition_of_the_rows_with_weight(
    table: tuple[Any, Any], k: int, seed: int | None, mode: Any, every_class: bool
) -> None:
    X, y = table
    weight = (np.arange(y.size) % 4).astype(np.float64)
    rows = rows_to_split(X, y, weight, is_class=True)
    splits = k_folds(rows, k, seed, equal_rows=mode, every_class=every_class)
    assert len(splits) <= k
    assert_partition(splits, np.flatnonzero(weight))
    if every_class:
        assert all(np.array_equal(np.unique(y[train]), np.unique(y[weight > 0])) for train, _ in splits)
    fold = fold_numbers(splits, y.size)
    assert all(np.array_equal(np.flatnonzero(fold == f), test) for f, (_, test) in enumerate(splits))
    assert np.all(fold[weight == 0.0] == NOT_TESTED)


@given(tables(), st.floats(0.01, 0.9), seeds, modes)
def test_a_hold_out_is_a_partition_and_keeps_every_class(
    table: tuple[Any, Any], fraction: float, seed: int | None, mode: Any
) -> None:
    X, y = table
    rows = rows_to_split(X, y, is_class=True)
    split = hold_out(rows, fraction, seed, equal_rows=mode)
    if split is None:
        return
    train, test = split
    np.testing.assert_array_equal(np.union1d(train, test), np.arange(y.size))
    assert train.size + test.size == y.size
    np.testing.assert_array_equal(np.unique(y[train]), np.unique(y))


def test_a_hold_out_is_the_fraction_of_every_class() -> None:
    y = np.repeat([0, 1, 2], [500, 300, 100])
    rows = rows_to_split(np.random.default_rng(0).normal(size=(900, 2)), y, is_class=True)
    for fraction in (0.1, 0.25, 0.5):
        split = hold_out(rows, fraction, seed=1)
        assert split is not None
        assert np.all(np.abs(np.bincount(y[split.test]) - fraction * np.bincount(y)) <= 1.0)


@given(tables(), st.integers(2, 8), seeds, modes)
def test_the_order_of_the_rows_does_not_matter(table: tuple[Any, Any], k: int, seed: int | None, mode: Any) -> None:
    X, y = table
    other = np.random.default_rng(1).permutation(y.size)
    rows, shuffled = (rows_to_split(X[o], y[o], is_class=True) for o in (np.arange(y.size), other))
    one, two = (k_folds(each, k, seed, equal_rows=mode) for each in (rows, shuffled))
    assert [contents(X, y, split) for split in one] == [contents(X[other], y[other], split) for split in two]
    held_out = [hold_out(each, 0.3, seed, equal_rows=mode) for each in (rows, shuffled)]
    assert (held_out[0] is None) == (held_out[1] is None)
    if held_out[0] is not None and held_out[1] is not None:
        assert contents(X, y, held_out[0]) == contents(X[other], y[other], held_out[1])


@given(tables(), st.integers(2, 8), seeds, modes)
def test_weights_of_equal_rows_are_divided_the_same_way_in_any_order(
    table: tuple[Any, Any], k: int, seed: int | None, mode: Any
) -> None:
    X, y = table
    weight = 1.0 + (np.arange(y.size) % 3)
    other = np.random.default_rng(2).permutation(y.size)
    result = [
        [contents(X[o], np.column_stack([y, weight])[o], split) for split in
         k_folds(rows_to_split(X[o], y[o], weight[o], is_class=True), k, seed, equal_rows=mode)]
        for o in (np.arange(y.size), other)
    ]  # fmt: skip
    assert result[0] == result[1]


@given(tables(), st.integers(2, 8), seeds)
def test_together_a_weight_is_the_same_as_copies(table: tuple[Any, Any], k: int, seed: int | None) -> None:
    X, y = table
    weight = np.arange(y.size) % 4
    copies = np.repeat(np.arange(y.size), weight)
    weighted = rows_to_split(X, y, weight.astype(np.float64), is_class=True)
    repeated = rows_to_split(X[copies], y[copies], is_class=True)
    one, two = k_folds(weighted, k, seed), k_folds(repeated, k, seed)
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        wanted = [np.repeat(part, weight[part]) for part in a]
        assert contents(X, y, Split(*wanted)) == contents(X[copies], y[copies], b)
    a, b = hold_out(weighted, 0.4, seed), hold_out(repeated, 0.4, seed)
    assert (a is None) == (b is None)
    if a is not None and b is not None:
        assert contents(X, y, Split(*(np.repeat(part, weight[part]) for part in a))) == contents(
            X[copies], y[copies], b
        )


@given(tables(), st.integers(2, 8), seeds)
def test_together_no_training_row_has_the_features_of_a_test_row(
    table: tuple[Any, Any], k: int, seed: int | None
) -> None:
    X, y = table
    rows = rows_to_split(X, y, is_class=True)
    features = [tuple(row) for row in np.nan_to_num(X, nan=-1.0).tolist()]
    held_out = hold_out(rows, 0.3, seed)
    for train, test in [*k_folds(rows, k, seed), *([] if held_out is None else [held_out])]:
        assert not {features[i] for i in train} & {features[i] for i in test}


@given(tables(least=12), st.integers(2, 4), seeds)
def test_apart_every_class_is_spread_evenly(table: tuple[Any, Any], k: int, seed: int | None) -> None:
    X, y = table
    rows = rows_to_split(X, y, is_class=True)
    splits = k_folds(rows, k, seed, equal_rows="apart")
    for _, test in splits:
        counts, total = (np.bincount(some, minlength=4) for some in (y[test], y))
        assert np.all(np.abs(counts - total / len(splits)) < 1.0)


@given(st.integers(10, 60), st.integers(2, 5), st.integers(0, 2**31))
def test_together_distinct_rows_of_a_class_are_spread_evenly(n: int, k: int, seed: int) -> None:
    y = np.random.default_rng(seed).integers(0, 3, n)
    rows = rows_to_split(np.arange(float(n))[:, np.newaxis], y, is_class=True)
    for _, test in k_folds(rows, k, seed):
        assert np.all(np.abs(np.bincount(y[test], minlength=3) - np.bincount(y, minlength=3) / k) < 1.0)


def test_apart_copies_go_to_different_folds_and_together_to_the_same() -> None:
    y = np.repeat(np.arange(20.0), 5)
    rows = rows_to_split(y[:, np.newaxis], y, is_class=False)
    for _, test in k_folds(rows, 5, seed=0, equal_rows="apart"):
        np.testing.assert_array_equal(np.sort(y[test]), np.arange(20.0))
    for _, test in k_folds(rows, 5, seed=0):
        assert np.unique(y[test], return_counts=True)[1].tolist() == [5] * 4


def test_targets_do_not_distinguish_rows() -> None:
    X, y = np.repeat(np.arange(10.0), 4)[:, np.newaxis], np.tile([0, 1, 1, 2], 10)
    for train, test in k_folds(rows_to_split(X, y, is_class=True), 5, seed=0):
        assert not set(X[train, 0]) & set(X[test, 0])


def test_the_fraction_held_out_is_the_one_requested() -> None:
    rows = rows_to_split(np.arange(1000.0)[:, np.newaxis], np.arange(1000.0), is_class=False)
    for fraction, n in ((0.1, 100), (0.25, 250), (0.999, 999), (0.9999, 999), (1e-9, 1)):
        split = hold_out(rows, fraction, seed=0)
        assert split is not None
        assert split.test.size == n
    assert hold_out(rows.take([0]), 0.5, seed=0) is None


def test_seeds_make_different_folds_and_the_same_seed_the_same() -> None:
    rows = rows_to_split(np.arange(50.0)[:, np.newaxis], np.arange(50.0), is_class=False)
    first, again, other = (k_folds(rows, 5, seed)[0].test for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_some_rows_are_split_like_a_table_of_their_own() -> None:
    X, y = np.arange(20.0)[:, np.newaxis], np.arange(20) % 2
    rows: RowsToSplit = rows_to_split(X, y, is_class=True)
    some = rows.take(np.arange(6))
    assert some.n_units == 6
    assert_partition(k_folds(some, 3), np.sort(rows.row[:6]))


@given(st.integers(6, 40), st.integers(2, 3), st.integers(0, 2**31), st.booleans())
def test_groups_stay_together(n: int, k: int, seed: int, has_codes: bool) -> None:
    rng = np.random.default_rng(seed)
    groups = np.unique(rng.integers(0, 8, n), return_inverse=True)[1].ravel()
    if groups.max() + 1 < k:
        return
    splits = group_folds(groups, k, seed, rng.integers(0, 2, n) if has_codes else None)
    assert len(splits) == k
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(n))
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])


@given(st.integers(12, 60), st.integers(1, 4), st.floats(0.0, 0.4), st.integers(0, 2**31))
def test_forward_in_time_no_training_row_is_later_than_a_test_row(n: int, k: int, fraction: float, seed: int) -> None:
    times = np.random.default_rng(seed).integers(0, 40, n)
    try:
        stretch = forward_stretches(times, k, fraction)
    except ValueError:
        assert np.unique(times).size < n
        return
    for fold in range(k + (stretch.max() == k)):
        assert times[stretch < fold].max() < times[stretch == fold].min()


@pytest.mark.parametrize("of", ["positions", "masks"])
def test_given_splits_lose_rows_without_weight_and_parts_that_test_nothing(of: str) -> None:
    weight = np.array([1.0, 0.0, 2.0, 0.0, 1.0])
    pairs: list[Any] = [(np.array([0, 1, 2]), np.array([3, 4])), (np.array([0, 4]), np.array([1, 3]))]
    if of == "masks":
        pairs = [tuple(np.isin(np.arange(5), part) for part in pair) for pair in pairs]
    result = given_splits(pairs, np.zeros((5, 1)), np.zeros(5), weight)
    assert [[part.tolist() for part in split] for split in result] == [[[0, 2], [4]]]


@pytest.mark.parametrize("pairs", [[], [(np.array([1]), np.array([0]))], [(np.array([0]), np.array([1]))]])
def test_given_splits_must_leave_rows_to_fit_on_and_to_test(pairs: Any) -> None:
    with pytest.raises(ValueError, match="positive weight"):
        given_splits(pairs, np.zeros((2, 1)), np.zeros(2), np.array([1.0, 0.0]))
