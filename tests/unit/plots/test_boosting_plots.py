"""Pictures of boosters: every curve shows the number it says, what was not measured is left out."""

from __future__ import annotations

import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import NotFittedError

from committee import (
    AdaBoostClassifier,
    AdaBoostThetaClassifier,
    ArcGVClassifier,
    ConfidenceRatedAdaBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
)
from committee.datasets import load_dataset
from committee.explain.label_issues import find_label_issues
from committee.plots import (
    DecisionRoundsDisplay,
    EdgeDisplay,
    ErrorCurveDisplay,
    LabelIssuesDisplay,
    MarginDistributionDisplay,
)
from committee.plots.decision_rounds import MAX_AREA, MEAN_AREA
from committee.records.history import History
from committee.theory.bounds import margin_error_bound
from committee.theory.margins import fraction_below
from committee.theory.minmax import minmax_over_stumps
from tests.figures import assert_inside

matplotlib = pytest.importorskip("matplotlib")

Floats = NDArray[np.float64]


def sonar() -> tuple[Floats, NDArray[Any], Floats, NDArray[Any]]:
    """Every other row to learn from, the rest to test on."""
    data = load_dataset("sonar")
    return data.X[::2], data.y[::2], data.X[1::2], data.y[1::2]


def boosted(n_estimators: int = 60, **parameters: Any) -> AdaBoostClassifier:
    X, y, _, _ = sonar()
    return AdaBoostClassifier(n_estimators=n_estimators, **parameters).fit(X, y)


def moons() -> tuple[Floats, NDArray[np.int64]]:
    return make_moons(120, noise=0.2, random_state=0)


def entries(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- Errors ----------------------------------------------------------------------------------------------------------


def test_error_curves_show_history_and_test_error():
    _, _, X, y = sonar()
    model = boosted()
    display = ErrorCurveDisplay.from_estimator(model, X, y)
    assert set(display.lines_) == {"train", "test", "risk"}
    np.testing.assert_array_equal(display.lines_["train"].get_ydata(), model.history_.train_error)
    np.testing.assert_array_equal(display.lines_["risk"].get_ydata(), model.history_.exponential_risk)
    errors = [np.mean(labels != y) for labels in model.staged_predict(X)]
    np.testing.assert_allclose(display.lines_["test"].get_ydata(), errors)
    np.testing.assert_array_equal(display.lines_["test"].get_xdata(), np.arange(1, 61))
    assert display.kept_ is None
    assert_inside(display, [*display.ax_.get_legend().get_texts()])


def test_legend_says_what_is_a_bound_and_only_that():
    _, _, X, y = sonar()
    display = ErrorCurveDisplay.from_estimator(boosted(), X, y, theta=0.05)
    bounds = {name: "bound" in line.get_label() for name, line in display.lines_.items()}
    assert bounds == {"train": False, "test": False, "risk": True, "margin": True}
    styles = {name: line.get_linestyle() for name, line in display.lines_.items()}
    assert styles["train"] == styles["test"] == "-" != styles["risk"] != styles["margin"]
    last = 1.0 - boosted().score(X, y)
    assert f"test error: {last:.3f} after 60 rounds" in entries(display.ax_)


def test_margin_bound_is_that_of_theory_for_adaboost():
    model = boosted()
    display = ErrorCurveDisplay.from_estimator(model, theta=0.1)
    expected = margin_error_bound(model.history_.error, 0.1)
    np.testing.assert_allclose(display.lines_["margin"].get_ydata(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [AdaBoostThetaClassifier(theta=0.05, n_estimators=40), AdaBoostClassifier(n_estimators=40, learning_rate=0.3),
     AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=40),
     ConfidenceRatedAdaBoostClassifier(n_estimators=40)],
)  # fmt: skip
@pytest.mark.parametrize("theta", [-0.05, 0.0, 0.05, 0.15])
def test_bounds_hold_for_other_coefficients_too(model: Any, theta: float):
    X, y, _, _ = sonar()
    display = ErrorCurveDisplay.from_estimator(model.fit(X, y), theta=theta)
    shares = [fraction_below(margins, theta) for margins in model.staged_margins(X, y)]
    assert np.all(np.asarray(display.lines_["margin"].get_ydata()) >= np.array(shares) - 1e-12)
    risk = np.asarray(display.lines_["risk"].get_ydata())
    assert np.all(risk >= np.asarray(display.lines_["train"].get_ydata()) - 1e-12)


def test_bounds_hold_for_many_classes():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    display = ErrorCurveDisplay.from_estimator(model, theta=0.1)
    shares = [fraction_below(margins, 0.1) for margins in model.staged_margins(X, y)]
    assert np.all(np.asarray(display.lines_["margin"].get_ydata()) >= np.array(shares) - 1e-12)


def test_validation_error_and_the_round_kept():
    X, y, X_val, y_val = sonar()
    model = AdaBoostClassifier(n_estimators=300, early_stopping="validation", n_iter_no_change=5)
    model.fit(X, y, X_val=X_val, y_val=y_val)
    n_kept = len(model.members_)
    assert n_kept < model.history_.n_rounds
    display = ErrorCurveDisplay.from_estimator(model, X_val, y_val)
    validation = np.asarray(display.lines_["validation"].get_ydata())
    np.testing.assert_allclose(display.lines_["test"].get_ydata(), validation[:n_kept])
    assert display.kept_ is not None
    assert set(display.kept_.get_xdata()) == {n_kept}
    assert f"validation error: {validation[n_kept - 1]:.3f} after {n_kept} rounds" in entries(display.ax_)


def test_log_scales_keep_a_place_for_zero():
    model = boosted()
    assert model.history_.train_error[-1] == 0.0
    display = ErrorCurveDisplay.from_estimator(model, xscale="log", yscale="log")
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("log", "symlog")
    low, high = display.ax_.get_ylim()
    assert low < 0.0 < 0.02 < high
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels[0] == "0"
    assert "0.1" in labels
    linear = ErrorCurveDisplay.from_estimator(model)
    assert (linear.ax_.get_xscale(), linear.ax_.get_yscale()) == ("linear", "linear")


def test_a_bound_above_one_is_cut_off():
    display = ErrorCurveDisplay.from_estimator(boosted(), theta=0.9)
    assert np.asarray(display.lines_["margin"].get_ydata()).max() > 1.0
    assert display.ax_.get_ylim()[1] <= 1.06


def test_histories_with_fewer_columns_show_what_is_there():
    history = History({"round": [1, 2, 3], "train_error": [0.3, 0.2, 0.1], "validation_error": [np.nan] * 3})
    display = ErrorCurveDisplay(history).plot()
    assert list(display.lines_) == ["train"]
    assert entries(display.ax_) == ["training error: 0.100 after 3 rounds"]
    with pytest.raises(ValueError, match="does not record"):
        ErrorCurveDisplay(history, theta=0.1).plot()
    with pytest.raises(ValueError, match="no error to draw; it has edge"):
        ErrorCurveDisplay(History({"edge": [0.5]})).plot()


def test_a_single_round_can_be_drawn():
    display = ErrorCurveDisplay.from_estimator(boosted(1), xscale="log", yscale="log")
    assert display.lines_["train"].get_xdata().tolist() == [1]
    assert entries(display.ax_)[0].endswith("after 1 round")


def test_rows_need_labels():
    X, _, _, _ = sonar()
    with pytest.raises(ValueError, match="both X and y"):
        ErrorCurveDisplay.from_estimator(boosted(), X)


# ---- Edges -----------------------------------------------------------------------------------------------------------


def test_edges_coefficients_and_gap():
    X, y, _, _ = sonar()
    model = boosted()
    display = EdgeDisplay.from_estimator(model)
    h = model.history_
    np.testing.assert_array_equal(display.lines_["edge"].get_ydata(), h.edge)
    np.testing.assert_array_equal(display.lines_["min_edge"].get_ydata(), np.minimum.accumulate(h.edge))
    np.testing.assert_array_equal(display.lines_["min_margin"].get_ydata(), h.min_margin)
    np.testing.assert_array_equal(display.lines_["coefficient"].get_ydata(), h.coefficient)
    assert "theta" not in display.lines_, "AdaBoost has no margin target"
    assert display.gap_ is not None
    band = display.gap_.get_paths()[0].vertices
    best = minmax_over_stumps(X, np.where(y == "R", 1, -1)).value
    at_the_end = band[band[:, 0] == 60, 1]
    assert at_the_end.min() == pytest.approx(h.min_margin[-1])
    assert at_the_end.min() < best < at_the_end.max()
    assert display.coefficient_ax_ is not None
    assert_inside(display, [*display.ax_.get_legend().get_texts(), display.coefficient_ax_.xaxis.label])


def test_margin_targets_are_drawn_where_there_are_any():
    X, y, _, _ = sonar()
    model = ArcGVClassifier(n_estimators=60).fit(X, y)
    display = EdgeDisplay.from_estimator(model, xscale="log")
    np.testing.assert_array_equal(display.lines_["theta"].get_ydata(), model.history_.theta)
    assert model.history_.theta.max() > 0


@pytest.mark.parametrize(
    "model",
    [AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5),
     AdaBoostClassifier(n_estimators=5, weighting="resample", random_state=0),
     AdaBoostClassifier(DecisionStump(class_weight="balanced"), n_estimators=5),
     ConfidenceRatedAdaBoostClassifier(n_estimators=5)],
)  # fmt: skip
def test_the_gap_is_filled_only_where_it_holds_the_best_margin(model: Any):
    X, y, _, _ = sonar()
    assert EdgeDisplay.from_estimator(model.fit(X, y)).gap_ is None


def test_one_axes_gets_the_edges_two_get_both():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3)
    one = EdgeDisplay.from_estimator(boosted(5), ax=axes[0])
    assert (one.ax_, one.coefficient_ax_, one.figure_) == (axes[0], None, figure)
    assert "coefficient" not in one.lines_
    two = EdgeDisplay.from_estimator(boosted(5), ax=axes[:2])
    assert (two.ax_, two.coefficient_ax_) == (axes[0], axes[1])
    with pytest.raises(ValueError, match="one or two axes, got 3"):
        EdgeDisplay.from_estimator(boosted(5), ax=axes)


def test_a_history_without_coefficients_has_one_panel():
    display = EdgeDisplay(History({"edge": [0.5, 0.4], "error": [0.25, 0.3]})).plot()
    assert list(display.lines_) == ["edge", "min_edge"]
    assert display.coefficient_ax_ is None
    assert len(display.figure_.axes) == 1


# ---- Margins ---------------------------------------------------------------------------------------------------------


def test_margin_distributions_of_the_usual_rounds():
    X, y, _, _ = sonar()
    model = boosted(60)
    display = MarginDistributionDisplay.from_estimator(model, X, y, largest_margin=0.2)
    assert list(display.lines_) == [1, 5, 50, 60]
    staged = dict(enumerate(model.staged_margins(X, y), start=1))
    for t, line in display.lines_.items():
        at, share = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        for theta in (-0.3, 0.0, 0.21, 0.5):
            assert share[at <= theta].max(initial=0.0) == pytest.approx(fraction_below(staged[t], theta)), (t, theta)
        assert display.smallest_[t].get_xydata()[0] == pytest.approx([staged[t].min(), 0.0])
    assert display.best_ is not None
    assert set(display.best_.get_xdata()) == {0.2}
    assert_inside(display, [*display.ax_.get_legend().get_texts()])


def test_rounds_of_choice_and_weights():
    X, y, _, _ = sonar()
    weight = np.arange(len(X)) % 3.0
    display = MarginDistributionDisplay.from_estimator(boosted(), X, y, rounds=[7, 2], sample_weight=weight)
    assert list(display.lines_) == [2, 7]
    assert display.best_ is None
    margins = list(boosted().staged_margins(X, y))[6]
    at, share = (np.asarray(values) for values in display.lines_[7].get_data())
    assert share[at <= 0.1].max() == pytest.approx(fraction_below(margins, 0.1, weight))


def test_few_rounds_are_not_shown_twice():
    X, y, _, _ = sonar()
    assert list(MarginDistributionDisplay.from_estimator(boosted(5), X, y).lines_) == [1, 5]
    assert list(MarginDistributionDisplay.from_estimator(boosted(1), X, y).lines_) == [1]


@pytest.mark.parametrize("rounds", [[0, 3], [61], []])
def test_rounds_that_are_not_there_are_rejected(rounds: list[int]):
    X, y, _, _ = sonar()
    with pytest.raises(ValueError, match=r"rounds must be in 1\.\.60"):
        MarginDistributionDisplay.from_estimator(boosted(), X, y, rounds=rounds)


# ---- The plane -------------------------------------------------------------------------------------------------------


def test_areas_are_the_weights_of_the_round():
    X, y = moons()
    start = np.random.default_rng(0).uniform(0.5, 1.5, len(X))
    model = AdaBoostClassifier(n_estimators=10).fit(X, y, sample_weight=start)
    display = DecisionRoundsDisplay.from_estimator(model, X, y, sample_weight=start)
    assert display.axes_.size == 4
    np.testing.assert_allclose(display.weights[0], start / start.sum())
    for t in (1, 2):
        before = AdaBoostClassifier(n_estimators=t).fit(X, y, sample_weight=start)
        np.testing.assert_allclose(display.weights[t], before.sample_weights_, rtol=1e-9)
        assert f"error {model.history_.error[t]:.3f}" in display.axes_[t].get_title()
    for k in (0, 1):
        areas = np.sort(display.points_[2][k].get_sizes())
        expected = np.sort(np.minimum(MEAN_AREA * len(X) * display.weights[2][y == k], MAX_AREA))
        np.testing.assert_allclose(areas, expected)


def regions(ax: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Centres of some pixels of the picture behind the points, and whether they have the colour of the first class."""
    picture = ax.images[0].get_array()
    left, right, bottom, top = ax.images[0].get_extent()
    n = len(picture)
    ticks = np.arange(5, n, 29)
    at = np.stack(np.meshgrid(left + (right - left) * ticks / (n - 1), bottom + (top - bottom) * ticks / (n - 1)), -1)
    is_first = np.all(np.abs(picture[np.ix_(ticks, ticks)][..., :3] - np.array([0, 114, 178]) / 255) < 0.01, axis=-1)
    return at.reshape(-1, 2), is_first.ravel()


def test_regions_are_the_predictions_of_the_members_and_of_their_vote():
    X, y = moons()
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    display = DecisionRoundsDisplay.from_estimator(model, X, y)
    for panel, judge in zip(display.axes_, [*model.estimators_[:3], None], strict=True):
        judge = AdaBoostClassifier(n_estimators=3).fit(X, y) if judge is None else judge
        at, is_first = regions(panel)
        np.testing.assert_array_equal(judge.predict(at) == 0, is_first)
    error = np.mean(AdaBoostClassifier(n_estimators=3).fit(X, y).predict(X) != y)
    assert display.axes_[-1].get_title() == f"vote of 3: error {error:.3f}"


def test_wrong_rows_have_a_dark_rim():
    X, y = moons()
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    display = DecisionRoundsDisplay.from_estimator(model, X, y, n_rounds=2)
    for t in (0, 1):
        n_wrong = int(np.sum(model.estimators_[t].predict(X) != y))
        rims = np.concatenate([points.get_edgecolors()[:, 0] for points in display.points_[t]])
        assert np.sum(rims < 0.5) == n_wrong


def test_three_classes_and_many_rounds_in_the_plane():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=8).fit(X[:, 2:], np.array(["setosa", "versicolor", "virginica"])[y])
    display = DecisionRoundsDisplay.from_estimator(model, X[:, 2:], model.classes_[y], n_rounds=6)
    assert (display.axes_.size, len(display.figure_.axes)) == (7, 7)
    assert len(display.points_[0]) == 3
    before = AdaBoostClassifier(n_estimators=3).fit(X[:, 2:], y)
    np.testing.assert_allclose(display.weights[3], before.sample_weights_, rtol=1e-9)
    assert_inside(display, [*display.figure_.legends[0].get_texts(), *(ax.title for ax in display.axes_)])
    titles = [ax.title.get_window_extent() for ax in display.axes_]
    assert not any(a.overlaps(b) for a, b in combinations(titles, 2))


def test_fewer_members_than_rounds_requested():
    X, y = moons()
    display = DecisionRoundsDisplay.from_estimator(AdaBoostClassifier(n_estimators=2).fit(X, y), X, y)
    assert display.axes_.size == 3


def test_weights_that_are_no_product_of_rounds_are_not_drawn():
    X, y = moons()
    model = AdaBoostClassifier(n_estimators=4).fit(X, y)
    model.history_ = History({name: model.history_[name] for name in ("round", "error")})
    display = DecisionRoundsDisplay.from_estimator(model, X, y)
    assert np.ptp(display.weights) == 0
    assert "area: weight in the round" not in [text.get_text() for text in display.figure_.legends[0].get_texts()]


def test_frames_name_the_axes_of_the_plane():
    pd = pytest.importorskip("pandas")
    X, y = moons()
    frame = pd.DataFrame(X, columns=["length", "width"])
    display = DecisionRoundsDisplay.from_estimator(AdaBoostClassifier(n_estimators=3).fit(frame, y), frame, y)
    assert (display.axes_[0].get_xlabel(), display.axes_[0].get_ylabel()) == ("length", "width")


def test_what_has_no_place_in_a_plane_is_rejected():
    import matplotlib.pyplot as plt

    X, y, _, _ = sonar()
    with pytest.raises(ValueError, match="fitted on 60 features"):
        DecisionRoundsDisplay.from_estimator(boosted(3), X, y)
    X, y = moons()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        DecisionRoundsDisplay.from_estimator(model, np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="n_rounds must be at least 1"):
        DecisionRoundsDisplay.from_estimator(model, X, y, n_rounds=0)
    with pytest.raises(ValueError, match=r"expected 4 axes.*got 2"):
        DecisionRoundsDisplay.from_estimator(model, X, y, ax=plt.subplots(1, 2)[1])


# ---- Suspicious rows -------------------------------------------------------------------------------------------------


def test_suspicious_rows_are_marked_with_numbers_that_do_not_overlap():
    X, y, _, _ = sonar()
    model = boosted()
    display = LabelIssuesDisplay.from_estimator(model, X, y, n=15)
    result = find_label_issues(model, X, y, 15)
    names = [int(name.get_text()) for name in display.names_]
    assert len(names) >= 8
    assert set(names) <= set(result.rows.tolist())
    display.figure_.canvas.draw()
    boxes = [name.get_window_extent() for name in display.names_]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    shown = np.concatenate([points.get_offsets() for points in display.points_])
    assert len(shown) == len(X)
    np.testing.assert_allclose(np.sort(shown[:, 1])[-15:], np.sort(result.score))
    assert "mean weight" in display.ax_.get_ylabel()


# ---- What all share --------------------------------------------------------------------------------------------------

DRAW = {
    "errors": lambda model, X, y, ax: ErrorCurveDisplay.from_estimator(model, X, y, ax=ax),
    "edges": lambda model, X, y, ax: EdgeDisplay.from_estimator(model, ax=ax),
    "margins": lambda model, X, y, ax: MarginDistributionDisplay.from_estimator(model, X, y, ax=ax),
    "suspicious": lambda model, X, y, ax: LabelIssuesDisplay.from_estimator(model, X, y, ax=ax),
}


@pytest.mark.parametrize("name", DRAW)
def test_given_axes_are_used(name: str):
    import matplotlib.pyplot as plt

    X, y, _, _ = sonar()
    figure, ax = plt.subplots()
    display = DRAW[name](boosted(5), X, y, ax)
    assert (display.ax_, display.figure_) == (ax, figure)


@pytest.mark.parametrize("name", [*DRAW, "plane"])
def test_an_unfitted_booster_is_rejected(name: str):
    X, y, _, _ = sonar()
    plane = lambda model, X, y, ax: DecisionRoundsDisplay.from_estimator(model, X, y)  # noqa: E731
    with pytest.raises(NotFittedError, match="fit AdaBoostClassifier first"):
        DRAW.get(name, plane)(AdaBoostClassifier(), X, y, None)


@pytest.mark.parametrize("name", DRAW)
def test_error_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch):
    X, y, _, _ = sonar()
    model = boosted(5)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'committee\[app\]'"):
        DRAW[name](model, X, y, None)
