"""Pictures of importances, partial dependence and losses show the numbers, and say what they show."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from committee import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from committee.datasets import load_dataset
from committee.explain import PermutationImportances, partial_dependence, permutation_importances, tree_importances
from committee.plots import ImportancesDisplay, LossCurveDisplay, PartialDependenceDisplay
from committee.plots._style import BLUE
from committee.plots.partial_dependence import FAINT, LINE_COLORS

matplotlib = pytest.importorskip("matplotlib")
pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def mixed() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "green", "blue"], 150), rng.choice(["small", "large"], 150)
    X = pd.DataFrame({"colour": pd.Categorical(colour), "size": pd.Categorical(size), "x": rng.normal(size=150)})
    X["month"] = pd.Categorical(np.arange(150) % 15 + 1)
    y = (colour == "red") + np.sin(2 * X["x"]) * (size == "small") + rng.normal(0, 0.2, 150)
    return GradientBoostingRegressor(n_estimators=15).fit(X, y), X, y


def assert_inside(display: Any, texts: Any) -> None:
    display.figure_.canvas.draw()
    page = display.figure_.bbox
    for text in texts:
        box = text.get_window_extent()
        assert page.x0 - 1 <= box.x0 <= box.x1 <= page.x1 + 1, text.get_text()
        assert page.y0 - 1 <= box.y0 <= box.y1 <= page.y1 + 1, text.get_text()


# ---- Importances ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gain", "frequency"])
def test_bars_are_the_importances_largest_on_top(kind, mixed):
    model, _, _ = mixed
    display = ImportancesDisplay.from_estimator(model, kind=kind)
    result = tree_importances(model, kind)
    order = np.argsort(-result.values)
    order = order[result.values[order] > 0]
    assert [bar.get_width() for bar in display.bars_] == result.values[order].tolist()
    assert display.bars_[0].get_width() == 100.0
    heights = [bar.get_y() for bar in display.bars_]
    assert heights == sorted(heights, reverse=True)
    labels = {round(tick): label.get_text() for tick, label in
              zip(display.ax_.get_yticks(), display.ax_.get_yticklabels(), strict=True)}  # fmt: skip
    n = len(order)
    assert [labels[n - 1 - place] for place in range(n)] == [result.names[f] for f in order]
    assert display.bars_.errorbar is None
    assert ("split count" if kind == "frequency" else "gain") in display.ax_.get_xlabel()
    assert_inside(display, [*display.texts_, *display.ax_.get_yticklabels(), display.ax_.xaxis.label])


def test_whiskers_are_standard_errors_on_the_scale_of_the_bars(mixed):
    model, X, y = mixed
    display = ImportancesDisplay.from_estimator(model, X, y, random_state=0, n_repeats=4, max_features=2)
    result = permutation_importances(model, X, y, random_state=0, n_repeats=4)
    assert display.features == np.argsort(-result.mean)[:2].tolist()
    assert display.n_left_out == 2
    assert "2 not shown" in display.ax_.get_xlabel()
    (segments,) = (lines.get_segments() for lines in display.bars_.errorbar[2])
    for segment, f in zip(segments, display.features, strict=True):
        half = 100 * result.standard_error[f] / result.mean.max()
        np.testing.assert_allclose(segment[:, 0], result.values[f] + np.array([-half, half]))


def test_falls_below_zero_and_single_repeats():
    mean, error = np.array([0.2, -0.05, 0.0]), np.full(3, np.nan)
    display = ImportancesDisplay(PermutationImportances(("a", "b", "c"), mean, error, mean[:, None], 0.5)).plot()
    assert [bar.get_width() for bar in display.bars_] == [100.0, 0.0]  # the best ones; b would be third
    assert display.bars_.errorbar is None
    all_three = ImportancesDisplay(PermutationImportances(("a", "b"), mean[:2], error[:2], mean[:2, None], 0.5)).plot()
    assert all_three.bars_[1].get_width() == -25.0
    assert all_three.ax_.get_xlim()[0] < -25.0
    assert_inside(all_three, all_three.texts_)


def test_a_model_without_splits_still_has_a_picture():
    tree = DecisionTreeRegressor().fit(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    assert [bar.get_width() for bar in ImportancesDisplay.from_estimator(tree).bars_] == [0.0]


def test_bad_importances_are_rejected(mixed):
    model, X, _ = mixed
    with pytest.raises(ValueError, match="max_features must be at least 1"):
        ImportancesDisplay.from_estimator(model, max_features=0)
    with pytest.raises(ValueError, match="pass X and y"):
        ImportancesDisplay.from_estimator(model, X)
    with pytest.raises(TypeError, match=r"n_repeats.*permutation importances"):
        ImportancesDisplay.from_estimator(model, n_repeats=3)


# ---- Partial dependence ---------------------------------------------------------------------------------------------


def lines_of(ax: Any, color: str) -> list[Any]:
    return [line for line in ax.get_lines() if line.get_color() == color]


def test_curves_of_one_feature(mixed):
    model, X, _ = mixed
    display = PartialDependenceDisplay.from_estimator(model, X, "x", max_curves=25, grid=30)
    result = partial_dependence(model, X, "x", kind="both", grid=30)
    (ax,) = display.axes_
    (average,) = lines_of(ax, BLUE)
    np.testing.assert_allclose(average.get_xydata(), np.column_stack([result.grid[0], result.average]))
    faint = lines_of(ax, FAINT)
    assert len(faint) == 25
    known = {tuple(curve) for curve in result.individual.round(9)}
    assert all(tuple(np.round(line.get_ydata(), 9)) in known for line in faint)
    (rug,) = ax.collections
    low, high = ax.get_xlim()
    ticks = [segment[0, 0] for segment in rug.get_segments()]
    np.testing.assert_allclose(ticks, np.sort(X["x"][X["x"].between(low, high)]))
    assert (ax.get_xlabel(), "single rows faint" in ax.get_ylabel()) == ("x", True)
    assert_inside(display, [ax.xaxis.label, ax.yaxis.label])


def test_a_rug_shows_how_often_a_value_occurs():
    X = np.repeat([[0.0], [1.0], [3.0]], [1, 40, 9], axis=0)
    model = DecisionTreeRegressor().fit(X, X[:, 0])
    (ax,) = PartialDependenceDisplay.from_estimator(model, X, 0, kind="average").axes_
    ticks = np.array([segment[0, 0] for segment in ax.collections[0].get_segments()])
    assert ticks.size == np.unique(ticks).size == 50
    assert np.bincount(np.round(ticks).astype(int)).tolist() == [1, 40, 0, 9]
    assert "mean prediction" in ax.get_ylabel()


def test_categories_are_dots_with_their_probabilities(mixed):
    model, X, _ = mixed
    display = PartialDependenceDisplay.from_estimator(model, X, ["colour", "month"], max_curves=10)
    result = partial_dependence(model, X, "colour", kind="both")
    ax, many = display.axes_
    np.testing.assert_allclose(lines_of(ax, BLUE)[0].get_ydata(), result.average)
    assert lines_of(ax, FAINT)[0].get_ydata().size == 10 * 3
    shares = X["colour"].value_counts(normalize=True)
    expected = [f"{name}\n{100 * shares[name]:.0f} %" for name in result.grid[0]]
    assert [label.get_text() for label in ax.get_xticklabels()] == expected
    assert [label.get_text() for label in many.get_xticklabels()][:4] == ["1", "", "3", ""]
    assert ax.get_ylim() == many.get_ylim()
    assert many.get_ylabel() == ""


def test_pairs_of_features(mixed):
    model, X, _ = mixed
    pairs = [("x", "colour"), ("colour", "size"), ("x", "month"), ("month", "x")]
    display = PartialDependenceDisplay.from_estimator(model, X, pairs, grid=15)
    lines, table, wide, turned = display.axes_
    result = partial_dependence(model, X, pairs[0], grid=15)
    for column, color in zip(result.average.T, LINE_COLORS, strict=False):
        np.testing.assert_allclose(lines_of(lines, color)[0].get_ydata(), column)
    assert [text.get_text() for text in lines.get_legend().get_texts()] == ["blue", "green", "red"]
    numbers = partial_dependence(model, X, pairs[1]).average
    assert {text.get_position(): text.get_text() for text in table.texts} == {
        (i, j): f"{value:.3g}" for (i, j), value in np.ndenumerate(numbers)
    }
    mesh = np.asarray(wide.collections[0].get_array())
    np.testing.assert_allclose(mesh, partial_dependence(model, X, pairs[2], grid=15).average.T)
    np.testing.assert_allclose(np.asarray(turned.collections[0].get_array()), mesh.T)
    assert len(wide.collections[1].get_offsets()) == len(X)
    assert (wide.get_xlabel(), wide.get_ylabel()) == ("x", "month")
    display.figure_.canvas.draw()


def test_the_class_shown_is_named():
    glass = load_dataset("glass")
    model = DecisionTreeClassifier(max_depth=4).fit(glass.X, glass.y)
    display = PartialDependenceDisplay.from_estimator(model, glass.X, [1], output=2, kind="average")
    result = partial_dependence(model, glass.X, 1)
    np.testing.assert_allclose(lines_of(display.axes_[0], BLUE)[0].get_ydata(), result.average[:, 2])
    assert display.axes_[0].get_ylabel() == f"mean probability of class {model.classes_[2]}"
    with pytest.raises(ValueError, match=r"6 outputs.*output=0"):
        PartialDependenceDisplay.from_estimator(model, glass.X, 1)
    sonar = load_dataset("sonar")
    two = DecisionTreeClassifier(max_depth=2).fit(sonar.X, sonar.y)
    label = PartialDependenceDisplay.from_estimator(two, sonar.X, 10, kind="average").axes_[0].get_ylabel()
    assert label == f"mean probability of class {two.classes_[1]}"
    with pytest.raises(ValueError, match="single output"):
        PartialDependenceDisplay.from_estimator(two, sonar.X, 10, output=1)


def test_bad_panels_are_rejected(mixed):
    import matplotlib.pyplot as plt

    model, X, _ = mixed
    with pytest.raises(ValueError, match="at least one feature"):
        PartialDependenceDisplay.from_estimator(model, X, [])
    with pytest.raises(ValueError, match=r"expected 2 axes.*got 1"):
        PartialDependenceDisplay.from_estimator(model, X, ["x", "size"], ax=plt.subplots()[1])
    with pytest.raises(ValueError, match="max_curves must be at least 0"):
        PartialDependenceDisplay.from_estimator(model, X, ["x"], max_curves=-1)
    with pytest.raises(ValueError, match="The average is missing"):
        PartialDependenceDisplay([partial_dependence(model, X, "x", kind="individual")])


# ---- Losses ---------------------------------------------------------------------------------------------------------


def test_training_and_validation_loss_with_the_chosen_round():
    data = load_dataset("pima_diabetes")
    model = GradientBoostingClassifier(n_estimators=60, early_stopping=True, random_state=0).fit(data.X, data.y)
    display = LossCurveDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.lines_["train"].get_ydata(), model.history_.train_loss)
    np.testing.assert_array_equal(display.lines_["validation"].get_ydata(), model.history_.validation_loss)
    assert list(display.lines_) == ["train", "validation"]
    assert display.chosen_.get_xdata()[0] == model.n_estimators_ == np.argmin(model.history_.validation_loss) + 1
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels[1] == f"validation loss: {model.history_.validation_loss.min():.4g} at the chosen round"
    assert labels[2] == f"chosen: {model.n_estimators_} rounds"
    assert display.ax_.get_ylabel() == "mean loss (log loss)"
    assert_inside(display, [display.ax_.xaxis.label, display.ax_.yaxis.label])


def test_the_cross_validated_curve_is_longer_than_the_model():
    data = load_dataset("ozone")
    model = GradientBoostingRegressor(learning_rate=0.3, early_stopping="cv", n_estimators=100, cv=3).fit(
        data.X, data.y
    )
    display = LossCurveDisplay.from_estimator(model, xscale="log", yscale="log")
    np.testing.assert_array_equal(display.lines_["cv"].get_ydata(), model.cv_curve_)
    assert list(display.lines_) == ["train", "cv"]
    assert display.chosen == np.argmin(model.cv_curve_) + 1 < model.cv_curve_.size
    assert display.ax_.get_xlim()[1] > model.cv_curve_.size
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "log")


def test_what_has_no_losses_is_rejected():
    data = load_dataset("sonar")
    with pytest.raises(NotFittedError):
        LossCurveDisplay.from_estimator(GradientBoostingRegressor())
    with pytest.raises(TypeError, match=r"AdaBoostClassifier has no losses.*ErrorCurveDisplay"):
        LossCurveDisplay.from_estimator(AdaBoostClassifier(n_estimators=2).fit(data.X, data.y))
    with pytest.raises(ValueError, match="There is no curve to draw"):
        LossCurveDisplay({"test": np.ones(3)}, 1)


# ---- What all share -------------------------------------------------------------------------------------------------

CALLS = {
    "importances": lambda model, X, **options: ImportancesDisplay.from_estimator(model, **options),
    "losses": lambda model, X, **options: LossCurveDisplay.from_estimator(model, **options),
    "dependence": lambda model, X, **options: PartialDependenceDisplay.from_estimator(model, X, "x", **options),
}


@pytest.mark.parametrize("draw", CALLS.values(), ids=CALLS)
def test_given_axes_are_used(draw, mixed):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    display = draw(*mixed[:2], ax=ax)
    assert display.figure_ is figure
    assert (display.axes_ if hasattr(display, "axes_") else [display.ax_]) == [ax]
    assert ax.has_data()


@pytest.mark.parametrize("draw", CALLS.values(), ids=CALLS)
def test_error_names_the_extra(draw, mixed, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'committee\[app\]'"):
        draw(*mixed[:2])
