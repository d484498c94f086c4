"""Scores of given predictions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from committee.ensemble.oob_scorers import score_predictions

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 2, 50)
CLASSES = np.array(["no", "yes"])
SECOND = np.clip(0.5 * CODES + RNG.uniform(0.0, 0.6, 50), 0.0, 1.0)
PROBABILITIES = np.column_stack([1.0 - SECOND, SECOND])
LABELS = CLASSES[CODES]
WEIGHT = RNG.uniform(1.0, 2.0, 50)


@pytest.mark.parametrize("weight", [np.full(50, 2.0), WEIGHT], ids=["equal", "different"])
def test_names_and_default_scores(weight: np.ndarray):
    predicted = CLASSES[PROBABILITIES.argmax(axis=1)]
    for how in (True, "auto", "accuracy"):
        expected = accuracy_score(LABELS, predicted, sample_weight=weight)
        assert score_predictions(how, PROBABILITIES, CLASSES, LABELS, weight) == pytest.approx(expected)
    expected = roc_auc_score(CODES, SECOND, sample_weight=weight)
    assert score_predictions("roc_auc", PROBABILITIES, CLASSES, LABELS, weight) == pytest.approx(expected)
    values = SECOND[:, np.newaxis]
    expected = r2_score(CODES, SECOND, sample_weight=weight)
    assert score_predictions(True, values, None, CODES, weight) == pytest.approx(expected)


def test_functions_hear_of_weights_if_they_ask_and_weights_differ():
    heard: list[bool] = []

    def with_weights(truth: np.ndarray, predictions: np.ndarray, sample_weight: np.ndarray | None = None) -> float:
        heard.append(sample_weight is not None)
        return 0.25

    def without(truth: np.ndarray, predictions: np.ndarray) -> float:
        return float(np.mean(truth == predictions))

    for weight in (WEIGHT, np.ones(50)):
        assert score_predictions(with_weights, PROBABILITIES, CLASSES, LABELS, weight) == 0.25
    assert heard == [True, False]
    assert score_predictions(without, PROBABILITIES, CLASSES, LABELS, WEIGHT) == np.mean(
        CODES == PROBABILITIES.argmax(axis=1)
    )


def test_r2_of_one_row_is_not_defined():
    assert math.isnan(score_predictions(True, np.ones((1, 1)), None, np.ones(1), np.ones(1)))
