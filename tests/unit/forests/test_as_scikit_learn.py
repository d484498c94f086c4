"""What scikit-learn's forests give and take, and ours did not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.metrics import accuracy_score, get_scorer, log_loss, make_scorer, roc_auc_score

from committee import BaggingClassifier, BaggingRegressor, ExtraTreesClassifier, RandomForestClassifier
from committee import RandomForestRegressor as Regressor
from committee.explain.forest_importances import forest_importances

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
Y = (X[:, :2] + 0.5 * rng.normal(size=(200, 2)) > 0).astype(int)


def asks_estimator(estimator: Any, X: Any, y: Any) -> float:
    return float(np.mean(estimator.predict(X) == y))


@pytest.mark.parametrize("cls", [RandomForestClassifier, BaggingClassifier])
def test_out_of_bag_scores_by_scorers(cls: Any) -> None:
    def fitted(how: Any) -> Any:
        return cls(n_estimators=40, oob_score=how, random_state=0).fit(X, labels)

    labels = np.array(["no", "yes"])[Y[:, 0]]
    shares = fitted("roc_auc").oob_decision_function_
    area = roc_auc_score(labels, shares[:, 1])
    for how in ("roc_auc", get_scorer("roc_auc"), make_scorer(roc_auc_score, response_method="decision_function")):
        assert fitted(how).oob_score_ == pytest.approx(area)
    assert fitted(get_scorer("neg_log_loss")).oob_score_ == pytest.approx(-log_loss(labels, shares))
    usual = fitted(True).oob_score_
    assert usual == fitted(accuracy_score).oob_score_ == fitted(asks_estimator).oob_score_
    assert fitted(lambda y, answer: np.mean(y == answer)).oob_score_ == usual


def test_out_of_bag_scores_of_numbers_by_scorers() -> None:
    for cls in (Regressor, BaggingRegressor):
        model: Any = cls(n_estimators=40, oob_score=get_scorer("neg_mean_squared_error"), random_state=0)
        assert model.fit(X, X[:, 0]).oob_score_ == pytest.approx(-model.oob_error_)


@pytest.mark.parametrize("cls", [RandomForestClassifier, BaggingClassifier])
@pytest.mark.parametrize("how", [lambda y: 1.0, lambda a, b, c: 1.0, "no_such_score"])
def test_scores_that_cannot_be_asked_are_rejected_before_the_fit(cls: Any, how: Any) -> None:
    model = cls(oob_score=how)
    with pytest.raises(ValueError, match=r"oob_score=.* is a function of|'no_such_score' is not a valid"):
        model.fit(X, Y[:, 0])
    assert not hasattr(model, "history_")


def test_what_is_out_of_bag_of_several_outputs() -> None:
    forest = RandomForestClassifier(40, random_state=0).fit(X, Y)
    theirs = TheirForest(40, oob_score=True, random_state=0).fit(X, Y)
    assert forest.oob_decision_function_.shape == theirs.oob_decision_function_.shape == (200, 2, 2)
    np.testing.assert_array_equal(
        forest.oob_decision_function_[:, :, 1], forest.output_forests_[1].oob_decision_function_
    )
    assert forest.oob_error_ == pytest.approx(np.mean([each.oob_error_ for each in forest.output_forests_]))
    uneven = RandomForestClassifier(20, random_state=0).fit(X, np.column_stack([Y[:, 0], Y.sum(axis=1)]))
    assert [each.shape for each in uneven.oob_decision_function_] == [(200, 2), (200, 3)]
    numbers = Regressor(20, random_state=0).fit(X, X[:, :3])
    assert numbers.oob_prediction_.shape == (200, 3)
    assert numbers.oob_error_ == pytest.approx(np.mean([each.oob_error_ for each in numbers.output_forests_]))
    assert not hasattr(numbers.fit(X, X[:, 0]).set_params(bootstrap=False).fit(X, X[:, :2]), "oob_prediction_")


def test_trees_and_leaves_of_several_outputs() -> None:
    forest = RandomForestClassifier(7, random_state=0).fit(X, Y)
    trees, leaves = forest.estimators_, forest.apply(X)
    assert len(trees) == 14
    assert leaves.shape == (200, 14)
    for t in (0, 6, 7, 13):
        np.testing.assert_array_equal(trees[t].apply(X), leaves[:, t])


def test_class_weights_of_several_outputs() -> None:
    weights: Any = [{0: 1.0, 1: 9.0}, {0: 9.0, 1: 1.0}]
    forest = ExtraTreesClassifier(20, min_samples_leaf=20, class_weight=weights, random_state=0).fit(X, Y)
    assert [each.class_weight for each in forest.output_forests_] == weights
    often = forest.predict(X).mean(axis=0)
    assert often[0] > 0.7
    assert often[1] < 0.3
    with pytest.raises(ValueError, match="class_weight is a list of 1, and y has 2 outputs"):
        forest.set_params(class_weight=weights[:1]).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight as a list is for several outputs"):
        forest.set_params(class_weight=weights[:1]).fit(X, Y[:, 0])


def test_tuned_trees_show_what_they_were_grown_with() -> None:
    forest = Regressor(5, tune="oob", random_state=0).fit(X, X[:, 0] + rng.normal(size=200))
    shown = forest.estimators_[0].get_params()
    result = {name: getattr(forest.tuned_, name) for name in ("max_features", "min_samples_leaf")}
    assert {name: shown[name] for name in result} == result != {"max_features": 1.0, "min_samples_leaf": 1}
    untuned = forest.set_params(tune=None).fit(X, X[:, 0])
    assert untuned.estimators_[0].get_params()["max_features"] == 1.0


@pytest.mark.parametrize("weight", [np.where(X[:, 2] > 0.0, 5.0, 0.5), np.where(X[:, 2] > 0.0, 5.0, 1.0)])
def test_importances_take_the_weights_of_the_fit(weight: Any) -> None:
    forest = RandomForestClassifier(20, random_state=0).fit(X, Y[:, 0], sample_weight=weight)
    kept, passed, none = (
        forest_importances(forest, X, Y[:, 0], w, kinds=["permutation"], random_state=0).kinds[0].raw
        for w in (None, weight, np.ones(200))
    )
    np.testing.assert_array_equal(kept, passed)
    assert np.any(kept != none)
