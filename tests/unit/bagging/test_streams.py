"""Online ensembles take a stream in pieces: classes first, all or nothing of a piece, weights as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.linear_model import SGDRegressor
from sklearn.naive_bayes import GaussianNB

from tests.bad_input import (
    LABELS,
    N,
    X,
    changed,
    inf,
    nan,
)
from tests.catalog import CLASSIFIERS, among, every, make, predictions_of, target_of

ONLINE = among("Online")


@every([cls for cls in ONLINE if cls in CLASSIFIERS])
def test_a_stream_must_name_its_classes_first(cls: type[Any]) -> None:
    model = make(cls)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, LABELS)
    for bad, text in (
        ([], r"classes must list the labels .*, got \[\]"),
        ([0, nan], "NaN"),
        (["a", 1], "mixes strings"),
    ):
        with pytest.raises(ValueError, match=text):
            model.partial_fit(X, LABELS, classes=bad)
    for bad in (3, "ab", None):
        with pytest.raises((ValueError, TypeError), match="class"):
            model.partial_fit(X, LABELS, classes=bad)
    with pytest.raises(ValueError, match=r"labels.*\[0\]"):
        model.partial_fit(X, LABELS, classes=[1, 2])
    assert vars(model) == before
    model.partial_fit(X, LABELS, classes=[2, 1, 0, 1])  # in any order, more than once
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"classes=\[0, 1\]"):
        model.partial_fit(X, LABELS, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels.*\[7\]"):
        model.partial_fit(X, np.full(N, 7))
    assert model.n_seen_ == N


@every(ONLINE)
def test_a_stream_of_single_rows_is_the_stream(cls: type[Any]) -> None:
    y = target_of(cls)
    known = {"classes": [0, 1]} if is_classifier(cls()) else {}
    whole, rows = make(cls, batch_size=1), make(cls, batch_size=1)
    whole.partial_fit(X, y, **known)
    for i in range(N):
        rows.partial_fit(X[i : i + 1], y[i : i + 1], **known)
    np.testing.assert_allclose(predictions_of(rows), predictions_of(whole))
    assert rows.prequential_error_ == pytest.approx(whole.prequential_error_)
    assert rows.n_seen_ == N


@every(ONLINE)
def test_a_batch_that_fails_changes_nothing(cls: type[Any]) -> None:
    y = target_of(cls)
    known = {"classes": [0, 1]} if is_classifier(cls()) else {}
    model = make(cls).partial_fit(X, y, **known)
    predictions, before = predictions_of(model), dict(vars(model))
    pieces: list[tuple[Any, Any, Any]] = [
        (changed(inf), y, None), (changed(nan), y, None), (X[:, :2], y, None), (X[:, 0], y, None),
        ("table.csv", y, None), (X, y[1:], None), (X, y, -np.ones(N)),
    ]  # fmt: skip
    for rows, target, weight in pieces:
        with pytest.raises((ValueError, TypeError), match=r"infinity|NaN|features|1D|1-d|2D|str|pass one|Negative"):
            model.partial_fit(rows, target, sample_weight=weight)
    assert all(vars(model)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(predictions_of(model), predictions)


@every(ONLINE)
def test_a_stream_in_which_nothing_is_drawn(cls: type[Any]) -> None:
    known = {"classes": [0, 1]} if is_classifier(cls()) else {}
    model = make(cls).partial_fit(X[:1], target_of(cls)[:1], sample_weight=[1e-9], **known)
    np.testing.assert_array_equal(predictions_of(model), 0.5 if is_classifier(model) else 0.0)
    assert np.isnan(model.prequential_error_)
    assert np.isnan(model.history_.prequential_error).all()


class Unweighted(GaussianNB):
    """Takes repeated rows only."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:  # type: ignore[override]
        return super().partial_fit(X, y, classes)


class UnweightedRegressor(SGDRegressor):
    """Takes repeated rows only."""

    def partial_fit(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        return super().partial_fit(X, y)


@every(ONLINE)
def test_huge_weights_are_many_rows_or_rejected(cls: type[Any]) -> None:
    y, heavy = target_of(cls), np.full(N, 1e12)
    model = make(cls, estimator=Unweighted() if cls in CLASSIFIERS else UnweightedRegressor())
    with pytest.raises(ValueError, match=r"Unweighted.*sample_weight"):
        model.partial_fit(X, y, sample_weight=heavy, **({"classes": [0, 1]} if is_classifier(model) else {}))
    if is_classifier(model):
        model = make(cls, estimator=GaussianNB()).partial_fit(X, y, classes=[0, 1], sample_weight=heavy)
        assert model.score(X, y) > 0.6
