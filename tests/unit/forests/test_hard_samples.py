"""Bootstrap samples with little in them: two rows, one class, zeros, heavy weights."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

from tests.bad_input import (
    LABELS,
    VALUES,
    N,
    X,
    assert_rejected,
)
from tests.catalog import CLASSIFIERS, REGRESSORS, among, every, predictions_of, target_of
from tests.catalog import make as small

FORESTS = among("committee.forests")


make = partial(small, n_estimators=8, bootstrap=True)


@every(FORESTS)
def test_one_row_is_never_out_of_bag(cls: type[Any]) -> None:
    y = target_of(cls)[:1]
    np.testing.assert_array_equal(make(cls, tune="oob").fit(X[:1], y).predict(X), y[0])
    if cls in CLASSIFIERS:
        assert_rejected(make(cls, calibration="oob"), ValueError, "in every sample", X[:1], y)
    else:
        with pytest.raises(ValueError, match="residuals"):
            make(cls).fit(X[:1], y).predict_interval(X)


@every(FORESTS)
def test_two_rows(cls: type[Any]) -> None:
    y = np.array([0, 1])
    model = make(cls, n_estimators=30, calibration="oob") if is_classifier(cls()) else make(cls, n_estimators=30)
    model.fit(X[:2], y)
    assert model.oob_error_ == 1.0  # whoever did not see a row saw the other one alone
    np.testing.assert_array_equal(make(cls, bootstrap=False).fit(X[:2], y).predict(X[:2]), y)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 1.0, 1: 5.0}])
@every(among("committee.forests", classes=CLASSIFIERS))
def test_class_weights_take_a_weight_for_so_many_rows(cls: type[Any], class_weight: Any) -> None:
    weight = 1 + np.arange(N) % 3
    for bootstrap in (True, False, "balanced"):
        params = {"class_weight": class_weight, "bootstrap": bootstrap, "max_depth": 3}
        model = make(cls, **params).fit(X, LABELS, weight)
        expected = make(cls, **params).fit(np.repeat(X, weight, axis=0), np.repeat(LABELS, weight))
        np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9, atol=1e-12)


@every(among("committee.forests", classes=CLASSIFIERS))
def test_a_sample_without_the_only_class_that_counts(cls: type[Any]) -> None:
    y = (np.arange(N) == 0).astype(int)
    model = make(cls, n_estimators=20, class_weight={0: 0.0, 1: 1.0}).fit(X, y)
    seen = np.array([0 in rows for rows in model.estimators_samples_])
    assert not seen.all()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], seen.mean())


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse", "absolute_error", "poisson"])
@pytest.mark.parametrize("scale", [2.0**-100, 2.0**300])
@every(among("committee.forests", classes=REGRESSORS))
def test_the_scale_of_the_target_does_not_matter(cls: type[Any], criterion: str, scale: float) -> None:
    y = np.abs(VALUES)
    params = {"criterion": criterion, "bootstrap": False}  # samples depend on the values of the rows
    model, expected = make(cls, **params).fit(X, y * scale), make(cls, **params).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / scale, expected.predict(X), rtol=1e-9)
    assert np.isfinite(make(cls, criterion=criterion).fit(X, y * scale).oob_score_)


@every(among("committee.forests", classes=REGRESSORS))
def test_a_sample_of_zeros_under_poisson(cls: type[Any]) -> None:
    y = np.where(np.arange(N) == 0, 3.0, 0.0)
    model = make(cls, criterion="poisson", n_estimators=30).fit(X, y)
    n_times = np.array([np.count_nonzero(rows == 0) for rows in model.estimators_samples_])
    assert n_times.min() == 0
    np.testing.assert_allclose(model.predict(X), 3.0 * n_times.mean() / N)  # no split leaves a side without counts


@every(FORESTS)
def test_more_features_than_there_are_are_all(cls: type[Any]) -> None:
    y = target_of(cls)
    expected = predictions_of(make(cls, max_features=None).fit(X, y))
    np.testing.assert_array_equal(predictions_of(make(cls, max_features=300).fit(X, y)), expected)


@every(FORESTS)
def test_weights_of_a_survey_need_no_more_memory(cls: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that stands for millions is drawn by its chance, and is not laid out as millions of rows."""
    monkeypatch.setattr("committee.tree_engine.memory_guard.available_bytes", lambda: 2**26)
    heavy = np.random.default_rng(0).integers(10**6, 10**8, N)
    for bootstrap, max_samples in ((True, None), (False, 0.5), (True, N)):
        model = make(cls, bootstrap=bootstrap, max_samples=max_samples)
        assert np.isfinite(predictions_of(model.fit(X, target_of(cls), heavy))).all()
