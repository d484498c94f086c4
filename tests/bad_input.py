"""Bad and unusual input that every estimator of the library meets: one case a line, for the tests to run.

A line is a name, the input, then the error (its type where it may differ, and what its text must say).
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import is_classifier

nan, inf = np.nan, np.inf
MAX = np.finfo(np.float64).max
N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
LABELS = (X[:, 0] + 0.5 * RNG.normal(size=N) > 0).astype(int)
VALUES = 2.0 * X[:, 0] + RNG.normal(size=N)


def table(*cases: tuple[Any, ...]) -> Any:
    """The cases without their names, which become the ids."""
    return [pytest.param(*case[1:], id=case[0]) for case in cases]


def target_of(cls: type[Any]) -> Any:
    return LABELS if is_classifier(cls()) else VALUES


def with_params(cls: type[Any], **params: Any) -> Any:
    """An estimator with those of the parameters that it has."""
    names = cls().get_params()
    return cls(**{name: value for name, value in params.items() if name in names})


def has_params(cls: type[Any], **params: Any) -> bool:
    return params.keys() <= cls().get_params().keys()


def changed(value: Any, row: int = 3, column: int = 1, dtype: Any = np.float64) -> Any:
    array = X.astype(dtype)
    array[row, column] = value
    return array


def each(classes: list[type[Any]]) -> Any:
    """A test of every one of these classes, named after it."""
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__name__)


def predictions_of(model: Any, rows: Any = X) -> Any:
    return model.predict_proba(rows) if is_classifier(model) else model.predict(rows)


def assert_rejected(model: Any, error: Any, text: str | None, *rows: Any, **more: Any) -> None:
    """fit refuses with this text and leaves the model as it was."""
    before = dict(vars(model))
    with pytest.raises(error, match=text):
        model.fit(*rows, **more)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


class OnlyShape:
    """A table that declares its size and holds nothing."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


# --- refused ---------------------------------------------------------------------------------------------------------

BAD_TABLES = table(
    ("no rows", np.empty((0, 3)), ValueError, r"0 sample\(s\)"),
    ("no columns", np.empty((N, 0)), ValueError, r"0 feature\(s\)"),
    ("empty list", [], ValueError, "2D array"),
    ("1-d", X[:, 0], ValueError, "2D array"),
    ("3-d", X[:, :, None], ValueError, "dim 3"),
    ("number", 3.0, ValueError, "2D array, got scalar"),
    ("None", None, TypeError, "NoneType"),
    ("string", "table.csv", TypeError, "type str"),
    ("dict", {"a": [1, 2]}, TypeError, "type dict"),
    ("set", {1, 2}, TypeError, "type set"),
    ("generator", (row for row in X), TypeError, "type generator"),
    ("ragged", [[1.0, 2.0, 3.0], [4.0, 5.0]], ValueError, "rows of X differ in length"),
    ("sparse matrix", sparse.csr_matrix(X), TypeError, "Sparse data.*toarray"),
    ("sparse array", sparse.coo_array(X), TypeError, "Sparse data.*toarray"),
    ("sparse dict of keys", sparse.dok_array(X), TypeError, "Sparse data.*toarray"),
    ("complex", X + 1j, ValueError, "Complex data"),
    ("complex object", changed(1j, dtype=object), ValueError, "Complex data"),
    ("strings as numbers", X.astype(str), ValueError, r"x\[0\].*strings"),
    ("bytes", [[b"1"] * 3] * 2, ValueError, "strings"),
    ("object string", changed("a", dtype=object), ValueError, r"x\[1\].*strings.*'a'"),
    ("object dict", changed({}, dtype=object), TypeError, r"x\[1\]"),
    ("dates", np.full((N, 3), "2020-01-01", "M8[D]"), ValueError, "dates or times"),
    ("durations", np.ones((N, 3), "m8[s]"), ValueError, "dates or times"),
    ("date objects", [[datetime.date(2020, 1, 1)] * 3] * 2, TypeError, "datetime.date"),
    ("inf", changed(inf), ValueError, r"infinity.*x\[1\]"),
    ("-inf", changed(-inf), ValueError, r"infinity.*x\[1\]"),
    ("inf in float32", changed(inf, dtype=np.float32), ValueError, r"float32.*x\[1\]"),
    ("beyond float64", X * np.longdouble("1e4000"), ValueError, r"float64.*x\[0\]"),
    ("beyond 2**53", np.full((N, 3), 2**63 + 1, np.uint64), ValueError, r"2\*\*53"),
    ("huge int", [[10**400, 1, 2]], ValueError, "too large"),
    ("2**31 rows", OnlyShape(2**31, 3), ValueError, "2147483648 rows"),
    ("2**41 cells", OnlyShape(2**20, 2**21), ValueError, "1048576 x 2097152 cells"),
    ("only a shape", OnlyShape(2**16, 2**16), TypeError, "OnlyShape"),
    ("lazy frame", pl.LazyFrame({"a": [1.0, 2.0]}), TypeError, "collect"),
    ("record batch", pa.record_batch({"a": [1.0]}), TypeError, "from_batches"),
    ("series", pd.Series(X[:, 0]), ValueError, "DataFrame"),
    ("twin names", pd.DataFrame(X, columns=["a", "b", "a"]), ValueError, "unique"),
)

OTHER_TABLES = table(
    ("wider", np.c_[X, X], "X has 6 features, but .* is expecting 3"),
    ("narrower", X[:, :2], "X has 2 features, but .* is expecting 3"),
    ("other order", pd.DataFrame(X, columns=["b", "a", "c"]), "same order"),
    ("other names", pd.DataFrame(X, columns=["a", "b", "z"]), "unseen at fit time:\n- z\n.*yet now missing:\n- c"),
    ("other order, polars", pl.DataFrame(dict(zip("bac", X.T, strict=True))), "same order"),
    ("other order, Arrow", pa.table(dict(zip("bac", X.T, strict=True))), "same order"),
)

BAD_TARGETS = table(
    ("None", None, "requires y"),
    ("too short", LABELS[1:], f"X has {N} rows, y has {N - 1}"),
    ("number", 1, "1d array, got int"),
    ("string", "abc", "1d array, got str"),
    ("dict", dict.fromkeys(range(N), 1), "1d array, got dict"),
    ("3-d", np.ones((N, 1, 1)), "dim 3"),
    ("ragged", [[0, 1], [1]], "different lengths"),
    ("two columns", np.ones((N, 2)), r"shape \(40, 2\)|2 outputs"),
    ("nan", np.r_[nan, VALUES[1:]], "y contains NaN"),
    ("inf", np.r_[inf, VALUES[1:]], "y contains infinity"),
    ("missing object", [None, *LABELS[1:].tolist()], "y contains NaN"),
    ("missing in a series", pd.Series([None, *LABELS[1:]], dtype="Int64"), "y contains NaN"),
    ("complex", LABELS + 1j, "Complex data"),
    ("bytes", np.full(N, b"a"), "strings|numbers"),
    ("masked", np.ma.array(LABELS, mask=LABELS == 0), "y contains NaN"),
)
BAD_LABELS = table(
    ("continuous", VALUES, "label type: continuous"),
    ("strings and numbers", ["a", *LABELS[1:].tolist()], "mixes strings"),
    ("strings and nan", [nan, *np.where(LABELS[1:], "a", "b").tolist()], "y contains NaN"),
    ("tuples", np.array([(i, i) for i in range(N)] + [None], object)[:N], "Labels must be"),
)
BAD_VALUES = table(
    ("1e308", VALUES * 1e307, r"\|y\| is .*e\+30., too large"),
    ("1e-200", VALUES * 1e-200, r"\|y\| is .*e-200, too small"),
    ("strings", np.where(LABELS, "a", "b"), "strings"),
    ("dates", np.full(N, "2020-01-01", "M8[D]"), "dates or times"),
)

BAD_WEIGHTS = table(
    ("too short", np.ones(N - 1), f"X has {N} rows, sample_weight has {N - 1}"),
    ("two columns", np.ones((N, 2)), r"shape \(40, 2\)"),
    ("negative", np.r_[-1.0, np.ones(N - 1)], "Negative values in sample_weight"),
    ("all zero", np.zeros(N), "weights are zero.*sample_weight=None"),
    ("zero", 0, "weights are zero"),
    ("nan", np.r_[nan, np.ones(N - 1)], "sample_weight contains NaN"),
    ("inf", inf, "sample_weight contains NaN"),
    ("1e300", 1e300, "sum of sample_weight is 4e.301, too large"),
    ("1e308", 1e308, "sum of sample_weight is inf, too large"),
    ("1e-300", np.full(N, 1e-300), "sum of sample_weight is 4e-299, too small"),
    ("subnormal", 5e-324, "sum of sample_weight is .*, too small"),
    ("1e-300 to 1e300", np.logspace(-300, 300, N), "sum of sample_weight is 1e.300, too large"),
    ("string", "balanced", "sample_weight .*'balanced'"),
    ("strings", ["1"] * N, "sample_weight .*strings .*'1'"),
    ("dict", {0: 1}, "sample_weight"),
    ("complex", 1 + 1j, "Complex data"),
    ("dates", np.full(N, "2020-01-01", "M8[D]"), "dates or times"),
    ("missing", [None] * N, "sample_weight contains NaN"),
)

# --- taken -----------------------------------------------------------------------------------------------------------

SAME_TABLES: list[Any] = table(
    ("list", X.tolist(), X.tolist()),
    ("Fortran order", np.asfortranarray(X), X),
    ("strided", np.repeat(np.repeat(X, 2, 0), 3, 1)[::2, ::3], X),
    ("negative strides", X[::-1, ::-1].copy()[::-1, ::-1], X),
    ("unaligned", np.frombuffer(b"x" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape), X),
    ("big-endian", X.astype(">f8"), X),
    ("objects", X.astype(object), X),
    ("long double", X.astype(np.longdouble), X),
    ("masked without mask", np.ma.array(X), X),
    ("pandas", pd.DataFrame(X), X),
    ("pandas with names", pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, list("abc"), orient="row")),
    ("Arrow", pa.table(dict(zip("abc", X.T, strict=True))), pd.DataFrame(X, columns=list("abc"))),
)

LABEL_KINDS = table(
    ("strings", np.array(["no", "yes"])),
    ("string objects", np.array(["no", "yes"], object)),
    ("bools", np.array([False, True])),
    ("whole floats", np.array([-1.0, 1.0])),
    ("far integers", np.array([-(2**62), 2**62])),
    ("uint8", np.array([3, 255], np.uint8)),
    ("objects", np.array([0, 1], object)),
    ("dates", np.array(["2020-01-01", "2021-01-01"], "M8[D]")),
)

WEIGHTS = table(
    ("number", 3.0),
    ("bools", np.ones(N, bool)),
    ("objects", np.ones(N, object)),
    ("pandas", pd.Series(np.ones(N), index=np.arange(N) + 5)),
    ("1e90", np.full(N, 1e90)),
    ("1e-90", np.full(N, 1e-90)),
    ("powers of two beyond whole numbers", np.full(N, 2.0**60)),
)

# --- little information ----------------------------------------------------------------------------------------------

CONSTANT_TABLES = table(
    ("constant", np.ones((N, 3)), N),
    ("constant but for the sign of zero", np.where(X > 0, 0.0, -0.0), N),
    ("constant and huge", np.full((N, 3), MAX), N),
    ("one category", pd.DataFrame({"c": pd.Categorical(["a"] * N)}), N),
    ("one row", X[:1], 1),
    ("one row of float32", X[:1].astype(np.float32), 1),
)
MISSING_TABLES = table(
    ("all missing", np.full((N, 3), nan)),
    ("all missing objects", np.full((N, 3), None)),
    ("categories all missing", pd.DataFrame({"c": pd.Categorical([None] * N, ["a"])})),
)
