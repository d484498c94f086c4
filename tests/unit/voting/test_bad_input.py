"""Bad and unusual input: votes and stacks of trees answer right or say what to do (tables of tests/bad_input.py)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.voting.stacking import StackingClassifier, StackingRegressor
from committee.voting.voting import VotingClassifier, VotingRegressor
from tests.bad_input import (
    BAD_LABELS,
    BAD_TABLES,
    BAD_TARGETS,
    BAD_WEIGHTS,
    LABEL_KINDS,
    LABELS,
    OTHER_TABLES,
    SAME_TABLES,
    WEIGHTS,
    N,
    X,
    assert_refused,
    nan,
    target_of,
)

CLASSES: list[type[Any]] = [VotingClassifier, VotingRegressor, StackingClassifier, StackingRegressor]
each = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


def make(cls: type[Any]) -> Any:
    """Two small trees; the final one is a tree too."""
    tree = DecisionTreeClassifier if is_classifier(cls()) else DecisionTreeRegressor
    final = {"final_estimator": tree(max_depth=1), "cv": 3} if "final_estimator" in cls().get_params() else {}
    return cls([("a", tree(max_depth=1)), ("b", tree(max_depth=2))], **final)


@cache
def fitted(cls: type[Any]) -> Any:
    """A model of the common rows, for reading only: fitted once."""
    return make(cls).fit(X, target_of(cls))


@each
@pytest.mark.parametrize(("rows", "error", "text"), BAD_TABLES)
def test_bad_tables(cls: type[Any], rows: Any, error: type[Exception], text: str) -> None:
    n = rows.shape[0] if hasattr(rows, "shape") and len(rows.shape) > 1 else len(rows) if isinstance(rows, list) else N
    n = n if 0 < n <= N else N
    assert_refused(make(cls), error, text, rows, target_of(cls)[:n])
    if n == N and not isinstance(rows, pd.DataFrame):
        with pytest.raises(error, match=text):
            fitted(cls).predict(rows)


@each
@pytest.mark.parametrize(("rows", "text"), OTHER_TABLES)
def test_tables_that_differ_from_those_of_fit(cls: type[Any], rows: Any, text: str) -> None:
    table = pd.DataFrame(X, columns=list("abc")) if hasattr(rows, "columns") else X
    with pytest.raises(ValueError, match=text):
        make(cls).fit(table, target_of(cls)).predict(rows)


@each
@pytest.mark.parametrize(("y", "text"), BAD_TARGETS)
def test_bad_targets(cls: type[Any], y: Any, text: str) -> None:
    assert_refused(make(cls), (ValueError, TypeError), text, X, y)


@pytest.mark.parametrize("cls", [VotingClassifier, StackingClassifier])
@pytest.mark.parametrize(("y", "text"), BAD_LABELS)
def test_bad_labels(cls: type[Any], y: Any, text: str) -> None:
    assert_refused(make(cls), ValueError, text, X, y)


@each
@pytest.mark.parametrize(("weight", "text"), BAD_WEIGHTS)
def test_bad_weights(cls: type[Any], weight: Any, text: str) -> None:
    assert_refused(make(cls), ValueError, text, X, target_of(cls), weight)


@each
@pytest.mark.parametrize(("rows", "same"), SAME_TABLES)
def test_the_same_table_in_another_form(cls: type[Any], rows: Any, same: Any) -> None:
    y = target_of(cls)
    np.testing.assert_array_equal(make(cls).fit(rows, y).predict(rows), make(cls).fit(same, y).predict(same))


@pytest.mark.parametrize("cls", [VotingClassifier, StackingClassifier])
@pytest.mark.parametrize("labels", LABEL_KINDS)
def test_labels_of_every_kind(cls: type[Any], labels: Any) -> None:
    expected = fitted(cls).predict(X)
    model = make(cls).fit(X, labels[LABELS])
    np.testing.assert_array_equal(model.predict(X), np.sort(labels)[expected])


@each
@pytest.mark.parametrize("weight", WEIGHTS)
def test_constant_weights_change_nothing(cls: type[Any], weight: Any) -> None:
    model = make(cls).fit(X, target_of(cls), weight)
    np.testing.assert_allclose(model.predict(X), fitted(cls).predict(X), rtol=1e-9)


@each
def test_a_refused_fit_leaves_a_fitted_model_as_it_was(cls: type[Any]) -> None:
    model = make(cls).fit(X, target_of(cls))
    answers = model.predict(X)
    assert_refused(model, ValueError, "pass one", X, target_of(cls)[1:])
    assert_refused(model, ValueError, "infinity", np.where(X > 1, np.inf, X), target_of(cls))
    np.testing.assert_array_equal(model.predict(X), answers)
    assert np.isin(model.predict(np.full((1, 3), nan)), answers).all() or not is_classifier(model)
