"""What a fit leaves behind depends on its input alone: not on threads, output, later parameters or interruptions."""

from __future__ import annotations

import sys
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from committee.base import threads
from tests.bad_input import X
from tests.catalog import (
    ESTIMATORS,
    FRAME,
    among,
    assert_unchanged,
    every,
    fitted,
    having,
    make,
    predictions_of,
    takes,
    target_of,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LATER: dict[str, list[Any]] = {
    "n_estimators": [1], "learning_rate": [0.01], "nu": [0.9], "n_jobs": [2], "depth": [3, 1], "batch_size": [1],
    "max_depth": [1], "max_samples": [3], "bootstrap": [False], "splitter": ["binned"], "max_bins": [2],
    "loss": ["savage", "poisson"], "combine": ["mean", "vote", "median", "weighted"], "n_experts": [1, 2],
    "max_iter": [1], "kernel": ["linear"], "gamma": [3.0], "tol": [0.5], "branching": [5], "gate_l2": [7.0],
    "top_k": [1], "n_layers": [3], "hidden_units": [1], "C": [0.1], "alphas": [[9.0]], "voting": ["soft", "hard"],
    "weights": [[0, 1]], "cv": [2], "categorical_features": [[0]], "class_weight": ["balanced"], "scale": [True],
}  # fmt: skip
"""Values of parameters that a fitted model no longer reads."""


@every(ESTIMATORS)
def test_parameters_set_after_the_fit_change_nothing(cls: type[Any]) -> None:
    model, predictions = deepcopy(fitted(cls)), predictions_of(fitted(cls))
    for name, values in LATER.items():
        if name == "combine" and cls in among("Committee", "AdaBoostRegressor", "RestartClassifier"):
            continue  # read in predict
        for value in values:
            if takes(cls, **{name: value}):
                model.set_params(**{name: value})
                np.testing.assert_array_equal(predictions_of(model), predictions, err_msg=name)


@every(having(verbose=1))
def test_verbose_prints_and_changes_nothing(cls: type[Any], capfd: pytest.CaptureFixture[str]) -> None:
    model = make(cls, verbose=1).fit(X, target_of(cls))
    printed = capfd.readouterr()
    assert printed.out + printed.err
    np.testing.assert_array_equal(predictions_of(model), predictions_of(fitted(cls)))


@pytest.mark.parametrize("n_jobs", [2, -1])
@every(having(n_jobs=2))
def test_threads_change_nothing(cls: type[Any], n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "WORK_PER_THREAD", 10)
    model = make(cls, n_jobs=n_jobs).fit(X, target_of(cls))
    np.testing.assert_array_equal(predictions_of(model), predictions_of(fitted(cls)))
    if hasattr(model, "history_"):
        assert model.history_ == fitted(cls).history_


def calls_of(fit: Any, interrupt_at: int | None = None) -> int:
    """The calls of functions of the library during this fit; the given one raises KeyboardInterrupt."""
    n_calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal n_calls
        if event == "call" and frame.f_globals.get("__name__", "").startswith("committee."):
            n_calls += 1
            if n_calls == interrupt_at:
                raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        fit()
    finally:
        sys.setprofile(None)
    return n_calls


@pytest.mark.parametrize("when", [0.1, 0.5, 0.9])
@every(ESTIMATORS)
def test_an_interrupted_fit_changes_nothing(cls: type[Any], when: float) -> None:
    y = target_of(cls)
    model = make(cls).fit(FRAME, y)
    before, predictions = dict(vars(model)), predictions_of(model, FRAME)
    n_calls = calls_of(lambda: make(cls).fit(X[:, :2], y))
    with pytest.raises(KeyboardInterrupt):
        calls_of(lambda: model.fit(X[:, :2], y), int(when * n_calls))
    assert_unchanged(model, before)
    np.testing.assert_array_equal(predictions_of(model, FRAME), predictions)
