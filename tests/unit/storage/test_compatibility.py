"""Compatibility of model files: a file of each estimator stays readable, whatever moves or is renamed inside.

The files in `files/` were written by `python -m tests.unit.storage.test_compatibility`, which also wrote what their
models predict. Since the first published version files are added and never written again: where a class or a parameter
gets another name, the file of the older tag stays.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils import get_tags

import committee
from committee import DecisionTreeClassifier, VotingClassifier
from committee.catalog import CATALOG
from committee.evaluation._folds import seeded
from committee.storage import UnstorableError, load_model, save_model
from committee.storage import _schema as schema
from committee.storage._schema import StoredType, stored_type, stored_types
from tests.contract.test_contract import LINEAR, SETTINGS

FILES = Path(__file__).parent / "files"
EXPECTED = FILES / "expected.json"
TOLERANCE = 1e-7


def first_settings() -> dict[str, Any]:
    """For every estimator of the catalogue the first of the settings that the contract is tested on."""
    result: dict[str, Any] = {}
    for model in (*SETTINGS, *LINEAR):
        result.setdefault(type(model).__name__, clone(model))
    for kind in ("Classifier", "Regressor"):  # the usual members are of classes that files do not hold
        tree, forest = (getattr(committee, f"{name}{kind}") for name in ("DecisionTree", "RandomForest"))
        members = [("tree", tree(max_depth=2)), ("forest", forest(5))]
        result[f"Voting{kind}"].set_params(estimators=members)
        result[f"Stacking{kind}"].set_params(estimators=members)
    return result


def make_table(model: Any) -> tuple[Any, Any]:
    """48 rows; classes as texts."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(48, 3)).round(2)
    signal = X[:, 0] + np.sin(2.0 * X[:, 1])
    if not is_classifier(model):
        return X, signal - signal.min()
    cuts = [-0.5, 0.7] if get_tags(model).classifier_tags.multi_class else [0.0]
    return X, np.array(["a", "b", "c"])[np.digitize(signal, cuts)]


def predictions(model: Any) -> list[Any]:
    X, _ = make_table(model)
    return np.asarray(model.predict(X[:12])).tolist()


def expected() -> dict[str, list[Any]]:
    return json.loads(EXPECTED.read_text(encoding="utf-8"))


def load_quietly(path: Path) -> Any:
    """A model of a file written with scikit-learn 1.9; older versions lack what its estimators have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return load_model(path)


def stem_of(tag: str) -> str:
    """Name of the file of a tag: the class, and the version after the first."""
    family, _, version = tag.partition("/")
    return family if version == "1" else f"{family}-{version}"


def estimator_tags() -> list[str]:
    """Every tag that an estimator of the catalogue has or had; no file may ever be given up."""
    known = {entry.name for entry in CATALOG}
    return [tag for tag, stored in stored_types().items() if stored.is_open and stored.name in known]


@pytest.mark.parametrize("tag", estimator_tags())
def test_a_file_of_every_estimator_stays_readable(tag: str) -> None:
    model, known = load_quietly(FILES / f"{stem_of(tag)}.committee"), expected()[stem_of(tag)]
    assert type(model).__name__ == stored_types()[tag].name
    parameters = set(type(model)().get_params(deep=False))
    assert parameters <= set(vars(model))
    assert {name for name in vars(model) if not name.endswith("_") and not name.startswith("_")} == parameters
    result = predictions(model)
    if isinstance(known[0], str):
        assert result == known
    else:
        np.testing.assert_allclose(result, known, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("tag", estimator_tags())
def test_files_name_neither_modules_nor_private_attributes(tag: str, tmp_path: Path) -> None:
    model = load_quietly(FILES / f"{stem_of(tag)}.committee")
    save_model(model, tmp_path / "plain", compress=False)
    state = json.loads(read_state(tmp_path / "plain"))
    own = [each for each in state["classes"] if not each["type"].startswith("sklearn.")]
    assert all(each["type"] in stored_types() and each["type"] not in schema.UPGRADES for each in own)
    private = [field for each in own for field in each["fields"] if field.startswith("_")]
    assert set(private) <= set(schema.OF_SCIKIT_LEARN)


def read_state(path: Path) -> str:
    """The description of the model in an uncompressed file."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return header["__metadata__"]["state"]


class Moved(VotingClassifier):
    """What VotingClassifier could become: in another module, a private attribute under another name."""

    @property
    def _rule(self) -> Any:  # type: ignore[override]
        return self._combination_rule


def test_a_renamed_module_and_attribute_leave_old_files_readable(tmp_path: Path, monkeypatch: Any) -> None:
    X, y = make_table(VotingClassifier())
    model = VotingClassifier([("tree", DecisionTreeClassifier(max_depth=2))]).fit(X, y)
    save_model(model, tmp_path / "old")
    home = types.ModuleType("committee_moved")
    home.Moved = Moved  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "committee_moved", home)
    new = StoredType("VotingClassifier/1", "committee_moved", "Moved", {"state.rule": "_combination_rule"}, True)
    monkeypatch.setitem(stored_types(), "VotingClassifier/1", new)
    again = load_model(tmp_path / "old")
    assert type(again) is Moved
    assert "_combination_rule" in vars(again)
    assert "_rule" not in vars(again)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_state_of_an_older_version_is_upgraded(tmp_path: Path, monkeypatch: Any) -> None:
    X, y = make_table(DecisionTreeClassifier())
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    save_model(model, tmp_path / "old")
    known = stored_types()["DecisionTreeClassifier/1"]
    monkeypatch.setitem(stored_types(), "DecisionTreeClassifier/2", known._replace(tag="DecisionTreeClassifier/2"))

    def upgrade(state: dict[str, Any]) -> dict[str, Any]:
        return {**state, "max_depth": 7}

    monkeypatch.setitem(schema.UPGRADES, "DecisionTreeClassifier/1", ("DecisionTreeClassifier/2", upgrade))
    assert load_model(tmp_path / "old").max_depth == 7


def test_a_private_attribute_that_the_schema_lacks_is_rejected(tmp_path: Path) -> None:
    X, y = make_table(DecisionTreeClassifier())
    model = DecisionTreeClassifier().fit(X, y)
    model._note = 1
    with pytest.raises(UnstorableError, match="_note"):
        save_model(model, tmp_path / "m")


@pytest.mark.parametrize("tag", [tag for tag in stored_types() if tag not in schema.UPGRADES])
def test_the_schema_names_classes_and_fields_that_exist(tag: str) -> None:
    stored = stored_types()[tag]
    kind = stored.load()
    fields = getattr(kind, "_fields", None) or tuple(getattr(kind, "__dataclass_fields__", ()))
    assert stored.home.startswith("committee.")
    assert kind.__qualname__ == stored.name
    if fields and not stored.is_open:
        assert sorted(stored.attribute_of.values()) == sorted(fields)


def private_attributes(cls: type) -> set[str]:
    """Private attributes that the methods of a class or of its bases here assign."""
    result: set[str] = set()
    for kind in cls.__mro__:
        if not kind.__module__.startswith("committee."):
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind)))):
            is_stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if is_stored and isinstance(node.value, ast.Name) and node.value.id == "self":
                result.add(node.attr)
    return {name for name in result if name.startswith("_")}


@pytest.mark.parametrize(
    "tag", [tag for tag, stored in stored_types().items() if stored.is_open and tag not in schema.UPGRADES]
)
def test_the_schema_names_every_private_attribute_of_an_estimator(tag: str) -> None:
    stored = stored_types()[tag]
    assert private_attributes(stored.load()) <= set(stored.attribute_of.values())


def main() -> None:
    """Write the files that are missing, and what their models predict."""
    FILES.mkdir(exist_ok=True)
    result = expected() if EXPECTED.exists() else {}
    for setting in first_settings().values():
        stored = stored_type(type(setting))
        assert stored is not None
        stem = stem_of(stored.tag)
        if (FILES / f"{stem}.committee").exists():
            continue
        X, y = make_table(setting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = seeded(setting, 0).fit(X, y)
        save_model(model, FILES / f"{stem}.committee")
        result[stem] = predictions(model)
    EXPECTED.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
