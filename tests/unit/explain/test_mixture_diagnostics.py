"""Who answers for a row and how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.explain.mixture_diagnostics import expert_coefficients, expert_predictions, mixture_diagnostics

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = np.where(X[:, 0] > 0, 2.0 * X[:, 1], -3.0 * X[:, 1] + 1.0) + 0.1 * RNG.normal(size=200)
MODEL = MixtureOfExpertsRegressor(2, n_restarts=2, tol=1e-3, random_state=0).fit(X, Y)


def test_evidence() -> None:
    result = mixture_diagnostics(MODEL, X, Y)
    assert result.n_experts == 2
    np.testing.assert_array_equal(result.load, MODEL.load_)
    np.testing.assert_array_equal(result.gate, MODEL.gate_proba(X))
    assert result.responsibilities is not None
    assert 0.9 < result.agreement <= 1.0
    assert result.sharpness == np.mean(MODEL.gate_proba(X).max(axis=1) >= 0.9)
    assert result.largest_decrease <= 1e-9
    assert "2 experts with loads" in str(result)
    assert "with the target known" in str(result)
    without = mixture_diagnostics(MODEL, X)
    assert without.responsibilities is None
    assert np.isnan(without.agreement)
    assert "with the target known" not in str(without)


def test_a_density_needs_no_target() -> None:
    model = MixtureOfExpertsDensity(2, n_restarts=1, max_iter=20, random_state=0).fit(X)
    result = mixture_diagnostics(model, X)
    np.testing.assert_array_equal(result.responsibilities, model.responsibilities(X))
    table = expert_coefficients(model)
    means = table.value[(table.part == "expert") & (table.label == "mean")].reshape(2, 2)
    np.testing.assert_array_equal(means, model.means_)
    assert set(table.label[table.part == "expert"]) == {"mean", "deviation"}
    with pytest.raises(TypeError, match="density has no predictions"):
        expert_predictions(model, X)


def test_coefficients_as_a_table() -> None:
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = MixtureOfExpertsRegressor(2, n_restarts=1, max_iter=50, random_state=0).fit(frame, Y)
    table = expert_coefficients(model).to_pandas()
    own = table[(table.part == "expert") & (table.expert == 1)].set_index("column").value
    assert own.to_dict() == pytest.approx(
        {"a": model.coef_[1, 0], "b": model.coef_[1, 1], "intercept": model.intercept_[1], "noise": model.noise_[1]}
    )
    gate = table[(table.part == "gate") & (table.expert == 0)].set_index("column").value
    expected = {"a": model.gate_coef_[0, 0], "b": model.gate_coef_[0, 1], "intercept": model.gate_intercept_[0]}
    assert gate.to_dict() == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_have_lines_of_their_own(n_classes: int) -> None:
    y = np.array(["no", "yes", "never"])[np.digitize(Y, [0.0] if n_classes == 2 else [-1.0, 1.0])]
    model = MixtureOfExpertsClassifier(2, n_restarts=1, max_iter=20, random_state=0).fit(X, y)
    table = expert_coefficients(model)
    labels = set(table.label[table.part == "expert"].tolist())
    assert labels == ({"yes"} if n_classes == 2 else {"never", "no", "yes"})
    result = expert_predictions(model, X)
    assert result.predictions.shape == (200, 2, n_classes)
    assert (result.contributions is None) == (n_classes == 3)
    assert result.mixture.tolist() == model.predict(X).tolist()


def test_which_members_predict_a_row_and_how() -> None:
    result = expert_predictions(MODEL, X)
    gate = MODEL.gate_proba(X)
    np.testing.assert_array_equal(result.expert, gate.argmax(axis=1))
    np.testing.assert_array_equal(result.probability, gate.max(axis=1))
    rows = np.arange(200)
    own = result.predictions[rows, result.expert]
    assert result.contributions is not None
    np.testing.assert_allclose(result.contributions.sum(axis=1) + MODEL.intercept_[result.expert], own, rtol=1e-9)
    known = expert_predictions(MODEL, X, Y)
    np.testing.assert_array_equal(known.expert, MODEL.responsibilities(X, Y).argmax(axis=1))
    frame = result.to_pandas()
    assert list(frame.columns) == ["expert", "probability", "mixture", "by x[0]", "by x[1]"]
    assert len(frame) == 200


def test_categories_contribute_where_a_row_has_them() -> None:
    town = RNG.choice(["Ulm", "Hof"], 200)
    frame = pd.DataFrame({"town": pd.Categorical(town), "x": X[:, 0]})
    model = MixtureOfExpertsRegressor(1, random_state=0).fit(frame, np.where(town == "Ulm", 2.0, 0.0))
    result = expert_predictions(model, frame)
    assert result.names == ("town=Hof", "town=Ulm", "x")
    assert result.contributions is not None
    np.testing.assert_array_equal(result.contributions[town == "Ulm", 0], 0.0)
    np.testing.assert_array_equal(result.contributions[town == "Hof", 1], 0.0)
    total = result.contributions.sum(axis=1) + model.intercept_[0]
    np.testing.assert_allclose(total, model.predict(frame), rtol=1e-9, atol=1e-12)


def test_experts_of_the_user_have_no_coefficients_but_a_gate() -> None:
    model = MixtureOfExpertsRegressor(2, expert=Ridge(), n_restarts=1, max_iter=5, random_state=0).fit(X, Y)
    table = expert_coefficients(model)
    assert set(table.column[table.part == "expert"].tolist()) == {"noise"}
    assert expert_predictions(model, X).contributions is None
    assert list(expert_predictions(model, X).to_pandas().columns) == ["expert", "probability", "mixture"]


@pytest.mark.parametrize(
    "look", [lambda m: mixture_diagnostics(m, X), expert_coefficients, lambda m: expert_predictions(m, X)]
)
def test_other_models_are_rejected(look: Any) -> None:
    with pytest.raises(TypeError, match="mixture of experts fitted by EM, got Ridge"):
        look(Ridge())
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        look(MixtureOfExpertsRegressor())
