"""Losses of the user: functions of two numbers, compiled, and named with the round in which they fail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from committee import GradientBoostingRegressor
from tests.bad_input import (
    VALUES,
    N,
    X,
    assert_rejected,
    table,
)
from tests.catalog import make
from tests.losses import square, square_gradient, square_hessian


def not_a_number(y: float, score: float) -> float:
    return math.nan


def too_far(y: float, score: float) -> float:
    if score > 1.5:
        raise ArithmeticError("further than I can see")
    return 0.5 * (y - score) ** 2


def fails_on_three(y: float, score: float) -> float:
    if y == 3.0:
        raise ArithmeticError("I cannot stand the three")
    return 0.5 * (y - score) ** 2


def never(y: float, score: float) -> float:
    if score < 1e300:
        raise ArithmeticError("not today")
    return 0.0


def slope_to_a_wall(y: float, score: float) -> float:
    if score > 1.5:
        raise ArithmeticError("a wall")
    return score - y


def slope_to_nowhere(y: float, score: float) -> float:
    return score - y if score < 1.5 else math.nan


def of_one(y: float) -> float:
    return y


def pair(y: float, score: float) -> tuple[float, float]:
    return y, score


def word(y: float, score: float) -> str:
    return "far"


class Callable2:
    def __call__(self, y: float, score: float) -> float:
        return y - score


BAD_LOSSES = table(
    ("nan", not_a_number, "^Round 1: .*value .*'not_a_number'"),
    ("nan gradient", (square, not_a_number, square_hessian), "^Round 1: .*gradient .*'square'"),
    ("nan hessian", (square, square_gradient, not_a_number), "^Round 1: .*hessian .*'square'"),
    ("raises", never, "^Round 1: .*'never' .*ArithmeticError: not today"),
    ("raises later", (square, slope_to_a_wall, square_hessian), "^Round [2-9]: .*'square' .*ArithmeticError: a wall"),
    ("nan later", (square, slope_to_nowhere, square_hessian), "^Round [2-9]: .*gradient .*'square'"),
    ("one argument", of_one, "numba cannot compile 'of_one'"),
    ("pair", pair, "numba cannot compile 'pair'"),
    ("word", word, "numba cannot compile 'word'"),
    ("built-in", max, "plain Python function"),
    ("object", Callable2(), "plain Python function"),
    ("two", (square, square_gradient), "function, or three"),
    ("half of the derivatives", (square, square_gradient, None), "function, or three"),
    ("no functions", (1, 2, 3), "plain Python function"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "text"), BAD_LOSSES)
def test_a_bad_loss_is_rejected_and_the_round_named(loss: Any, text: str) -> None:
    model = make(GradientBoostingRegressor, loss=loss, learning_rate=0.3, n_estimators=20)
    assert_rejected(model, ValueError, text, X, VALUES)
    model.set_params(loss="squared_error").fit(X, VALUES)
    predictions = model.predict(X)
    assert_rejected(model.set_params(loss=loss), ValueError, text, X, VALUES)
    np.testing.assert_array_equal(model.predict(X), predictions)


@pytest.mark.slow
def test_a_loss_that_fails_on_rows_to_validate_on_names_the_round() -> None:
    loss = (too_far, square_gradient, square_hessian)
    model = make(GradientBoostingRegressor, loss=loss, n_estimators=20)
    low = VALUES < 0.5  # the scores of these rows do not get that far
    text = "^Round 1: .*'fails_on_three'"
    validated = {"X_val": X, "y_val": np.full(N, 3.0)}
    model.set_params(loss=(fails_on_three, square_gradient, square_hessian))
    assert_rejected(model, ValueError, text, X[low], VALUES[low], **validated)
    model.set_params(loss=loss)
    model.set_params(early_stopping="cv", cv=2)
    assert_rejected(model, ValueError, r"^Round \d+: .*'too_far'", X, VALUES + 1.0)


def test_an_error_of_a_callback_comes_through() -> None:
    def fail(record: Any) -> None:
        raise RuntimeError(f"no more after round {record.round}")

    assert_rejected(make(GradientBoostingRegressor, callbacks=[fail]), RuntimeError, "no more after round 1", X, VALUES)
