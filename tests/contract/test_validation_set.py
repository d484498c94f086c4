"""The validation set of fit, for every estimator that takes one: bad ones raise, good ones are read as X and y are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import has_fit_parameter

from tests.bad_input import LABELS, VALUES, N, X, assert_rejected, changed, inf, nan, table
from tests.catalog import CLASSIFIERS, ESTIMATORS, FRAME, among, every, make, takes, target_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

VALIDATED = [cls for cls in ESTIMATORS if has_fit_parameter(make(cls), "X_val")]

BAD_VALIDATION = table(
    ("no table", {"X_val": None}, "X_val and y_val"),
    ("no target", {"y_val": None}, "X_val and y_val"),
    ("only weights", {"X_val": None, "y_val": None, "sample_weight_val": np.ones(N)}, "X_val and y_val"),
    ("fewer columns", {"X_val": X[:, :2]}, "X has 2 features, but .* is expecting 3"),
    ("no rows", {"X_val": X[:0]}, r"0 sample\(s\)"),
    ("inf", {"X_val": changed(inf)}, r"infinity .* in column x\[1\]"),
    ("strings", {"X_val": changed("a", dtype=object)}, r"x\[1\] holds strings"),
    ("1-d", {"X_val": X[:, 0]}, "Expected 2D array"),
    ("too short", {"y_val": LABELS[1:]}, f"X has {N} rows, y has {N - 1}"),
    ("nan target", {"y_val": np.r_[nan, VALUES[1:]]}, "y contains NaN"),
    ("other strings", {"y_val": np.where(LABELS, "a", "b")}, "y_val|strings"),
    ("two columns", {"y_val": np.ones((N, 2), int)}, r"2 outputs|shape \(40, 2\)"),
    ("weights of zero", {"sample_weight_val": np.zeros(N)}, "all weights are zero.*sample_weight_val=None"),
    ("weights of nan", {"sample_weight_val": np.full(N, nan)}, "sample_weight_val contains NaN"),
    ("weights below zero", {"sample_weight_val": -np.ones(N)}, "Negative values in sample_weight_val"),
    ("weights too short", {"sample_weight_val": np.ones(3)}, "sample_weight_val has 3"),
)


@pytest.mark.parametrize(("arguments", "text"), BAD_VALIDATION)
@every(VALIDATED)
def test_bad_validation_sets_raise(cls: type[Any], arguments: dict[str, Any], text: str) -> None:
    y = target_of(cls)
    assert_rejected(make(cls), ValueError, text, X, y, **{"X_val": X, "y_val": y, **arguments})


def validation_errors(model: Any) -> Any:
    """By member: what the validation set says of it."""
    name = next(name for name in model.history_ if name.startswith("validation_"))
    return np.asarray(model.history_[name])


@every(VALIDATED)
def test_the_form_of_the_validation_set_does_not_matter(cls: type[Any]) -> None:
    y = target_of(cls)
    by_array = make(cls).fit(X, y, X_val=X[::2], y_val=y[::2])
    by_frame = make(cls).fit(FRAME, y, X_val=FRAME.iloc[::2].set_index(np.arange(N // 2) % 3), y_val=pd.Series(y[::2]))
    np.testing.assert_array_equal(validation_errors(by_array), validation_errors(by_frame))
    assert np.isfinite(validation_errors(by_array)).all()
    for other, text in ((FRAME[["b", "a", "c"]], "same order"), (FRAME.rename(columns={"c": "z"}), "unseen at fit")):
        assert_rejected(make(cls), ValueError, text, FRAME, y, X_val=other, y_val=y)


@every([cls for cls in VALIDATED if cls in CLASSIFIERS])
def test_labels_of_the_validation_set_are_those_of_the_training_rows(cls: type[Any]) -> None:
    other = {"X_val": X, "y_val": np.where(LABELS, 5, 0)}
    assert_rejected(make(cls), ValueError, r"y_val.*\[5\]", X, LABELS, **other)
    some = {"X_val": X[LABELS == 1], "y_val": LABELS[LABELS == 1]}
    model = make(cls).fit(X, LABELS, **some)
    assert np.isfinite(validation_errors(model)).all()
    if cls in among("committee.boosting"):
        assert validation_errors(model)[-1] == pytest.approx((model.predict(some["X_val"]) != some["y_val"]).mean())


@pytest.mark.parametrize("early_stopping", [True, "validation"])
@every(VALIDATED)
def test_too_few_rows_to_hold_any_out(cls: type[Any], early_stopping: Any) -> None:
    if not takes(cls, early_stopping=early_stopping):
        pytest.skip("has no such setting")
    model = make(cls, early_stopping=early_stopping)
    assert_rejected(model, ValueError, "X_val", X[:1], target_of(cls)[:1])
