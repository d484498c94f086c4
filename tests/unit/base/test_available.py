"""Methods under some settings only: what the error says, and what scikit-learn asks of such methods."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Perceptron

from committee import SVC, DecisionTreeClassifier, NumericPipelineClassifier, StackingClassifier, VotingClassifier

X = np.random.default_rng(0).normal(size=(40, 2))
LABELS = (X[:, 0] > 0.0).astype(int)
MEMBERS: list[Any] = [("tree", DecisionTreeClassifier(max_depth=1)), ("svm", SVC())]

CASES: dict[str, tuple[Any, str]] = {
    "a machine": (SVC(), "'SVC' has no attribute 'predict_proba': probabilities need probability=True"),
    "a vote": (VotingClassifier(MEMBERS, voting="hard"), "no attribute 'predict_proba': .*when voting='hard'"),
    "a stack": (StackingClassifier(MEMBERS, Perceptron()), "no attribute 'predict_proba': 'Perceptron' object"),
    "on numbers": (NumericPipelineClassifier(SVC()), "'NumericPipelineClassifier' has no attribute 'predict_proba'$"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_error_says_why(name: str) -> None:
    """The reason stood in the cause of the error only, which nobody reads."""
    model, words = CASES[name]
    model.fit(X, LABELS)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=words):
        model.predict_proba(X)
    with pytest.raises(AttributeError, match=words):
        type(model).predict_proba(model, X)


def test_a_method_that_is_there_is_a_plain_one() -> None:
    model = SVC(probability=True).fit(X, LABELS)
    np.testing.assert_array_equal(SVC.predict_proba(model, X), model.predict_proba(X))
    assert inspect.isfunction(SVC.predict_proba)  # by which scikit-learn finds the parameters to route
    assert list(inspect.signature(SVC.predict_proba).parameters) == ["self", "X"]
    assert (SVC.predict_proba.__doc__ or "").startswith("Probabilities of the classes")
