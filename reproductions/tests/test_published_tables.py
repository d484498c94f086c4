"""The studies behind the tables of papers: their numbers are those of the fits, done again by hand."""

from __future__ import annotations

import numpy as np
import pytest

from committee import AdaBoostClassifier, AdaBoostM1Classifier, DecisionStump, RandomForestClassifier
from committee.base.rng import member_seeds
from committee.datasets import load_dataset
from committee.evaluation._folds import draw_folds, mean_over_folds, read_labels
from committee_reproductions import breiman_2001, freund_schapire_1996
from committee_reproductions.confidence_rated import confidence_rated
from committee_reproductions.fifty_sets import fifty_sets
from committee_reproductions.local_experts import NOISE, local_experts, piecewise
from committee_reproductions.multiclass_boosting import multiclass_boosting, three_shells
from committee_reproductions.three_rounds import LABELS, POINTS, three_rounds


def test_forests_of_breiman_are_judged_on_a_random_tenth() -> None:
    found = breiman_2001.breiman_2001(["glass"], n_splits=2, n_trees=6, n_rounds=3, random_state=4)
    X, y = load_dataset("glass")[:2]
    codes = read_labels(y)
    for k, seed in enumerate(int(s % np.uint64(2**31)) for s in member_seeds(4, 2)):
        shuffled = np.random.default_rng(seed).permutation(214)
        test, train = shuffled[:21], np.sort(shuffled[21:])
        forest = RandomForestClassifier(6, max_features=1, random_state=seed).fit(X[train], codes[train])
        other = RandomForestClassifier(6, max_features=4, random_state=seed).fit(X[train], codes[train])
        best = min((forest, other), key=lambda model: model.oob_error_)
        errors = found.errors["glass"][:, k]
        assert errors[2] == np.mean(forest.predict(X[test]) != codes[test])
        assert errors[1] == np.mean(best.predict(X[test]) != codes[test])
        trees = [np.mean(tree.predict(X[test]) != codes[test]) for tree in best.estimators_]
        assert errors[3] == np.mean(trees)
    assert found.to_pandas()["published"].tolist() == list(breiman_2001.TABLE["glass"])
    mean = found.error("glass", "one tree")
    both = found.errors["glass"][3]
    assert mean == pytest.approx((100 * both.mean(), 100 * abs(both[0] - both[1]) / 2))
    assert found.excess("glass", "one tree", "forest, F = 1").value == pytest.approx(
        100 * np.mean(both - found.errors["glass"][2])
    )


def test_stumps_of_freund_and_schapire_are_judged_on_every_row_once_a_repeat() -> None:
    found = freund_schapire_1996.freund_schapire_1996(["sonar"], n_rounds=5, n_folds=3, n_repeats=2, random_state=1)
    X, y = load_dataset("sonar")[:2]
    codes = read_labels(y)
    wrong = np.zeros((2, 2))
    for k, fold in enumerate(draw_folds(codes, 3, 1, 2)):
        for m, model in enumerate((DecisionStump(), AdaBoostM1Classifier(n_estimators=5))):
            model.fit(X[fold.train], codes[fold.train])
            wrong[m, k // 3] += np.sum(model.predict(X[fold.test]) != codes[fold.test])
    np.testing.assert_allclose(found.errors["sonar"][:2], wrong / 208)
    with pytest.raises(ValueError, match="n_repeats must be at least 2"):
        freund_schapire_1996.freund_schapire_1996(n_repeats=1)
    with pytest.raises(ValueError, match="n_splits must be at least 2"):
        breiman_2001.breiman_2001(n_splits=1)


def test_m1_stops_on_many_classes_where_samme_goes_on() -> None:
    found = multiclass_boosting(("vehicle",), n_rounds=10, n_folds=2, random_state=0)
    both = found.experiments["vehicle"]
    assert both["AdaBoost.M1"].rounds[-1] == 1
    assert both["SAMME"].rounds[-1] == 10
    expected = both["AdaBoost.M1"].test_errors[..., -1] - both["SAMME"].test_errors[..., -1]
    assert found.gain("vehicle") == mean_over_folds(expected)
    X, y = three_shells(300, seed=1)
    assert (np.diff([np.sum(X[y == k] ** 2, axis=1).max() for k in range(3)]) > 0).all()


def test_confidence_rated_stumps_are_compared_on_the_same_folds() -> None:
    found = confidence_rated(["ionosphere"], n_rounds=15, n_folds=3, random_state=0)
    both = found.experiments["ionosphere"]
    gain = both["discrete"].train_errors.mean(axis=2) - both["confidence-rated"].train_errors.mean(axis=2)
    assert found.training_gain("ionosphere").value == pytest.approx(gain.mean())
    last = both["discrete"].test_errors[..., -1] - both["confidence-rated"].test_errors[..., -1]
    assert found.test_gain("ionosphere").value == pytest.approx(last.mean())
    fold = draw_folds(read_labels(load_dataset("ionosphere").y), 3, 0)[0]
    X, y = load_dataset("ionosphere")[:2]
    model = AdaBoostClassifier(n_estimators=15).fit(X[fold.train], y[fold.train])
    assert both["discrete"].test_errors[0, 0, -1] == np.mean(model.predict(X[fold.test]) != y[fold.test])


def test_three_rounds_by_hand() -> None:
    found = three_rounds()
    np.testing.assert_allclose(found.errors, [3 / 10, 3 / 14, 3 / 22])
    np.testing.assert_allclose(found.coefficients, 0.5 * np.log((1 - found.errors) / found.errors))
    assert found.train_errors[-1] == 0.0
    best = [min(np.sum((POINTS[:, j] > cut) != (LABELS == "+")), np.sum((POINTS[:, j] > cut) == (LABELS == "+")))
            for j in range(2) for cut in POINTS[:, j]]  # fmt: skip
    assert min(best) == 3  # no stump does better than the first one


def test_several_experts_find_the_pieces() -> None:
    found = local_experts(n_experts=(1, 3), n_rows=200, n_repeats=2, random_state=1)
    assert found.error(3).value < 1.2 * NOISE < 1.0 < found.error(1).value
    assert found.gain(3).value == pytest.approx(found.error(1).value - found.error(3).value)
    assert found.largest_fall < 1e-8
    residual = found.y - piecewise(found.X[:, 0])
    assert residual.std() == pytest.approx(NOISE, rel=0.2)
    with pytest.raises(ValueError, match="must contain 1"):
        local_experts(n_experts=(2, 3))


def test_fifty_sets_are_the_same_for_every_learner() -> None:
    found = fifty_sets(n_sets=4, n_estimators=3, random_state=2)
    stump, full = found.parts["stump"], found.parts["full tree"]
    np.testing.assert_array_equal(stump.source.X, full.source.X)
    assert found.largest_gap < 1e-12
    assert found.difference("bias", "stump", "full tree").value == pytest.approx(stump.bias.value - full.bias.value)
