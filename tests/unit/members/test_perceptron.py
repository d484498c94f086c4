"""The pocket perceptron."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from committee.members.perceptron import PocketPerceptron, pocket_perceptron

Floats = NDArray[np.float64]


@parametrize_with_checks([PocketPerceptron(), PocketPerceptron(max_iter=3, n_restarts=1)])
def test_scikit_learn_contract(estimator: Any, check: Any) -> None:
    check(estimator)


def naive_pocket(X: Floats, y: Floats, w: Floats, v: Floats, steps: int) -> tuple[Floats, float]:
    """One start, row by row."""
    share = sum(w[y > 0])
    best = np.append(np.zeros(len(v) - 1), 1.0 if share > 0.5 else -1.0)
    smallest = min(share, 1.0 - share)
    for step in range(steps + 1):
        wrong = [i for i in range(len(y)) if (X[i] @ v > 0) != (y[i] > 0)]
        error = sum(w[i] for i in wrong)
        if error < smallest - 1e-12:
            best, smallest = v, error
        if step < steps:
            v = v + sum((w[i] * y[i] * X[i] for i in wrong), np.zeros(len(v)))
    return best, smallest


def test_is_the_plain_twin() -> None:
    rng = np.random.default_rng(0)
    X, w = np.column_stack([rng.normal(size=(40, 2)), np.ones(40)]), rng.dirichlet(np.ones(40))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1, -1).astype(np.int8)
    starts = rng.normal(size=(3, 4))
    pocket, error, steps = pocket_perceptron(X, y, w, starts, 30)
    twins = [naive_pocket(X, y.astype(np.float64), w, start, 30) for start in starts.T]
    assert steps == 30
    assert error == pytest.approx(min(twin_error for _, twin_error in twins), abs=1e-12)
    assert any(np.allclose(pocket, twin) for twin, _ in twins)
    assert error == pytest.approx(w[(X @ pocket > 0) != (y > 0)].sum())


def test_separable_classes_are_separated() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5)) * [1.0, 100.0, 0.01, 1.0, 1.0] + [0.0, 1e4, 0.0, 0.0, 0.0]
    score = X[:, 0] + (X[:, 1] - 1e4) / 100.0 + 100.0 * X[:, 2]
    far = np.abs(score) > 0.3
    model = PocketPerceptron(max_iter=1000, random_state=0).fit(X[far], score[far] > 0)
    assert model.error_[0] == 0.0
    assert model.n_iter_ < 1000
    assert model.score(X[far], score[far] > 0) == 1.0


def test_overlapping_classes_are_divided_as_well_as_by_logistic_regression() -> None:
    for seed in range(3):
        X, y = make_classification(500, 10, n_informative=4, flip_y=0.1, class_sep=0.6, random_state=seed)
        model = PocketPerceptron(random_state=0).fit(X, y)
        assert model.score(X, y) == pytest.approx(1.0 - model.error_[0])
        assert model.score(X, y) > LogisticRegression().fit(X, y).score(X, y) - 0.02


def test_weights_decide_which_rows_may_be_wrong() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 1, 0, 1])  # no threshold gets all four
    light = PocketPerceptron(random_state=0).fit(X, y, [1.0, 0.1, 1.0, 1.0])
    np.testing.assert_array_equal(light.predict(X), [0, 0, 0, 1])
    heavy = PocketPerceptron(random_state=0).fit(X, y, [1.0, 1.0, 0.1, 1.0])
    np.testing.assert_array_equal(heavy.predict(X), [0, 1, 1, 1])
    assert light.error_[0] == pytest.approx(0.1 / 3.1)


def test_the_error_is_never_above_that_of_a_constant_prediction() -> None:
    X, y = np.zeros((9, 1)), np.array([0, 1, 1] * 3)
    model = PocketPerceptron(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), np.ones(9))
    assert model.error_[0] == pytest.approx(1 / 3)


def test_more_restarts_never_hurt() -> None:
    X, y = make_classification(200, 8, flip_y=0.2, random_state=1)
    errors = [PocketPerceptron(max_iter=20, n_restarts=k, random_state=0).fit(X, y).error_[0] for k in (1, 64)]
    assert errors[1] < errors[0]


def test_decision_is_the_distance_in_standardised_columns() -> None:
    X, y = make_blobs(100, centers=2, cluster_std=2.0, random_state=0)
    model = PocketPerceptron(random_state=0).fit(X, y)
    assert np.linalg.norm(model.coef_[0] * X.std(axis=0)) == pytest.approx(1.0)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


def test_three_classes_one_against_the_rest() -> None:
    X, y = make_blobs(150, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    model = PocketPerceptron(random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    assert model.coef_.shape == (3, 2)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, np.array(["a", "b", "c"])[y]) > 0.97


def test_constant_columns_and_a_single_class() -> None:
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0)])
    model = PocketPerceptron(random_state=0).fit(X, np.arange(20) > 9)
    assert model.coef_[0, 0] == 0.0
    assert model.score(X, np.arange(20) > 9) == 1.0
    alone = PocketPerceptron(random_state=0).fit(X, np.full(20, "only"))
    assert set(alone.predict(X)) == {"only"}


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_values_of_any_size(size: float) -> None:
    X, y = make_blobs(60, centers=2, random_state=0)
    plain, sized = (PocketPerceptron(random_state=0).fit(X * factor, y) for factor in (1.0, size))
    np.testing.assert_allclose(sized.decision_function(X * size), plain.decision_function(X), rtol=1e-9)


def test_missing_values_are_rejected() -> None:
    X = np.array([[0.0], [np.nan], [1.0]])
    with pytest.raises(
        ValueError, match=r"NaN in column x\[\d\], which PocketPerceptron does not .*NumericPipelineClassifier"
    ):
        PocketPerceptron().fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="contains NaN"):
        PocketPerceptron().fit(X[[0, 2]], [0, 1]).predict(X)
