"""Compressed model files: no bit lost, small, and refused when they lie about their sizes."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from committee.storage import ModelFileError, PredictionOnlyError, inspect_model, load_model, save_model
from committee.storage._compression import DATA, DIRECTORY, compress, restore

RNG = np.random.default_rng(0)
ODD = np.array([0x7FF8000000000001, 0x8000000000000000, 0xFFF0000000000000, 1, 0], np.uint64).view(np.float64)

TENSORS: dict[str, Any] = {
    "random": RNG.normal(size=5000),
    "few": RNG.choice(ODD, 3000).reshape(100, 30),
    "integers": RNG.integers(-5, 5, 4000),
    "edges": np.array([-(2**63), 2**63 - 1, 0, -1] * 20),
    "unsigned": np.array([2**64 - 1, 0, 5] * 30, np.uint64),
    "children": np.where(np.arange(3000) % 2, -1, np.cumsum(RNG.integers(-3, 9, 3000))).astype(np.int32),
    "narrow": RNG.normal(size=77).astype(np.float32),
    "half": RNG.normal(size=77).astype(np.float16),
    "bits": RNG.random(999) < 0.3,
    "bytes": RNG.integers(0, 256, 9, np.uint8),
    "small": np.arange(17, dtype=np.int16),
    "none": np.empty((0, 4), np.int32),
    "scalar": np.array(3.5),
    "same": np.zeros(5000),
    "list.0.left": np.arange(40),
    "list.1.left": np.arange(7)[:, None],
}


def test_every_bit_comes_back() -> None:
    packed = compress(TENSORS, "text \N{SNOWMAN}")
    assert packed is not None
    result = restore(packed.tensors, packed.text)
    assert result.state == "text \N{SNOWMAN}"
    assert result.tensors.keys() == TENSORS.keys()
    for name, array in TENSORS.items():
        back = result.tensors[name]
        assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes()), name
        assert back.flags.writeable
    assert sum(array.nbytes for array in packed.tensors.values()) < 0.6 * sum(each.nbytes for each in TENSORS.values())


@pytest.mark.slow
def test_what_would_declare_too_large_a_size_is_not_compressed() -> None:
    assert compress({"zeros": np.broadcast_to(0.0, 20_000_000)}, "") is None
    assert compress({"zeros": np.broadcast_to(0.0, 1_000_000)}, "") is not None


def forged(change: Any, sizes: dict[str, Any] | None = None) -> tuple[dict[str, Any], str]:
    """The compressed arrays with another directory."""
    packed = compress({"a": TENSORS["children"], "b": TENSORS["few"], "c": TENSORS["random"]}, "{}")
    assert packed is not None
    listed = json.loads(zlib.decompress(packed.tensors[DIRECTORY].tobytes()))
    change(listed)
    text = json.dumps(listed).encode()
    declared = {**json.loads(packed.text), "n_directory_bytes": len(text), **(sizes or {})}
    directory = np.frombuffer(zlib.compress(text), np.uint8)
    return {**packed.tensors, DIRECTORY: directory}, json.dumps(declared)


def put(*path: Any) -> Any:
    """Put the last of these at the place that the others name, among the groups."""
    *places, last, value = path

    def change(listed: Any) -> None:
        holder = listed["groups"]
        for place in places:
            holder = holder[place]
        holder[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (put(0, 0, "F128"), "unknown dtype"), (put(0, 2, "zip"), "unknown form"), (put(0, 3, []), "lacks a number"),
        (put(0, 1, 0, 1, [2**40]), "other sizes"), (put(0, 1, 0, 1, [-1]), "impossible shape"),
        (put(0, 1, 0, 1, [0, 2**40]), "impossible shape"), (put(0, 1, 0, 0, "c"), "stands twice"),
        (put(0, 1, 0, 0, 3), "no name"), (put(0, 4, 0, 0, 2**50), "another size"), (put(0, 4, 0, [1]), "piece"),
        (put(0, 4, [[0, True]]), "another"), (put(1, 3, 0, 2), "another"),
        (put(1, 3, 0, 2**40), "more distinct"), (put(0, 3, 1, 2**40), "impossible number"),
        (put(0, 3, 0, 2**40), "impossible number"), (put(0, None), "is invalid"),
        (lambda listed: listed.update(state=None), "no groups"), (lambda listed: listed.pop("state"), "directory"),
    ],
)  # fmt: skip
def test_a_directory_that_lies_is_rejected(change: Any, text: str) -> None:
    with pytest.raises(ModelFileError, match=text):
        restore(*forged(change))


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"n_bytes": 2**50}, "more than its bytes can hold"), ({"n_directory_bytes": 2**50}, "more than its bytes"),
        ({"n_directory_bytes": 7}, "another number of bytes"), ({"n_arrays": 9}, "another number of arrays"),
        ({"n_bytes": -1}, "no number"), ({"n_bytes": True}, "no number"), ({"more": 1}, "does not declare"),
    ],
)  # fmt: skip
def test_sizes_that_lie_are_rejected(sizes: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelFileError, match=text):
        restore(*forged(lambda listed: None, sizes))


def test_a_decompression_bomb_is_rejected_before_it_unfolds() -> None:
    """A megabyte of zeros behind a piece that declares ten bytes: ten and one are made, no more."""
    bomb = np.frombuffer(zlib.compress(bytes(1 << 20)), np.uint8)
    text = json.dumps({"groups": [["U8", [["a", [10]]], "planes", [], [[bomb.size, False]]]], "state": ""}).encode()
    tensors = {DIRECTORY: np.frombuffer(zlib.compress(text), np.uint8), DATA: bomb}
    sizes = {"n_arrays": 1, "n_bytes": 10, "n_directory_bytes": len(text)}
    with pytest.raises(ModelFileError, match="another number of bytes"):
        restore(tensors, json.dumps(sizes))


# --- sizes of files ---------------------------------------------------------------------------------------------------


def table(n: int, d: int, decimals: int | None = None) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X = X if decimals is None else X.round(decimals)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)


WIDE, LONG = table(1495, 100), table(3000, 8, 2)
CLASSES = np.searchsorted(np.quantile(LONG[1], np.linspace(0, 1, 19)[1:-1]), LONG[1])

FORESTS: list[tuple[Any, Any, Any]] = [
    (committee.RandomForestRegressor(20, random_state=0), *WIDE),
    (committee.RandomForestClassifier(40, random_state=0), WIDE[0], WIDE[1] > 0),
    (committee.ExtraTreesRegressor(10, random_state=0), *WIDE),
    (committee.BaggingRegressor(n_estimators=20, random_state=0), *WIDE),
    (committee.RandomForestClassifier(20, random_state=0), LONG[0], CLASSES),
    (committee.BaggingClassifier(n_estimators=20, random_state=0), LONG[0], CLASSES),
]


@pytest.mark.parametrize("case", FORESTS, ids=lambda case: type(case[0]).__name__)
def test_a_compact_file_takes_a_tenth(case: tuple[Any, Any, Any], tmp_path: Path) -> None:
    model, X, y = case
    model.fit(X, y)
    whole = save_model(model, tmp_path / "whole", compress=False).n_bytes
    assert save_model(model, tmp_path / "full").n_bytes < whole / 3
    assert save_model(model, tmp_path / "m", compact=True).n_bytes < whole / 10
    other = load_model(tmp_path / "m")
    assert np.array_equal(other.predict(X), model.predict(X))
    assert np.array_equal(other.feature_importances_, model.feature_importances_)
    some = committee.shap_values(other, X[:2])
    assert np.array_equal(some.values, committee.shap_values(model, X[:2]).values)


def test_nodes_of_a_prediction_only_forest_take_few_bytes(tmp_path: Path) -> None:
    model = committee.RandomForestClassifier(20, random_state=0).fit(LONG[0], CLASSES)
    n_nodes = sum(tree.n_nodes for tree in model.trees_)
    assert save_model(model, tmp_path / "m", prediction_only=True).n_bytes < 3 * n_nodes  # 20 and values, not packed


@pytest.mark.parametrize("rule", ["mean", "median", "weighted"])
def test_compact_bagging_by_every_rule(rule: str, tmp_path: Path) -> None:
    X, y = LONG
    model = committee.BaggingRegressor(n_estimators=5, max_features=0.7, combine=rule, random_state=0).fit(X, y)
    save_model(model, tmp_path / "m", compact=True)
    other = load_model(tmp_path / "m")
    assert np.array_equal(other.predict(X), model.predict(X))
    for one, two in zip(model.members_, other.members_, strict=True):
        assert np.array_equal(one.predictions(X), two.predictions(X))
        assert np.array_equal(one.features, two.features)


def test_weights_that_are_no_sums_are_kept_whole(tmp_path: Path) -> None:
    X, y = LONG
    weight = np.random.default_rng(0).random(len(y))
    model = committee.RandomForestRegressor(3, random_state=0).fit(X, y, sample_weight=weight)
    save_model(model, tmp_path / "m", compact=True)
    for one, other in zip(model.trees_, load_model(tmp_path / "m").trees_, strict=True):
        assert np.array_equal(one.weight, other.weight)


def test_categories_of_a_compact_forest(tmp_path: Path) -> None:
    import pandas as pd

    X, y = LONG
    town = np.random.default_rng(1).integers(0, 30, len(y))
    frame = pd.DataFrame({"town": pd.Categorical(town.astype(str)), "size": X[:, 0]})
    model = committee.RandomForestRegressor(4, random_state=0).fit(frame, y + town % 3)
    save_model(model, tmp_path / "m", compact=True)
    other = load_model(tmp_path / "m")
    for one, two in zip(model.trees_, other.trees_, strict=True):
        assert np.array_equal(one.category_set, two.category_set)
        assert np.array_equal(one.categories, two.categories)
    assert np.array_equal(other.predict(frame), model.predict(frame))


def test_a_compact_model_says_what_it_lost(tmp_path: Path) -> None:
    X, y = LONG
    model = committee.RandomForestRegressor(3, random_state=0).fit(X, y)
    save_model(model, tmp_path / "m", compact=True)
    other = load_model(tmp_path / "m")
    assert other.oob_error_ == model.oob_error_
    assert not inspect_model(tmp_path / "m").is_prediction_only
    with pytest.raises(PredictionOnlyError, match="compact"):
        _ = other.trees_[0].impurity
    with pytest.raises(PredictionOnlyError, match="cannot be fitted further"):
        other.set_params(warm_start=True, n_estimators=5).fit(X, y)
    evidence = [committee.forest_diagnostics(each, X, y).uncertainty for each in (model, other)]
    np.testing.assert_allclose(evidence[1].aleatoric, evidence[0].aleatoric, rtol=1e-8, atol=1e-12)  # sums reordered
    with pytest.raises(ValueError, match="pass one of them"):
        save_model(model, tmp_path / "m", compact=True, prediction_only=True)
    save_model(load_model(tmp_path / "m"), tmp_path / "again", compact=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_compressed_file_is_not_mapped_and_says_so(tmp_path: Path) -> None:
    X, y = LONG
    model = committee.DecisionTreeRegressor(max_depth=4).fit(X, y)
    save_model(model, tmp_path / "m")
    with pytest.warns(UserWarning, match="compress=False"):
        other = load_model(tmp_path / "m", mmap=True)
    assert np.array_equal(other.predict(X), model.predict(X))
    plain = save_model(model, tmp_path / "plain", compress=False)
    assert inspect_model(tmp_path / "m").n_arrays == plain.n_arrays
