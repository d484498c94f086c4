"""Schapire's booster of 1990: the three distributions, the bound, the recursion, and the contract."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from committee import DecisionStump, DecisionTreeClassifier
from committee.boosting._weak_learners import TrainingRows, make_learner
from committee.boosting.schapire_1990 import Majority, SchapireBoostClassifier, schapire_boost
from committee.datasets import load_dataset
from committee.members.member import EstimatorMember, WeakHypothesis
from committee.tabular.schema import fit_encode, open_table
from committee.theory.bounds import majority_of_three_bound

SAMPLES = ("sonar", "ionosphere", "pima_diabetes", "spam")
Weights = NDArray[np.float64]


def noisy(seed: int, n: int = 120) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Numbers of one decimal, a tenth of them missing, labels that no stump gets right."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 1)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0).astype(int)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


class Recorder:
    """A weak learner with given answers that keeps the weights it was asked with."""

    def __init__(self, *predictions: list[int]) -> None:
        self.predictions, self.weights = [np.array(a, np.int8) for a in predictions], list[Weights]()

    def __call__(self, weight: Weights, seed: int) -> WeakHypothesis:
        self.weights.append(weight)
        return WeakHypothesis(EstimatorMember(None, np.array([0, 1])), self.predictions[len(self.weights) - 1])


def test_the_three_distributions_are_exact() -> None:
    y = np.array([1, 1, 1, -1, -1], np.int8)
    w = np.array([0.1, 0.2, 0.3, 0.2, 0.2])
    learn = Recorder([1, 1, 1, 1, -1], [1, -1, 1, -1, -1], [1, 1, 1, -1, -1])
    majority, predictions = schapire_boost(learn, y, w, 0)
    first, second, third = learn.weights
    np.testing.assert_array_equal(first, w)
    np.testing.assert_allclose(second, [0.1 / 1.6, 0.2 / 1.6, 0.3 / 1.6, 0.5, 0.2 / 1.6])  # h1 errs on the fourth row
    np.testing.assert_allclose(third, [0.0, 0.5, 0.0, 0.5, 0.0])  # they differ on the second and fourth
    np.testing.assert_array_equal(predictions, y)
    np.testing.assert_allclose(majority.bound.errors, [0.2, 0.125, 0.0])
    assert majority.bound.value == pytest.approx(majority_of_three_bound(0.2))
    assert majority.bound.train_error == 0.0


def test_a_hypothesis_worse_than_chance_is_turned_round() -> None:
    y = np.array([1, 1, -1, -1], np.int8)
    learn = Recorder([-1, -1, 1, -1], [1, 1, -1, -1], [1, 1, 1, -1])
    majority, _ = schapire_boost(learn, y, np.full(4, 0.25), 0)
    assert majority.coefficients == pytest.approx((-1 / 3, 1 / 3, 1 / 3))
    assert majority.bound.errors[0] == pytest.approx(0.25)
    np.testing.assert_allclose(learn.weights[1], [1 / 6, 1 / 6, 1 / 6, 0.5])


def test_the_weakest_three_meet_the_bound() -> None:
    """h2 and h3 err where it hurts most: the majority errs by exactly 3 p^2 - 2 p^3."""
    p = 0.25
    # Rows by (h1, h2, h3) right or wrong; h2 errs only where h1 is right, h3 by p where they differ.
    w = np.array([p * (1 - p), p * p, 2 * (1 - p) * p * (1 - p), 2 * (1 - p) * p * p, (1 - p) * (1 - 2 * p)])
    y = np.ones(5, np.int8)
    learn = Recorder([-1, -1, 1, 1, 1], [1, 1, -1, -1, 1], [1, -1, 1, -1, 1])
    majority, _ = schapire_boost(learn, y, w, 0)
    assert majority.bound.errors == pytest.approx((p, p, p))
    assert majority.bound.train_error == pytest.approx(3 * p**2 - 2 * p**3)
    assert majority.bound.holds


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_bound_holds_at_every_level(name: str, depth: int) -> None:
    sample = load_dataset(name)
    model = SchapireBoostClassifier(depth=depth).fit(sample.X, sample.y)
    bound = model.bound_
    assert bound.train_error == pytest.approx(1.0 - model.score(sample.X, sample.y))
    assert bound.p == max(bound.errors) < 0.5
    assert bound.value == majority_of_three_bound(bound.p)
    for each in model.bounds_:
        assert each.train_error <= each.value + 1e-12
        assert each.holds
    assert model.bounds_[-1] == bound
    assert bound.value <= model.recursive_bound_ + 1e-12
    assert len(model.estimators_) <= 3**depth


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("estimator", [DecisionStump(), DecisionTreeClassifier(max_depth=2)], ids=repr)
def test_the_bound_holds_with_weights_and_missing_values(seed: int, estimator: Any) -> None:
    X, y = noisy(seed)
    w = np.random.default_rng(seed).exponential(size=len(y))
    model = SchapireBoostClassifier(estimator, depth=2).fit(X, y, sample_weight=w)
    wrong = float(w[model.predict(X) != y].sum() / w.sum())
    assert model.bound_.train_error == pytest.approx(wrong)
    assert wrong <= model.bound_.value + 1e-12 < model.bound_.p


@pytest.mark.parametrize("name", ["sonar", "ionosphere", "pima_diabetes"])
def test_recursion_lowers_bound_and_error(name: str) -> None:
    sample = load_dataset(name)
    bounds = [SchapireBoostClassifier(depth=depth).fit(sample.X, sample.y).bound_ for depth in (1, 2, 3)]
    assert bounds[0].value > bounds[1].value > bounds[2].value
    assert bounds[0].train_error > bounds[1].train_error > bounds[2].train_error


def test_history_is_that_of_the_top_three() -> None:
    sample = load_dataset("sonar")
    model = SchapireBoostClassifier().fit(sample.X, sample.y, X_val=sample.X, y_val=sample.y)
    h = model.history_
    assert h.round.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(h.error, model.bound_.errors)
    np.testing.assert_allclose(h.edge, 1.0 - 2.0 * h.error)
    np.testing.assert_allclose(h.train_error, [1.0 - s for s in model.staged_score(sample.X, sample.y)])
    np.testing.assert_allclose(h.validation_error, h.train_error)
    predictions = [member.predict(sample.X) for member in model.estimators_]
    assert h.n_rows.tolist() == [208, 208, int(np.sum(predictions[0] != predictions[1]))]
    assert h.error[0] == pytest.approx(1.0 - model.estimators_[0].score(sample.X, sample.y))
    np.testing.assert_allclose(np.flatnonzero(model.sample_weights_), np.flatnonzero(predictions[0] != predictions[1]))


def test_the_prediction_is_the_majority_of_majorities() -> None:
    X, y = noisy(1)
    model = SchapireBoostClassifier(depth=2).fit(X, y)
    votes = np.array([2 * member.predict(X) - 1 for member in model.estimators_]).reshape(3, 3, -1)
    top = np.sign(np.sign(votes.sum(axis=1)).sum(axis=0))
    np.testing.assert_array_equal(model.predict(X), (top > 0).astype(int))
    shares = np.mean(np.sign(votes.sum(axis=1)) > 0, axis=0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], shares)
    np.testing.assert_allclose(model.decision_function(X), 2.0 * shares - 1.0, atol=1e-12)
    assert np.any(np.sign(votes.sum(axis=(0, 1))) != top)  # nine votes on one level would answer otherwise
    np.testing.assert_allclose(model.estimator_weights_, 1 / 9)
    assert all(isinstance(member, Majority) for member in model.members_)


def test_a_perfect_first_hypothesis_votes_alone() -> None:
    X = np.arange(10.0)[:, None]
    model = SchapireBoostClassifier(depth=2).fit(X, (X[:, 0] > 4).astype(int))
    assert len(model.estimators_) == 1
    assert model.bound_.value == model.bound_.train_error == 0.0
    assert "perfect" in model.stop_reason_
    assert set(model.decision_function(X).tolist()) == {-1.0, 1.0}


def test_two_hypotheses_alike_are_said() -> None:
    """Without a variable that tells the rows apart the constant is all there is, under any weights."""
    X, y = np.zeros((6, 1)), np.array([0, 0, 0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="agree on every training row"):
        model = SchapireBoostClassifier().fit(X, y)
    assert len(model.estimators_) == 1
    assert model.bound_.errors == pytest.approx((1 / 3, 0.5))
    assert model.bound_.value == pytest.approx(0.5)
    assert model.bound_.holds
    assert model.predict(X).tolist() == [0] * 6
    assert model.history_.n_rounds == 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 2])
def test_weights_mean_repetition(seed: int, depth: int) -> None:
    X, y = noisy(seed)
    count = np.random.default_rng(seed).integers(0, 4, len(y))
    weighted = SchapireBoostClassifier(depth=depth).fit(X, y, sample_weight=count)
    repeated = SchapireBoostClassifier(depth=depth).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    assert weighted.bound_.errors == pytest.approx(repeated.bound_.errors)


@pytest.mark.parametrize(
    "learner",
    [GaussianNB(), LogisticRegression(), SVC(), KNeighborsClassifier(), Perceptron()],
    ids=repr,
)
def test_foreign_weak_learners(learner: Any) -> None:
    """H3 sees few rows, at times of one class only; the bound is exact all the same."""
    sample = load_dataset("pima_diabetes")
    X, y = StandardScaler().fit_transform(sample.X[:200]), sample.y[:200]
    model = SchapireBoostClassifier(learner, depth=2, random_state=0).fit(X, y)
    assert model.bound_.train_error == pytest.approx(1.0 - model.score(X, y))
    assert all(bound.holds for bound in model.bounds_)
    assert len(model.estimators_) == 9


def test_a_single_class_of_weight_gives_a_constant() -> None:
    """SVC refuses to learn from one class; h3 may be asked to."""
    X, codes, classes = np.arange(4.0)[:, None], np.array([0, 1, 0, 1]), np.array(["a", "b"])
    columns = fit_encode(open_table(X, None), "from_dtype", None)[0]
    learn = make_learner(
        SVC(), TrainingRows(columns, X, codes, classes, np.ones(4)), weighting="reweight", kind="votes", n_jobs=None
    )
    for code in (0, 1):
        guess = learn(np.where(codes == code, 0.5, 0.0), 0)
        assert guess.predictions.tolist() == [2 * code - 1] * 4
        assert guess.member.predictions(np.array([[9.0]])).tolist() == [2 * code - 1]


def test_importances_are_fractions() -> None:
    X, y = noisy(0)
    model = SchapireBoostClassifier(depth=2).fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = SchapireBoostClassifier(GaussianNB()).fit(np.nan_to_num(X), y).feature_importances_


def test_categories_pass_through_trees() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "green", "blue", "grey"], 200)
    frame = pd.DataFrame({"color": pd.Categorical(color), "size": rng.normal(size=200)})
    y = np.where(np.isin(color, ["red", "grey"]) ^ (frame["size"] > 1), "yes", "no")
    model = SchapireBoostClassifier(depth=2).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert model.bound_.holds


def test_bad_input_is_rejected() -> None:
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match="Only binary classification"):
        SchapireBoostClassifier().fit(X, [0, 1, 2, 0, 1, 2])
    with pytest.raises(ValueError, match="The 'depth' parameter"):
        SchapireBoostClassifier(depth=0).fit(X, [0, 1, 0, 0, 1, 0])
    with pytest.raises(ValueError, match="GaussianNB does not accept"):
        SchapireBoostClassifier(GaussianNB()).fit(np.array([[np.nan], [1.0]]), [0, 1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [SchapireBoostClassifier(), SchapireBoostClassifier(depth=2)], ids=repr)
def test_check_estimator(model: Any) -> None:
    check_estimator(model)
