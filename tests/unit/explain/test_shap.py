"""SHAP values of estimators: they add up to what the estimator says, on every kind of table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from committee import (
    AdaBoostClassifier,
    AdaBoostM1Classifier,
    AdaBoostRegressor,
    AnyBoostClassifier,
    ConfidenceRatedAdaBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    LPBoostClassifier,
    StagewiseRegressor,
)
from committee.datasets import load_dataset
from committee.explain import shap as explain
from committee.explain import shap_interaction_values, shap_values
from committee.records.ensemble import TreeSum
from committee.tabular.schema import Columns
from tests.naive.shap import naive_interactions, naive_shap, random_rows, random_sum, sum_expectation

CLOSE = {"rtol": 0, "atol": 1e-9}  # the issue asks for 1e-6


class Sum(BaseEstimator):
    """An estimator that offers a sum of trees."""

    def __init__(self, model: Any = None, n_features: int = 4, n_jobs: int | None = None) -> None:
        self.model, self.n_features, self.n_jobs = model, n_features, n_jobs

    def fit(self) -> Sum:
        self.columns_ = Columns(self.n_features, None, (None,) * self.n_features)
        return self

    def to_tree_sum(self) -> TreeSum:
        return self.model


def added_up(estimator: Any, X: Any) -> np.ndarray:
    result = shap_values(estimator, X)
    return result.values.sum(axis=1) + result.base_values


# ---- Trees ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [{}, {"max_depth": 3}, {"max_leaf_nodes": 2}, {"splitter": "binned"}])
def test_regression_trees_add_up(parameters):
    data = load_dataset("ozone", as_frame=True)  # categories and missing values
    tree = DecisionTreeRegressor(**parameters).fit(data.X, data.y)
    result = shap_values(tree, data.X)
    assert result.values.shape == data.X.shape
    assert result.base_values.shape == ()
    np.testing.assert_allclose(result.values.sum(axis=1) + result.base_values, tree.predict(data.X), **CLOSE)
    assert result.base_values == pytest.approx(data.y.mean(), abs=1e-9)  # leaves are means, shares those of the rows
    assert result.feature_names == tuple(data.X.columns)
    assert np.isnan(result.data).sum() == data.X.isna().to_numpy().sum()
    unused = np.setdiff1d(np.arange(data.X.shape[1]), tree.tree_.arrays.feature)
    assert not result.values[:, unused].any()


@pytest.mark.parametrize("name", ["glass", "pima_diabetes"])
def test_class_probabilities_add_up(name):
    data = load_dataset(name)
    tree = DecisionTreeClassifier(max_depth=6).fit(data.X, data.y)
    result = shap_values(tree, data.X.astype(np.float32).astype(float))
    assert result.values.shape == (*data.X.shape, len(tree.classes_))
    np.testing.assert_allclose(result.values.sum(axis=2), 0.0, **CLOSE)  # shares sum to one
    np.testing.assert_allclose(added_up(tree, data.X), tree.predict_proba(data.X), **CLOSE)


def test_many_classes_take_several_walks():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2 * explain.COLUMNS + 3, 300)
    tree = DecisionTreeClassifier(max_depth=5).fit(X, y)
    np.testing.assert_allclose(added_up(tree, X), tree.predict_proba(X), **CLOSE)


def test_weights_decide_the_expectation():
    X, y = np.array([[0.0], [1.0]]), np.array([0.0, 10.0])
    result = shap_values(DecisionTreeRegressor().fit(X, y, sample_weight=[3.0, 1.0]), X)
    assert result.base_values == pytest.approx(2.5)
    np.testing.assert_allclose(result.values[:, 0], [-2.5, 7.5])


def test_a_constant_tree_gives_nothing_to_anybody():
    tree = DecisionTreeRegressor().fit(np.zeros((4, 2)), [1.0, 2.0, 3.0, 4.0])
    result = shap_values(tree, np.zeros((3, 2)))
    assert not result.values.any()
    assert result.base_values == 2.5
    assert not shap_interaction_values(tree, np.zeros((3, 2))).any()


def test_a_stump_gives_everything_to_its_feature():
    data = load_dataset("sonar")
    stump = DecisionStump().fit(data.X, data.y)
    result = shap_values(stump, data.X)
    np.testing.assert_allclose(added_up(stump, data.X), stump.predict_proba(data.X), **CLOSE)
    assert np.flatnonzero(np.abs(result.values).sum(axis=(0, 2))).tolist() == [stump.feature_]


def test_values_unseen_in_training_go_the_way_of_missing_ones():
    pd = pytest.importorskip("pandas")
    colour = pd.Categorical(["red", "blue", "green"] * 20)
    X = pd.DataFrame({"colour": colour, "size": np.arange(60.0)})
    tree = DecisionTreeRegressor(max_depth=4).fit(X, np.where(colour == "red", 5.0, 0.0) + X["size"] / 60)
    new = pd.DataFrame({"colour": pd.Categorical(["red", "white", None]), "size": [np.nan, 3.0, 70.0]})
    result = shap_values(tree, new)
    np.testing.assert_allclose(result.values.sum(axis=1) + result.base_values, tree.predict(new), **CLOSE)
    assert result.values[0, 0] > 2.0


def test_equal_parts_for_equal_features():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    tree = DecisionTreeRegressor().fit(X, X[:, 0] * X[:, 1])
    np.testing.assert_allclose(shap_values(tree, [[1, 1]]).values, [[0.375, 0.375]])
    np.testing.assert_allclose(shap_interaction_values(tree, [[1, 1]]), [[[0.25, 0.125], [0.125, 0.25]]])


# ---- Sums of trees --------------------------------------------------------------------------------------------------


def two_classes() -> tuple[Any, Any]:
    data = load_dataset("sonar")
    return data.X[:, ::6], data.y


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=30),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=20),
        AdaBoostM1Classifier(DecisionTreeClassifier(max_depth=2), n_estimators=20),
        ConfidenceRatedAdaBoostClassifier(n_estimators=20),
        AnyBoostClassifier(n_estimators=20),
        LPBoostClassifier(n_estimators=20),
    ],
    ids=lambda model: type(model).__name__,
)
def test_boosters_add_up_to_the_decision_function(model):
    X, y = two_classes()
    model.fit(X, y)
    result = shap_values(model, X)
    assert result.values.shape == X.shape
    np.testing.assert_allclose(added_up(model, X), model.decision_function(X), **CLOSE)


def test_boosted_votes_for_many_classes():
    data = load_dataset("glass")
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=15).fit(data.X, data.y)
    np.testing.assert_allclose(added_up(model, data.X), model.decision_function(data.X), **CLOSE)


@pytest.mark.parametrize(
    "model", [StagewiseRegressor(n_estimators=20), AdaBoostRegressor(n_estimators=10, combine="mean")]
)
def test_regression_boosters_add_up_to_the_prediction(model):
    data = load_dataset("ozone", as_frame=True)
    model.fit(data.X, data.y)
    np.testing.assert_allclose(added_up(model, data.X), model.predict(data.X), **CLOSE)


def test_the_protocol_takes_trees_of_one_output_and_of_all():
    rng = np.random.default_rng(5)
    model, X = random_sum(rng, 4, 3, [4, 0, 9, 9, 2]), random_rows(rng, 6, 4)
    result = shap_values(Sum(model).fit(), X)
    np.testing.assert_allclose(result.values, naive_shap(model, X), **CLOSE)
    np.testing.assert_allclose(result.base_values, sum_expectation(model, X[0], frozenset()), **CLOSE)
    np.testing.assert_allclose(shap_interaction_values(Sum(model).fit(), X), naive_interactions(model, X), **CLOSE)


def test_a_sum_of_no_trees_is_its_base():
    nothing = TreeSum((), np.empty(0, np.int64), np.empty(0), np.array([2.0, 3.0]))
    result = shap_values(Sum(nothing).fit(), np.zeros((2, 4)))
    assert result.values.shape == (2, 4, 2)
    assert not result.values.any()
    assert result.base_values.tolist() == [2.0, 3.0]


def test_the_model_is_left_as_it_was():
    rng = np.random.default_rng(6)
    model, X = random_sum(rng, 4, 2, [9, 9]), random_rows(rng, 6, 4)
    before = model.base.copy(), model.trees[0].value.copy(), X.copy()
    shap_values(Sum(model).fit(), X)
    for kept, now in zip(before, (model.base, model.trees[0].value, X), strict=True):
        np.testing.assert_array_equal(kept, now)


# ---- Interactions ---------------------------------------------------------------------------------------------------


def test_interactions_sum_to_the_values_and_are_symmetric():
    data = load_dataset("glass")
    tree = DecisionTreeClassifier(max_depth=5).fit(data.X, data.y)
    pairs = shap_interaction_values(tree, data.X[:40])
    np.testing.assert_array_equal(pairs, pairs.swapaxes(1, 2))
    np.testing.assert_allclose(pairs.sum(axis=2), shap_values(tree, data.X[:40]).values, **CLOSE)


def test_additive_models_have_no_interactions():
    X, y = two_classes()
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)  # stumps
    pairs = shap_interaction_values(model, X[:20])
    every = np.arange(X.shape[1])
    assert pairs[:, every, every].any()
    pairs[:, every, every] = 0.0
    assert not pairs.any()


# ---- Blocks and threads ---------------------------------------------------------------------------------------------


def test_blocks_and_threads_change_no_bit(monkeypatch):
    rng = np.random.default_rng(7)
    model, X = Sum(random_sum(rng, 4, 2, [20, 30])).fit(), random_rows(rng, 150, 4)
    values, pairs = shap_values(model, X).values, shap_interaction_values(model, X)
    monkeypatch.setattr(explain, "BLOCK_WORK", 1)
    monkeypatch.setattr("committee.base.threads.WORK_PER_THREAD", 1)
    for n_jobs in (1, 2):
        np.testing.assert_array_equal(shap_values(model, X, n_jobs=n_jobs).values, values)
        np.testing.assert_array_equal(shap_interaction_values(model, X, n_jobs=n_jobs), pairs)


def test_the_estimator_decides_the_threads_if_nobody_else_does(monkeypatch):
    seen = []
    monkeypatch.setattr(explain, "n_threads", lambda n_jobs, work: seen.append(n_jobs) or 1)
    model = Sum(random_sum(np.random.default_rng(8), 4, 1, [3]), n_jobs=2).fit()
    shap_values(model, np.zeros((2, 4)))
    shap_values(model, np.zeros((2, 4)), n_jobs=1)
    assert seen == [2, 1]


@pytest.mark.parametrize("as_table", [np.asfortranarray, lambda X: X.astype(np.float32), lambda X: X[:, ::-1][:, ::-1]])
def test_any_layout_of_the_table(as_table):
    rng = np.random.default_rng(9)
    model, X = Sum(random_sum(rng, 4, 1, [20])).fit(), random_rows(rng, 30, 4)
    np.testing.assert_array_equal(shap_values(model, as_table(X)).values, shap_values(model, X).values)


# ---- What is refused ------------------------------------------------------------------------------------------------


def test_what_is_no_sum_of_trees_is_rejected():
    X, y = two_classes()
    with pytest.raises(TypeError, match="LogisticRegression is neither"):
        shap_values(LogisticRegression().fit(X, y), X)
    with pytest.raises(TypeError, match="got the class DecisionStump"):
        shap_values(DecisionStump, X)
    linear = AdaBoostClassifier(LogisticRegression(), n_estimators=3).fit(X, y)
    with pytest.raises(TypeError, match="members that are not trees"):
        shap_values(linear, X)
    ozone = load_dataset("ozone")
    with pytest.raises(TypeError, match="combine='mean'"):
        shap_values(AdaBoostRegressor(n_estimators=2).fit(ozone.X, ozone.y), ozone.X)


@pytest.mark.parametrize("model", [DecisionStump(), AdaBoostClassifier(), Sum()])
def test_an_unfitted_model_is_rejected(model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        shap_values(model, np.zeros((2, 4)))


def test_a_table_of_another_width_is_rejected():
    X, y = two_classes()
    with pytest.raises(ValueError, match="features"):
        shap_values(DecisionStump().fit(X, y), X[:, 1:])


def test_a_sum_that_does_not_fit_together_is_rejected():
    model = random_sum(np.random.default_rng(0), 4, 2, [3, 3])
    wrong = [
        model._replace(weight=np.ones(1)),
        model._replace(output=np.array([0, 2])),
        model._replace(output=np.array([-2, 0])),
    ]
    for one in wrong:
        with pytest.raises(ValueError, match=r"every tree needs one weight and one output in 0\.\.1"):
            shap_values(Sum(one).fit(), np.zeros((2, 4)))
    wide = model._replace(output=np.array([0, 0]), trees=(model.trees[0]._replace(value=np.zeros((7, 2))),) * 2)
    with pytest.raises(ValueError, match="2 columns of values for output 0 of 2"):
        shap_values(Sum(wide).fit(), np.zeros((2, 4)))
