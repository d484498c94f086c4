"""Pictures of votes, diversity and the reasons for ensembles: what is drawn is what was measured."""

from __future__ import annotations

from collections.abc import Iterator

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
from committee_reproductions.plots.why_combine import (
    RepresentationalReasonDisplay,
    SelectOrCombineDisplay,
    StatisticalReasonDisplay,
)
from committee_reproductions.why_combine import (
    SelectOrCombine,
    StatisticalReason,
    representational_reason,
)

matplotlib = pytest.importorskip("matplotlib")
SONAR = load_dataset("sonar")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


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
    display = KappaErrorDisplay.from_estimator(model, SONAR.X, SONAR.y, unseen=True)
    pairs = ensemble_diversity(model, SONAR.X, SONAR.y, unseen=True).pairs
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
    display = KappaErrorDisplay.from_estimator(model, table, y, unseen=True)
    assert display.ensemble_error == pytest.approx(model.oob_error_**0.5)
    assert display.ax_.get_xlabel() == "correlation of the two errors"
    stack = StackingClassifier([("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())]).fit(SONAR.X, SONAR.y)
    named = KappaErrorDisplay.from_estimator(stack, SONAR.X, SONAR.y, unseen=True)
    assert [text.get_text() for text in named.ax_.texts] == ["tree, bayes"]
    single = StackingRegressor([("line", Ridge())]).fit(table, y)
    with pytest.raises(ValueError, match="two members"):
        KappaErrorDisplay.from_estimator(single, table, y, unseen=True)


def test_the_statistical_reason() -> None:
    rng = np.random.default_rng(0)
    one = 0.3 / np.array([1, 2, 4]) + 0.01 * rng.uniform(size=(6, 3))
    study = StatisticalReason(np.array([5, 10, 20]), one, 0.7 * one, one, one)
    display = StatisticalReasonDisplay.from_study(study)
    np.testing.assert_allclose(display.lines_["vote"].get_ydata(), study.vote_errors.mean(axis=0))
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["5", "10", "20"]
    corners = display.bands_["one"].get_paths()[0].vertices
    at_five = corners[corners[:, 0] == 5, 1]
    stderr = study.one_errors[:, 0].std(ddof=1) / np.sqrt(6)
    assert at_five.max() - at_five.min() == pytest.approx(2 * stderr)


def test_the_representational_reason() -> None:
    study = representational_reason(n_rows=200, n_estimators=12, n_test=512, n_grid=11, shown=(1, 12))
    display = RepresentationalReasonDisplay.from_study(study)
    assert len(display.ax_) == 3
    np.testing.assert_array_equal(display.images_[12].get_array(), study.grids[12])
    np.testing.assert_array_equal(display.lines_["sum"].get_ydata(), study.errors)
    assert display.lines_["limit"].get_ydata()[0] == 0.25
    assert display.ax_[1].get_title() == f"12 stumps: error {study.errors[11]:.3f}"
    with pytest.raises(ValueError, match="needs 3 axes, got 1"):
        RepresentationalReasonDisplay(study).plot([display.ax_[0]])


def test_selecting_against_combining() -> None:
    errors = np.linspace(0.1, 0.2, 10)
    study = SelectOrCombine("regression", ("a", "b"), np.array([errors, errors + 0.1]),
                            {"selected": errors, "mean": errors - 0.02, "simplex": errors}, ("a",) * 10,
                            np.full((2, 10), 0.5), 2)  # fmt: skip
    display = SelectOrCombineDisplay.from_study({"one": study, "two": study})
    assert [panel.get_title(loc="left") for panel in display.ax_] == ["one", "two"]
    dot = display.bars_["two"]["mean"].lines[0]
    assert dot.get_xdata()[0] == pytest.approx(study.error("mean").value)
    labels = [text.get_text() for text in display.ax_[0].get_yticklabels()]
    assert labels == ["a", "b", "selected one", "mean of all", "weighted mean"]
    assert SelectOrCombineDisplay.from_study(study).ax_.size == 1
    with pytest.raises(ValueError, match="1 studies need as many axes, got 2"):
        SelectOrCombineDisplay.from_study(study, ax=list(display.ax_))
    with pytest.raises(ValueError, match="nothing to draw"):
        SelectOrCombineDisplay({})
