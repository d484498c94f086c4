"""Pictures of the studies of bagging: curves and bands are the numbers measured, and text hides no line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee_reproductions.bagging_simulation import BaggingSimulation
from committee_reproductions.plots.bagging_studies import BaggingSimulationDisplay, SpamExperimentDisplay
from committee_reproductions.spam import SpamExperiment

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def simulations() -> dict[str, BaggingSimulation]:
    rng = np.random.default_rng(0)
    vote = 0.28 + 0.06 / np.sqrt(np.arange(1, 61)) + 0.02 * rng.standard_normal((12, 60))
    return {
        "full trees": BaggingSimulation(0.34 + 0.03 * rng.standard_normal(12), vote, vote),
        "leaves of 5 rows": BaggingSimulation(0.31 + 0.03 * rng.standard_normal(12), vote - 0.02, vote - 0.03),
    }


def spam() -> SpamExperiment:
    rng = np.random.default_rng(0)
    errors = 0.05 + 0.05 / np.sqrt(np.arange(1, 301)) + 0.002 * rng.standard_normal((2, 3, 300))
    boosting = 0.045 + 0.3 / np.arange(1, 1001) + 0.002 * rng.standard_normal((2, 3, 1000))
    return SpamExperiment(
        {"bagging": errors + 0.006, "random forest": errors, "gradient boosting": boosting},
        {"bagging": errors + 0.008, "random forest": errors + 0.001},
    )


def band(collection: Any, t: int) -> tuple[float, float]:
    corners: NDArray[Any] = collection.get_paths()[0].vertices
    here = corners[corners[:, 0] == t, 1]
    return float(here.min()), float(here.max())


def assert_text_is_clear(axes: list[Any], curves: list[Any]) -> None:
    """No text over text or beyond the page, and no curve under a legend."""
    figure = axes[0].figure
    figure.canvas.draw()
    texts = [text for ax in axes for text in (ax.xaxis.label, ax.yaxis.label, ax._left_title)]
    texts += [text for ax in axes for text in ax.get_legend().get_texts()]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    page = figure.bbox
    assert all(page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1 for box in boxes)
    for line in curves:
        across, up = line.axes.transData.transform(line.get_xydata()).T
        box = line.axes.get_legend().get_window_extent()
        assert not np.any((across >= box.x0) & (across <= box.x1) & (up >= box.y0) & (up <= box.y1))


def test_simulation_curves_bands_and_levels_are_what_was_measured():
    studies = simulations()
    display = BaggingSimulationDisplay.from_study(studies)
    assert [panel.get_title(loc="left") for panel in display.ax_] == list(studies)
    for name, found in studies.items():
        lines, history = display.lines_[name], found.history
        np.testing.assert_array_equal(lines["vote"].get_ydata(), history.vote_error)
        np.testing.assert_array_equal(lines["mean"].get_ydata(), history.mean_error)
        assert lines["tree"].get_ydata()[0] == pytest.approx(found.tree_error.value)
        assert lines["best"].get_ydata()[0] == 0.2
        low, high = band(display.bands_[name]["mean"], 30)
        assert (high - low) / 2 == pytest.approx(history.mean_stderr[29])
    assert len({panel.get_ylim() for panel in display.ax_}) == 1
    curves = [lines[key] for lines in display.lines_.values() for key in ("vote", "mean")]
    assert_text_is_clear(list(display.ax_), curves)


@pytest.mark.parametrize("has_bands", [True, False])
def test_spam_curves_are_what_was_measured(has_bands: bool):
    study = spam()
    display = SpamExperimentDisplay.from_study(study, has_bands=has_bands)
    for name in study.models:
        curve = study.curve(name)
        np.testing.assert_array_equal(display.lines_[name]["test"].get_ydata(), curve.test_error)
        assert ("oob" in display.lines_[name]) == (name in study.oob_errors)
    np.testing.assert_array_equal(
        display.lines_["bagging"]["oob"].get_ydata(), study.oob_errors["bagging"].mean(axis=(0, 1))
    )
    assert set(display.bands_) == (set(study.models) if has_bands else set())
    low, high = display.ax_.get_ylim()
    for name in study.models:
        assert low < study.test_error(name).value < high
    late = [line for lines in display.lines_.values() for line in lines.values()]
    assert_text_is_clear([display.ax_], [])
    box = display.ax_.get_legend().get_window_extent()
    for line in late:  # the first trees lie above the picture; from the 30th on nothing is under the legend
        across, up = display.ax_.transData.transform(line.get_xydata()[30:]).T
        assert not np.any((across >= box.x0) & (across <= box.x1) & (up >= box.y0) & (up <= box.y1))


def test_one_study_has_one_panel_and_given_axes_are_used():
    import matplotlib.pyplot as plt

    study = simulations()["full trees"]
    assert BaggingSimulationDisplay.from_study(study).ax_.size == 1
    figure, axes = plt.subplots(1, 2)
    display = BaggingSimulationDisplay.from_study(study, ax=axes[1])
    assert (display.ax_[0], display.figure_) == (axes[1], figure)
    assert SpamExperimentDisplay.from_study(spam(), ax=axes[0]).ax_ is axes[0]
    with pytest.raises(ValueError, match="1 study needs as many axes, got 2"):
        BaggingSimulationDisplay.from_study(study, ax=axes)
    with pytest.raises(ValueError, match="nothing to draw"):
        BaggingSimulationDisplay.from_study({})
