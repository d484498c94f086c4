"""Pictures of the bootstrap: bars, lines and bands are the numbers computed, and text hides no text."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from committee.datasets import curve
from committee.evaluation.bootstrap import bootstrap
from committee.evaluation.bootstrap_interval import bootstrap_interval, normal_interval, polynomial_regression
from committee.plots.bootstrap import BootstrapDisplay, PredictionIntervalDisplay
from tests.figures import assert_text_is_clear

matplotlib = pytest.importorskip("matplotlib")
RNG = np.random.default_rng(0)
TIMES = RNG.exponential(size=30)


def test_c1_replicates_value_and_intervals():
    result = bootstrap(np.mean, TIMES, stderr=20, vectorized=True, n_resamples=300, random_state=0)
    display = BootstrapDisplay.from_study(result, name="mean time")
    assert sum(bar.get_height() for bar in display.ax_.patches) == 300
    assert display.value_.get_xdata()[0] == pytest.approx(TIMES.mean())
    assert display.mean_.get_xdata()[0] - display.value_.get_xdata()[0] == pytest.approx(result.bias)
    assert list(display.intervals_) == list(result.kinds)
    for kind, line in display.intervals_.items():
        np.testing.assert_allclose(line.get_xdata(), result.interval(kind))
    assert display.ax_.get_xlabel() == "mean time"
    assert_text_is_clear(display.figure_)


def test_one_number_of_many_and_a_constant():
    X = np.column_stack([TIMES, RNG.normal(size=30)])
    result = bootstrap(LinearRegression(), X, TIMES**2, of="coef_", n_resamples=60, bca=False, random_state=0)
    display = BootstrapDisplay.from_study(result, index=1)
    assert display.value_.get_xdata()[0] == pytest.approx(result.value[1])
    np.testing.assert_allclose(display.intervals_["basic"].get_xdata(), [end[1] for end in result.interval("basic")])
    with pytest.raises(ValueError, match=r"index must be in 0..1"):
        BootstrapDisplay.from_study(result, index=2)
    constant = BootstrapDisplay.from_study(bootstrap(lambda x: 2.0, TIMES, n_resamples=10))
    assert sum(bar.get_height() for bar in constant.ax_.patches) == 10


def test_c2_bands_beside_normal_theory():
    X, y = curve().sample(40, RNG)
    new = np.linspace(1.0, 0.0, 21)[:, None]  # not in order
    model = polynomial_regression(3)
    intervals = {
        "normal theory": normal_interval(model, X, y, new),
        "bootstrap": bootstrap_interval(model, X, y, new, n_resamples=100, random_state=0),
    }
    display = PredictionIntervalDisplay.from_intervals(intervals, X, y, truth=curve().truth(new))
    assert [panel.get_title(loc="left") for panel in display.axes_] == list(intervals)
    for name, result in intervals.items():
        np.testing.assert_array_equal(display.lines_[name]["prediction"].get_ydata(), result.prediction[::-1])
        np.testing.assert_array_equal(display.lines_[name]["truth"].get_ydata(), curve().truth(new)[::-1])
        for key, interval in (("mean", result.mean), ("new", result.new)):
            corners = display.bands_[name][key].get_paths()[0].vertices
            here = corners[corners[:, 0] == new[5, 0], 1]
            assert (here.min(), here.max()) == (interval.low[5], interval.high[5])
    assert len({panel.get_ylim() for panel in display.axes_}) == 1
    np.testing.assert_array_equal(display.axes_[0].lines[0].get_ydata(), y)
    assert_text_is_clear(display.figure_)


def test_given_axes_are_used_and_what_cannot_be_drawn_is_rejected():
    import matplotlib.pyplot as plt

    X, y = RNG.random((20, 1)), RNG.random(20)
    one = normal_interval(LinearRegression(), X, y, X)
    figure, axes = plt.subplots(1, 2)
    display = PredictionIntervalDisplay.from_intervals(one, ax=axes[1])
    assert (display.axes_[0], display.figure_) == (axes[1], figure)
    assert list(display.intervals) == ["normal"]
    result = bootstrap(np.mean, TIMES, n_resamples=20)
    assert BootstrapDisplay.from_study(result, ax=axes[0]).ax_ is axes[0]
    wide = normal_interval(LinearRegression(), np.c_[X, X**2], y, np.c_[X, X**2])
    for call, message in (
        (lambda: PredictionIntervalDisplay.from_intervals(wide), "one feature, X has 2"),
        (lambda: PredictionIntervalDisplay.from_intervals(one, X), "pass both X and y, or neither"),
        (lambda: PredictionIntervalDisplay.from_intervals(one, ax=axes), "expected 1 axes.*got 2"),
        (lambda: PredictionIntervalDisplay.from_intervals({}), "nothing to draw"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
