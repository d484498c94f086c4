"""Rounds and theta chosen by validation are those of the estimators on the same validation rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import AdaBoostClassifier, AdaBoostThetaClassifier
from committee.datasets import load_dataset
from committee.evaluation._folds import draw_folds, read_labels
from committee_reproductions import CrossValidation
from committee_reproductions.rounds_or_theta import ValidationChoice, validation_choice


def test_choices_are_those_of_the_classes_on_the_same_validation_rows():
    X, y = load_dataset("sonar")[:2]
    X, y = X[::3, ::6], y[::3]
    thetas = (0.0, 0.1, 0.3)
    result = validation_choice(X, y, n_rounds=25, thetas=thetas, cv=CrossValidation(2, random_state=3))
    for k, fold in enumerate(draw_folds(read_labels(y), 2, 3)):
        rows, labels = X[fold.train], y[fold.train]
        common: dict[str, Any] = {"n_estimators": 25, "validation_fraction": 0.25, "random_state": fold.seed}
        model = AdaBoostClassifier(early_stopping="validation", n_iter_no_change=25, tol=0.0, **common)
        model.fit(rows, labels)
        errors = model.history_.validation_error
        assert result.rounds[0, k] == len(model) == np.argmin(errors) + 1
        assert result.rounds_errors[0, k] == np.mean(model.predict(X[fold.test]) != y[fold.test])
        other = AdaBoostThetaClassifier(theta="validation", thetas=thetas, **common).fit(rows, labels)
        assert result.thetas[0, k] == other.theta_
        assert result.theta_errors[0, k] == np.mean(other.predict(X[fold.test]) != y[fold.test])
        # at theta = 0 both see the same validation rows and the same run
        assert other.theta_errors_[0] == errors[-1]


def test_similar_or_not_is_said():
    same = ValidationChoice(*(np.array([[0.2, 0.3, 0.25]]),) * 3, np.array([[3, 9, 4]]), np.array([[0.0, 0.1, 0.1]]))
    assert same.verdict.startswith("similar: ")
    assert same._replace(theta_errors=same.theta_errors + 0.1).verdict.startswith("not similar: ")
    frame = same.to_pandas()
    assert frame["chosen"].tolist() == ["rounds", "theta", "nothing"]
    assert frame["median_choice"].tolist()[:2] == [4.0, 0.1]


def test_one_class_raises():
    with pytest.raises(ValueError, match="got 1 class"):
        validation_choice(np.zeros((20, 2)), np.ones(20))
