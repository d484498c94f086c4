"""What fitted mixtures say about themselves, and experts of every kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge

from committee.datasets import load_dataset
from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.estimator_experts import EPS, EstimatorClassifiers, EstimatorRegressors
from committee.experts.linear_experts import LinearExperts
from committee.experts.mixture_of_experts import MixtureOfExpertsClassifier, MixtureOfExpertsRegressor
from committee.trees.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) * np.array([1.0, 10.0, 0.1]) + np.array([0.0, 5.0, 0.0])
VALUES = np.where(X[:, 0] > 0, 3.0 * X[:, 0], -X[:, 1]) + 0.3 * RNG.normal(size=300)
LABELS = np.where(X[:, 0] > 0, X[:, 2] > 0, X[:, 1] > 5.0).astype(int)


def regressor(**params: Any) -> Any:
    return MixtureOfExpertsRegressor(**{"n_experts": 2, "n_restarts": 2, "random_state": 0, **params}).fit(X, VALUES)


def classifier(y: Any = LABELS, **params: Any) -> Any:
    return MixtureOfExpertsClassifier(**{"n_experts": 2, "n_restarts": 2, "random_state": 0, **params}).fit(X, y)


# --- the model is what it says ---------------------------------------------------------------------------------------


def softmax(score: Any) -> Any:
    p = np.exp(score - score.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def test_a_regressor_is_the_gated_sum_of_its_lines() -> None:
    """Recomputed from the coefficients for the columns as they came."""
    model = regressor()
    g = softmax(X @ model.gate_coef_.T + model.gate_intercept_)
    f = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.gate_proba(X), g, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(model.expert_predictions(X), f, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), np.sum(g * f, axis=1), rtol=1e-6, atol=1e-8)
    density = g * norm.pdf(VALUES[:, None], f, model.noise_)
    np.testing.assert_allclose(model.log_likelihood(X, VALUES), np.log(density.sum(axis=1)), rtol=1e-6, atol=1e-6)
    r = density / density.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.responsibilities(X, VALUES), r, rtol=1e-5, atol=1e-8)
    second = np.sum(g * (f**2 + model.noise_**2), axis=1)
    np.testing.assert_allclose(model.predict_std(X), np.sqrt(second - np.sum(g * f, axis=1) ** 2), rtol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_is_the_gated_sum_of_its_experts(n_classes: int) -> None:
    y = LABELS if n_classes == 2 else LABELS + (X[:, 1] > 12.0)
    model = classifier(y)
    g = softmax(X @ model.gate_coef_.T + model.gate_intercept_)
    scores = np.einsum("nd,k...d->nk...", X, model.coef_) + model.intercept_
    if n_classes == 2:
        scores = np.stack([np.zeros_like(scores), scores], axis=2)
    q = np.array([softmax(scores[:, k]) for k in range(2)]).transpose(1, 0, 2)
    np.testing.assert_allclose(model.expert_predictions(X), q, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), np.einsum("nk,nkc->nc", g, q), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    own = model.predict_proba(X)[np.arange(300), y]
    np.testing.assert_allclose(model.log_likelihood(X, y), np.log(own), rtol=1e-6, atol=1e-9)


def test_evidence_of_a_fit() -> None:
    model = regressor()
    r = model.responsibilities(X, VALUES)
    np.testing.assert_allclose(r.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(model.load_, r.mean(axis=0), rtol=1e-9)
    entropy = -np.sum(model.load_ * np.log(model.load_))
    assert model.effective_experts_ == pytest.approx(np.exp(entropy))
    assert model.log_likelihood_ == pytest.approx(model.log_likelihood(X, VALUES).sum(), rel=1e-9)
    history = model.history_
    assert history.iteration.tolist() == list(range(1, model.n_iter_ + 1))
    assert np.all(np.diff(history.objective) >= -1e-9)
    plain = history.stretch[:-1] == 1.0
    assert np.all(history.objective[:-1][plain] <= history.bound[:-1][plain] + 1e-9)
    assert np.all(history.bound[:-1] <= history.objective[1:] + 1e-9)
    assert history.objective[-1] == pytest.approx(np.nanmax(model.restarts_.objective))
    assert model.restarts_.is_chosen.sum() == 1
    assert model.selection_.n_rounds == 0
    assert model.converged_ == (model.n_iter_ < 1000)
    n_parameters = 2 * 5 + 4
    assert model.bic_ == pytest.approx(-2.0 * model.log_likelihood_ + n_parameters * np.log(300))
    assert len(history.to_pandas()) == model.n_iter_


def test_the_gate_may_see_other_columns_than_the_experts() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = MixtureOfExpertsRegressor(2, gate_features=["a"], expert_features=["a", "b"], random_state=0)
    model.fit(frame, VALUES)
    assert model.gate_coef_.shape == (2, 1)
    assert model.coef_.shape == (2, 2)
    other = frame.assign(c=7.0)
    np.testing.assert_array_equal(model.predict(other), model.predict(frame))
    np.testing.assert_array_equal(model.gate_proba(frame.assign(b=0.0)), model.gate_proba(frame))
    assert np.abs(model.predict(frame.assign(b=0.0)) - model.predict(frame)).max() > 1.0


def test_one_expert_is_a_regression() -> None:
    model = regressor(n_experts=1, l2=1e-9)
    weights = np.linalg.lstsq(np.column_stack([X, np.ones(300)]), VALUES, rcond=None)[0]
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_[0]), weights, rtol=1e-6)
    assert model.gate_proba(X).shape == (300, 1)
    single = classifier(n_experts=1, l2=1.0, tol=1e-12)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    best = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    best.fit(np.column_stack([scaled, np.ones(300)]), LABELS)  # the prior holds for the intercept too
    np.testing.assert_allclose(single.coef_[0] * X.std(axis=0), best.coef_[0, :3], rtol=1e-4)


def test_categories_have_a_coefficient_each() -> None:
    town = RNG.choice(["Ulm", "Hof", "Jena"], 300)
    y = 2.0 * (town == "Ulm") - 1.0 * (town == "Hof") + 0.1 * RNG.normal(size=300)
    frame = pd.DataFrame({"town": pd.Categorical(town), "x": X[:, 0]})
    model = MixtureOfExpertsRegressor(1, random_state=0).fit(frame, y)
    assert model.coef_.shape == (1, 4)
    effects = dict(zip(["Hof", "Jena", "Ulm"], model.coef_[0, :3], strict=True))
    assert effects["Ulm"] - effects["Jena"] == pytest.approx(2.0, abs=0.1)
    assert effects["Hof"] - effects["Jena"] == pytest.approx(-1.0, abs=0.1)
    by_position = MixtureOfExpertsRegressor(1, categorical_features=[0], random_state=0)
    codes = np.column_stack([np.unique(town, return_inverse=True)[1], X[:, 0]])
    np.testing.assert_allclose(by_position.fit(codes, y).predict(codes), model.predict(frame), rtol=1e-9)


# --- the number of experts -------------------------------------------------------------------------------------------


def test_bic_of_several_numbers() -> None:
    model = regressor(n_experts=[3, 1, 2])
    assert model.selection_.n_experts.tolist() == [1, 2, 3]
    assert np.isnan(model.selection_.held_out).all()
    assert model.n_experts_ == model.selection_.n_experts[model.selection_.bic.argmin()]
    assert model.bic_ == pytest.approx(model.selection_.bic.min())
    assert len(model.load_) == model.n_experts_
    alone = regressor(n_experts=model.n_experts_)
    np.testing.assert_array_equal(alone.predict(X), model.predict(X))


def test_rows_held_out_choose_and_all_rows_are_used_for_training() -> None:
    model = regressor(n_experts=range(1, 4), criterion="held_out")
    assert model.n_experts_ == model.selection_.n_experts[model.selection_.held_out.argmax()]
    assert model.n_experts_ > 1
    np.testing.assert_array_equal(regressor(n_experts=model.n_experts_).predict(X), model.predict(X))


# --- experts of the user ---------------------------------------------------------------------------------------------


def test_ridge_experts_are_linear_experts() -> None:
    """The same M-step by another road, but for the prior, which Ridge has on no intercept."""
    table = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(300)])
    y, weights = VALUES / VALUES.std(), np.random.default_rng(1).random((2, 300))
    own, built_in = EstimatorRegressors(Ridge(alpha=1e-9)), LinearExperts(l2=1e-9)
    a = own.m_step(own.start(2, 4), table, y, weights)
    b = built_in.m_step(built_in.start(2, 4), table, y, weights)
    np.testing.assert_allclose(a.variance, b.variance, rtol=1e-7)
    np.testing.assert_allclose(own.means(a, table), built_in.means(b, table), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(own.log_likelihood(a, table, y), built_in.log_likelihood(b, table, y), rtol=1e-5)


def test_a_mixture_of_ridge_regressions() -> None:
    model = regressor(expert=Ridge(alpha=1e-2), max_iter=40)
    assert model.score(X, VALUES) > Ridge().fit(X, VALUES).score(X, VALUES) + 0.05
    assert np.all(np.diff(model.history_.objective) >= -1e-9)
    assert np.isnan(model.bic_)  # nobody knows the number of parameters
    assert len(model.estimators_) == 2
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("max_depth", [1, 3])
def test_trees_of_the_engine_as_experts(max_depth: int) -> None:
    model = regressor(expert=DecisionTreeRegressor(max_depth=max_depth), max_iter=10)
    tree = DecisionTreeRegressor(max_depth=max_depth).fit(X, VALUES)
    assert model.score(X, VALUES) > tree.score(X, VALUES)
    assert np.all(np.diff(model.history_.objective)[model.history_.repaired[1:] < 0] >= -1e-9)
    votes = classifier(expert=DecisionTreeClassifier(max_depth=max_depth), max_iter=10)
    stump = DecisionTreeClassifier(max_depth=max_depth).fit(X, LABELS)
    assert votes.score(X, LABELS) >= stump.score(X, LABELS)
    assert votes.predict_proba(X).min() >= 0.5 * EPS * 0.999
    assert np.all(np.diff(votes.history_.objective)[votes.history_.repaired[1:] < 0] >= -1e-9)


def test_an_expert_with_one_class_is_a_constant() -> None:
    """Logistic regression would refuse to learn it; classes that it never saw stay possible."""
    family = EstimatorClassifiers(LogisticRegression(), 3)
    y = np.where(X[:, 0] > 0, 2, LABELS)
    weights = np.array([X[:, 0] > 0, X[:, 0] <= 0], float)
    params = family.m_step(family.start(2, 4), np.column_stack([X, np.ones(300)]), y, weights)
    assert [type(member) for member in params.members] == [DummyClassifier, LogisticRegression]
    log_q = family.log_likelihood(params, np.column_stack([X, np.ones(300)]), y)
    np.testing.assert_allclose(log_q[0][y == 2], np.log(1.0 - 2.0 * EPS / 3.0))
    np.testing.assert_allclose(log_q[0][y != 2], np.log(EPS / 3.0))


# --- densities -------------------------------------------------------------------------------------------------------


def test_samples_of_a_density_look_like_the_rows() -> None:
    model = MixtureOfExpertsDensity(2, random_state=0).fit(X)
    drawn, label = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.3)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=2.5)
    np.testing.assert_allclose(np.bincount(label) / 20_000, np.exp(model.gate_intercept_), atol=0.02)
    again, _ = model.sample(5, random_state=1)
    np.testing.assert_array_equal(again, model.sample(5, random_state=1)[0])


def test_a_density_assigns_rows() -> None:
    iris_like = np.vstack([X, X + np.array([8.0, 0.0, 0.0])])
    model = MixtureOfExpertsDensity(2, random_state=0).fit(iris_like)
    label = model.predict(iris_like)
    assert np.mean(label == (np.arange(600) >= 300)) in (pytest.approx(0.0, abs=0.01), pytest.approx(1.0, abs=0.01))
    np.testing.assert_array_equal(model.predict_proba(iris_like), model.responsibilities(iris_like))
    assert model.score(iris_like) == pytest.approx(model.score_samples(iris_like).mean())
    weight = np.arange(600.0)
    expected = np.average(model.score_samples(iris_like), weights=weight)
    assert model.score(iris_like, sample_weight=weight) == pytest.approx(expected)
    assert model.log_likelihood_ == pytest.approx(model.score_samples(iris_like).sum(), rel=1e-9)


# --- beside ----------------------------------------------------------------------------------------------------------


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    regressor(verbose=1)
    shown = capsys.readouterr().out
    assert "MixtureOfExpertsRegressor" in shown
    assert "4/4" in shown


def test_glass_with_many_classes() -> None:
    glass = load_dataset("glass")
    model = MixtureOfExpertsClassifier(3, l2=1.0, n_restarts=2, random_state=0).fit(glass.X, glass.y)
    assert model.coef_.shape == (3, 6, 9)
    assert model.score(glass.X, glass.y) > 0.75  # one softmax regression has 0.70
