"""Forests of several targets: one forest per target, and no prediction of a single one."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from committee import RandomForestClassifier, RandomForestRegressor
from committee.explain import shap_values
from tests.bad_input import (
    LABELS,
    N,
    X,
    assert_rejected,
    inf,
    nan,
    table,
)
from tests.catalog import among, every, predictions_of, target_of
from tests.catalog import make as small

FORESTS = among("committee.forests")

METHODS = [
    "predict", "predict_proba", "predict_log_proba", "apply", "decision_path", "member_predictions", "predict_interval",
    "predict_quantiles",
]  # fmt: skip


make = partial(small, n_estimators=8, bootstrap=True)


@cache
def fitted(cls: type[Any]) -> Any:
    return make(cls, keep_leaf_samples=True).fit(X, target_of(cls))


BAD_OUTPUTS = table(
    ("ragged", [[0, 1]] * (N - 1) + [[1]], "different lengths"),
    ("too short", np.ones((N - 1, 2)), f"X has {N} rows, y has {N - 1}: pass one"),
    ("nan in the second", np.column_stack([LABELS, np.full(N, nan)]), "contains NaN"),
    ("inf in the second", np.column_stack([LABELS, np.full(N, inf)]), "contains infinity"),
    ("no column", np.empty((N, 0)), "no column"),
    ("twin names", pd.DataFrame(np.ones((N, 2)), columns=["a", "a"]), "same name"),
)


@pytest.mark.parametrize(("y", "text"), BAD_OUTPUTS)
@every(FORESTS)
def test_bad_outputs_are_rejected(cls: type[Any], y: Any, text: str) -> None:
    assert_rejected(make(cls), ValueError, text, X, y)


def shap_of(model: Any) -> Any:
    return shap_values(model, X)


@every(FORESTS)
def test_outputs_of_every_kind(cls: type[Any]) -> None:
    y = target_of(cls)
    both = np.column_stack([y, y[::-1]])
    expected = make(cls, n_estimators=3).fit(X, both).predict(X)
    assert expected.shape == (N, 2)
    frame = pd.DataFrame(both, columns=["a", "b"])
    for target in (both.tolist(), frame, pl.from_pandas(frame), pl.from_pandas(frame).to_arrow()):
        np.testing.assert_array_equal(make(cls, n_estimators=3).fit(X, target).predict(X), expected)


@every(FORESTS)
def test_methods_of_one_target_raise_with_several(cls: type[Any]) -> None:
    y = target_of(cls)
    model = make(cls).fit(X, y).fit(X, np.column_stack([y, y]))
    assert not hasattr(model, "trees_")  # those of the fit before
    for method in METHODS[3:]:
        if hasattr(model, method) and method != "apply":
            with pytest.raises(ValueError, match=r"several targets.*output_forests_\[k\]"):
                getattr(model, method)(X)
    for look in (len, list, lambda m: m[0], lambda m: m.to_tree_sum(), shap_of, lambda m: next(m.staged_predict(X))):
        with pytest.raises(ValueError, match="several targets"):
            look(model)
    np.testing.assert_array_equal(predictions_of(model.fit(X, y)), predictions_of(fitted(cls)))  # and back


@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_a_forest_of_several_targets_can_be_shown_and_has_an_out_of_bag_score(cls: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    forest = cls(20, oob_score=True, random_state=0).fit(X, y)
    assert "predict" in dir(forest)
    assert cls.__name__ in forest._repr_html_()
    assert not hasattr(forest, "trees_")
    assert len(forest.estimators_) == 40
    assert forest.oob_score_ == pytest.approx(np.mean([each.oob_score_ for each in forest.output_forests_]))
