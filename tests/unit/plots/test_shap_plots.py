"""Pictures of SHAP values show the values, and say what they show."""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.datasets import load_dataset
from committee.explain import ShapValues, shap_values
from committee.plots import ShapSummaryDisplay, ShapWaterfallDisplay
from committee.plots.shap import NO_ORDER
from tests.figures import assert_inside

matplotlib = pytest.importorskip("matplotlib")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def ozone() -> tuple[Any, Any]:
    data = load_dataset("ozone", as_frame=True)
    return DecisionTreeRegressor(max_depth=5).fit(data.X, data.y), data.X


@pytest.fixture(scope="module")
def glass() -> tuple[Any, Any]:
    data = load_dataset("glass")
    return DecisionTreeClassifier(max_depth=4).fit(data.X, data.y), data.X


# ---- Summary --------------------------------------------------------------------------------------------------------


def test_points_are_the_values_largest_mean_on_top(ozone):
    model, X = ozone
    display = ShapSummaryDisplay.from_estimator(model, X, max_features=4)
    values = shap_values(model, X).values
    assert display.features == np.argsort(-np.abs(values).mean(axis=0))[:4].tolist()
    for place, f in enumerate(display.features):
        points = np.asarray(display.points_[f].get_offsets())
        np.testing.assert_array_equal(np.sort(points[:, 0]), np.sort(values[:, f]))
        assert np.all(np.abs(points[:, 1] + place) <= 0.4)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [X.columns[f] for f in display.features]
    assert_inside(display, [*display.ax_.get_yticklabels(), *display.ax_.texts, display.ax_.xaxis.label])


def test_colours_tell_low_from_high_and_what_has_no_order(ozone):
    from matplotlib.colors import to_rgba

    model, X = ozone
    result = shap_values(model, X)
    display = ShapSummaryDisplay.from_estimator(model, X)
    order = np.random.default_rng(0).permutation(len(X))
    grey = np.array(to_rgba(NO_ORDER))
    for f in display.features:
        colors, x = np.asarray(display.points_[f].get_facecolors()), result.data[order, f]
        is_grey = np.all(np.abs(colors - grey) < 1e-6, axis=1)
        np.testing.assert_array_equal(is_grey, np.isnan(x) | model.columns_.is_categorical[f])
        if not model.columns_.is_categorical[f]:
            by_value = colors[np.argsort(np.where(is_grey, np.inf, x), kind="stable"), 0][: np.sum(~is_grey)]
            assert np.all(np.diff(by_value) >= 0.0)  # redder and redder
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["low value", "high value", "missing or a category"]


def test_features_that_no_tree_uses_are_not_shown(glass):
    model, X = glass
    display = ShapSummaryDisplay.from_estimator(model, X, output=2, max_features=99)
    assert set(display.features) <= set(model.tree_.arrays.feature.tolist())
    assert f"for class {model.classes_[2]}" in display.ax_.get_xlabel()
    assert len(display.ax_.get_legend().get_texts()) == 2


def test_equal_values_pile_up_and_stay_in_their_line():
    result = ShapValues(np.tile([1.0, 0.0], (500, 1)), np.asarray(0.0), ("a", "b"), np.zeros((500, 2)))
    display = ShapSummaryDisplay(result).plot()
    heights = np.asarray(display.points_[0].get_offsets())[:, 1]
    assert np.unique(heights).size == 500
    assert np.abs(heights).max() <= 0.4
    assert display.features == [0]


# ---- Waterfall ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_features", [1, 3, 99])
def test_bars_lead_from_the_base_to_the_prediction(ozone, max_features):
    model, X = ozone
    row = 7
    display = ShapWaterfallDisplay.from_estimator(model, X, row, max_features=max_features)
    result = shap_values(model, X)
    spans = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in display.bars_]
    assert spans[-1][0] == pytest.approx(float(result.base_values))
    assert spans[0][1] == pytest.approx(model.predict(X)[row])
    for upper, lower in pairwise(spans):
        assert upper[0] == pytest.approx(lower[1])
    n_used = np.count_nonzero(result.values[row])
    assert len(spans) == min(max_features + 1, n_used)
    largest = np.argsort(-np.abs(result.values[row]))[0]
    assert display.labels[0].startswith(f"{X.columns[largest]} = ")
    assert display.steps[0] == result.values[row, largest]
    assert [text.get_text() for text in display.texts_] == [f"{step:+.3g}" for step in display.steps]
    assert_inside(display, [*display.texts_, *display.ax_.get_yticklabels(), display.ax_.xaxis.label])


def test_values_are_named_for_people():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"colour": pd.Categorical(["red", "blue"] * 10), "size": np.arange(20.0)})
    model = DecisionTreeRegressor(max_depth=4).fit(X, np.where(X["colour"] == "red", 5.0, 0.0) + X["size"] ** 2)
    new = pd.DataFrame({"colour": pd.Categorical(["red"]), "size": [np.nan]})
    labels = ShapWaterfallDisplay.from_estimator(model, new).labels
    assert sorted(labels) == ["colour = red", "size = missing"]


def test_a_row_that_nothing_moves():
    model = DecisionTreeRegressor().fit(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    display = ShapWaterfallDisplay.from_estimator(model, np.zeros((1, 2)))
    assert display.steps.tolist() == [0.0]
    assert display.prediction == 2.0


# ---- What both share ------------------------------------------------------------------------------------------------

DISPLAYS = [ShapSummaryDisplay, ShapWaterfallDisplay]


@pytest.mark.parametrize("display", DISPLAYS)
def test_one_of_several_outputs_must_be_named(display, glass):
    model, X = glass
    with pytest.raises(ValueError, match=r"6 outputs.*output=0"):
        display.from_estimator(model, X)
    with pytest.raises(ValueError, match=r"output must be in 0\.\.5, got 6"):
        display.from_estimator(model, X, output=6)


@pytest.mark.parametrize("display", DISPLAYS)
def test_of_two_classes_the_second_is_shown(display):
    data = load_dataset("sonar")
    model = DecisionTreeClassifier(max_depth=2).fit(data.X, data.y)
    ax = display.from_estimator(model, data.X).ax_
    assert f"class {model.classes_[1]}" in ax.get_xlabel() + ax.get_title(loc="left")


@pytest.mark.parametrize("display", DISPLAYS)
def test_what_cannot_be_shown_is_rejected(display, ozone):
    model, X = ozone
    with pytest.raises(ValueError, match="max_features must be at least 1"):
        display.from_estimator(model, X, max_features=0)
    with pytest.raises(ValueError, match="single output"):
        display.from_estimator(model, X, output=1)
    with pytest.raises(ValueError, match="row must be in"):
        ShapWaterfallDisplay.from_estimator(model, X, len(X))


@pytest.mark.parametrize("display", DISPLAYS)
def test_given_axes_are_used(display, ozone):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    drawn = display.from_estimator(*ozone, ax=ax)
    assert (drawn.ax_, drawn.figure_) == (ax, figure)


@pytest.mark.parametrize("display", DISPLAYS)
def test_error_names_the_extra(display, ozone, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'committee\[app\]'"):
        display.from_estimator(*ozone)
