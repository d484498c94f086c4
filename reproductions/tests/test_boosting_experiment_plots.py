"""Pictures of the studies of boosting: curves, bands and points are the numbers measured, and text hides no line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import AdaBoostClassifier, ArcGVClassifier
from committee.datasets import load_dataset
from committee.theory.margins import share_below
from committee_reproductions import BoostingExperiment, MarginMaximisation, boosting_experiment, margin_maximisation
from committee_reproductions.plots import ExperimentErrorsDisplay, ExperimentMarginsDisplay, MarginMaximisationDisplay

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@cache
def experiments() -> dict[str, BoostingExperiment]:
    found: dict[str, BoostingExperiment] = {}
    for name in ("sonar", "ionosphere", "pima_diabetes"):
        X, y = load_dataset(name)[:2]
        found[name] = boosting_experiment(X, y, n_rounds=30, n_folds=3, random_state=0)
    return found


@cache
def studies() -> dict[str, MarginMaximisation]:
    boosters = {"AdaBoost": AdaBoostClassifier(n_estimators=30), "arc-gv": ArcGVClassifier(n_estimators=30)}
    return {
        name: margin_maximisation(*load_dataset(name)[:2], boosters=boosters, n_folds=3, random_state=0)
        for name in ("sonar", "ionosphere")
    }


def band(collection: Any, t: int) -> tuple[float, float]:
    """Lower and upper end of a band at round t."""
    corners: NDArray[Any] = collection.get_paths()[0].vertices
    here = corners[corners[:, 0] == t, 1]
    return float(here.min()), float(here.max())


def assert_no_text_overlaps(display: Any) -> None:
    display.figure_.canvas.draw()
    page = display.figure_.bbox
    texts = [text for ax in display.ax_ for text in (ax.xaxis.label, ax.yaxis.label, ax.title, ax._left_title)]
    texts += [text for ax in display.ax_ for text in ax.get_legend().get_texts()]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)


def legend_covers(ax: Any, x: NDArray[Any], y: NDArray[Any]) -> bool:
    """Whether a point lies under the legend; the figure must be drawn by now."""
    box = ax.get_legend().get_window_extent()
    across, up = ax.transData.transform(np.column_stack([x, y])).T
    return bool(np.any((across >= box.x0) & (across <= box.x1) & (up >= box.y0) & (up <= box.y1)))


@pytest.mark.parametrize("xscale", ["log", "linear"])
def test_curves_bands_and_rings_are_what_was_measured(xscale: Any):
    display = ExperimentErrorsDisplay.from_experiment(experiments(), xscale=xscale)
    assert display.ax_.size == 3
    for panel, (name, found) in zip(display.ax_, experiments().items(), strict=True):
        np.testing.assert_array_equal(display.lines_[name]["train"].get_ydata(), found.train_error)
        np.testing.assert_array_equal(display.lines_[name]["test"].get_ydata(), found.test_error)
        for t in (1, 17, 30):
            low, high = band(display.bands_[name]["test"], t)
            assert (high + low) / 2 == pytest.approx(found.test_error[t - 1])
            assert (high - low) / 2 == pytest.approx(found.test_stderr[t - 1])
        best = display.best_[name].get_xydata()[0]
        np.testing.assert_allclose(best, [found.best_round, found.test_error.min()])
        title = panel.get_title(loc="left")
        assert title == f"{name}: {found.short_verdict}, rise {found.rise.value:.3f} ± {found.rise.stderr:.3f}"
        assert panel.get_xscale() == xscale
    assert_no_text_overlaps(display)
    for panel, found in zip(display.ax_, experiments().values(), strict=True):
        assert not legend_covers(panel, found.rounds, found.test_error + found.test_stderr)


def test_margin_distributions_are_those_of_all_folds():
    display = ExperimentMarginsDisplay.from_experiment(experiments())
    for name, found in experiments().items():
        assert list(display.lines_[name]) == [1, 10, 30]
        for t, line in display.lines_[name].items():
            at, share = (np.asarray(values) for values in line.get_data())
            for theta in (-0.3, 0.0, 0.21, 0.5):
                assert share[at <= theta].max(initial=0.0) == pytest.approx(share_below(found.margins[t], theta))
    assert_no_text_overlaps(display)
    for panel, found in zip(display.ax_, experiments().values(), strict=True):
        thetas = np.linspace(-1.0, 0.0, 50)
        assert not legend_covers(panel, thetas, np.array([share_below(found.margins[30], theta) for theta in thetas]))


def test_points_stand_at_margin_and_error():
    display = MarginMaximisationDisplay.from_study(studies())
    for name, found in studies().items():
        for booster, point in display.points_[name].items():
            expected = [found.smallest_margin(booster).value, found.test_error(booster).value]
            np.testing.assert_allclose(point.get_xydata()[0], expected)
    assert [panel.get_title(loc="left") for panel in display.ax_] == ["sonar", "ionosphere"]
    assert_no_text_overlaps(display)
    for panel, found in zip(display.ax_, studies().values(), strict=True):
        margins = np.array([found.smallest_margin(booster).value for booster in found.boosters])
        tops = np.array([sum(found.test_error(booster)) for booster in found.boosters])
        assert not legend_covers(panel, margins, tops)


DRAW = {
    "errors": lambda ax=None: ExperimentErrorsDisplay.from_experiment(experiments()["sonar"], ax=ax),
    "margins": lambda ax=None: ExperimentMarginsDisplay.from_experiment(experiments()["sonar"], ax=ax),
    "points": lambda ax=None: MarginMaximisationDisplay.from_study(studies()["sonar"], ax=ax),
}


@pytest.mark.parametrize("name", DRAW)
def test_one_study_has_one_panel_and_given_axes_are_used(name: str):
    import matplotlib.pyplot as plt

    assert DRAW[name]().ax_.size == 1
    figure, axes = plt.subplots(1, 2)
    display = DRAW[name](axes[1])
    assert (display.ax_[0], display.figure_) == (axes[1], figure)
    with pytest.raises(ValueError, match="1 data set needs as many axes, got 2"):
        DRAW[name](axes)


def test_panels_that_are_not_needed_are_taken_away():
    display = ExperimentErrorsDisplay.from_experiment(experiments())
    assert len(display.figure_.axes) == 3


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="nothing to draw"):
        ExperimentErrorsDisplay.from_experiment({})
    bare = experiments()["sonar"]._replace(margins={})
    with pytest.raises(ValueError, match="No margins were measured for sonar"):
        ExperimentMarginsDisplay.from_experiment({"sonar": bare})
    assert ExperimentErrorsDisplay.from_experiment({"sonar": bare}).ax_.size == 1


@pytest.mark.parametrize("name", DRAW)
def test_error_names_the_extra(name: str, monkeypatch: pytest.MonkeyPatch):
    experiments(), studies()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'committee\[app\]'"):
        DRAW[name]()
