"""The table's way to floats: every container, every dtype, categories by value, and what is refused."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from committee.tabular.cells import factorize, find_infinity
from committee.tabular.schema import (
    MAX_CELLS,
    MAX_ROWS,
    Categories,
    Columns,
    encode,
    fit_columns,
    fit_encode,
)

nan = np.nan


def numeric(d: int) -> Columns:
    return Columns(d, None, (None,) * d)


def test_columns_are_plain_values():
    columns = fit_columns(pd.DataFrame({"a": [1.5, 2.5], "c": pd.Categorical(["u", "v"])}))
    assert columns == Columns(2, ("a", "c"), (None, Categories(("u", "v"))))
    assert pickle.loads(pickle.dumps(columns)) == columns
    assert hash(columns) == hash(pickle.loads(pickle.dumps(columns)))
    assert columns.is_categorical.tolist() == [False, True]
    assert (columns.name(0), columns.n_codes(0), columns.category_names(0)) == ("a", 0, [])
    assert (columns.name(1), columns.n_codes(1), columns.category_names(1)) == ("c", 2, ["u", "v"])
    with pytest.raises(AttributeError):
        columns.names = None  # type: ignore[misc]


def test_names_without_names():
    columns = fit_columns(np.array([[1.0, 3.0], [2.0, 0.5]]), categorical_features=[1])
    assert columns.names is None
    assert columns.name(1) == "x[1]"
    assert columns.category_names(1) == ["0.5", "3"]
    assert fit_columns(pd.DataFrame(np.ones((2, 2)))).names is None  # names that are numbers are no names


# --- dtypes ----------------------------------------------------------------------------------------------------------

DTYPES = [
    ("float64", np.array([[1.5, nan]]), np.float64),
    ("float32", np.array([[1.5, nan]], np.float32), np.float32),
    ("float16", np.array([[1.5, nan]], np.float16), np.float32),
    ("long double", np.array([[1.5, nan]], np.longdouble), np.float64),
    ("int64", np.array([[1, 2]]), np.float64),
    ("int8", np.array([[1, -2]], np.int8), np.float64),
    ("uint64", np.array([[1, 2**53]], np.uint64), np.float64),
    ("bool", np.array([[True, False]]), np.float64),
    ("big endian", np.array([[1.5, nan]], ">f8"), np.float64),
    ("objects", np.array([[1.5, None], [2, Decimal("0.5")], [Fraction(1, 4), pd.NA]], object), np.float64),
    ("lists", [[1, 2.5], [3, None]], np.float64),
    ("tuple of arrays", (np.array([1, 2]), np.array([3, 4])), np.float64),
    ("masked", np.ma.masked_array([[1, 2]], [[False, True]]), np.float64),
    ("masked float32", np.ma.masked_array(np.array([[1, 2]], np.float32), [[False, True]]), np.float32),
    ("nothing masked", np.ma.masked_array(np.array([[1, 2]], np.float32)), np.float32),
]


@pytest.mark.parametrize(("X", "dtype"), [case[1:] for case in DTYPES], ids=[case[0] for case in DTYPES])
def test_dtype_of_array(X: Any, dtype: type):
    columns, out = fit_encode(X)
    rows = X.tolist() if isinstance(X, np.ma.MaskedArray) else X  # None where masked
    expected = [[nan if value is None or value is pd.NA else float(value) for value in row] for row in rows]
    np.testing.assert_array_equal(out, expected)
    assert out.dtype == dtype
    assert out.dtype.isnative
    assert columns == numeric(2)
    np.testing.assert_array_equal(encode(columns, X), out)


FRAMES = [
    ("pandas floats", pd.DataFrame({"a": [1.5, nan], "b": [2.0, 3.0]}), np.float64, [[1.5, 2], [nan, 3]]),
    ("pandas float32", pd.DataFrame({"a": np.array([1, 2], np.float32)}), np.float32, [[1], [2]]),
    ("pandas float16", pd.DataFrame({"a": np.array([1, 2], np.float16)}), np.float32, [[1], [2]]),
    ("pandas ints", pd.DataFrame({"a": [1, 2]}), np.float64, [[1], [2]]),
    (
        "pandas mixed",
        pd.DataFrame({"a": np.array([1, 2], np.float32), "b": [3, 4], "c": [True, False]}),
        np.float64,
        [[1, 3, 1], [2, 4, 0]],
    ),
    (
        "pandas nullable",
        pd.DataFrame(
            {
                "a": pd.array([1, None], dtype="Int64"),
                "b": pd.array([None, True], dtype="boolean"),
                "c": pd.array([0.5, None], dtype="Float64"),
                "d": pd.array([0.5, None], dtype="Float32"),
            }
        ),
        np.float64,
        [[1, nan, 0.5, 0.5], [nan, 1, nan, nan]],
    ),
    ("pandas nullable float", pd.DataFrame({"a": pd.array([0.5, None], dtype="Float64")}), np.float64, [[0.5], [nan]]),
    (
        "pandas on arrow",
        pd.DataFrame(
            {"a": pd.array([1, None], dtype="int64[pyarrow]"), "b": pd.array([None, 0.5], dtype="double[pyarrow]")}
        ),
        np.float64,
        [[1, nan], [nan, 0.5]],
    ),
    ("pandas objects", pd.DataFrame({"a": np.array([1, None], object)}), np.float64, [[1], [nan]]),
    ("pandas sparse", pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.5])}), np.float64, [[0], [1.5]]),
    (
        "polars",
        pl.DataFrame({"a": [1, None], "b": [0.5, nan], "c": [True, None], "d": [None, None]}),
        np.float64,
        [[1, 0.5, 1, nan], [nan, nan, nan, nan]],
    ),
    ("polars floats", pl.DataFrame({"a": [1.0, None], "b": [0.5, nan]}), np.float64, [[1, 0.5], [nan, nan]]),
    ("polars float32", pl.DataFrame({"a": pl.Series([1, None], dtype=pl.Float32)}), np.float32, [[1], [nan]]),
    ("polars decimal", pl.DataFrame({"a": [Decimal("1.5"), None]}), np.float64, [[1.5], [nan]]),
    ("arrow", pa.table({"a": [1, None], "b": [0.5, None], "c": [True, None]}), np.float64, [[1, 0.5, 1], [nan] * 3]),
    ("arrow float32", pa.table({"a": pa.array([1, None], pa.float32())}), np.float32, [[1], [nan]]),
]


@pytest.mark.parametrize(("X", "dtype", "expected"), [c[1:] for c in FRAMES], ids=[c[0] for c in FRAMES])
def test_dtype_of_frame(X: Any, dtype: type, expected: list[list[float]]):
    columns, out = fit_encode(X)
    np.testing.assert_array_equal(out, expected)
    assert out.dtype == dtype
    assert out.flags.forc
    assert out.flags.writeable
    assert columns.names == tuple("abcd"[: len(expected[0])])
    np.testing.assert_array_equal(encode(columns, X), out)


def test_float32_beside_categories_stays_float32():
    X = pd.DataFrame({"a": np.array([1, 2], np.float32), "c": pd.Categorical(["v", "u"])})
    out = fit_encode(X)[1]
    assert out.dtype == np.float32
    assert out.tolist() == [[1, 1], [2, 0]]
    assert fit_encode(X[["c"]])[1].dtype == np.float64


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_contiguous_floats_are_not_copied(order: Any, dtype: type):
    X = np.array(np.arange(12).reshape(4, 3), dtype, order=order)
    assert encode(numeric(3), X) is X


def test_frames_of_floats_are_not_copied():
    X = pd.DataFrame(np.arange(12.0).reshape(4, 3))
    out = encode(numeric(3), X)
    assert np.shares_memory(out, X.to_numpy())
    assert out.flags.writeable


def test_copies_where_needed():
    X = np.arange(24.0).reshape(4, 6)
    strided = encode(numeric(3), X[:, ::2])
    assert strided.flags.forc
    np.testing.assert_array_equal(strided, X[:, ::2])
    X.flags.writeable = False
    assert encode(numeric(6), X).flags.writeable
    assert not X.flags.writeable
    coded = X.copy()
    fit_encode(coded, [0])
    np.testing.assert_array_equal(coded, X)  # codes never land in the user's array
    unaligned = np.zeros(4, dtype=[("pad", "i1"), ("x", "f8", (3,))])["x"]
    assert encode(numeric(3), unaligned).flags.aligned


# --- categories ------------------------------------------------------------------------------------------------------

words = ["v", None, "u", "v"]
CATEGORICAL = [
    ("pandas category", pd.DataFrame({"c": pd.Categorical(words, categories=["w", "v", "u"])}), "from_dtype"),
    ("pandas str", pd.DataFrame({"c": words}), ["c"]),
    ("pandas object", pd.DataFrame({"c": np.array(["v", nan, "u", "v"], object)}), ["c"]),
    ("pandas arrow str", pd.DataFrame({"c": pd.array(words, dtype="string[pyarrow]")}), ["c"]),
    (
        "pandas arrow dictionary",
        pd.DataFrame({"c": pd.array(words, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))}),
        "from_dtype",
    ),
    ("polars categorical", pl.DataFrame({"c": pl.Series(words, dtype=pl.Categorical)}), "from_dtype"),
    ("polars str", pl.DataFrame({"c": words}), [True]),
    ("arrow dictionary", pa.table({"c": pa.array(words).dictionary_encode()}), "from_dtype"),
    (
        "arrow dictionaries in chunks",
        pa.table(
            {"c": pa.chunked_array([pa.array(words[:3]).dictionary_encode(), pa.array(["v"]).dictionary_encode()])}
        ),
        "from_dtype",
    ),
    (
        "arrow dictionary with a null and a double entry",
        pa.table({"c": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.uint8()), ["v", None, "u", "v"])}),
        "from_dtype",
    ),
    ("arrow str", pa.table({"c": words}), [0]),
    ("objects", np.array(words, object)[:, None], [0]),
    ("list of rows", [["v"], [None], ["u"], ["v"]], [0]),
    ("masked strings", np.ma.masked_array([["v"], ["x"], ["u"], ["v"]], [[0], [1], [0], [0]]), [0]),
]


@pytest.mark.parametrize(("X", "chosen"), [c[1:] for c in CATEGORICAL], ids=[c[0] for c in CATEGORICAL])
def test_strings_as_categories(X: Any, chosen: Any):
    columns, out = fit_encode(X, chosen)
    assert columns.categories == (Categories(("u", "v")),)
    np.testing.assert_array_equal(out, [[1], [nan], [0], [1]])
    assert fit_columns(X, chosen) == columns
    for _, other, _ in CATEGORICAL:
        np.testing.assert_array_equal(encode(columns, other), out)


ORDERED = [
    ("pandas", pd.DataFrame({"c": pd.Categorical(["hi", "lo"], categories=["lo", "mid", "hi"], ordered=True)})),
    ("polars", pl.DataFrame({"c": pl.Series(["hi", "lo"], dtype=pl.Enum(["lo", "mid", "hi"]))})),
    (
        "arrow",
        pa.table({"c": pa.DictionaryArray.from_arrays(pa.array([2, 0]), ["lo", "mid", "hi"], ordered=True)}),
    ),
]


@pytest.mark.parametrize("X", [c[1] for c in ORDERED], ids=[c[0] for c in ORDERED])
def test_ordered_dtype_keeps_its_order(X: Any):
    columns, out = fit_encode(X)
    assert columns.categories == (Categories(("lo", "hi")),)  # "mid" was not seen
    assert out.tolist() == [[1], [0]]


VALUES = [
    ("floats", np.array([2.0, nan, 0.5, 2.0]), (0.5, 2.0), [1, nan, 0, 1]),
    ("ints", np.array([7, -3, 7]), (-3, 7), [1, 0, 1]),
    ("ints far apart", np.array([2**60, 2**60 + 1, -(2**60)]), (-(2**60), 2**60, 2**60 + 1), [1, 2, 0]),
    ("uint64 at the top", np.array([2**64 - 1, 2**64 - 2], np.uint64), (2**64 - 2, 2**64 - 1), [1, 0]),
    ("int8 ends", np.array([127, -128, 127], np.int8), (-128, 127), [1, 0, 1]),
    ("bools", np.array([True, False]), (False, True), [1, 0]),
    ("words", np.array(["b", "a", "b"]), ("a", "b"), [1, 0, 1]),
    ("numbers beside words", np.array([3, "a", None, 2.5], object), (2.5, 3, "a"), [1, 2, nan, 0]),
    ("one value", np.array([5.0, 5.0]), (5.0,), [0, 0]),
    ("only missing", np.array([nan, nan]), (), [nan, nan]),
]


@pytest.mark.parametrize(("values", "kept", "codes"), [c[1:] for c in VALUES], ids=[c[0] for c in VALUES])
def test_values_as_categories(values: np.ndarray, kept: tuple, codes: list[float]):
    frame = pd.DataFrame({"x": values, "one": 1.0})
    for X, chosen in ((values[:, None], [0]), (frame[["x"]], ["x"])):
        columns, out = fit_encode(X, chosen)
        assert columns.categories == (Categories(kept),)
        np.testing.assert_array_equal(out[:, 0], codes)


def test_integers_with_nulls_are_categories_by_their_exact_value():
    X = pl.DataFrame({"x": [2**60 + 1, None, 2**60]})
    columns, out = fit_encode(X, ["x"])
    assert columns.categories == (Categories((2**60, 2**60 + 1)),)
    np.testing.assert_array_equal(out[:, 0], [1, nan, 0])


def test_same_value_in_another_dtype():
    columns = fit_columns(np.array([[3], [1]]), [0])
    for X in (np.array([[1.0], [3.0], [2.0]]), [[1], [3], [2]], pd.DataFrame({"a": pd.Categorical([1, 3, 2])})):
        np.testing.assert_array_equal(encode(columns, X)[:, 0], [0, 1, nan])


def test_intervals_of_pandas_cut():
    X = pd.DataFrame({"c": pd.cut([1.0, 9.0, nan, 5.0], [0, 4, 6, 10])})
    columns, out = fit_encode(X)
    assert columns.category_names(0) == ["(0, 4]", "(4, 6]", "(6, 10]"]
    np.testing.assert_array_equal(out[:, 0], [0, 2, nan, 1])
    assert pickle.loads(pickle.dumps(columns)) == columns


def test_rare_categories_share_a_code():
    # Value v occurs once, but the values 300 .. 553 twice: those 254 are kept.
    values = np.concatenate([np.arange(600), np.arange(300, 554)])
    columns, out = fit_encode(values[:, None], [0])
    known = columns.categories[0]
    assert known is not None
    assert known.kept == tuple(range(300, 554))
    assert known.rare == (*range(300), *range(554, 600))
    assert columns.n_codes(0) == 255
    assert columns.category_names(0)[-2:] == ["553", "other (346 rare)"]
    assert out[:600, 0].tolist() == [254.0] * 300 + list(range(254)) + [254.0] * 46
    np.testing.assert_array_equal(encode(columns, [[0], [553], [600]])[:, 0], [254, 253, nan])


def test_ties_go_to_the_first_in_order():
    columns = fit_columns(np.array([[f"{v:03d}"] for v in range(299, -1, -1)], object), [0])
    known = columns.categories[0]
    assert known is not None
    assert (known.kept[0], known.kept[-1], known.rare[0], len(known.rare)) == ("000", "253", "254", 46)


@pytest.mark.parametrize("n", [253, 254, 255])
def test_pool_only_when_needed(n: int):
    columns = fit_columns(np.arange(n)[:, None], [0])
    assert columns.n_codes(0) == n
    assert columns.category_names(0)[-1] == ("other (1 rare)" if n == 255 else str(n - 1))


def test_weights_count_as_repetition_and_zero_as_absence():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 400, 3000)
    weight = rng.integers(0, 4, 3000)
    weighted = fit_columns(values[:, None], [0], weight.astype(float))
    assert weighted == fit_columns(np.repeat(values, weight)[:, None], [0])
    unseen = fit_columns([["a"], ["b"]], [0], np.array([0.0, 2.0]))
    assert unseen.categories == (Categories(("b",)),)
    np.testing.assert_array_equal(encode(unseen, [["a"], ["b"]])[:, 0], [nan, 0])


@pytest.mark.filterwarnings("error")
def test_foreign_values_warn():
    columns = fit_columns(pd.DataFrame({"zip": pd.Categorical(["1", "2"])}))
    with pytest.warns(UserWarning, match="'zip' has values such as 1"):
        out = encode(columns, pd.DataFrame({"zip": [1, 2]}))
    np.testing.assert_array_equal(out, [[nan], [nan]])
    np.testing.assert_array_equal(encode(columns, pd.DataFrame({"zip": ["9"]})), [[nan]])  # unseen, but of its kind
    np.testing.assert_array_equal(encode(columns, pd.DataFrame({"zip": [None]})), [[nan]])


CHOICES = [
    ("from_dtype", [False, True, False]),
    (None, [False, False, False]),
    ([], [False, False, False]),
    ([2], [False, False, True]),
    ((0, 2), [True, False, True]),
    (np.array([0]), [True, False, False]),
    (["i", "k"], [True, False, True]),
    (pd.Index(["k"]), [False, False, True]),
    ([True, False, True], [True, False, True]),
    (np.array([False, True, False]), [False, True, False]),
]


@pytest.mark.parametrize(("chosen", "expected"), CHOICES)
def test_choice_of_categorical_columns(chosen: Any, expected: list[bool]):
    X = pd.DataFrame({"i": [1, 2], "c": pd.Categorical([5, 6]), "k": [3, 4]})
    assert fit_columns(X, chosen).is_categorical.tolist() == expected


def test_category_dtype_read_as_numbers_on_request():
    X = pd.DataFrame({"c": pd.Categorical([7.5, None, 2])})
    np.testing.assert_array_equal(fit_encode(X, None)[1], [[7.5], [nan], [2]])


# --- what is refused -------------------------------------------------------------------------------------------------

one = np.ones((2, 2))
frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
big = 2**53 + 1

REJECTED = [
    ("strings", np.array([["1.5", "2"]]), "from_dtype", ValueError, r"Column x\[0\] holds strings such as '1.5'"),
    ("bytes", np.array([[b"1.5", b"2"]]), "from_dtype", ValueError, r"Column x\[0\] holds strings such as"),
    ("number strings as objects", np.array([[1, "2"]], object), None, ValueError, r"x\[1\] holds strings such as '2'"),
    ("strings in lists", [[1, "2"]], None, ValueError, r"x\[1\] holds strings such as '2': .*categorical_features"),
    ("strings beside named ones", [["u", "v"]], [0], ValueError, r"x\[1\] holds strings such as 'v'"),
    ("pandas strings", frame, "from_dtype", ValueError, "'b' holds strings such as 'x': .*cast it to a categorical"),
    ("pandas categories", frame.astype({"b": "category"}), None, ValueError, "'b' holds strings such as 'x'"),
    ("polars strings", pl.DataFrame({"b": [None, "y"]}), "from_dtype", ValueError, "'b' holds strings such as 'y'"),
    ("arrow strings", pa.table({"b": ["x", None]}), "from_dtype", ValueError, "'b' holds strings such as 'x'"),
    ("objects", np.array([[1.0, {"a": 1}]], object), None, TypeError, r"x\[1\].*argument must be .* string.* number"),
    ("lists in a frame", pl.DataFrame({"l": [[1, 2]]}), None, ValueError, r"'l' holds lists or records"),
    ("records in a frame", pl.DataFrame({"r": [{"a": 1}]}), None, ValueError, r"'r' holds lists or records"),
    ("lists as objects", pd.DataFrame({"l": [[1], [2]]}), None, ValueError, "'l' holds something that is not a number"),
    ("record batch", pa.record_batch({"a": [1]}), None, TypeError, r"pyarrow.Table.from_batches\(\[X\]\)"),
    ("dates", np.array([["2020-01-01"]], "M8[D]"), None, ValueError, r"x\[0\] holds dates or times"),
    ("durations", np.array([[5]], "m8[ns]"), None, ValueError, r"x\[0\] holds dates or times"),
    ("dates as categories", np.array([["2020-01-01"]], "M8[D]"), [0], ValueError, "days since a date"),
    ("pandas dates", pd.DataFrame({"d": pd.to_datetime(days)}), None, ValueError, "'d' holds dates"),
    ("pandas durations", pd.DataFrame({"d": pd.to_timedelta([1, 2])}), None, ValueError, "'d' holds dates or times"),
    ("polars dates", pl.DataFrame({"d": days}), None, ValueError, "'d' holds dates or times"),
    ("arrow dates", pa.table({"d": days}), None, ValueError, "'d' holds dates or times"),
    ("named dates", pl.DataFrame({"d": days}), ["d"], ValueError, "'d' holds dates or times"),
    ("inf", np.array([[1.0, -np.inf]]), None, ValueError, r"infinity .* in column x\[1\].*np.clip.* nan"),
    ("inf beside nan", np.array([[nan, 1], [1, np.inf]]), None, ValueError, r"infinity .* in column x\[1\]"),
    ("inf in F order", np.asfortranarray([[nan, 1], [1, np.inf]]), None, ValueError, r"infinity .* in column x\[1\]"),
    ("inf in a frame", pd.DataFrame({"a": [1.0], "b": [np.inf]}), None, ValueError, "infinity .* in column 'b'"),
    ("inf as a category", np.array([[np.inf], [1.0]]), [0], ValueError, r"infinity .* in column x\[0\]"),
    ("inf as an object", np.array([[np.inf], [1.0]], object), None, ValueError, r"infinity .* in column x\[0\]"),
    ("long double", np.array([[np.longdouble("1e400")]]), None, ValueError, "too large for float64"),
    ("large integer", np.array([[1, big]]), None, ValueError, rf"x\[1\] holds the integer {big}"),
    ("large uint64", np.array([[2**64 - 1]], np.uint64), None, ValueError, r"float64 cannot tell from its neighbours"),
    ("large object", np.array([[1.0, big]], object), None, ValueError, rf"x\[1\] holds the integer {big}"),
    ("enormous object", np.array([[10**400]], object), None, ValueError, "too large to convert to float"),
    ("large pandas", pd.DataFrame({"a": pd.array([big, None], dtype="Int64")}), None, ValueError, "'a' holds the int"),
    ("large polars", pl.DataFrame({"a": [-big, None]}), None, ValueError, f"'a' holds the integer -{big}"),
    ("large arrow", pa.table({"a": [big, None]}), None, ValueError, f"'a' holds the integer {big}"),
    ("complex", one + 1j, None, ValueError, "Complex data not supported"),
    ("complex objects", np.array([[1j]], object), None, ValueError, r"Complex data not supported: Column x\[0\]"),
    ("complex pandas", pd.DataFrame({"a": [1j]}), None, ValueError, "Complex data not supported: Column 'a'"),
    ("1-d", np.ones(3), None, ValueError, "Reshape your data"),
    ("3-d", np.ones((1, 1, 1)), None, ValueError, "dim 3"),
    (
        "no rows",
        np.ones((0, 3)),
        None,
        ValueError,
        r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required",
    ),
    ("no rows in a frame", pd.DataFrame({"a": []}), None, ValueError, r"0 sample\(s\) \(shape=\(0, 1\)\)"),
    ("no columns", np.ones((3, 0)), None, ValueError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1"),
    ("no columns in a frame", pd.DataFrame(index=[0, 1]), None, ValueError, r"0 feature\(s\) \(shape=\(2, 0\)\)"),
    ("ragged", [[1, 2], [3]], None, ValueError, "rows of X differ in length"),
    ("matrix", np.asmatrix(one), None, TypeError, "np.matrix is not supported"),
    ("a series", pd.Series([1.0, 2.0]), None, ValueError, "Expected a 2-dimensional container"),
    ("lazy", pl.LazyFrame({"a": [1]}), None, TypeError, "collect it first"),
    ("twice the same name", pd.DataFrame(one, columns=["a", "a"]), None, ValueError, "names of X must be unique"),
    ("nothing", None, None, TypeError, "X of type NoneType cannot be read as a table"),
    ("a number", 3.0, None, ValueError, "Expected 2D array, got scalar"),
    ("an object", object(), None, TypeError, "X of type object cannot be read as a table"),
    ("choice: a word", one, "all", ValueError, "put a single name into a list"),
    ("choice: too far", one, [2], ValueError, "no column 2 of categorical_features: .* from 0 to 1"),
    ("choice: negative", one, [-1], ValueError, "no column -1 .* from 0 to 1"),
    ("choice: mask too long", one, [True] * 3, ValueError, "one entry per column: 2, not 3"),
    ("choice: names without names", one, ["a"], ValueError, "columns without names"),
    ("choice: unknown name", frame, ["z"], ValueError, r"no column 'z' .* the names \['a', 'b'\]"),
    ("choice: floats", one, [0.0], ValueError, "names or positions of columns, not 0.0"),
    ("choice: a mixture", frame, ["a", 1], ValueError, "only names, only indices or only bools"),
    ("choice: unhashable values", np.array([[[1]], [{}]], object)[:, :1], [0], TypeError, "cannot be categories"),
]


@pytest.mark.parametrize(
    ("X", "chosen", "kind", "text"), [case[1:] for case in REJECTED], ids=[case[0] for case in REJECTED]
)
def test_rejected(X: Any, chosen: Any, kind: type[Exception], text: str):
    with pytest.raises(kind, match=text):
        fit_encode(X, chosen)


class Declared:
    """A table of which only the size is known."""

    def __init__(self, *shape: int):
        self.shape = shape

    def __len__(self) -> int:
        raise AssertionError("the size must be refused before anything is read")

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise AssertionError("the size must be refused before anything is read")


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2**31, 1), "2147483648 rows, at most 2147483647"),
        ((2**31 + 5, 3), "2147483653 rows, at most 2147483647"),
        ((2**31 + 5,), "at most 2147483647"),
        ((2**30, 2**20), f"cells, at most {MAX_CELLS} can be coded"),
    ],
)
def test_declared_size_is_rejected_before_conversion(shape: tuple[int, ...], text: str):
    with pytest.raises(ValueError, match=text):
        fit_encode(Declared(*shape))
    with pytest.raises(ValueError, match=text):
        encode(numeric(3), Declared(*shape))


def test_declared_size_within_limits_is_read():
    with pytest.raises(AssertionError):
        fit_encode(Declared(MAX_ROWS, 3))


def test_huge_finite_values_pass():
    X = np.array([[1e308, -1e308], [1e308, 1e308], [nan, 1.7976931348623157e308]])
    assert encode(numeric(2), X) is X
    large = np.full((2, 1), 3e38, np.float32)
    assert encode(numeric(1), large) is large


def test_exact_large_integers_pass():
    assert encode(numeric(2), np.array([[2**60, -(2**53)]])).tolist() == [[2.0**60, -(2.0**53)]]


def test_wrong_number_of_columns():
    with pytest.raises(ValueError, match="X has 3 columns, but 2 were there in fit"):
        encode(numeric(2), np.ones((1, 3)))


@pytest.mark.parametrize("order", ["C", "F"])
def test_find_infinity_over_blocks(order: Any):
    X = np.zeros((3000, 700), order=order)
    X[5, 3] = nan
    assert find_infinity(X) is None
    X[2999, 650] = -np.inf
    assert find_infinity(X) == 650


@pytest.mark.parametrize(
    "values",
    [
        np.array([3, 1, 3, 2]),
        np.array([10**12, -5, 7]),
        np.array([2**63, 2**63 + 2], np.uint64),
        np.array([1.5, -0.0, 0.0, 1.5]),
        np.array(["b", "a"]),
        np.array([True, False, True]),
        np.zeros(0, np.int64),
    ],
)
def test_factorize_is_unique(values: np.ndarray):
    codes, distinct = factorize(values)
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(codes, inverse)
    assert distinct.dtype == values.dtype
    assert codes.dtype == np.int64
