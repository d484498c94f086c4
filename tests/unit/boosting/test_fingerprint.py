"""The checksum of a table: of its values, not of how they are held."""

from __future__ import annotations

import numpy as np
import pytest

from committee.ensemble.warm_start import MAX_ROWS, table_checksum

TABLE = np.round(np.random.default_rng(0).normal(size=(50, 3)), 1).astype(np.float32)
TABLE[3, 1], TABLE[5, 0] = np.nan, 0.0


def test_the_same_values_have_the_same_checksum() -> None:
    known = table_checksum(TABLE)
    negative_zero = np.where(TABLE == 0.0, np.float32(-0.0), TABLE)
    for same in (TABLE.astype(np.float64), np.asfortranarray(TABLE), np.repeat(TABLE, 2, axis=0)[::2], negative_zero):
        assert table_checksum(same) == known


@pytest.mark.parametrize("cell", [(0, 0), (3, 1), (49, 2)])
def test_one_other_value_is_noticed(cell: tuple[int, int]) -> None:
    other = TABLE.copy()
    other[cell] = 7.0
    assert table_checksum(other) != table_checksum(TABLE)


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0]])
def test_the_order_of_rows_and_columns_counts(order: list[int]) -> None:
    assert table_checksum(TABLE[:, order]) != table_checksum(TABLE)
    assert table_checksum(TABLE[[*order, *range(3, 50)]]) != table_checksum(TABLE)


def test_of_a_large_table_a_part_is_looked_at() -> None:
    large = np.arange(5.0 * MAX_ROWS)[:, np.newaxis]
    moved = large.copy()
    moved[1::5] += 1.0
    assert table_checksum(moved) == table_checksum(large)
    assert table_checksum(moved + 1.0) != table_checksum(large)
