"""Pictures of support vector machines show the numbers of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from committee.explain.svm_geometry import svm_geometry
from committee.plots.svm import SVMDecisionBoundaryDisplay, TuningDisplay
from committee.svm.linear_svm import LinearSVC
from committee.svm.svc import SVC
from committee.svm.svr import SVR
from committee.svm.tuning import tune_svc, tune_svr

matplotlib = pytest.importorskip("matplotlib")


def plane() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=80) > 0, "yes", "no")


@pytest.mark.parametrize("model", [SVC(kernel="linear"), SVC(gamma=0.7, C=3.0), LinearSVC(loss="hinge")], ids=str)
def test_points_rings_and_slack_are_those_of_the_geometry(model: Any) -> None:
    X, y = plane()
    display = SVMDecisionBoundaryDisplay.from_estimator(model.fit(X, y), X, y)
    rows = svm_geometry(model, X, y).rows
    for side in (1, -1):
        assert_allclose(display.points_[side].get_offsets(), X[rows.side == side])
    for kind in ("free", "bounded"):
        assert_allclose(display.rings_[kind].get_offsets(), X[rows.kind == kind])
    segments = np.array(display.slacks_.get_segments())
    assert len(segments) == np.count_nonzero(rows.slack > 0.0)
    slack_rows = np.concatenate([X[(rows.side == side) & (rows.slack > 0.0)] for side in (1, -1)])
    assert_allclose(segments[:, 0], slack_rows)
    side = np.concatenate([np.full(np.count_nonzero((rows.side == s) & (rows.slack > 0.0)), s) for s in (1, -1)])
    assert_allclose(model.decision_function(segments[:, 1]), side, atol=0.02)  # they end on the margin
    assert_allclose(display.contours_.levels, [-1.0, 0.0, 1.0])
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"bounded: {np.count_nonzero(rows.kind == 'bounded')}" in labels
    assert f"margin {svm_geometry(model, X, y).margin:.3g}" in display.ax_.get_title(loc="left")


def test_slack_of_a_line_is_drawn_at_a_right_angle() -> None:
    """In a picture with the same scale on both axes the nearest point lies along w, slack / |w| away."""
    X, y = plane()
    X = np.vstack([X, [[-3.0, -3.0], [3.0, 3.0]]])  # the same range on both axes
    y = np.append(y, ["no", "yes"])
    model = SVC(kernel="linear").fit(X, y)
    display = SVMDecisionBoundaryDisplay.from_estimator(model, X, y)
    g = display.geometry
    lengths = np.linalg.norm(np.diff(np.array(display.slacks_.get_segments()), axis=1)[:, 0], axis=1)
    expected = np.concatenate([g.rows.slack[(g.rows.side == s) & (g.rows.slack > 0.0)] for s in (1, -1)]) / g.norm
    assert_allclose(lengths, expected, atol=0.02)


def test_names_of_columns_pairs_and_axes_of_ones_own() -> None:
    import matplotlib.pyplot as plt

    X, _ = plane()
    frame = pd.DataFrame(X, columns=["width", "height"])
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    ax = plt.subplots()[1]
    model = SVC(C=5.0).fit(frame, y)
    display = SVMDecisionBoundaryDisplay.from_estimator(model, frame, y, problem=1, ax=ax)
    assert display.ax_ is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    assert len(display.table) == np.count_nonzero(y != 1)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"0: {np.count_nonzero(y == 0)}" in labels
    with pytest.raises(ValueError, match=r"two features.*fitted on 3"):
        SVMDecisionBoundaryDisplay.from_estimator(SVC().fit(np.c_[X, X[:, 0]], y), np.c_[X, X[:, 0]], y)


def test_an_svm_that_predicts_one_class_has_no_lines() -> None:
    X, y = plane()
    y = np.where(np.arange(len(y)) < 5, "rare", "common")
    display = SVMDecisionBoundaryDisplay.from_estimator(SVC(gamma=0.0).fit(X, y), X, y)
    assert all(len(path.vertices) == 0 for path in display.contours_.get_paths())
    assert display.slacks_.get_segments() == []
    assert display.geometry.margin == np.inf


def test_the_map_of_a_grid_shows_every_cell_and_frames_the_best() -> None:
    X, y = plane()
    tuned = tune_svc(X, y, C=[0.1, 1.0, 10.0], gamma=[1.0, 0.1], cv=3)
    display = TuningDisplay.from_tuned(tuned)
    expected = tuned.grid.error.reshape(2, 3)[::-1]  # by gamma
    assert_allclose(np.asarray(display.image_.get_array()), expected)
    assert [text.get_text() for text in display.texts_] == [f"{100 * error:.1f} %" for error in expected.ravel()]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["0.1", "1"]
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["0.1", "1", "10"]
    assert expected[display.best] == tuned.error
    frames = [patch for patch in display.ax_.patches if patch.get_linewidth() > 2.0]
    assert len(frames) == 1
    assert frames[0].get_xy() == pytest.approx((display.best[1] - 0.46, display.best[0] - 0.46))
    near = np.count_nonzero(expected <= tuned.error + tuned.standard_error)
    assert len(display.ax_.patches) == near


def test_maps_of_kernels_and_of_numbers() -> None:
    X, y = plane()
    tuned = tune_svc(X, y, C=[1.0], kernel=["linear", "rbf"], gamma=[0.1, 1.0], cv=3)
    labels = TuningDisplay.from_tuned(tuned).ax_.get_yticklabels()
    assert [label.get_text() for label in labels] == ["linear", "rbf 0.1", "rbf 1"]
    tuned = tune_svr(X, X[:, 0] ** 2, C=[1.0, 10.0], gamma=[0.1], epsilon=[0.1, 0.5], estimator=SVR(), cv=3)
    display = TuningDisplay.from_tuned(tuned)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["rbf 0.1 ε=0.1", "rbf 0.1 ε=0.5"]
    assert display.texts_[0].get_text() == f"{tuned.grid.error[0]:.3g}"
