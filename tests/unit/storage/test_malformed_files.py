"""Files made to do harm, with digests that are right: each gets a clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import committee
from benchmarks.fuzz import KINDS, Pieces
from committee.storage import ModelFileError, inspect_model, load_model, save_model
from committee.storage._container import DTYPES

WANTED = (
    "tree with categories", "forest", "forest, prediction only", "AdaBoost", "AdaBoost, prediction only", "bagging",
    "gradient boosting with categories", "SVC", "mixture of experts", "hierarchical mixture", "sparsely gated mixture",
    "online boosting", "LinearSVC", "forest of many classes",
)  # fmt: skip


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """Model files by the names of benchmarks/fuzz.py."""
    import tempfile

    made: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as directory:
        for kind in KINDS:
            if kind.name in WANTED:
                path = Path(directory) / "m"
                save_model(kind.fit(), path, prediction_only=kind.only, compress=False)
                made[kind.name] = path.read_bytes()
    return made


@pytest.fixture
def rejects(files: dict[str, bytes], tmp_path: Path) -> Callable[..., None]:
    """Change the pieces of a file, put right digests on it, and see it refused with a text like this."""

    def check(name: str, change: Callable[[Pieces], None], text: str) -> None:
        pieces = Pieces.of(files[name])
        change(pieces)
        (tmp_path / "forged").write_bytes(pieces.join())
        with pytest.raises(ModelFileError, match=text):
            load_model(tmp_path / "forged")

    return check


def set_number(name: str, place: Any, value: Any, part: str | None = None) -> Callable[[Pieces], None]:
    """Put a number into the first array whose name ends so."""

    def change(pieces: Pieces) -> None:
        result = next(each for each in pieces.arrays if each.endswith(name))
        dtype, shape, content = pieces.arrays[result]
        array = np.frombuffer(content, DTYPES[dtype]).reshape(shape).copy()
        target = (
            array if part is None else array.view([("threshold", "f8"), ("feature", "i4"), ("left", "i4")])[part][:, 0]
        )
        target[place] = value
        pieces.arrays[result] = dtype, shape, array.tobytes()

    return change


def empty_array(name: str) -> Callable[[Pieces], None]:
    def change(pieces: Pieces) -> None:
        pieces.arrays[name] = pieces.arrays[name][0], [0], b""

    return change


def split_numbers_by_categories(pieces: Pieces) -> None:
    names = {
        part: next(each for each in pieces.arrays if each.endswith(part)) for part in (".category_set", ".feature")
    }
    sets, feature = (np.frombuffer(pieces.arrays[name][2], np.int32) for name in names.values())
    dtype, shape, _ = pieces.arrays[names[".feature"]]
    assert np.any(sets >= 0)
    pieces.arrays[names[".feature"]] = dtype, shape, np.where(sets >= 0, np.int32(1), feature).tobytes()


def set_state(change: Callable[[Any], None]) -> Callable[[Pieces], None]:
    def apply(pieces: Pieces) -> None:
        state = json.loads(pieces.texts["state"])
        change(state)
        pieces.texts["state"] = json.dumps(state)

    return apply


def set_field(family: str, field: str, value: Any) -> Callable[[Pieces], None]:
    """A value of the last entry of the type."""

    def change(state: Any) -> None:
        known = enumerate(state["classes"])
        at = next(i for i, each in known if each["type"].partition("/")[0] == family and field in each["fields"])
        entry = [each for each in state["table"] if each[0] in ("named", "object") and each[1] == at][-1]
        entry[2][state["classes"][at]["fields"].index(field)] = value

    return set_state(change)


# --- arrays without zeros ---------------------------------------------------------------------------------------------


def set_shape_of_thin(shape: Any) -> Callable[[Pieces], None]:
    def change(state: Any) -> None:
        next(entry for entry in state["table"] if entry[0] == "thin")[1] = shape

    return set_state(change)


def one_number_less(pieces: Pieces) -> None:
    name = next(each for each in pieces.arrays if each.endswith(".value.numbers"))
    dtype, [size], content = pieces.arrays[name]
    pieces.arrays[name] = dtype, [size - 1], content[:-8]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (set_number(".value.bits", -2, 255), "others than it should"),
        (set_number(".value.bits", 0, 0), "others than it should"),
        (one_number_less, "others than it should"),
        (set_shape_of_thin([2**40, 2**40]), "another size"),
        (set_shape_of_thin([1, 8]), "another size"),
        (set_shape_of_thin([-8, -8]), "another size"),
        (set_shape_of_thin([True, 8]), "another size"),
        (set_shape_of_thin("ab"), "another size"),
        (set_number(".value.numbers", 0, np.nan), "value"),
    ],
)
def test_an_array_without_its_zeros_is_what_it_says(rejects: Any, change: Callable[[Pieces], None], text: str) -> None:
    rejects("forest of many classes", change, text)


# --- trees ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "change", "text"),
    [
        ("tree with categories", set_number("arrays.left", 0, 0), "before its parent"),
        ("tree with categories", set_number("arrays.left", 0, 3), "one parent"),
        ("tree with categories", set_number("arrays.left", 0, 2**31 - 2), "outside the tree"),
        ("tree with categories", set_number("arrays.left", 0, -7), "before its parent"),
        ("tree with categories", set_number("arrays.feature", 0, 3), "outside 0..2"),
        ("tree with categories", set_number("arrays.feature", 0, -2), "outside 0.."),
        ("tree with categories", set_number("arrays.category_set", 0, 10**6), "outside the category sets"),
        ("tree with categories", set_number("arrays.category_set", slice(None), 0), "category"),
        ("tree with categories", set_number("arrays.threshold", slice(None), np.nan), "finite threshold"),
        ("tree with categories", set_number("arrays.value", 0, np.inf), "value is not finite"),
        ("forest", set_number(".left", 0, 0), "before its parent"),
        ("forest", set_number(".feature", 0, 2), "outside 0..1"),
        ("forest, prediction only", set_number(".nodes", 0, 10**6, "left"), "outside its tree"),
        ("forest, prediction only", set_number(".nodes", 0, -5, "left"), "before its parent"),
        ("forest, prediction only", set_number(".nodes", 0, 77, "feature"), "outside 0..2"),
        ("forest, prediction only", set_number(".nodes", -1, 0.5, "threshold"), "leads elsewhere"),
        ("forest, prediction only", set_number(".nodes", -1, 0, "feature"), "leads elsewhere"),
        ("forest, prediction only", set_number(".value_index", -1, 10**6), "value_index"),
        ("forest, prediction only", set_number(".value_index", -1, -1), "value_index"),
        ("forest, prediction only", set_number(".roots", 1, 10**6), "one after the other"),
        ("forest, prediction only", set_number(".roots", 1, 1), "outside its tree|one parent"),
        ("AdaBoost", set_number(".depths", 0, 2**62), "wrong depths"),
        ("AdaBoost", set_number("_packed.nodes.step", 0, 2**30), "packed nodes lies outside"),
        ("gradient boosting with categories", set_number(".output", 0, 5), "score that is not there"),
        ("gradient boosting with categories", set_number(".offsets", 1, 10**6), "one after the other"),
        ("gradient boosting with categories", set_number(".left", 0, 10**6), "outside its tree"),
        ("gradient boosting with categories", split_numbers_by_categories, "split by categories"),
    ],
)  # fmt: skip
def test_trees_that_lead_astray(rejects: Any, model: str, change: Any, text: str) -> None:
    rejects(model, change, text)


def test_category_sets_are_given_for_every_node_or_for_none(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = committee.RandomForestRegressor(2, random_state=0).fit(X, X[:, 0])
    save_model(model, tmp_path / "m", prediction_only=True)
    pieces = Pieces.of((tmp_path / "m").read_bytes())
    name = next(name for name in pieces.arrays if name.endswith(".category_set"))
    pieces.arrays[name] = "I32", [2], b"\xff" * 8
    (tmp_path / "m").write_bytes(pieces.join())
    with pytest.raises(ModelFileError, match="every node"):
        load_model(tmp_path / "m")


# --- other models -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "change", "text"),
    [
        ("SVC", set_field("kernel.laplacian", "gamma", "scale"), "settled"),
        ("SVC", set_field("SVC", "n_features_in_", 3), "disagrees about its columns"),
        ("SVC", set_field("SVC", "C", -1.0), "parameter"),
        ("SVC", set_field("table.columns", "n_features", 10**9), "not all described"),
        ("mixture of experts", set_field("mixture.multinomial-experts", "n_classes", 10**9), "other classes"),
        ("hierarchical mixture", set_field("mixture.gate-tree", "depth", 10**6), "too large"),
        ("hierarchical mixture", set_field("mixture.gate-tree", "branching", 1), "wrong shape|too large"),
        ("sparsely gated mixture", set_field("neural-mixture.layer", "n_hidden", 10**9), "lacks parameters"),
        ("sparsely gated mixture", set_field("neural-mixture.network", "top_k", 10**9), "more experts"),
        ("online boosting", set_field("sklearn.linear_model.SGDClassifier", "n_features_in_", 5), "wrong shape"),
        ("gradient boosting with categories", set_field("GradientBoostingRegressor", "state.round_size", -2), "rounds"),
        ("AdaBoost", set_field("AdaBoostClassifier", "n_classes_", 10**9), "disagrees about its classes"),
        ("AdaBoost", set_field("boosting.run", "start", {"ref": 0}), "State.start"),
        ("AdaBoost", empty_array("_state.score"), "scores of a run"),
        ("forest, prediction only", set_field("packed.trees", "packed", None), "packed forest is missing"),
        ("AdaBoost, prediction only", set_field("packed.lost-members", "n", -1), "number of members"),
        ("bagging", set_number("members_.0.features", 0, 99), "not in order|does not have"),
        ("bagging", empty_array("coefficients_"), "members and of coefficients"),
        ("LinearSVC", empty_array("intercept_"), "linear model have the wrong shape"),
        ("AdaBoost, prediction only", empty_array("coefficients_"), "members and of coefficients"),
        ("forest", set_field("sampling.sampler", "n_draws", 2**60), "impossible size"),
        ("forest", set_field("sampling.places", "n_rows", 10**9), "rows of a sample|no row"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit(rejects: Any, model: str, change: Any, text: str) -> None:
    rejects(model, change, text)


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["os.system", "subprocess.Popen", "builtins.eval", "committee.cli.main.main", "committee.records.tree.os", "",
     "committee.records.tree.InvalidTreeError", "committee.storage._decoding.Decoder", "committee.data...tree.Tree",
     "sklearn.ensemble.RandomForestClassifier", "trees.tree", "trees.tree/2", "committee.records.tree:Tree",
     "committee.kernels.boosting.user_functions.UserLoss",
     "committee.losses.derivatives.UserValues", "committee.storage._prediction_only.UnpackedTree",
      "sklearn.pipeline.os", "../committee.records.tree.Tree"],
)  # fmt: skip
def test_a_class_that_is_not_allowed_is_never_imported(rejects: Any, name: str) -> None:
    def change(state: Any) -> None:
        state["classes"][0]["type"] = name

    rejects("tree with categories", set_state(change), "may not hold")


@pytest.mark.parametrize("name", ["predict", "fit", "__class__", "__dict__", "a b", "feature_importances_", "",
                                  "_parameter_constraints"])  # fmt: skip
def test_an_attribute_hides_no_method(rejects: Any, name: str) -> None:
    def change(state: Any) -> None:
        own = next(each for each in state["classes"] if each["type"] == "DecisionTreeClassifier/1")
        own["fields"][-1] = name

    rejects("tree with categories", set_state(change), "attribute|hide|change")


def test_functions_and_foreign_parts_do_not_come_by_themselves(rejects: Any) -> None:
    def add(entry: list[Any]) -> Callable[[Pieces], None]:
        return set_state(lambda state: state["table"].insert(0, entry))

    rejects("forest", add(["function", "os.system"]), "functions=")
    rejects("forest", add(["foreign", "os.system", "x"]), "missing|trusted")
    rejects("forest", add(["loss", "os.system", []]), "unknown kind")
    rejects("forest", add(["random", "Generator", None]), "random")
    rejects("forest", add(["eval", "1"]), "unknown kind")


# --- values -----------------------------------------------------------------------------------------------------------


def test_a_random_state_is_checked(files: dict[str, bytes], tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = committee.RandomForestRegressor(2, random_state=np.random.RandomState(0)).fit(X, X[:, 0])
    save_model(model, tmp_path / "m")
    pieces = Pieces.of((tmp_path / "m").read_bytes())
    state = json.loads(pieces.texts["state"])
    place = next(entry for entry in state["table"] if entry[0] == "dict" and "pos" in entry[1])
    place[2][place[1].index("pos")] = 10**6  # NumPy would read there
    pieces.texts["state"] = json.dumps(state)
    (tmp_path / "m").write_bytes(pieces.join())
    with pytest.raises(ModelFileError, match="random state"):
        load_model(tmp_path / "m")


def test_references_lead_backwards_and_end(rejects: Any) -> None:
    def forwards(state: Any) -> None:
        state["table"][0] = ["list", [{"ref": 5}]]

    def itself(state: Any) -> None:
        state["table"][0] = ["list", [{"ref": 0}]]

    def endless(state: Any) -> None:
        n = len(state["table"])
        for i in range(40):  # 2^40 numbers, if anything should follow all references
            state["table"].append(["list", [{"ref": n + i - 1}] * 2 if i else [1, 2]])

    rejects("forest", set_state(forwards), "leads nowhere")
    rejects("forest", set_state(itself), "leads nowhere")
    rejects("forest", set_state(endless), "endless")


@pytest.mark.parametrize(
    ("value", "text"),
    [(10**60, "too large"), ({"float": "xyz"}, "wrong length"), ({"float": "z" * 16}, "cannot be made"),
     ([1], "unknown kind"), ({"ref": -1}, "nowhere"), ({"ref": True}, "nowhere"), ({"ref": 1.0}, "nowhere"),
     ({"a": 1, "b": 2}, "unknown kind")],
    ids=repr,
)  # fmt: skip
def test_values_that_are_none(rejects: Any, value: Any, text: str) -> None:
    rejects("forest", set_state(lambda state: state["table"].insert(0, ["list", [value]])), text)


def test_texts_and_shapes_that_would_fill_the_memory(rejects: Any) -> None:
    def wide(pieces: Pieces) -> None:
        pieces.arrays["t"], pieces.arrays["e"] = ("U8", [1], b"x"), ("I64", [1], (1).to_bytes(8, "little"))
        set_state(lambda state: state["table"].insert(0, ["text", 2**24, [1], "t", "e", "C"]))(pieces)

    def long(pieces: Pieces) -> None:
        set_state(lambda state: state["table"].insert(0, ["constant", "<f8", "00" * 8, [2**40]]))(pieces)

    def empty(pieces: Pieces) -> None:
        pieces.arrays["t"] = "F64", [0, 2**50], b""

    rejects("forest", wide, "too wide|overlap|holes")
    rejects("forest", long, "larger than the file")
    rejects("forest", empty, "huge dimension|overlap|holes")


# --- the container ----------------------------------------------------------------------------------------------------


def with_header(data: bytes, text: bytes) -> bytes:
    length = int.from_bytes(data[:8], "little")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"[" * 200_000, "cannot be read"),
        (b'{"__metadata__":{"a":' * 5, "cannot be read"),
        (b'{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"a":1}', "stands twice"),
        (b'{"__metadata__":{"format":"x","format":"y"}}', "stands twice"),
        (b'{"__metadata__":{"format":NaN}}', "no JSON"),
        (b'{"__metadata__":{"format":1}}', "no texts"),
        (b"[1,2]", "no list"),
        (b"\xff\xfe", "cannot be read"),
        (b"1" * 5000, "cannot be read|no list"),
        (b"", "cannot be read"),
    ],
    ids=range(10),
)
def test_headers_that_are_none(files: dict[str, bytes], tmp_path: Path, header: bytes, text: str) -> None:
    (tmp_path / "m").write_bytes(with_header(files["forest"], header))
    for read in (load_model, inspect_model):
        with pytest.raises(ModelFileError, match=text):
            read(tmp_path / "m")


@pytest.mark.parametrize(
    ("dtype", "shape", "place"),
    [("F64", [1], [0, 2**63]), ("F64", [2**62], [0, 8]), ("F64", [-1], [0, 8]), ("F64", [1.0], [0, 8]),
     ("F99", [1], [0, 8]), (["F64"], [1], [0, 8]), ("F64", [True], [0, 8]), ("F64", [1], [8, 0]),
     ("F64", [1] * 40, [0, 8]), ("F64", [1], None), ("U8", [8], [4, 12]), ("F64", 1, [0, 8])],
    ids=repr,
)  # fmt: skip
def test_directories_that_lie(files: dict[str, bytes], tmp_path: Path, dtype: Any, shape: Any, place: Any) -> None:
    texts = {"format": "committee model", "format_version": "1", "header_sha256": "", "data_sha256": ""}
    header = json.dumps({"__metadata__": texts, "a": {"dtype": dtype, "shape": shape, "data_offsets": place}}).encode()
    (tmp_path / "m").write_bytes(with_header(files["forest"][:8] + bytes(8), header) + bytes(8))
    with pytest.raises(ModelFileError, match=r"array|arrays|bytes of data"):
        inspect_model(tmp_path / "m")


def test_truth_values_are_0_or_1(rejects: Any) -> None:
    def change(pieces: Pieces) -> None:
        name = next(name for name, (dtype, _, content) in pieces.arrays.items() if dtype == "BOOL" and content)
        dtype, shape, content = pieces.arrays[name]
        pieces.arrays[name] = dtype, shape, b"\x02" + content[1:]

    rejects("forest", change, "neither 0 nor 1")


def test_every_flipped_bit_is_noticed(files: dict[str, bytes], tmp_path: Path) -> None:
    data = files["mixture of experts"]
    for place in np.random.default_rng(0).integers(0, len(data), 200):
        changed = bytearray(data)
        changed[place] ^= 1 << int(place % 8)
        (tmp_path / "m").write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_model(tmp_path / "m")


@pytest.mark.parametrize("change", [{"power": np.nan}, {"power": -1.0}, {"mixture": 1.5}, {"mixture": np.nan}])
def test_rejects_a_calibration_outside_its_bounds(change: dict[str, float], tmp_path: Path) -> None:
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40) // 20
    model = committee.CalibratedClassifier(committee.DecisionTreeClassifier(max_depth=1), cv=2).fit(X, y)
    model.calibration_ = model.calibration_._replace(**change)
    with pytest.raises(ModelFileError, match="calibration"):
        save_model(model, tmp_path / "forged")  # which reads what it wrote
