"""Rows about the plane: formulas, kinds, gaps that are computed anew, pairs, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from committee.datasets import load_dataset
from committee.explain.svm_geometry import KINDS, binary_values, svm_geometry
from committee.svm.linear_svm import LinearSVC
from committee.svm.nu_svm import NuSVC
from committee.svm.svc import SVC

MODELS: dict[str, Any] = {
    "gaussian": SVC(C=2.0, scale=True),
    "hard margin": SVC(C=np.inf, scale=True),
    "linear, balanced": SVC(kernel="linear", class_weight="balanced", scale=True),
    "nu": NuSVC(nu=0.3, scale=True),
    "squared hinge": LinearSVC(scale=True),
    "squared hinge, balanced": LinearSVC(class_weight="balanced"),
    "hinge": LinearSVC(loss="hinge", scale=True),
    "hinge, small C": LinearSVC(loss="hinge", C=0.1),
}


def sonar() -> tuple[Any, Any, Any]:
    X, y = load_dataset("sonar")[:2]
    return X, y, np.random.default_rng(0).integers(0, 3, len(y)).astype(float)


@pytest.mark.parametrize("name", MODELS)
def test_rows_obey_the_conditions_of_the_optimum(name: str) -> None:
    X, y, weight = sonar()
    model = MODELS[name].fit(X, y, weight)
    result = svm_geometry(model, X, y, sample_weight=weight)
    rows = result.rows
    np.testing.assert_array_equal(rows.row, np.flatnonzero(weight))
    np.testing.assert_array_equal(rows.side, np.where(y[rows.row] == model.classes_[1], 1, -1))
    np.testing.assert_array_equal(rows.label, y[rows.row])
    np.testing.assert_allclose(rows.decision, model.decision_function(X)[rows.row])
    np.testing.assert_allclose(rows.distance, np.abs(rows.decision) * result.margin / 2.0)
    np.testing.assert_allclose(rows.slack, np.maximum(0.0, 1.0 - rows.side * rows.decision), atol=1e-9)
    assert float(rows.alpha @ rows.side) == pytest.approx(0.0, abs=1e-7 * rows.alpha.sum())
    assert (rows.alpha >= 0.0).all()
    assert set(rows.kind) <= set(KINDS)
    assert sum(result.count(kind) for kind in KINDS) == len(rows.row)
    assert result.kkt_violation < 1e-6
    assert result.duality_gap == pytest.approx(0.0, abs=1e-6 * result.primal)
    if not name.startswith("squared"):
        assert (rows.slack[rows.kind != "bounded"] < 1e-6).all()
        np.testing.assert_array_equal(rows.alpha == 0.0, rows.kind == "outside")


def test_norm_and_dual_against_the_gram_matrix() -> None:
    """|w|^2 = a'Qa and the objectives from their definitions."""
    X, y, weight = sonar()
    model = SVC(C=1.5, gamma=0.5).fit(X, y, weight)
    result = svm_geometry(model, X, y, sample_weight=weight)
    rows = result.rows
    by = rows.alpha * rows.side
    squared = float(by @ model.kernel_(X[rows.row]) @ by)
    assert result.norm**2 == pytest.approx(squared)
    assert result.margin == pytest.approx(2.0 / np.sqrt(squared))
    assert result.margin == pytest.approx(model.binary_svms_[0].margin)
    bound = 1.5 * weight[rows.row]
    assert result.primal == pytest.approx(0.5 * squared + bound @ rows.slack)
    assert result.dual == pytest.approx(rows.alpha.sum() - 0.5 * squared)
    np.testing.assert_array_equal(rows.kind == "bounded", rows.alpha >= bound)
    assert result.total_slack == rows.slack.sum()
    assert result.n_wrong == np.count_nonzero(model.predict(X)[rows.row] != y[rows.row])


def test_the_linear_machine_and_the_kernel_machine_have_the_same_rows() -> None:
    X, y = load_dataset("sonar")[:2]
    linear = svm_geometry(LinearSVC(loss="hinge", C=0.5).fit(X, y), X, y)
    kernel = svm_geometry(SVC(kernel="linear", C=0.5).fit(X, y), X, y)
    assert linear.margin == pytest.approx(kernel.margin, rel=1e-6)
    np.testing.assert_array_equal(linear.rows.kind, kernel.rows.kind)
    np.testing.assert_allclose(linear.rows.alpha, kernel.rows.alpha, atol=1e-5)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_machines_of_several_classes(multi_class: Any) -> None:
    X, y = load_dataset("glass")[:2]
    model = SVC(C=5.0, scale=True, multi_class=multi_class).fit(X, y)
    classes, values = model.classes_, binary_values(model, X)
    assert values.shape == (len(y), 15 if multi_class == "ovo" else 6)
    for machine in (0, 4, 5):
        result = svm_geometry(model, X, y, problem=machine)
        if multi_class == "ovo":
            i, j = [(i, j) for i in range(6) for j in range(i + 1, 6)][machine]
            assert (result.positive, result.negative) == (classes[i], classes[j])
            np.testing.assert_array_equal(result.rows.row, np.flatnonzero((y == classes[i]) | (y == classes[j])))
        else:
            assert (result.positive, result.negative) == (classes[machine], None)
            assert len(result.rows.row) == len(y)
            assert "against the rest" in str(result)
        np.testing.assert_allclose(result.rows.decision, values[result.rows.row, machine])
        assert result.duality_gap == pytest.approx(0.0, abs=1e-8 * result.primal)
        assert result.kkt_violation < 1e-8


def test_linear_machines_of_several_classes() -> None:
    X, y = load_dataset("glass")[:2]
    model = LinearSVC(scale=True).fit(X, y)
    result = svm_geometry(model, X, y, problem=2)
    assert result.positive == model.classes_[2]
    assert result.margin == pytest.approx(model.margin_[2])
    assert result.duality_gap == pytest.approx(0.0, abs=1e-6 * result.primal)


def test_the_offset_has_the_units_of_the_distances() -> None:
    """That of LinearSVC was for the columns as they come."""
    X, y = load_dataset("sonar")[:2]
    linear = svm_geometry(LinearSVC(loss="hinge", scale=True).fit(X, y), X, y)
    assert linear.offset == pytest.approx(
        svm_geometry(SVC(kernel="linear", scale=True).fit(X, y), X, y).offset, abs=1e-5
    )


def test_frames_and_words() -> None:
    X, y = load_dataset("sonar")[:2]
    frame = pd.DataFrame(X, columns=[f"band {f}" for f in range(X.shape[1])])
    result = svm_geometry(SVC().fit(frame, y), frame, pd.Series(y))
    table = result.to_pandas()
    assert list(table.columns) == ["row", "label", "side", "decision", "distance", "slack", "alpha", "kind"]
    assert len(table) == len(y)
    assert f"{result.count('free')} free, {result.count('bounded')} bounded" in str(result)


def test_other_rows_are_rejected() -> None:
    X, y = load_dataset("sonar")[:2]
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="not the rows that the model was fitted on"):
        svm_geometry(model, X + 1.0, y)
    with pytest.raises(ValueError, match="not the rows that the model was fitted on"):
        svm_geometry(model, X[::-1], y[::-1])
    with pytest.raises(ValueError, match="not the rows that the model was fitted on"):
        svm_geometry(model, X, y, sample_weight=np.arange(len(y)) % 2)
    with pytest.raises(ValueError, match="labels that the model does not know"):
        svm_geometry(model, X, np.where(y == "M", "?", y))
    with pytest.raises(ValueError, match=r"problem must be in 0\.\.0"):
        svm_geometry(model, X, y, problem=1)
    with pytest.raises(ValueError, match="intercept without penalty"):
        svm_geometry(LinearSVC(fit_intercept=False).fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        svm_geometry(SVC(), X, y)


def test_other_weights_or_another_penalty_are_rejected() -> None:
    X, y = load_dataset("sonar")[:2]
    weight = np.linspace(0.5, 2.0, len(y))
    with pytest.raises(ValueError, match="pass the same X, y and sample_weight, and leave its parameters as they were"):
        svm_geometry(SVC().fit(X, y, sample_weight=weight), X, y)
    with pytest.raises(ValueError, match="leave its parameters as they were"):
        svm_geometry(SVC().fit(X, y).set_params(C=50.0), X, y)


def test_a_sparse_table_is_rejected() -> None:
    X, y = load_dataset("sonar")[:2]
    table = sparse.csr_matrix(X)
    with pytest.raises(TypeError, match=r"pass X.toarray\(\)"):
        svm_geometry(LinearSVC().fit(table, y), table, y)
