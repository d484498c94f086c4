"""The built-in sample data: shapes, labels, missing cells and categories as their sources state them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from committee.datasets import dataset_names, load_dataset

# name: rows, features, missing cells, classes (None for regression), categorical columns
FACTS = {
    "glass": (214, 9, 0, [1, 2, 3, 5, 6, 7], ()),
    "ionosphere": (351, 34, 0, ["bad", "good"], (0, 1)),
    "ozone": (361, 12, 196, None, (0, 1, 2)),
    "pima_diabetes": (768, 8, 0, ["neg", "pos"], ()),
    "sonar": (208, 60, 0, ["M", "R"], ()),
    "spam": (4601, 57, 0, ["nonspam", "spam"], ()),
    "vehicle": (846, 18, 0, ["bus", "opel", "saab", "van"], ()),
}


def test_every_data_set_is_tested():
    assert set(dataset_names()) == set(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_data_set_is_that_of_its_source(name: str):
    rows, features, missing, classes, categories = FACTS[name]
    sample = load_dataset(name)
    assert sample.X.shape == (rows, features)
    assert sample.X.dtype == np.float64
    assert np.isnan(sample.X).sum() == missing
    assert sample.y.shape == (rows,)
    assert len(sample.feature_names) == features
    assert sample.target_name not in sample.feature_names
    assert sample.categories == categories
    if classes is None:
        assert sample.task == "regression"
        assert np.isfinite(sample.y).all()
    else:
        assert sample.task == "classification"
        assert np.unique(sample.y).tolist() == classes


def test_values_are_the_files_values():
    sample = load_dataset("pima_diabetes")
    assert sample.X[0].tolist() == [6, 148, 72, 35, 0, 33.6, 0.627, 50]
    assert sample.y[0] == "pos"
    assert (sample.y == "pos").sum() == 268


def test_missing_cells_stand_where_the_file_has_them():
    ozone = load_dataset("ozone")
    first = dict(zip(ozone.feature_names, ozone.X[0], strict=True))
    assert ozone.y[0] == 3
    assert first["V5"] == 5480
    assert np.isnan(first["V8"])
    assert np.isnan(first["V9"])


@pytest.mark.parametrize("name", FACTS)
def test_frame_equals_arrays(name: str):
    pytest.importorskip("pandas")
    arrays, frame = load_dataset(name), load_dataset(name, as_frame=True)
    assert list(frame.X.columns) == list(arrays.feature_names)
    np.testing.assert_array_equal(frame.X.astype("float64").to_numpy(), arrays.X)
    np.testing.assert_array_equal(frame.y, arrays.y)
    is_category = [str(dtype) == "category" for dtype in frame.X.dtypes]
    assert tuple(np.flatnonzero(is_category)) == frame.categories


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"glass, ionosphere.*irises"):
        load_dataset("irises")


def test_frame_without_pandas_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas"):
        load_dataset("glass", as_frame=True)


def test_arrays_need_no_pandas(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert load_dataset("glass").X.shape == (214, 9)
