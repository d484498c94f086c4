"""Pictures of forests show the numbers of the fit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from committee import AdaBoostClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from committee.datasets import load_dataset
from committee.explain.forest_importances import KINDS, forest_importances
from committee.explain.label_issues import find_label_issues
from committee.plots.forests import OutOfBagErrorDisplay
from committee.plots.importances import FOREST_MEANING, ImportancesDisplay
from committee.plots.label_issues import LabelIssuesDisplay

matplotlib = pytest.importorskip("matplotlib")


def test_the_out_of_bag_curve_is_that_of_the_history():
    X, y = load_dataset("sonar")[:2]
    forest = RandomForestClassifier(30, random_state=0).fit(X[::2], y[::2])
    display = OutOfBagErrorDisplay.from_estimator(forest, X[1::2], y[1::2])
    np.testing.assert_array_equal(display.lines_["oob"].get_ydata(), forest.history_["oob_error"])
    test = [np.mean(predictions != y[1::2]) for predictions in forest.staged_predict(X[1::2])]
    np.testing.assert_allclose(display.lines_["test"].get_ydata(), test)
    assert display.ax_.get_xlabel() == "number of trees"
    assert display.ax_.get_ylabel() == "error rate"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[0] == f"out-of-bag error: {forest.oob_error_:.4g} with 30 trees"
    assert labels[1].startswith("test error: ")


def test_numbers_one_tree_and_axes_of_ones_own():
    import matplotlib.pyplot as plt

    X, y = load_dataset("ozone")[:2]
    ax = plt.subplots()[1]
    forest = RandomForestRegressor(1, random_state=0).fit(X, y)
    display = OutOfBagErrorDisplay.from_estimator(forest, X, y, xscale="log", ax=ax)
    assert display.ax_ is ax
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "mean squared error"
    np.testing.assert_allclose(display.lines_["test"].get_ydata(), [np.mean((forest.predict(X) - y) ** 2)])
    assert "with 1 tree" in ax.get_legend().get_texts()[0].get_text()


def test_what_has_no_out_of_bag_error_is_rejected():
    X, y = load_dataset("sonar")[:2]
    with pytest.raises(ValueError, match="bootstrap=True"):
        OutOfBagErrorDisplay.from_estimator(ExtraTreesClassifier(3).fit(X, y))
    with pytest.raises(TypeError, match="AdaBoostClassifier has no out-of-bag error"):
        OutOfBagErrorDisplay.from_estimator(AdaBoostClassifier(n_estimators=3).fit(X, y))
    with pytest.raises(NotFittedError):
        OutOfBagErrorDisplay.from_estimator(RandomForestClassifier())


def test_importances_of_a_forest_are_bars_with_errors_over_trees():
    X, y = load_dataset("glass")[:2]
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    result = forest_importances(forest, X, y, random_state=0)
    for kind in KINDS:
        one = result.of(kind)
        display = ImportancesDisplay(one).plot()
        order = np.argsort(-one.values, kind="stable")
        np.testing.assert_allclose([bar.get_width() for bar in display.bars_], one.values[order])
        errors = display.bars_.errorbar.lines[2][0].get_segments()
        half = [0.5 * (line[1, 0] - line[0, 0]) for line in errors]
        np.testing.assert_allclose(half, 100.0 * one.standard_error[order] / one.raw.max(), rtol=1e-6)
        shown = display.ax_.get_xlabel()
        assert shown == FOREST_MEANING[kind].replace(", largest", " (± standard error), largest")


def test_a_forest_of_one_tree_has_bars_without_errors():
    X, y = load_dataset("glass")[:2]
    forest = RandomForestClassifier(1, random_state=0).fit(X, y)
    result = forest_importances(forest, X, y, kinds=["impurity"], random_state=0)
    display = ImportancesDisplay(result.of("impurity")).plot()
    assert display.bars_.errorbar is None
    assert "standard error" not in display.ax_.get_xlabel()


# ---- Suspicious rows -------------------------------------------------------------------------------------------------


def test_suspicious_rows_of_a_forest_are_drawn_by_margin_and_share():
    X, y = load_dataset("glass")[:2]
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    display = LabelIssuesDisplay.from_estimator(forest, X, y, n=8)
    result = find_label_issues(forest, X, y, None)
    shown = np.concatenate([points.get_offsets() for points in display.points_])
    assert np.isfinite(shown).all()
    np.testing.assert_allclose(np.sort(shown[:, 0]), np.sort(result.margin))
    for label, points in zip(np.unique(y), display.points_, strict=True):
        margins, shares = np.asarray(points.get_offsets()).T
        own = result.margin[result.label == label]
        np.testing.assert_allclose(shares, [np.mean(own <= margin) for margin in margins])
    assert {int(name.get_text()) for name in display.names_} <= set(result.rows[:8].tolist())
    assert display.names_
    assert display.ax_.get_xlabel() == "out-of-bag margin of the label"
    assert "fraction of the label's rows" in display.ax_.get_ylabel()


def test_suspicious_rows_need_a_forest_with_out_of_bag_votes():
    X, y = load_dataset("glass")[:2]
    with pytest.raises(ValueError, match="no out-of-bag votes"):
        LabelIssuesDisplay.from_estimator(ExtraTreesClassifier(3).fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        LabelIssuesDisplay.from_estimator(RandomForestClassifier(), X, y)
