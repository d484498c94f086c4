"""Result tables: the same text with and without pandas and polars, and conversion to either."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

from committee.records.result_table import ResultTable


@pytest.fixture
def table() -> ResultTable:
    return ResultTable({"name": ["b", "a", "c"], "error": [0.25, np.nan, 0.125], "pair": [[1, 2], [3, 4], [5, 6]]})


def test_text_is_aligned_and_flat(table):
    assert str(table).splitlines() == [
        "name  error  pair_0  pair_1",
        "   b   0.25       1       2",
        "   a    nan       3       4",
        "   c  0.125       5       6",
    ]


def test_long_tables_print_their_ends():
    lines = str(ResultTable({"i": np.arange(100)})).splitlines()
    assert lines[10].strip() == "9"
    assert lines[11] == "... 80 more rows ..."
    assert lines[-1].strip() == "99"


def test_parts(table):
    assert table.select("error", "name").head(1) == ResultTable({"error": [0.25], "name": ["b"]})
    assert table.take([-1, 0]).name.tolist() == ["c", "b"]
    assert table.tail(2).name.tolist() == ["a", "c"]
    assert table.tail(9).height == table.head(9).height == 3
    with pytest.raises(KeyError):
        table.select("nothing")


@pytest.mark.parametrize(("by", "descending", "order"), [
    ("name", False, "abc"), ("name", True, "cba"), ("error", False, "cba"), ("error", True, "bca"),
])  # fmt: skip
def test_sorting_puts_nan_last(table, by, descending, order):
    assert "".join(table.sort(by, descending).name) == order


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_conversion(table, library, monkeypatch):
    pytest.importorskip(library)
    frame = getattr(table, f"to_{library}")()
    assert type(frame).__module__.startswith(library)
    assert list(frame.columns) == ["name", "error", "pair_0", "pair_1"]
    assert list(frame["name"]) == ["b", "a", "c"]
    assert frame["pair_1"].to_list() == [2, 4, 6]
    monkeypatch.setitem(sys.modules, library, None)  # as if it were not installed
    with pytest.raises(ImportError, match=f"pip install {library}"):
        getattr(table, f"to_{library}")()


def test_every_result_with_a_table_converts():
    """Results of explanations and studies name the same three methods."""
    from committee.evaluation.bootstrap import Bootstrap
    from committee.explain.forest_importances import ForestImportances
    from committee.explain.importances import Importances, PermutationImportances

    for result in (Importances, PermutationImportances, ForestImportances, Bootstrap):
        assert all(callable(getattr(result, name)) for name in ("to_table", "to_pandas", "to_polars"))
        assert not hasattr(result, "to_frame")


def test_columns_stay_read_only_when_they_are_pickled(table):
    for copied in (pickle.loads(pickle.dumps(table)), copy.deepcopy(table)):
        assert copied == table
        with pytest.raises(ValueError, match="read-only"):
            copied.error[0] = 0.0
