"""The door for user data, and scikit-learn's own checks of it on a small estimator behind it."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import committee
from committee.tabular.schema import Categories, Columns
from committee.tabular.validation import (
    read_table,
    read_targets_classification,
    read_targets_regression,
    read_training_table,
    read_weights,
)

nan, inf = np.nan, np.inf


class Door(BaseEstimator):
    """Reads tables, nothing else."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, categorical_features: Any = "from_dtype") -> Door:
        self.columns_, self.array_ = read_training_table(
            self, X, categorical_features=categorical_features, sample_weight=sample_weight
        )
        return self

    def read(self, X: Any) -> np.ndarray:
        return read_table(self, X)


class Behind(BaseEstimator):
    """One of scikit-learn's trees behind our door."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class ClassifierBehind(ClassifierMixin, Behind):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ClassifierBehind:
        self.columns_, table = read_training_table(self, X, sample_weight=sample_weight)
        self.classes_, codes = read_targets_classification(y, len(table))
        weight = read_weights(sample_weight, len(table))
        self.tree_ = DecisionTreeClassifier(random_state=0).fit(table, codes, sample_weight=weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        table = read_table(self, X)
        return self.tree_.predict_proba(table)

    def predict(self, X: Any) -> np.ndarray:
        table = read_table(self, X)
        return self.classes_[self.tree_.predict(table)]


class RegressorBehind(RegressorMixin, Behind):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RegressorBehind:
        self.columns_, table = read_training_table(self, X, sample_weight=sample_weight)
        target = read_targets_regression(y, len(table))
        weight = read_weights(sample_weight, len(table))
        self.tree_ = DecisionTreeRegressor(random_state=0).fit(table, target, sample_weight=weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        table = read_table(self, X)
        return self.tree_.predict(table)


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([ClassifierBehind(), RegressorBehind()])
def test_scikit_learn_checks(estimator: Any, check: Any):
    check(estimator)


# --- tables ----------------------------------------------------------------------------------------------------------


def test_fit_sets_what_scikit_learn_sets():
    door = Door().fit(pd.DataFrame({"a": [1, 2], "c": pd.Categorical(["u", "v"])}))
    assert door.n_features_in_ == 2
    assert door.feature_names_in_.tolist() == ["a", "c"]
    assert door.columns_ == Columns(2, ("a", "c"), (None, Categories(("u", "v"))))
    assert door.array_.tolist() == [[1, 0], [2, 1]]
    door.fit(np.ones((3, 4)))
    assert door.n_features_in_ == 4
    assert not hasattr(door, "feature_names_in_")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_names_of_every_frame(make: Any):
    door = Door().fit(make({"a": [1, 2], "b": [3, 4]}))
    assert door.feature_names_in_.tolist() == ["a", "b"]
    assert door.read(make({"a": [5], "b": [None]})).tolist()[0][0] == 5
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        door.read(make({"b": [1], "a": [2]}))
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- z"):
        door.read(make({"a": [1], "z": [2]}))
    with pytest.raises(ValueError, match="yet now missing:\n- b"):
        door.read(make({"a": [1]}))


def test_a_rejected_table_leaves_the_estimator_as_it_was():
    door = Door().fit(pd.DataFrame({"a": [1, 2]}))
    before = dict(vars(door))
    for X in (np.array([[1, inf]]), np.ones((2, 3)) * 1j, pd.DataFrame({"a": ["u"], "b": [1]})):
        with pytest.raises(ValueError, match=r"infinity|Complex|strings"):
            door.fit(X)
    assert vars(door) == before


def test_mixed_kinds_of_names():
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        Door().fit(pd.DataFrame({"a": [1], 1: [2]}))


def test_warnings_about_names():
    named, plain = pd.DataFrame({"a": [1.0, 2.0]}), np.array([[1.0], [2.0]])
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Door was fitted with"):
        Door().fit(named).read(plain)
    with pytest.warns(UserWarning, match="X has feature names, but Door was fitted without"):
        Door().fit(plain).read(named)


@pytest.mark.parametrize("X", [np.ones((2, 3)), [[1, 2, 3]], pd.DataFrame(np.ones((2, 3)))])
def test_wrong_number_of_features(X: Any):
    with pytest.raises(ValueError, match="X has 3 features, but Door is expecting 2 features as input"):
        Door().fit(np.ones((4, 2))).read(X)


def test_not_fitted():
    with pytest.raises(NotFittedError, match="This Door instance is not fitted yet"):
        Door().read(np.ones((2, 2)))


def test_weights_reach_the_categories():
    door = Door().fit([["u"], ["v"], ["w"]], sample_weight=[0, 1, 2], categorical_features=[0])
    assert door.columns_.categories == (Categories(("v", "w")),)
    np.testing.assert_array_equal(door.array_, [[nan], [0], [1]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples: \\[3, 2\\]"):
        Door().fit([["u"], ["v"], ["w"]], sample_weight=[1, 1], categorical_features=[0])


def test_categories_come_back_in_another_container():
    door = Door().fit(pd.DataFrame({"c": pd.Categorical(["u", "v", "u"])}))
    for X in (
        pd.DataFrame({"c": pd.Categorical(["v", "x", None], categories=["x", "v"])}),
        pd.DataFrame({"c": ["v", "x", None]}),
        pl.DataFrame({"c": pl.Series(["v", "x", None], dtype=pl.Enum(["x", "v", "u"]))}),
        pa.table({"c": pa.array(["v", "x", None]).dictionary_encode()}),
    ):
        np.testing.assert_array_equal(door.read(X), [[1], [nan], [nan]])


TABLES = [
    ("sparse matrix", scipy.sparse.csr_matrix(np.eye(2)), TypeError, "Sparse data was passed"),
    ("sparse array", scipy.sparse.coo_array(np.eye(2)), TypeError, "Sparse data was passed"),
    ("1-d", np.ones(2), ValueError, "Reshape your data"),
    ("scalar", 1.0, ValueError, "Reshape your data"),
    ("3-d", np.ones((2, 2, 2)), ValueError, "Found array with dim 3, while dim <= 2 is required by Door"),
    ("complex", np.ones((2, 2)) * 1j, ValueError, "Complex data not supported"),
    ("empty", np.ones((0, 2)), ValueError, r"0 sample\(s\) .* minimum of 1 is required by Door"),
    ("empty frame", pl.DataFrame({"a": [], "b": []}), ValueError, r"0 sample\(s\) .* minimum of 1 is required by Door"),
    ("inf", np.array([[1, inf]]), ValueError, r"Input X contains infinity .* x\[1\]"),
    ("strings", np.array([["1", "2"]]), ValueError, "holds strings such as '1'"),
    ("string objects", np.array([[1, "2"]], object), ValueError, "holds strings such as '2'"),
    ("dict", {"a": [1, 2]}, TypeError, "X of type dict cannot be read as a table"),
    ("none", None, TypeError, "X of type NoneType cannot be read as a table"),
]


@pytest.mark.parametrize(("X", "kind", "text"), [case[1:] for case in TABLES], ids=[case[0] for case in TABLES])
def test_rejected_tables(X: Any, kind: type[Exception], text: str):
    with pytest.raises(kind, match=text):
        Door().fit(X)
    with pytest.raises(kind, match=text):
        Door().fit(np.ones((3, 2))).read(X)


class Declared:
    def __init__(self, *shape: int):
        self.shape = shape


@pytest.mark.parametrize(
    ("shape", "kind", "text"),
    [
        ((2**31 + 5, 3), ValueError, "2147483653 rows, at most 2147483647 are possible"),
        ((2**30, 2**20), ValueError, "can be coded"),
        ((2**20, 2**12), TypeError, "X of type Declared cannot be read as a table"),
    ],
)
def test_declared_size(shape: tuple[int, int], kind: type[Exception], text: str):
    with pytest.raises(kind, match=text):
        Door().fit(Declared(*shape))
    with pytest.raises(kind, match=text):
        Door().fit(np.ones((3, 3))).read(Declared(*shape))


def test_read_only_input():
    X = np.ones((3, 2))
    X.flags.writeable = False
    y = np.arange(3.0)
    y.flags.writeable = False
    assert Door().fit(X).array_.flags.writeable
    assert read_targets_regression(y, 3).flags.writeable
    weight = read_weights(y, 3)
    assert weight is not None
    assert weight.flags.writeable


# --- weights ---------------------------------------------------------------------------------------------------------

WEIGHTS = [
    ("list", [1, 0, 2], [1, 0, 2]),
    ("ints", np.array([1, 0, 2]), [1, 0, 2]),
    ("float32", np.array([1, 0, 0.5], np.float32), [1, 0, 0.5]),
    ("bools", np.array([True, False, True]), [1, 0, 1]),
    ("objects", np.array([1, Decimal("0.5"), 2.0], object), [1, 0.5, 2]),
    ("pandas", pd.Series([1, 0, 2], index=[5, 6, 7]), [1, 0, 2]),
    ("nullable", pd.Series([1, 0, 2], dtype="Int64"), [1, 0, 2]),
    ("polars", pl.Series([1, 0, 2]), [1, 0, 2]),
    ("arrow", pa.chunked_array([[1, 0], [2]]), [1, 0, 2]),
    ("number", 2.5, [2.5, 2.5, 2.5]),
    ("numpy number", np.float32(2.5), [2.5, 2.5, 2.5]),
    ("strided", np.arange(6.0)[::2], [0, 2, 4]),
    ("tiny", [1e-99, 0, 5e-324], [1e-99, 0, 5e-324]),
]


@pytest.mark.parametrize(("given", "expected"), [case[1:] for case in WEIGHTS], ids=[case[0] for case in WEIGHTS])
def test_weights(given: Any, expected: list[float]):
    weight = read_weights(given, 3)
    assert weight is not None
    assert weight.dtype == np.float64
    assert weight.flags.c_contiguous
    assert weight.tolist() == expected


def test_no_weights():
    assert read_weights(None, 3) is None


REJECTED_WEIGHTS = [
    ("too short", [1, 2], "inconsistent numbers of samples: [3, 2]. X has 3 rows, sample_weight has 2: pass one"),
    ("two columns", np.ones((3, 2)), "sample_weight must be a number or have one dimension, got shape (3, 2)"),
    ("nan", [1, nan, 1], "sample_weight contains NaN or infinity: give such rows the weight 0"),
    ("inf", [1, inf, 1], "sample_weight contains NaN or infinity"),
    ("nan number", nan, "sample_weight contains NaN or infinity"),
    ("null", pd.Series([1, None, 1], dtype="Int64"), "Input sample_weight contains NaN"),
    ("masked", np.ma.masked_array([1, 2, 3], [0, 1, 0]), "Input sample_weight contains NaN"),
    ("negative", [1, -1, 1], "Negative values in sample_weight: weights must be >= 0"),
    ("negative number", -1, "Negative values in sample_weight"),
    ("zero", [0, 0, 0], "at least one non-zero number: all weights are zero"),
    ("zero number", 0, "at least one non-zero number"),
    ("strings", ["1", "2", "3"], "Input sample_weight holds strings such as '1': convert it to numbers"),
    ("complex", [1j, 1, 1], "Complex data not supported"),
    ("a word", "balanced", "sample_weight must be numbers, one per row; got 'balanced'"),
    ("complex number", 1j, "Complex data not supported"),
    ("overflow", [1e308, 1e308, 1e308], "sum of sample_weight is inf, too large"),
    ("huge", [1e300, 1, 1], "sum of sample_weight is 1e+300, too large"),
    ("tiny", [5e-324, 0, 0], "too small for sums of squares in float64: divide all weights by their maximum"),
    ("dates", np.array([1, 2, 3], "M8[ns]"), "Input sample_weight holds dates or times"),
]


@pytest.mark.parametrize(("given", "text"), [c[1:] for c in REJECTED_WEIGHTS], ids=[c[0] for c in REJECTED_WEIGHTS])
def test_rejected_weights(given: Any, text: str):
    with pytest.raises(ValueError, match=re.escape(text)):
        read_weights(given, 3)


# --- targets ---------------------------------------------------------------------------------------------------------

NUMBERS = [
    ("list", [1, 2, 3], [1, 2, 3]),
    ("ints", np.array([1, 2, 3], np.int8), [1, 2, 3]),
    ("float32", np.array([1, 2, 0.5], np.float32), [1, 2, 0.5]),
    ("bools", [True, False, True], [1, 0, 1]),
    ("objects", np.array([1, 2.5, Decimal("0.5")], object), [1, 2.5, 0.5]),
    ("pandas", pd.Series([1.5, 2, 3]), [1.5, 2, 3]),
    ("nullable", pd.Series([1, 2, 3], dtype="Int32"), [1, 2, 3]),
    ("polars", pl.Series([1, 2, 3]), [1, 2, 3]),
    ("arrow", pa.chunked_array([[1, 2], [3]]), [1, 2, 3]),
    ("two columns", [[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 4], [5, 6]]),
    ("two columns in F order", np.asfortranarray([[1.0, 2], [3, 4], [5, 6]]), [[1, 2], [3, 4], [5, 6]]),
    ("two columns of a frame", pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]}), [[1, 4], [2, 5], [3, 6]]),
    ("large integers", np.array([2**60, 2**60 + 1, 1], object), [2.0**60, 2.0**60, 1]),
    ("huge", [1e308, -1e308, 1e308], [1e308, -1e308, 1e308]),
]


@pytest.mark.parametrize(("y", "expected"), [case[1:] for case in NUMBERS], ids=[case[0] for case in NUMBERS])
def test_regression_targets(y: Any, expected: Any):
    target = read_targets_regression(y, 3)
    assert target.dtype == np.float64
    assert target.flags.c_contiguous
    assert target.flags.writeable
    assert target.tolist() == expected


REJECTED_NUMBERS = [
    ("none", None, ValueError, "requires y to be passed, but the target y is None"),
    ("too long", [1, 2, 3, 4], ValueError, r"inconsistent numbers of samples: \[3, 4\]. X has 3 rows, y has 4"),
    ("nan", [1, nan, 3], ValueError, "Input y contains NaN"),
    ("inf", [1, inf, 3], ValueError, "Input y contains infinity"),
    ("none inside", [1, None, 3], ValueError, "Input y contains NaN"),
    ("null", pl.Series([1, None, 3]), ValueError, "Input y contains NaN"),
    ("masked", np.ma.masked_array([1, 2, 3], [0, 1, 0]), ValueError, "Input y contains NaN"),
    ("strings", ["1", "2", "3"], ValueError, "Input y holds strings such as '1': convert it to numbers"),
    ("string objects", np.array([1, "2", 3], object), ValueError, "Input y holds strings such as '2'"),
    ("pandas strings", pd.Series(["1", "2", "3"]), ValueError, "Input y holds strings such as '1'"),
    ("categories", pd.Series(["u", "v", "u"], dtype="category"), ValueError, "Input y holds strings such as 'u'"),
    ("complex", np.ones(3) * 1j, ValueError, "Complex data not supported"),
    ("dates", np.array([1, 2, 3], "M8[ns]"), ValueError, "Input y holds dates or times"),
    ("3-d", np.ones((3, 1, 1)), ValueError, "dim 3"),
    ("sparse", scipy.sparse.csr_array(np.eye(3)), TypeError, "Sparse data was passed for y"),
    ("scalar", 3.0, ValueError, "y should be a 1d array, got float: pass one target per row"),
    ("dicts", [{}, {}, {}], TypeError, "Input y holds something that is not a number"),
]


@pytest.mark.parametrize(
    ("y", "kind", "text"), [case[1:] for case in REJECTED_NUMBERS], ids=[case[0] for case in REJECTED_NUMBERS]
)
def test_rejected_regression_targets(y: Any, kind: type[Exception], text: str):
    with pytest.raises(kind, match=text):
        read_targets_regression(y, 3)


LABELS = [
    ("ints", [7, 3, 7], [3, 7], [1, 0, 1], "i"),
    ("negative", np.array([1, -1, 1], np.int8), [-1, 1], [1, 0, 1], "i"),
    ("far apart", [10**15, -(10**15), 0], [-(10**15), 0, 10**15], [2, 0, 1], "i"),
    ("floats", [1.0, 0.0, 1.0], [0.0, 1.0], [1, 0, 1], "f"),
    ("bools", [True, False, True], [False, True], [1, 0, 1], "b"),
    ("strings", ["b", "a", "b"], ["a", "b"], [1, 0, 1], "U"),
    ("string objects", np.array(["b", "a", "b"], object), ["a", "b"], [1, 0, 1], "O"),
    ("int objects", np.array([2, 1, 2], object), [1, 2], [1, 0, 1], "i"),
    ("bool objects", np.array([True, False, True], object), [False, True], [1, 0, 1], "b"),
    ("pandas strings", pd.Series(["b", "a", "b"], index=[4, 5, 6]), ["a", "b"], [1, 0, 1], "O"),
    ("pandas categories", pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"], [1, 0, 1], "O"),
    ("pandas int categories", pd.Series([2, 1, 2], dtype="category"), [1, 2], [1, 0, 1], "i"),
    ("pandas nullable ints", pd.Series([2, 1, 2], dtype="Int64"), [1, 2], [1, 0, 1], "i"),
    ("pandas nullable bools", pd.Series([True, False, True], dtype="boolean"), [False, True], [1, 0, 1], "b"),
    ("polars strings", pl.Series(["b", "a", "b"]), ["a", "b"], [1, 0, 1], "OU"),
    ("polars enum", pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])), ["a", "b"], [1, 0, 1], "O"),
    ("arrow dictionary", pa.chunked_array([["b", "a", "b"]]).dictionary_encode(), ["a", "b"], [1, 0, 1], "O"),
    ("one class", [5, 5, 5], [5], [0, 0, 0], "i"),
]


@pytest.mark.parametrize(
    ("y", "classes", "codes", "kind"), [case[1:] for case in LABELS], ids=[case[0] for case in LABELS]
)
def test_classification_targets(y: Any, classes: list[Any], codes: list[int], kind: str):
    result, coded = read_targets_classification(y, 3)
    assert result.tolist() == classes
    assert result.dtype.kind in kind
    assert coded.tolist() == codes
    assert coded.dtype == np.int64


REJECTED_LABELS = [
    ("none", None, ValueError, "requires y to be passed, but the target y is None"),
    ("too short", [1, 2], ValueError, r"inconsistent numbers of samples: \[3, 2\]. X has 3 rows, y has 2"),
    ("continuous", [0.5, 1.5, 2.0], ValueError, "Unknown label type: continuous"),
    ("continuous objects", np.array([0.5, 1.5, 2.0], object), ValueError, "Unknown label type: continuous"),
    ("nan", [0, nan, 1], ValueError, "Input y contains NaN"),
    ("inf", [0, inf, 1], ValueError, "Input y contains infinity"),
    ("none inside", ["a", None, "b"], ValueError, "Input y contains NaN"),
    ("nan inside", np.array(["a", nan, "b"], object), ValueError, "Input y contains NaN"),
    ("pandas NA inside", np.array(["a", pd.NA, "b"], object), ValueError, "Input y contains NaN"),
    ("null", pd.Series(["a", None, "b"], dtype="category"), ValueError, "Input y contains NaN"),
    ("arrow null", pa.chunked_array([["a", None, "b"]]).dictionary_encode(), ValueError, "Input y contains NaN"),
    ("arrow null in a table", pa.table({"y": pa.array(["a", None, "b"]).dictionary_encode()}), ValueError, "NaN"),
    ("not a time", np.array([1, "NaT", 3], "M8[D]"), ValueError, "Input y contains NaN"),
    ("masked", np.ma.masked_array([1, 2, 3], [0, 1, 0]), ValueError, "Input y contains NaN"),
    ("a mixture", np.array(["a", 1, "b"], object), ValueError, "Unknown label type: y mixes strings"),
    ("dicts", [{}, {}, {}], ValueError, "Unknown label type: unknown"),
    ("bytes", [b"a", b"b", b"a"], ValueError, "Unknown label type"),
    ("two columns", np.ones((3, 2), int), ValueError, r"y should be a 1d array, got an array of shape \(3, 2\)"),
    ("complex", np.ones(3) * 1j, ValueError, "Complex data not supported"),
    ("scalar", 3, ValueError, "y should be a 1d array"),
]


@pytest.mark.parametrize(
    ("y", "kind", "text"), [case[1:] for case in REJECTED_LABELS], ids=[case[0] for case in REJECTED_LABELS]
)
def test_rejected_classification_targets(y: Any, kind: type[Exception], text: str):
    with pytest.raises(kind, match=text):
        read_targets_classification(y, 3)


@pytest.mark.parametrize(
    "y", [np.array([[1], [0], [1]]), pd.DataFrame({"y": [1, 0, 1]}), pl.DataFrame({"y": [1, 0, 1]})]
)
def test_column_vector_warns(y: Any):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        assert read_targets_regression(y, 3).tolist() == [1, 0, 1]
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        assert read_targets_classification(y, 3)[1].tolist() == [1, 0, 1]


STRINGS = pd.DataFrame({"a": np.arange(20.0), "b": ["x", "y"] * 10})
ENCODE = "convert it to numbers, {} takes no categories: encode them by OneHotEncoder or pandas.get_dummies"
WRAP = {
    "classifier": ENCODE + ", or fit NumericPipelineClassifier({}())",
    "regressor": ENCODE + ", or fit NumericPipelineRegressor({}())",
}

ADVICE: dict[str, str] = {
    "SVC": WRAP["classifier"],
    "NuSVC": WRAP["classifier"],
    "LinearSVC": WRAP["classifier"],
    "NystroemSVC": WRAP["classifier"],
    "PocketPerceptron": WRAP["classifier"],
    "SVR": WRAP["regressor"],
    "NuSVR": WRAP["regressor"],
    "LinearSVR": WRAP["regressor"],
    "NystroemSVR": WRAP["regressor"],
    "OneClassSVM": ENCODE + ".",
    "OnlineBaggingClassifier": ENCODE + ".",
    "OnlineBaggingRegressor": ENCODE + ".",
    "OnlineBoostingClassifier": ENCODE + ".",
    "RestartClassifier": WRAP["classifier"],
    "AdaBoostClassifier": "cast it to a categorical dtype (of pandas, polars or Arrow).",
    "AdaBoostRegressor": "cast it to a categorical dtype (of pandas, polars or Arrow).",
    "RandomForestClassifier": "cast it to a categorical dtype or name it in categorical_features.",
    "MixtureOfExpertsRegressor": "cast it to a categorical dtype or name it in categorical_features.",
}


@pytest.mark.parametrize("name", ADVICE)
def test_the_advice_about_strings_is_possible(name: str):
    """Machines without categories were told to cast the column, boosters to name it in a parameter they lack."""
    y = np.arange(20) % 2
    words = ADVICE[name].replace("{}", "PocketPerceptron" if name == "RestartClassifier" else name)
    is_blind = "takes no categories" in words
    for table in (STRINGS, STRINGS.astype({"b": "category"})) if is_blind else (STRINGS,):
        with pytest.raises(ValueError, match=r"Column 'b' holds strings such as 'x'") as caught:
            getattr(committee, name)().fit(table, y)
        assert words in str(caught.value)
        assert is_blind != ("cast it to" in str(caught.value))


def test_the_advice_after_the_fit():
    model = committee.SVC().fit(STRINGS.assign(b=np.arange(20.0)), np.arange(20) % 2)
    with pytest.raises(ValueError, match=r"'b' holds strings .*: convert it to numbers, as it was no column"):
        model.predict(STRINGS)


def test_categories_that_are_numbers_are_numbers_to_a_machine():
    """As docs/svm.md says."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"a": rng.normal(size=40), "b": rng.integers(3, size=40)})
    y = (numbers.a + numbers.b > 1.0).astype(int)
    one, other = committee.SVC().fit(numbers, y), committee.SVC().fit(numbers.astype({"b": "category"}), y)
    np.testing.assert_array_equal(one.decision_function(numbers), other.decision_function(numbers))
