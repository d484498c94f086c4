"""SHAP values of any model, by sampling (Strumbelj and Kononenko 2010).

    1. draw a background row from the table, and an order of the columns
    2. replace its cells one by one, in that order, by those of the explained row
    3. attribute the change of the prediction to the column just replaced
    4. a SHAP value is the mean of these changes over many draws, with the standard error of that mean

The values of a row add up to its prediction minus the mean prediction of the backgrounds drawn. explain/shap.py
computes exact values of sums of trees, which condition on the paths of the trees instead of replacing cells.

Strumbelj and Kononenko, An efficient explanation of individual classifications using game theory, 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from committee.base.array_types import Floats
from committee.base.stats import standard_error
from committee.explain.tables import replace_columns
from committee.tabular.cells import Table
from committee.tabular.rows import take_rows
from committee.tabular.validation import native


class SampledShap(NamedTuple):
    """SHAP values of m rows and d columns, of one output or K."""

    values: Floats  # [m, d] or [m, d, K]
    standard_error: Floats  # the same shape, over the orders drawn; nan with a single one
    base: Floats  # [m] or [m, K], mean prediction of the backgrounds


def sampled_shap(
    predict: Callable[[Any], Floats], table: Table, rows: Sequence[int], *, n_orders: int = 20, seed: int = 0
) -> SampledShap:
    """Estimate the SHAP values of some rows of a table, with all its rows as background.

    Parameters
    ----------
    predict : function of a table that returns [n] or [n, K] predictions
    table : table opened by `committee.tabular.schema.open_table`
    rows : positions of the rows to explain
    n_orders : draws for each row; each needs d + 1 predictions
    seed : seed of the draws

    Returns
    -------
    SampledShap

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> found = sampled_shap(lambda X: 3.0 * X[:, 0], X, [3], n_orders=100)
    >>> found.values.round(1).tolist(), found.standard_error.round(2).tolist()
    ([[1.3, 0.0]], [[0.15, 0.0]])
    """
    result = [_one_row(predict, table, row, n_orders, seed + i) for i, row in enumerate(rows)]
    return SampledShap(*(np.stack(parts) for parts in zip(*result, strict=True)))


def _one_row(
    predict: Callable[[Any], Floats], table: Table, row: int, n_orders: int, seed: int
) -> tuple[Floats, Floats, Floats]:
    n, d = table.shape
    rng = np.random.default_rng(seed)
    order = np.array([rng.permutation(d) for _ in range(n_orders)])
    start = rng.integers(0, n, n_orders)
    step_of = np.argsort(order, axis=1)  # when each column is replaced
    is_replaced = step_of[:, np.newaxis, :] < np.arange(d + 1)[:, np.newaxis]  # [orders, steps, columns]
    place = np.where(is_replaced, row, start[:, np.newaxis, np.newaxis]).reshape(-1, d)
    predictions = np.asarray(predict(native(_gathered(table, place))), np.float64)
    predictions = predictions.reshape(n_orders, d + 1, *predictions.shape[1:])
    by_step = np.diff(predictions, axis=1)  # [orders, d(, K)]
    changes = by_step[np.arange(n_orders)[:, np.newaxis], step_of]  # the same by column
    return changes.mean(axis=0), standard_error(changes), predictions[:, 0].mean(axis=0)


def _gathered(table: Table, place: NDArray[np.int64]) -> Table:
    """The table whose cell (i, f) is the cell (place[i, f], f) of the one given."""
    n, n_wanted = table.shape[0], len(place)
    long = take_rows(table, np.arange(max(n, n_wanted)) % n)
    columns = {f: np.append(place[:, f], np.zeros(max(n - n_wanted, 0), np.int64)) for f in range(place.shape[1])}
    return take_rows(replace_columns(long, columns), np.arange(n_wanted))
