"""Pictures of bias and variance: curves and bars are the numbers measured, and text hides no text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from committee.datasets import correlated_step, curve, friedman1
from committee.evaluation.bias_variance import bias_variance
from committee.evaluation.compare_bias_variance import compare_bias_variance
from committee.plots.bias_variance import BiasVarianceDisplay, TrainingSetsDisplay
from tests.figures import assert_text_is_clear

matplotlib = pytest.importorskip("matplotlib")


def study(model: Any, simulation: Any = None) -> Any:
    return bias_variance(model, curve() if simulation is None else simulation, n_sets=8, n_test=60, random_state=0)


def test_curves_are_the_predictions_sorted_by_x():
    studies = {"line": study(LinearRegression()), "tree": study(DecisionTreeRegressor())}
    display = TrainingSetsDisplay.from_study(studies)
    assert display.axes_.shape == (2, 3)
    for name, found in studies.items():
        order = np.argsort(found.source.X[:, 0])
        curves = display.curves_[name]
        np.testing.assert_array_equal(curves["fits"], found.predictions[:, order])
        np.testing.assert_allclose(curves["mean"], found.decomposition.main[order])
        np.testing.assert_array_equal(curves["truth"], found.source.truth[order])
    fits = [line for line in display.axes_[0, 0].lines if len(line.get_xdata()) == 60]
    np.testing.assert_array_equal([line.get_ydata() for line in fits[:8]], display.curves_["line"]["fits"])
    band = display.axes_[1, 2].collections[0].get_paths()[0].vertices
    tree = display.curves_["tree"]
    half = 2.0 * tree["fits"].std(axis=0, ddof=1)
    here = band[band[:, 0] == tree["x"][30], 1]
    np.testing.assert_allclose([here.min(), here.max()], tree["mean"][30] + np.array([-1, 1]) * half[30])
    assert "variance" in display.axes_[1, 2].get_title(loc="left")
    assert len({panel.get_ylim() for panel in display.axes_.ravel()}) == 1
    assert_text_is_clear(display.figure_)


def test_bars_add_up_to_the_error():
    models = {"tree": DecisionTreeRegressor(), "mean": DummyRegressor()}
    found = compare_bias_variance(friedman1(), models=models, n_sets=8, n_test=60, random_state=0)
    display = BiasVarianceDisplay.from_study(found)
    assert list(display.bars_) == ["bias", "variance", "noise"]
    for k, result in enumerate(found.results.values()):
        ends = [bars[k].get_x() + bars[k].get_width() for bars in display.bars_.values()]
        assert ends[-1] == pytest.approx(result.error.value)
        assert display.bars_["variance"][k].get_width() == pytest.approx(result.variance.value)
        x, y = display.errors_.lines[0].get_xydata()[k]
        assert (x, y) == (pytest.approx(result.error.value), k)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == list(models)
    assert_text_is_clear(display.figure_)


def test_variance_that_helps_is_taken_off():
    models = {"tree": DecisionTreeClassifier(), "none": DummyClassifier()}
    found = compare_bias_variance(correlated_step(), models=models, n_sets=8, n_test=60, n_train=40, random_state=0)
    display = BiasVarianceDisplay.from_study(found)
    assert list(display.bars_) == ["bias", "unbiased variance", "biased variance", "noise"]
    for k, result in enumerate(found.results.values()):
        total = sum(bars[k].get_width() for bars in display.bars_.values())
        assert total == pytest.approx(result.error.value)
        assert display.bars_["biased variance"][k].get_width() <= 0.0
    assert_text_is_clear(display.figure_)


def test_a_table_says_that_noise_is_in_the_bias_and_given_axes_are_used():
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    found = bias_variance(DummyRegressor(), rng.random((30, 2)), rng.random(30), n_sets=6, random_state=0)
    figure, axes = plt.subplots(1, 3)
    display = BiasVarianceDisplay.from_study(found, ax=axes[1])
    assert (display.ax_, display.figure_) == (axes[1], figure)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["bias² and noise", "variance", "error"]
    assert TrainingSetsDisplay.from_study(study(LinearRegression()), ax=axes).axes_[0, 2] is axes[2]
    with pytest.raises(ValueError, match="simulated data with one feature"):
        TrainingSetsDisplay.from_study(found)
    with pytest.raises(ValueError, match="simulated data with one feature"):
        TrainingSetsDisplay.from_study(study(DummyRegressor(), friedman1()))
    with pytest.raises(ValueError, match=r"expected 3 axes.*got 2"):
        TrainingSetsDisplay.from_study(study(LinearRegression()), ax=axes[:2])
    for display_class in (TrainingSetsDisplay, BiasVarianceDisplay):
        with pytest.raises(ValueError, match="nothing to draw"):
            display_class.from_study({})
