"""Displays of majority votes and of diversity show what was measured."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from committee import BaggingClassifier, BaggingRegressor, DecisionTreeClassifier
from committee.datasets import load_dataset
from committee.explain.diversity import ensemble_diversity
from committee.plots.diversity import KappaErrorDisplay
from committee.plots.majority_vote import MajorityVoteDisplay
from committee.theory.majority_vote import majority_vote_error
from committee.voting.stacking import StackingClassifier, StackingRegressor

matplotlib = pytest.importorskip("matplotlib")
SONAR = load_dataset("sonar")


def test_majority_votes() -> None:
    display = MajorityVoteDisplay.from_voters((0.6, 0.7), (0.0, 0.1))
    assert set(display.lines_) == {(0.6, 0.0), (0.7, 0.0), (0.6, 0.1), (0.7, 0.1)}
    for (p, rho), line in display.lines_.items():
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 102, 2))
        np.testing.assert_allclose(line.get_ydata(), majority_vote_error(np.arange(1, 102, 2), p, correlation=rho))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0] == "p = 0.6, correlation 0: 0.021 at 101"
    one = MajorityVoteDisplay.from_voters([0.4], n_voters=[1, 3, 5])
    assert one.ax_.get_ylim()[1] > majority_vote_error(5, 0.4)
    with pytest.raises(ValueError, match="nothing to draw"):
        MajorityVoteDisplay([])


def test_kappa_against_error() -> None:
    model = BaggingClassifier(n_estimators=12, random_state=0).fit(SONAR.X, SONAR.y)
    display = KappaErrorDisplay.from_estimator(model, SONAR.X, SONAR.y, out_of_sample=True)
    pairs = ensemble_diversity(model, SONAR.X, SONAR.y, out_of_sample=True).pairs
    assert pairs is not None
    i, j = np.triu_indices(12, 1)
    np.testing.assert_allclose(
        display.dots_.get_offsets(), np.column_stack([pairs.kappa[i, j], pairs.pair_errors[i, j]])
    )
    assert display.level_.get_ydata()[0] == pytest.approx(model.oob_error_)
    np.testing.assert_allclose(display.centre_.get_offsets()[0], [pairs.mean("kappa"), pairs.mean("pair_errors")])
    other = KappaErrorDisplay(display.diversity).plot(display.ax_, color="red", label="again")
    assert other.ax_ is display.ax_
    assert any("again: ensemble" in text.get_text() for text in display.ax_.get_legend().get_texts())


def test_pairs_of_numbers_and_of_few_named_members() -> None:
    table, y = SONAR.X[:, :5], SONAR.X[:, 10]
    model = BaggingRegressor(n_estimators=6, random_state=0).fit(table, y)
    display = KappaErrorDisplay.from_estimator(model, table, y, out_of_sample=True)
    assert display.ensemble_error == pytest.approx(model.oob_error_**0.5)
    assert display.ax_.get_xlabel() == "correlation of the two errors"
    stack = StackingClassifier([("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())]).fit(SONAR.X, SONAR.y)
    named = KappaErrorDisplay.from_estimator(stack, SONAR.X, SONAR.y, out_of_sample=True)
    assert [text.get_text() for text in named.ax_.texts] == ["tree, bayes"]
    single = StackingRegressor([("line", Ridge())]).fit(table, y)
    with pytest.raises(ValueError, match="two members"):
        KappaErrorDisplay.from_estimator(single, table, y, out_of_sample=True)
