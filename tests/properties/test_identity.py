"""Equal rows have equal keys, whatever holds the table."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from committee.tabular.identity import content_order, distinct_rows, row_keys

cells = st.sampled_from([0.0, -0.0, 1.0, np.nan, -2.5])


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=30), st.integers(0, 2**31))
def test_distinct_rows_are_those_of_numpy_in_an_order_that_depends_on_values(
    rows: list[tuple[float, float]], seed: int
) -> None:
    X = np.array(rows)
    result = distinct_rows(X)
    plain = [tuple("nan" if np.isnan(cell) else cell + 0.0 for cell in row) for row in rows]
    assert result.n == len(set(plain))
    assert all(
        (plain[i] == plain[j]) == (result.of_row[i] == result.of_row[j]) for i, j in product(range(len(X)), repeat=2)
    )
    np.testing.assert_array_equal(result.first, [result.of_row.tolist().index(g) for g in range(result.n)])
    order = np.random.default_rng(seed).permutation(len(X))
    np.testing.assert_array_equal(distinct_rows(X[order]).of_row, result.of_row[order])
    weight = np.arange(1.0, len(X) + 1.0)
    np.testing.assert_allclose(result.total(weight), [weight[result.of_row == g].sum() for g in range(result.n)])


def test_arrays_frames_and_sparse_matrices_have_keys_of_their_values() -> None:
    X = np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 1.5]])
    names = ["a", "b"]
    frames: list[Any] = [
        X, X.astype(np.float32), X.astype(object), pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names), pa.table(dict(zip(names, X.T, strict=True))),
    ]  # fmt: skip
    for frame in frames:
        np.testing.assert_array_equal(row_keys(frame), row_keys(X))
    matrix = sparse.csr_matrix(X)
    assert row_keys(matrix)[0] == row_keys(matrix)[2] != row_keys(matrix)[1]


def test_texts_and_empty_cells_are_distinguished() -> None:
    values = ["x", "None", None, "nan", "y", "x"]
    for frame in (pl.DataFrame({"c": values}), pd.DataFrame({"c": values}), np.array(values, object)[:, np.newaxis]):
        keys = row_keys(frame)
        assert np.unique(keys).size == 5
        assert keys[0] == keys[5]


def test_keys_stay_what_they_were_since_model_files_hold_them() -> None:
    table = pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "y"], "c": [True, False, True]})
    assert row_keys(table, np.array([0.5, 1.5, 2.5])).tolist() == [
        0xDF9324B728B2D20,
        0x81B0A08C6C5B78CE,
        0xB0AAD9BEC446A1D3,
    ]


@given(st.integers(2, 50), st.integers(0, 2**31))
def test_equal_rows_are_neighbours_in_the_order_of_content(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 3, (n, 2)).astype(float), rng.integers(0, 2, n)
    rows = [tuple(row) for row in np.column_stack([X, y])[content_order(X, y)].tolist()]
    n_runs = 1 + sum(a != b for a, b in pairwise(rows))
    assert n_runs == len(set(rows))


@pytest.mark.parametrize("levels", [2, 5, 100])
def test_tables_of_small_integers_have_no_equal_keys_by_accident(levels: int) -> None:
    d = {2: 16, 5: 7, 100: 2}[levels]
    X = np.array(list(product(range(levels), repeat=d)), float)
    assert np.unique(row_keys(X)).size == len(X)
