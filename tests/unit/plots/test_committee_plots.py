"""Pictures of committees show the numbers of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from committee import DecisionTreeClassifier
from committee.committees.committee import CommitteeClassifier, CommitteeRegressor
from committee.committees.plan import Member
from committee.datasets import load_dataset
from committee.plots.committee import CommitteeMembersDisplay, EnsembleSelectionDisplay

matplotlib = pytest.importorskip("matplotlib")

FEW = [
    Member("trees", "extra trees", {"n_estimators": 15}),
    Member("line", "linear model", {}, "scaled"),
    Member("line of ranks", "linear model", {}, "ranked"),
]


@pytest.fixture(scope="module")
def model() -> Any:
    sonar = load_dataset("sonar")
    return CommitteeClassifier(members=FEW, cv=3, random_state=0).fit(sonar.X, sonar.y)


def test_bars_are_weights_and_contributions(model: Any) -> None:
    display = CommitteeMembersDisplay.from_estimator(model)
    order = np.argsort(-model.members_["weight"], kind="stable")
    widths = [bar.get_width() for bar in display.bars_["weight"]]
    np.testing.assert_allclose(widths, model.members_["weight"][order])
    widths = [bar.get_width() for bar in display.bars_["contribution"]]
    np.testing.assert_allclose(widths, np.nan_to_num(model.members_["contribution"])[order])
    np.testing.assert_allclose(display.dots_.get_xdata(), model.members_["error"][order])
    labels = [text.get_text() for text in display.axes_[0].get_yticklabels()]
    assert labels == model.members_["name"][order].tolist()
    assert display.axes_[2].get_legend().get_texts()[0].get_text() == f"committee: {model.error_:.4g}"
    assert display.axes_[2].get_xlabel() == "error rate, held-out rows"


def test_the_curve_is_the_history(model: Any) -> None:
    display = EnsembleSelectionDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.curve_.get_ydata(), model.history_["loss"])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"{model.history_.member[0]} ({np.sum(model.history_.member == model.history_.member[0])})" in texts
    assert f"committee: {model.loss_:.4g}" in texts


def test_axes_of_ones_own_and_a_committee_of_one() -> None:
    import matplotlib.pyplot as plt

    ozone = load_dataset("ozone")
    alone = CommitteeRegressor(members=FEW[1:2], cv=3, random_state=0).fit(ozone.X, ozone.y)
    three, ax = plt.subplots(1, 3)[1], plt.subplots()[1]
    assert CommitteeMembersDisplay.from_estimator(alone, ax=three).axes_[0] is three[0]
    assert EnsembleSelectionDisplay.from_estimator(alone, ax=ax).ax_ is ax
    assert three[2].get_xlabel() == "root mean squared error, held-out rows"


def test_others_are_rejected() -> None:
    for display in (CommitteeMembersDisplay, EnsembleSelectionDisplay):
        with pytest.raises(NotFittedError, match="fit CommitteeRegressor first"):
            display.from_estimator(CommitteeRegressor())
        with pytest.raises(TypeError, match="DecisionTreeClassifier is not a committee"):
            display.from_estimator(DecisionTreeClassifier())
    with pytest.raises(ValueError, match="no steps"):
        EnsembleSelectionDisplay(np.empty(0), [], best_member=0.0, own_loss=0.0)
