"""The numbers of the reproductions are those of the same fits done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from committee import AdaBoostClassifier, AdaBoostM1Classifier, DecisionStump, RandomForestClassifier
from committee.base.rng import member_seeds
from committee.base.stats import mean_over_folds
from committee.datasets import load_dataset
from committee.evaluation._folds import draw_folds, read_labels
from committee_reproductions import CrossValidation, breiman_2001
from committee_reproductions.bias_variance import fifty_sets
from committee_reproductions.breiman_2001 import forests_and_adaboost
from committee_reproductions.freund_schapire_1996 import boosted_and_bagged_stumps
from committee_reproductions.mixture_of_experts import NOISE, expert_errors, piecewise
from committee_reproductions.schapire_singer_1999 import DISCRETE, RATED, discrete_and_rated
from committee_reproductions.three_rounds import LABELS, POINTS, three_rounds
from committee_reproductions.zhu_2009_samme import M1, SAMME, m1_and_samme, three_shells


def test_forests_of_breiman_are_tested_on_a_random_tenth() -> None:
    result = forests_and_adaboost(("glass",), n_splits=2, n_trees=6, n_rounds=3, random_state=4)
    X, y = load_dataset("glass")[:2]
    codes = read_labels(y)
    for k, seed in enumerate(int(s % np.uint64(2**31)) for s in member_seeds(4, 2)):
        shuffled = np.random.default_rng(seed).permutation(214)
        test, train = shuffled[:21], np.sort(shuffled[21:])
        forest = RandomForestClassifier(6, max_features=1, random_state=seed).fit(X[train], codes[train])
        other = RandomForestClassifier(6, max_features=4, random_state=seed).fit(X[train], codes[train])
        best = min((forest, other), key=lambda model: model.oob_error_)
        errors = result.errors["glass"][:, k]
        assert errors[2] == np.mean(forest.predict(X[test]) != codes[test])
        assert errors[1] == np.mean(best.predict(X[test]) != codes[test])
        trees = [np.mean(tree.predict(X[test]) != codes[test]) for tree in best.estimators_]
        assert errors[3] == np.mean(trees)
    assert result.to_pandas()["published"].tolist() == list(breiman_2001.PUBLISHED["glass"])
    mean = result.error("glass", "one tree")
    both = result.errors["glass"][3]
    assert mean == pytest.approx((100 * both.mean(), 100 * abs(both[0] - both[1]) / 2))
    assert result.difference("glass", "one tree", "forest, F = 1").value == pytest.approx(
        100 * np.mean(both - result.errors["glass"][2])
    )


def test_stumps_of_freund_and_schapire_are_tested_on_every_row_once_a_repeat() -> None:
    result = boosted_and_bagged_stumps(("sonar",), 5, CrossValidation(3, 2, 1))
    X, y = load_dataset("sonar")[:2]
    codes = read_labels(y)
    wrong = np.zeros((2, 2))
    for k, fold in enumerate(draw_folds(codes, 3, 1, 2)):
        for m, model in enumerate((DecisionStump(), AdaBoostM1Classifier(n_estimators=5))):
            model.fit(X[fold.train], codes[fold.train])
            wrong[m, k // 3] += np.sum(model.predict(X[fold.test]) != codes[fold.test])
    np.testing.assert_allclose(result.errors["sonar"][:2], wrong / 208)
    with pytest.raises(ValueError, match="n_repeats must be at least 2"):
        boosted_and_bagged_stumps(cv=CrossValidation())
    with pytest.raises(ValueError, match="n_splits must be at least 2"):
        forests_and_adaboost(n_splits=1)


def test_m1_stops_on_many_classes_where_samme_goes_on() -> None:
    result = m1_and_samme(("vehicle",), n_rounds=10, cv=CrossValidation(2))
    both = result.curves["vehicle"]
    assert both[M1].rounds[-1] == 1
    assert both[SAMME].rounds[-1] == 10
    expected = both[M1].test_errors[..., -1] - both[SAMME].test_errors[..., -1]
    assert result.test_gain("vehicle", SAMME, M1) == mean_over_folds(expected)
    X, y = three_shells(300, random_state=1)
    assert (np.diff([np.sum(X[y == k] ** 2, axis=1).max() for k in range(3)]) > 0).all()


def test_confidence_rated_stumps_are_compared_on_the_same_folds() -> None:
    result = discrete_and_rated(("ionosphere",), 15, CrossValidation(3))
    both = result.curves["ionosphere"]
    gain = both[DISCRETE].train_errors.mean(axis=2) - both[RATED].train_errors.mean(axis=2)
    assert result.training_gain("ionosphere", RATED, DISCRETE).value == pytest.approx(gain.mean())
    last = both[DISCRETE].test_errors[..., -1] - both[RATED].test_errors[..., -1]
    assert result.test_gain("ionosphere", RATED, DISCRETE).value == pytest.approx(last.mean())
    fold = draw_folds(read_labels(load_dataset("ionosphere").y), 3, 0)[0]
    X, y = load_dataset("ionosphere")[:2]
    model = AdaBoostClassifier(n_estimators=15).fit(X[fold.train], y[fold.train])
    assert both[DISCRETE].test_errors[0, 0, -1] == np.mean(model.predict(X[fold.test]) != y[fold.test])


def test_three_rounds_by_hand() -> None:
    result = three_rounds()
    np.testing.assert_allclose(result.errors, [3 / 10, 3 / 14, 3 / 22])
    np.testing.assert_allclose(result.coefficients, 0.5 * np.log((1 - result.errors) / result.errors))
    assert result.train_errors[-1] == 0.0
    best = [min(np.sum((POINTS[:, j] > cut) != (LABELS == "+")), np.sum((POINTS[:, j] > cut) == (LABELS == "+")))
            for j in range(2) for cut in POINTS[:, j]]  # fmt: skip
    assert min(best) == 3  # no stump does better than the first one


def test_several_experts_find_the_pieces() -> None:
    result = expert_errors(n_experts=(1, 3), n_rows=200, n_repeats=2, random_state=1)
    assert result.error(3).value < 1.2 * NOISE < 1.0 < result.error(1).value
    assert result.gain(3).value == pytest.approx(result.error(1).value - result.error(3).value)
    assert result.largest_decrease < 1e-8
    residual = result.y - piecewise(result.X[:, 0])
    assert residual.std() == pytest.approx(NOISE, rel=0.2)
    with pytest.raises(ValueError, match="must contain 1"):
        expert_errors(n_experts=(2, 3))


def test_fifty_sets_are_the_same_for_every_learner() -> None:
    result = fifty_sets(n_sets=4, n_estimators=3, random_state=2)
    stump, full = result.parts["stump"], result.parts["full tree"]
    np.testing.assert_array_equal(stump.source.X, full.source.X)
    assert result.largest_gap < 1e-12
    assert result.difference("bias", "stump", "full tree").value == pytest.approx(stump.bias.value - full.bias.value)
