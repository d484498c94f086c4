"""Files of models: what stands in them, how they are written, which versions are read."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

import committee
from benchmarks.fuzz import Pieces, make_table
from committee.storage import ModelFileError, UnstorableError, inspect_model, load_model, save_model
from committee.storage import _container as container

X = np.random.default_rng(0).normal(size=(80, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)


def test_the_header_tells_what_is_inside(tmp_path: Path) -> None:
    frame, y = make_table()
    model = committee.AdaBoostClassifier(n_estimators=7, random_state=0).fit(frame, np.where(y > 0.5, "high", "low"))
    path = tmp_path / "m.committee"
    info = save_model(model, path)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))  # the arrays are not looked at
    assert inspect_model(path) == info
    assert info.model_class == "AdaBoostClassifier"
    assert info.format_version == 2
    assert info.n_features == 3
    assert info.feature_names == ["town", "size", "age"]
    assert info.feature_types == ["category", "number", "number"]
    assert info.classes == ["high", "low"]
    assert info.n_members == 7
    assert info.parameters["n_estimators"] == 7
    assert info.history is not None
    assert info.history["rounds"] == 7
    assert info.history["last"]["train_error"] == model.history_.train_error[-1]
    assert info.n_bytes == len(data)
    assert not info.is_prediction_only
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(path)


def test_what_the_header_says_is_checked_and_harmless(tmp_path: Path) -> None:
    save_model(committee.DecisionStump().fit(X, Y), tmp_path / "m")
    pieces = Pieces.of((tmp_path / "m").read_bytes())
    summary = json.loads(pieces.texts["summary"])
    pieces.texts["summary"] = json.dumps({**summary, "class": "\x1b[31mRandomForest"})
    (tmp_path / "m").write_bytes(pieces.join())
    assert "\x1b" not in inspect_model(tmp_path / "m").model_class
    pieces.texts["summary"] = json.dumps({**summary, "n_features": ["3"]})
    (tmp_path / "m").write_bytes(pieces.join())
    with pytest.raises(ModelFileError, match="n_features"):
        inspect_model(tmp_path / "m")


def test_texts_of_the_user_come_back(tmp_path: Path) -> None:
    notes = {"table": json.dumps({"a\n": [1, 2.5, None]}), "": "\x1b"}
    assert save_model(committee.DecisionStump().fit(X, Y), tmp_path / "m", metadata=notes).metadata == notes
    assert save_model(committee.DecisionStump().fit(X, Y), tmp_path / "m").metadata == {}


@pytest.mark.slow
def test_inspecting_needs_no_compiler(tmp_path: Path) -> None:
    save_model(committee.SVC().fit(X, Y), tmp_path / "m")
    program = (
        "import sys; from committee.storage import inspect_model; inspect_model(sys.argv[1]);"
        "print('numba' in sys.modules, 'committee.svm.svc' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "m")], capture_output=True, text=True, check=True
    )
    assert run.stdout.split()[1] == "False"


def test_a_forgotten_fit_and_other_things_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        save_model(committee.SVC(), tmp_path / "m")
    with pytest.raises(UnstorableError, match="fitted estimator"):
        save_model({"a": 1}, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match="Model file not found"):
        load_model(tmp_path / "m")
    (tmp_path / "m").write_bytes(b"")
    with pytest.raises(ModelFileError, match="no model file"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupt_leaves_the_old_file(error: type[BaseException], tmp_path: Path, monkeypatch: Any) -> None:
    model, path = committee.DecisionStump().fit(X, Y), tmp_path / "m"
    save_model(model, path, compress=False)
    before = path.read_bytes()
    blocks = container._blocks
    calls = []

    def interrupted(array: Any) -> Any:
        calls.append(array)
        if len(calls) > 20:  # the digest of 16 arrays is done, the file begun
            raise error
        yield from blocks(array)

    monkeypatch.setattr(container, "_blocks", interrupted)
    with pytest.raises(error):
        save_model(committee.DecisionTreeClassifier().fit(X, Y), path, compress=False)
    assert len(calls) == 21
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["m"]


def test_the_file_has_usual_permissions(tmp_path: Path) -> None:
    save_model(committee.DecisionStump().fit(X, Y), tmp_path / "m")
    (tmp_path / "plain").write_bytes(b"")
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def radial(x: Any, z: Any) -> Any:
    return np.exp(-((np.asarray(x)[:, None] - np.asarray(z)[None]) ** 2).sum(axis=2))


def squared(y: float, score: float) -> float:
    return (y - score) ** 2


def test_functions_are_named_and_given_again(tmp_path: Path) -> None:
    model = committee.SVC(kernel=radial).fit(X, Y)
    info = save_model(model, tmp_path / "m")
    assert [name.rpartition(".")[2] for name in info.functions] == ["radial"]
    with pytest.raises(ModelFileError, match="functions="):
        load_model(tmp_path / "m")
    other = load_model(tmp_path / "m", functions={"radial": radial})
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def test_a_loss_of_the_user(tmp_path: Path) -> None:
    model = committee.GradientBoostingRegressor(loss=squared, n_estimators=3, early_stopping=False).fit(X, X[:, 0])
    save_model(model, tmp_path / "m")
    other = load_model(tmp_path / "m", functions={"squared": squared})
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    for each in (model, other):
        each.set_params(warm_start=True, n_estimators=5).fit(X, X[:, 0])
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_foreign_members_go_through_skops_on_request_only(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    model = committee.BaggingClassifier(KNeighborsClassifier(3), n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(UnstorableError, match="foreign=True"):
        save_model(model, tmp_path / "m")
    info = save_model(model, tmp_path / "m", foreign=True)
    assert "sklearn.neighbors._classification.KNeighborsClassifier" in info.foreign
    with pytest.raises(ModelFileError, match="trusted="):
        load_model(tmp_path / "m")
    with pytest.raises(ModelFileError, match="KDTree"):
        load_model(tmp_path / "m", trusted=["sklearn.neighbors._classification.KNeighborsClassifier"])
    other = load_model(tmp_path / "m", trusted=info.foreign)
    np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))


def test_another_version_of_scikit_learn_is_reported(tmp_path: Path) -> None:
    model = committee.BaggingClassifier(LogisticRegression(), n_estimators=2, random_state=0).fit(X, Y)
    save_model(model, tmp_path / "m")
    pieces = Pieces.of((tmp_path / "m").read_bytes())
    summary = json.loads(pieces.texts["summary"])
    summary["versions"]["scikit-learn"] = "1.0.0"
    pieces.texts["summary"] = json.dumps(summary)
    (tmp_path / "m").write_bytes(pieces.join())
    with pytest.warns(InconsistentVersionWarning, match=r"1\.0\.0"):
        load_model(tmp_path / "m")


def test_newer_formats_are_rejected_and_other_files(tmp_path: Path) -> None:
    import safetensors.numpy

    save_model(committee.DecisionStump().fit(X, Y), tmp_path / "m")
    pieces = Pieces.of((tmp_path / "m").read_bytes())
    for number, text in (
        ("3", "install a newer"),
        ("1", "first release"),
        ("one", "not a model file"),
        ("-1", "not a model file"),
        ("٣", "not a model file"),
    ):
        pieces.texts["format_version"] = number
        (tmp_path / "m").write_bytes(pieces.join())
        for read in (load_model, inspect_model):
            with pytest.raises(ModelFileError, match=text):
                read(tmp_path / "m")
    safetensors.numpy.save_file({"a": np.zeros(3)}, tmp_path / "other", {"format": "np"})
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(tmp_path / "other")
