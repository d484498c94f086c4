"""Pictures of mixtures of experts show what the model says."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from committee.experts.density import MixtureOfExpertsDensity
from committee.experts.mixture_of_experts import MixtureOfExpertsRegressor
from committee.plots.experts import GRID, ExpertLoadDisplay, GateRegionsDisplay, LikelihoodCurveDisplay
from committee.records.history import History

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.where(X[:, 0] > 0, 2.0 * X[:, 1], -3.0 * X[:, 1] + 1.0) + 0.1 * RNG.normal(size=120)
MODEL = MixtureOfExpertsRegressor(2, n_restarts=1, tol=1e-3, random_state=0).fit(X, Y)
DISPLAYS: list[Any] = [
    lambda m, **more: GateRegionsDisplay.from_estimator(m, X, **more),
    LikelihoodCurveDisplay.from_estimator,
    ExpertLoadDisplay.from_estimator,
]


def test_regions_are_what_the_gate_says() -> None:
    display = GateRegionsDisplay.from_estimator(MODEL, X, Y)
    plane = display.plane
    a, b = plane.edges
    corner = np.array([[a[10], b[150], np.median(X[:, 2])]])
    np.testing.assert_allclose(plane.gate[150, 10], MODEL.gate_proba(corner)[0], rtol=1e-9)
    np.testing.assert_array_equal(plane.expert, MODEL.responsibilities(X, Y).argmax(axis=1))
    assert plane.gate.shape == (GRID, GRID, 2)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert [label.split(" (")[0] for label in labels] == ["expert 0", "expert 1"]
    assert sum(int(label.split("(")[1].split()[0]) for label in labels) == 120
    drawn = np.vstack([np.asarray(c.get_offsets()) for c in display.ax_.collections if len(c.get_offsets()) > 1])
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(X[:, :2], axis=0))


def test_other_columns_and_names() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = MixtureOfExpertsRegressor(2, n_restarts=1, max_iter=10, random_state=0).fit(frame, Y)
    display = GateRegionsDisplay.from_estimator(model, frame, features=(2, 0))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("c", "a")
    np.testing.assert_array_equal(display.plane.points, X[:, [2, 0]])


def test_a_table_of_one_column_is_drawn_against_its_target() -> None:
    model = MixtureOfExpertsRegressor(2, n_restarts=1, max_iter=10, random_state=0).fit(X[:, :1], Y)
    display = GateRegionsDisplay.from_estimator(model, X[:, :1], Y)
    np.testing.assert_array_equal(display.plane.points, np.column_stack([X[:, 0], Y]))
    assert display.ax_.get_ylabel() == "target"
    assert np.ptp(display.plane.gate, axis=0).max() == 0.0  # the gate does not see the target


def test_one_expert_has_one_region() -> None:
    model = MixtureOfExpertsRegressor(1, max_iter=5).fit(X, Y)
    display = GateRegionsDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.plane.gate, 1.0)


def test_the_curve_is_the_history() -> None:
    display = LikelihoodCurveDisplay.from_estimator(MODEL)
    for name in ("log_likelihood", "objective"):
        np.testing.assert_array_equal(display.lines_[name].get_ydata(), MODEL.history_[name])
    top = display.ax_.get_ylim()[1]
    assert top >= max(MODEL.history_.objective.max(), MODEL.history_.log_likelihood.max())
    assert f"after {MODEL.n_iter_} iterations" in display.ax_.get_legend().get_texts()[0].get_text()


def test_repairs_are_marked() -> None:
    columns: dict[str, Any] = {
        "iteration": [1, 2, 3],
        "log_likelihood": [1.0, 0.5, 2.0],
        "objective": [0.9, 0.4, 1.9],
        "repaired": [-1, 1, -1],
    }
    display = LikelihoodCurveDisplay(History(columns)).plot()
    marks = [line for line in display.ax_.lines if line.get_linestyle() == ":"]
    assert [list(line.get_xdata()) for line in marks] == [[2, 2]]


def test_bars_are_the_loads() -> None:
    display = ExpertLoadDisplay.from_estimator(MODEL)
    np.testing.assert_array_equal([bar.get_height() for bar in display.bars_], MODEL.load_)
    assert f"{MODEL.effective_experts_:.2f}" in display.ax_.get_title()


def test_a_density_is_drawn_too() -> None:
    model = MixtureOfExpertsDensity(2, n_restarts=1, max_iter=20, random_state=0).fit(X)
    assert len(GateRegionsDisplay.from_estimator(model, X, Y).plane.expert) == 120
    assert ExpertLoadDisplay.from_estimator(model).load.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("draw", DISPLAYS)
def test_axes_are_used_and_other_models_rejected(draw: Any) -> None:
    _, ax = plt.subplots()
    assert draw(MODEL, ax=ax).ax_ is ax
    with pytest.raises(TypeError, match=r"mixtures of experts.*not for Ridge"):
        draw(Ridge())
    with pytest.raises(NotFittedError, match="fit MixtureOfExpertsRegressor first"):
        draw(MixtureOfExpertsRegressor())
