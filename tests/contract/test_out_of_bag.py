"""Out-of-bag predictions of every ensemble of bootstrap samples: of rows outside of a sample only, else nan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier

from tests.bad_input import N, X, assert_rejected
from tests.catalog import CLASSIFIERS, every, having, make, target_of

BAGGED = having(oob_score=True)


def bagged(cls: type[Any], **params: Any) -> Any:
    return make(cls, **{"bootstrap": True, **params})


@every(BAGGED)
def test_one_row_is_never_out_of_bag(cls: type[Any]) -> None:
    y = target_of(cls)[:1]
    assert np.isnan(bagged(cls).fit(X[:1], y).oob_error_)
    with pytest.warns(UserWarning, match="1 (of 1 )?rows were in the sample of every"):
        assert np.isnan(bagged(cls, oob_score=True).fit(X[:1], y).oob_score_)
    model = bagged(cls, n_estimators="auto").fit(X[:1], y)
    assert len(model.estimators_) <= 100  # no error to wait for
    np.testing.assert_allclose(model.predict(X), y[0])


@every(BAGGED)
def test_rows_in_every_sample_are_nan_and_counted(cls: type[Any]) -> None:
    y = target_of(cls)
    with pytest.warns(UserWarning, match=r"\d+ (of 40 )?rows were in the sample of every"):
        model = bagged(cls, n_estimators=1, oob_score=True).fit(X, y)
    predictions = model.oob_decision_function_[:, 0] if is_classifier(model) else model.oob_prediction_
    left_out = np.setdiff1d(np.arange(N), model.estimators_samples_[0])
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(predictions)), left_out)
    assert model.oob_score_ == pytest.approx(model.score(X[left_out], y[left_out]))


@every(BAGGED)
def test_out_of_bag_scores_of_every_kind(cls: type[Any]) -> None:
    y = target_of(cls)
    names = ["roc_auc", "neg_log_loss", "balanced_accuracy"] if cls in CLASSIFIERS else ["neg_max_error", "r2"]
    for score in [*names, lambda truth, predictions: np.mean(truth == predictions)]:
        assert np.isfinite(bagged(cls, n_estimators=30, oob_score=score).fit(X, y).oob_score_)

    def fail(truth: Any, predictions: Any) -> float:
        raise RuntimeError("no score for this")

    assert_rejected(bagged(cls, n_estimators=30, oob_score=fail), RuntimeError, "no score for this", X, y)
