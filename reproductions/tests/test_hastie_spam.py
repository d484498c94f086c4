"""Spam: the curves are those of the fits; the data and the models are the book's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import GradientBoostingClassifier, RandomForestClassifier
from committee.base.stats import mean_over_folds
from committee.datasets import load_dataset
from committee.evaluation._folds import draw_folds, read_labels
from committee_reproductions import CrossValidation
from committee_reproductions.hastie_spam import PUBLISHED, SpamErrors, spam_errors, spam_models


def some_spam() -> tuple[Any, Any]:
    X, y = load_dataset("spam")[:2]
    return X[::20], y[::20]


def test_curves_are_those_of_the_fits_on_every_fold():
    X, y = some_spam()
    forest = RandomForestClassifier(n_estimators=7)
    result = spam_errors(X, y, {"forest": forest}, cv=CrossValidation(3, 2, 5))
    for k, fold in enumerate(draw_folds(read_labels(y), 3, 5, n_repeats=2)):
        model = RandomForestClassifier(n_estimators=7, random_state=fold.seed).fit(X[fold.train], y[fold.train])
        place = divmod(k, 3)
        np.testing.assert_allclose(result.oob_errors["forest"][place], model.history_.oob_error)
        wrong = [np.mean(labels != y[fold.test]) for labels in model.staged_predict(X[fold.test])]
        np.testing.assert_allclose(result.test_errors["forest"][place], wrong)
    assert not hasattr(forest, "trees_"), "the user's own estimator stays as it is"


def test_models_without_out_of_bag_rows_have_a_test_curve_only():
    X, y = some_spam()
    models = {
        "boosting": GradientBoostingClassifier(n_estimators=6, early_stopping=False),
        "no bootstrap": RandomForestClassifier(n_estimators=3, bootstrap=False),
    }
    result = spam_errors(X, y, models, cv=CrossValidation(3))
    assert result.oob_errors == {}
    assert result.test_errors["boosting"].shape == (1, 3, 6)
    assert list(result.curve("boosting")) == ["n_trees", "test_error", "test_stderr"]
    with pytest.raises(ValueError, match="No such error of 'boosting'"):
        result.oob_error("boosting")
    assert "not measured" in result.verdict


def measured() -> SpamErrors:
    forest = np.array([[[0.3, 0.10], [0.3, 0.12], [0.3, 0.11]]])
    bagging = forest + np.array([0.0, 0.02])
    close = forest + np.array([[[0.0, 0.01], [0.0, -0.01], [0.0, 0.001]]])
    return SpamErrors({"bagging": bagging, "forest": forest, "close": close}, {"forest": forest - 0.004})


def test_differences_are_paired_over_the_folds():
    result = measured()
    assert result.excess("bagging", "forest") == pytest.approx((0.02, 0.0))
    assert result.optimism("forest") == pytest.approx((0.004, 0.0))
    expected = mean_over_folds(np.array([[0.10, 0.12, 0.11]]))
    assert result.test_error("forest") == pytest.approx(expected)
    assert result.verdict.startswith("test errors forest 0.1100")
    assert "bagging above forest by 0.0200" in result.verdict
    assert "close above forest" not in result.verdict
    frame = result.to_pandas()
    assert frame["test_error"].tolist() == pytest.approx([0.13, 0.11, 0.11 + 0.001 / 3])
    assert frame["oob_error"].isna().tolist() == [True, False, True]


def test_input_is_checked():
    X, y = some_spam()
    with pytest.raises(ValueError, match="X and y go together"):
        spam_errors(X)
    with pytest.raises(ValueError, match="models is empty"):
        spam_errors(X, y, {})


def test_splits_have_the_sizes_of_the_book():
    result = spam_errors(models=spam_models(2, 3), cv=CrossValidation(3))
    assert result.models == tuple(PUBLISHED) == tuple(spam_models())
    assert set(result.oob_errors) == {"bagging", "random forest"}
    assert result.test_errors["gradient boosting"].shape == (1, 3, 3)
    sizes = [(fold.train.size, fold.test.size) for fold in draw_folds(read_labels(load_dataset("spam").y), 3, 0)]
    assert all(abs(n_train - 3065) <= 3 and abs(n_test - 1536) <= 3 for n_train, n_test in sizes)
