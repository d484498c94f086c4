"""A sample weight counts as that many rows: none for zero, and only ratios matter where no row count does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.bad_input import WEIGHTS, N, X, assert_rejected
from tests.catalog import (
    CLASSIFIERS,
    MULTICLASS,
    WEIGHTED,
    among,
    assert_alike,
    every,
    except_for,
    make,
    predictions_of,
    takes,
    target_of,
)

# Tiny tables end a fit early, and weights of many decades leave little of a class.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:nu=0.5 is infeasible"),
]

PENALISED = among("committee.svm", "committee.linear", "committee.members.numeric_pipeline")
"""A weight multiplies the loss beside a penalty."""

ROW_COUNTS = among("Online", "ConfidenceRated")
"""A whole weight is a number of rows: of draws, or in the smoothing of frequencies."""

SETTINGS: list[dict[str, Any]] = [
    {}, {"bootstrap": False}, {"bootstrap": False, "max_samples": 0.5}, {"max_samples": 0.5}, {"bootstrap": "balanced"},
    {"tree_size": "pruned"}, {"bootstrap": True, "tune": "oob"}, {"bootstrap": True, "calibration": "oob"},
    {"early_stopping": True}, {"early_stopping": "cv", "cv": 3}, {"class_weight": "balanced"},
    {"class_weight": "balanced_subsample"}, {"splitter": "binned"}, {"criterion": "absolute_error"},
]  # fmt: skip


@pytest.mark.parametrize("weight", WEIGHTS)
@every(except_for(WEIGHTED, PENALISED))
def test_equal_weights_change_nothing(cls: type[Any], weight: Any) -> None:
    if cls in ROW_COUNTS and np.max(weight) > 1:
        pytest.skip("as if there were more rows")
    free = {"l2": 0.0, "gate_l2": 0.0, "variance_prior": 0.0, "min_hessian": 0.0, "min_samples_leaf": 1}
    params = {**free, "max_iter": 8, "weighting": "reweight", "bootstrap": False}
    y, rows = target_of(cls), X[:, :1] if cls in among("committee.experts") else X
    model, expected = make(cls, **params).fit(rows, y, sample_weight=weight), make(cls, **params).fit(rows, y)
    if cls in among("committee.boosting"):  # probabilities come from halves drawn at random
        np.testing.assert_allclose(model.predict(rows), expected.predict(rows))
    else:
        assert_alike(model, expected, rows, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:overflow encountered in dot")  # in the norm of a gradient
@pytest.mark.parametrize("weight", WEIGHTS)
@every(PENALISED)
def test_equal_weights_of_any_size_are_a_factor_of_the_loss(cls: type[Any], weight: Any) -> None:
    if cls in among("OneClassSVM", "NuSV") and np.max(weight) == 1e90:
        assert_rejected(make(cls), ValueError, "divide sample_weight", X, target_of(cls), sample_weight=weight)
    else:
        assert np.isfinite(predictions_of(make(cls).fit(X, target_of(cls), sample_weight=weight))).all()


@pytest.mark.parametrize("params", SETTINGS, ids=str)
@every(WEIGHTED)
def test_rows_of_weight_zero_count_for_nothing(cls: type[Any], params: dict[str, Any]) -> None:
    if not takes(cls, **params):
        pytest.skip("has no such setting")
    y, weight = target_of(cls), np.arange(N) % 3 > 0
    odd = np.where(weight[:, np.newaxis], X, 1e6)
    model = make(cls, **params).fit(odd, y, sample_weight=weight)
    expected = make(cls, **params).fit(X[weight], y[weight])
    assert_alike(model, expected)
    assert getattr(model, "oob_error_", 0.0) == pytest.approx(getattr(expected, "oob_error_", 0.0))


@every(except_for(MULTICLASS, among("committee.svm.svc", "NuSVC", "CommitteeClassifier")))  # which drop it
def test_a_class_of_weight_zero_keeps_its_place(cls: type[Any]) -> None:
    y = np.arange(N) % 3
    model = make(cls).fit(X, y, sample_weight=y < 2)
    assert model.classes_.tolist() == [0, 1, 2]
    assert cls in among("SparselyGated") or set(model.predict(X)) <= {0, 1}  # a gradient step makes it improbable only
    if cls in among("committee.forests", "committee.trees", "BaggingClassifier"):
        np.testing.assert_array_equal(model.predict_proba(X)[:, 2], 0.0)


@pytest.mark.parametrize("decades", [10, 40, 90, 290])
@every(WEIGHTED)
def test_weights_of_many_decades(cls: type[Any], decades: int) -> None:
    y, weight = target_of(cls), np.logspace(-decades, 0, N)
    model = make(cls).fit(X, y, sample_weight=weight)
    assert np.isfinite(predictions_of(model)).all()
    if cls in CLASSIFIERS and cls not in among("Stacking", "NuSVC"):  # few folds or pairs have any of the weight
        wrong = model.predict(X) != y
        assert weight[wrong].sum() <= 0.5 * weight.sum()
        assert not wrong[-1]
